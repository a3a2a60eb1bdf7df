/*
 * peers_misra_gries.c
 *		Misra-Gries.
 *
 * m keys with counts.  A key that finds no place takes 1 off all counts, its own included,
 * and keys with a count of 0 leave (Misra and Gries, "Finding repeated elements", 1982).
 * With weights it takes off the least that makes room, or its whole weight.  Counts
 * are never above the true weight, and below it by what has been taken off in all, at most
 * (total - sum of counts) / (m + 1).
 *
 * The list's counts are true counts plus what has been taken off, so that taking off
 * changes one number.
 *
 * bench/peers_misra_gries.c
 */
#include "peers.h"
#include "peers_list.h"

typedef struct misra_gries
{
	peer_list list; /* first, so that what serves bare lists serves this one */
	uint32_t taken; /* off each count */
} misra_gries;

static void *
make(const peer_kind *kind, const peer_order *order)
{
	misra_gries *m = bench_alloc(1, sizeof(*m));

	(void) kind;
	peer_list_init(&m->list, (uint32_t) (order->bytes / PEER_LIST_BYTES), false);
	return m;
}

/* Take up to "weight" off all counts, until there is room; returns what is left of it. */
static uint32_t
take_off(misra_gries *m, uint32_t weight)
{
	uint32_t least = m->list.count[0] - m->taken;
	uint32_t by = weight < least ? weight : least;

	m->taken += by;
	while (m->list.used > 0 && m->list.count[0] == m->taken)
		peer_list_drop_least(&m->list);
	return weight - by;
}

static void
add_one(misra_gries *m, uint64_t key, uint32_t weight)
{
	int64_t at = peer_list_find(&m->list, key);

	if (at >= 0)
	{
		peer_list_set(&m->list, (uint32_t) at, m->list.count[at] + weight);
		return;
	}
	if (peer_list_full(&m->list))
		weight = take_off(m, weight);
	if (weight > 0)
		peer_list_add(&m->list, key, m->taken + weight, 0);
}

static void
add(void *peer, const uint64_t *key, const int64_t *weight, size_t count)
{
	size_t k;

	for (k = 0; k < count; k++)
		add_one(peer, key[k], weight ? (uint32_t) weight[k] : 1);
}

static int64_t
estimate(const void *peer, uint64_t key)
{
	const misra_gries *m = peer;
	int64_t at = peer_list_find(&m->list, key);

	return at >= 0 ? m->list.count[at] - m->taken : 0;
}

/*
 * Counts add up; then the (m + 1)-th largest is taken off all, which leaves m keys at most
 * (Agarwal and others, "Mergeable Summaries", 2012).
 */
static void
merge(void *into, const void *from)
{
	misra_gries *a = into;
	const misra_gries *b = from;
	uint32_t room = a->list.room;
	peer_list both;
	uint32_t i;

	/* Counts of both get what either has taken off, as all counts of a list have it. */
	peer_list_init(&both, a->list.used + b->list.used, false);
	for (i = 0; i < a->list.used; i++)
		peer_list_add(&both, a->list.key[i],
					  a->list.count[i] + b->taken + (uint32_t) estimate(b, a->list.key[i]), 0);
	for (i = 0; i < b->list.used; i++)
		if (peer_list_find(&a->list, b->list.key[i]) < 0)
			peer_list_add(&both, b->list.key[i], b->list.count[i] + a->taken, 0);
	a->taken += b->taken;
	while (both.used > room)
	{
		a->taken = both.count[0];
		peer_list_drop_least(&both);
	}
	while (both.used > 0 && both.count[0] == a->taken)
		peer_list_drop_least(&both);
	peer_list_shrink(&both, room);
	peer_list_free(&a->list);
	a->list = both;
}

static uint32_t
list_keys(void *peer, peer_entry *entry)
{
	const misra_gries *m = peer;
	uint32_t i;

	for (i = 0; i < m->list.used; i++)
	{
		int64_t count = m->list.count[i] - m->taken;

		entry[i] = (peer_entry){ m->list.key[i], count, count };
	}
	return m->list.used;
}

static int64_t
bound(const void *peer)
{
	return ((const misra_gries *) peer)->taken;
}

const peer_kind peer_misra_gries = {
	.name = "Misra-Gries",
	.merges = "yes, errors add",
	.weights = "yes",
	.removes = "no",
	.make = make,
	.add = add,
	.merge = merge,
	.estimate = estimate,
	.list = list_keys,
	.bound = bound,
	.bytes = peer_bare_bytes,
	.write = peer_bare_write,
	.free = peer_bare_free,
};
