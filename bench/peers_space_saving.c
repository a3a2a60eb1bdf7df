/*
 * peers_space_saving.c
 *		Space-Saving.
 *
 * A list has m keys with counts.  A key that is not listed replaces the key with the least count,
 * and takes over this count as its possible error (Metwally, Agrawal and El Abbadi, "Efficient
 * Computation of Frequent and Top-k Elements in Data Streams", 2005).  A count is at least the true
 * weight, and at most the true weight plus the error.  All counts add up to the total, so the least
 * count is at most total / m.  A key that is not listed weighs at most the least count.  Merged
 * lists have this bound, too, but their least count may exceed total / m.  The estimate of a key
 * that is not listed is 0, which for most keys is closer to the true weight than the least count.
 *
 * bench/peers_space_saving.c
 */
#include "peers.h"
#include "peers_list.h"

static void *
make(const peer_kind *kind, const peer_order *order)
{
	peer_list *list = bench_alloc(1, sizeof(*list));

	(void) kind;
	peer_list_init(list, (uint32_t) (order->bytes / (PEER_LIST_BYTES + PEER_ERROR_BYTES)), true);
	return list;
}

static void
add_one(peer_list *list, uint64_t key, uint32_t weight)
{
	int64_t at = peer_list_find(list, key);
	uint32_t least = 0;

	if (at >= 0)
	{
		peer_list_set(list, (uint32_t) at, list->count[at] + weight);
		return;
	}
	if (peer_list_full(list))
	{
		least = list->count[0];
		peer_list_drop_least(list);
	}
	peer_list_add(list, key, least + weight, least);
}

static void
add(void *peer, const uint64_t *key, const int64_t *weight, size_t count)
{
	size_t k;

	for (k = 0; k < count; k++)
		add_one(peer, key[k], weight ? (uint32_t) weight[k] : 1);
}

static uint32_t
list_keys(void *peer, peer_entry *entry)
{
	const peer_list *list = peer;
	uint32_t i;

	for (i = 0; i < list->used; i++)
		entry[i] = (peer_entry){ list->key[i], list->count[i] - list->error[i], list->count[i] };
	return list->used;
}

static int64_t
bound(const void *peer)
{
	const peer_list *list = peer;

	return peer_list_full(list) ? list->count[0] : 0;
}

/*
 * Add up counts and errors.  A list that lacks a key may have counted the key up to the list's
 * least count, which is added to the key's count and error.  The m keys with the largest counts
 * remain (Agarwal and others, "Mergeable Summaries", 2012).
 */
static void
merge(void *into, const void *from)
{
	peer_list *a = into;
	const peer_list *b = from;
	uint32_t missed_a = (uint32_t) bound(a);
	uint32_t missed_b = (uint32_t) bound(b);
	uint32_t room = a->room;
	peer_list both;
	uint32_t i;

	peer_list_init(&both, a->used + b->used, true);
	for (i = 0; i < a->used; i++)
	{
		int64_t at = peer_list_find(b, a->key[i]);

		peer_list_add(&both, a->key[i], a->count[i] + (at >= 0 ? b->count[at] : missed_b),
					  a->error[i] + (at >= 0 ? b->error[at] : missed_b));
	}
	for (i = 0; i < b->used; i++)
		if (peer_list_find(a, b->key[i]) < 0)
			peer_list_add(&both, b->key[i], b->count[i] + missed_a, b->error[i] + missed_a);
	peer_list_shrink(&both, room);
	peer_list_free(a);
	*a = both;
}

const peer_kind peer_space_saving = {
	.name = "Space-Saving",
	.merges = "yes, errors add",
	.weights = "yes",
	.removes = "no",
	.make = make,
	.add = add,
	.merge = merge,
	.estimate = peer_bare_estimate,
	.list = list_keys,
	.bound = bound,
	.bytes = peer_bare_bytes,
	.write = peer_bare_write,
	.free = peer_bare_free,
};
