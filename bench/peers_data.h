/*
 * peers_data.h
 *		Streams of rows, in their order, with the truth about their keys.
 *
 * Many structures that are compared depend on the order of the rows.
 *
 * bench/peers_data.h
 */
#ifndef QS_BENCH_PEERS_DATA_H
#define QS_BENCH_PEERS_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct stream
{
	size_t rows;
	uint64_t *row;   /* the key of each row */
	int64_t *weight; /* the weight of each row; NULL: all are 1 */
	int64_t total;   /* the sum of all weights */

	uint32_t keys;    /* number of distinct keys */
	uint64_t *key;    /* the most frequent first */
	int64_t *count;   /* the sum of the key's weights */
	uint32_t *by_key; /* numbers of keys, ascending by key */
} stream;

/*
 * Make about "rows" rows in random order.  The frequency of the i-th of "keys" keys is proportional to
 * (i + 1) ^ -theta.  If weighted, each row has a weight of 1 to 1023, which varies around a mean that
 * depends on the key; so frequent keys are not the heaviest.
 */
extern void
stream_zipf(stream *s, uint32_t keys, double rows, double theta, bool weighted, uint64_t seed);

/*
 * Make a stream of the lines that a command prints, in their order; false: it prints none.
 */
extern bool stream_command(stream *s, const char *command);

extern void stream_free(stream *s);

#endif
