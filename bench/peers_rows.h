/*
 * peers_rows.h
 *		Rows of counters; a key has one counter in each row.
 *
 * bench/peers_rows.h
 */
#ifndef QS_BENCH_PEERS_ROWS_H
#define QS_BENCH_PEERS_ROWS_H

#include "peers.h"

typedef struct peer_rows
{
	uint64_t seed;
	uint64_t width;
	uint32_t depth;
	uint32_t *cell;
} peer_rows;

/* Make zeroed rows with the number of counters that fits into the order's bytes. */
extern void *peer_rows_make(const peer_order *order, uint32_t depth);

/* Add the counters of "from".  Both structures have the same sizes and the same seed. */
extern void peer_rows_merge(void *into, const void *from);
extern uint64_t peer_rows_bytes(const void *rows);
extern uint8_t *peer_rows_write(void *rows, size_t *size);
extern void peer_rows_free(void *rows);

/* Return the counter of a key in a row. */
static inline uint32_t *
peer_rows_cell(const peer_rows *r, uint64_t key, uint32_t row)
{
	return r->cell + row * r->width + peer_cell(key, r->seed, row, r->width);
}

#endif
