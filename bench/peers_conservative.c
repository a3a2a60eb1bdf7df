/*
 * peers_conservative.c
 *		Count-Min with conservative update.
 *
 * A key has one counter in each of d rows.  The estimate is the least of its counters.  Adding w
 * raises only counters below estimate + w, to this value (Estan and Varghese, "New Directions in
 * Traffic Measurement and Accounting", 2002).  Estimates are never below the true weight and never
 * above Count-Min's estimates.  The counters depend on the order of the added rows.  No key can be
 * removed.  The sum of two sketches returns upper bounds, but is not the sketch of all rows.
 *
 * bench/peers_conservative.c
 */
#include "peers_rows.h"

#define DEPTH 3

static void *
make(const peer_kind *kind, const peer_order *order)
{
	(void) kind;
	return peer_rows_make(order, DEPTH);
}

static void
find(const peer_rows *rows, uint64_t key, uint32_t **cell)
{
	uint32_t i;

	for (i = 0; i < DEPTH; i++)
		cell[i] = peer_rows_cell(rows, key, i);
}

static uint32_t
least(uint32_t **cell)
{
	uint32_t value = *cell[0];
	uint32_t i;

	for (i = 1; i < DEPTH; i++)
		value = *cell[i] < value ? *cell[i] : value;
	return value;
}

static void
add(void *peer, const uint64_t *key, const int64_t *weight, size_t count)
{
	uint32_t *cell[DEPTH];
	size_t k;
	uint32_t i;

	for (k = 0; k < count; k++)
	{
		uint32_t now;

		find(peer, key[k], cell);
		now = least(cell) + (weight ? (uint32_t) weight[k] : 1);
		for (i = 0; i < DEPTH; i++)
			*cell[i] = *cell[i] > now ? *cell[i] : now;
	}
}

static int64_t
estimate(const void *peer, uint64_t key)
{
	uint32_t *cell[DEPTH];

	find(peer, key, cell);
	return least(cell);
}

const peer_kind peer_conservative = {
	.name = "Count-Min, conservative",
	.merges = "with more error",
	.weights = "yes",
	.removes = "no",
	.make = make,
	.add = add,
	.merge =
		peer_rows_merge, /* sums of upper bounds, so estimates are never below the true weight */
	.estimate = estimate,
	.bytes = peer_rows_bytes,
	.write = peer_rows_write,
	.free = peer_rows_free,
};
