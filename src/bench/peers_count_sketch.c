/*
 * peers_count_sketch.c
 *		Count sketch.
 *
 * d rows of signed counters.  In each a key owns one counter, to which it adds its
 * weight with a sign that the key's hash chooses; the estimate is the median of the
 * counters with that sign taken off (Charikar, Chen and Farach-Colton, "Finding Frequent
 * Items in Data Streams", 2002).  Unbiased: a row's error has the variance (F2 - f * f) /
 * width, F2 being the sum of the squares of all weights.  As no weight is negative,
 * a negative median is told as 0.
 *
 * src/bench/peers_count_sketch.c
 */
#include <stdlib.h>

#include "peers.h"

#define DEPTH_MAX 5

typedef struct count_sketch
{
	uint64_t seed;
	uint64_t width;
	uint32_t depth;
	int32_t *cell;
} count_sketch;

static void *
make(const peer_kind *kind, const peer_order *order)
{
	count_sketch *c = bench_alloc(1, sizeof(*c));

	c->seed = order->seed;
	c->depth = kind->depth;
	c->width = order->bytes / sizeof(*c->cell) / c->depth;
	c->cell = bench_alloc(c->width * c->depth, sizeof(*c->cell));
	return c;
}

static int32_t *
find(const count_sketch *c, uint64_t key, uint32_t row)
{
	return c->cell + row * c->width + peer_cell(key, c->seed, row, c->width);
}

/* +1 or -1, independent of the place. */
static int32_t
sign(const count_sketch *c, uint64_t key, uint32_t row)
{
	uint64_t hash = qb_hash(key, qb_seed_key(~c->seed));

	return hash >> (8 * row) & 1 ? 1 : -1;
}

static void
add(void *peer, const uint64_t *key, const int64_t *weight, size_t count)
{
	const count_sketch *c = peer;
	size_t k;
	uint32_t i;

	for (k = 0; k < count; k++)
		for (i = 0; i < c->depth; i++)
			*find(c, key[k], i) += sign(c, key[k], i) * (weight ? (int32_t) weight[k] : 1);
}

static void
merge(void *into, const void *from)
{
	count_sketch *a = into;
	const count_sketch *b = from;
	uint64_t i;

	for (i = 0; i < a->width * a->depth; i++)
		a->cell[i] += b->cell[i];
}

static int64_t
estimate(const void *peer, uint64_t key)
{
	const count_sketch *c = peer;
	int32_t value[DEPTH_MAX];
	uint32_t i;

	for (i = 0; i < c->depth; i++)
	{
		int32_t told = sign(c, key, i) * *find(c, key, i);
		uint32_t at = i;

		for (; at > 0 && value[at - 1] > told; at--)
			value[at] = value[at - 1];
		value[at] = told;
	}
	return value[c->depth / 2] > 0 ? value[c->depth / 2] : 0;
}

static uint64_t
bytes(const void *peer)
{
	const count_sketch *c = peer;

	return c->width * c->depth * sizeof(*c->cell);
}

static void
release(void *peer)
{
	free(((count_sketch *) peer)->cell);
	free(peer);
}

const peer_kind peer_count_sketch = {
	.name = "Count sketch",
	.merges = "yes",
	.weights = "yes",
	.removes = "yes",
	.depth = 5,
	.make = make,
	.add = add,
	.merge = merge,
	.estimate = estimate,
	.bytes = bytes,
	.free = release,
};
