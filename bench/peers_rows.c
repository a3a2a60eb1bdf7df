/*
 * peers_rows.c
 *		Rows of counters, for sketches that consist of rows.
 *
 * bench/peers_rows.c
 */
#include <stdlib.h>
#include <string.h>

#include "peers_rows.h"

void *
peer_rows_make(const peer_order *order, uint32_t depth)
{
	peer_rows *r = bench_alloc(1, sizeof(*r));

	r->seed = order->seed;
	r->depth = depth;
	r->width = order->bytes / sizeof(*r->cell) / depth;
	r->cell = bench_alloc(r->width * depth, sizeof(*r->cell));
	return r;
}

void
peer_rows_merge(void *into, const void *from)
{
	peer_rows *a = into;
	const peer_rows *b = from;
	uint64_t i;

	for (i = 0; i < a->width * a->depth; i++)
		a->cell[i] += b->cell[i];
}

uint64_t
peer_rows_bytes(const void *rows)
{
	const peer_rows *r = rows;

	return r->width * r->depth * sizeof(*r->cell);
}

uint8_t *
peer_rows_write(void *rows, size_t *size)
{
	uint8_t *out;

	*size = peer_rows_bytes(rows);
	out = bench_alloc(*size, 1);
	memcpy(out, ((const peer_rows *) rows)->cell, *size);
	return out;
}

void
peer_rows_free(void *rows)
{
	free(((peer_rows *) rows)->cell);
	free(rows);
}
