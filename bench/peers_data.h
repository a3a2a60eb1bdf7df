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
	uint64_t *row;   /* the key of each */
	int64_t *weight; /* of each; NULL: 1 */
	int64_t total;   /* of all weights */

	uint32_t keys;    /* distinct */
	uint64_t *key;    /* the most frequent first */
	int64_t *count;   /* the sum of its weights */
	uint32_t *by_key; /* numbers of keys, ascending by key */
} stream;

/*
 * About "rows" rows in random order; the frequency of the i-th of "keys" keys is
 * proportional to (i + 1) ^ -theta.  With weights, each row has one of 1 to 1023 that depends on its
 * key and varies around it: frequent keys are not the heaviest.
 */
extern void
stream_zipf(stream *s, uint32_t keys, double rows, double theta, bool weighted, uint64_t seed);

/*
 * The lines that a command prints, in their order; false: it prints none.
 */
extern bool stream_command(stream *s, const char *command);

extern void stream_free(stream *s);

#endif
