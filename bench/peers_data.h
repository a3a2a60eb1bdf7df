/*
 * peers_data.h
 *		Streams of rows, in their order, with the true weights of their keys.
 *
 * Many of the compared structures depend on the order of the rows.
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
	uint64_t *row;   /* key of each row */
	int64_t *weight; /* weight of each row; NULL: all weights are 1 */
	int64_t total;   /* the sum of all weights */

	uint32_t keys;    /* number of distinct keys */
	uint64_t *key;    /* distinct keys, in descending order of "count" */
	int64_t *count;   /* total weight of each key */
	uint32_t *by_key; /* indexes of keys, in ascending order of the keys */
} stream;

/*
 * Make about "rows" rows in random order.  The frequency of the i-th of "keys" keys is proportional
 * to (i + 1) ^ -theta.  If weighted, each row has a weight of 1 to 1023 around a mean that depends
 * on the key, so the most frequent keys need not be the heaviest.
 */
extern void
stream_zipf(stream *s, uint32_t keys, double rows, double theta, bool weighted, uint64_t seed);

/* Make a stream of the lines that a command prints.  False: there is no line. */
extern bool stream_command(stream *s, const char *command);

extern void stream_free(stream *s);

#endif
