/*
 * peers_count_sketch.c
 *		Count sketch.
 *
 * A key adds its weight to one signed counter in each of d rows, with a sign that the key's hash
 * determines.  The estimate is the median of these counters, each multiplied by its sign (Charikar,
 * Chen and Farach-Colton, "Finding Frequent Items in Data Streams", 2002).  The counter of each row
 * is unbiased, with the variance (F2 - f * f) / width.  f is the key's weight, and F2 is the sum of
 * the squares of all keys' weights.  No weight is negative, so a negative median is reported as 0.
 *
 * bench/peers_count_sketch.c
 */
#include "peers_rows.h"

#define DEPTH_MAX 5

static void *
make(const peer_kind *kind, const peer_order *order)
{
	return peer_rows_make(order, kind->depth);
}

/* Return +1 or -1, independently of the key's position. */
static int32_t
sign(const peer_rows *r, uint64_t key, uint32_t row)
{
	uint64_t hash = qb_hash(key, qb_seed_key(~r->seed));

	return hash >> (8 * row) & 1 ? 1 : -1;
}

static void
add(void *peer, const uint64_t *key, const int64_t *weight, size_t count)
{
	const peer_rows *r = peer;
	size_t k;
	uint32_t i;

	for (k = 0; k < count; k++)
		for (i = 0; i < r->depth; i++)
			*peer_rows_cell(r, key[k], i) +=
				(uint32_t) (sign(r, key[k], i) * (weight ? (int32_t) weight[k] : 1));
}

static int64_t
estimate(const void *peer, uint64_t key)
{
	const peer_rows *r = peer;
	int32_t value[DEPTH_MAX];
	uint32_t i;

	for (i = 0; i < r->depth; i++)
	{
		int32_t counter = sign(r, key, i) * (int32_t) *peer_rows_cell(r, key, i);
		uint32_t at = i;

		for (; at > 0 && value[at - 1] > counter; at--)
			value[at] = value[at - 1];
		value[at] = counter;
	}
	return value[r->depth / 2] > 0 ? value[r->depth / 2] : 0;
}

const peer_kind peer_count_sketch = {
	.name = "Count sketch",
	.merges = "yes",
	.weights = "yes",
	.removes = "yes",
	.depth = 5,
	.make = make,
	.add = add,
	.merge = peer_rows_merge,
	.estimate = estimate,
	.bytes = peer_rows_bytes,
	.write = peer_rows_write,
	.free = peer_rows_free,
};
