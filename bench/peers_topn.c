/*
 * peers_topn.c
 *		Counts keys, and drops the half with the smaller counts, as postgresql-topn does.
 *
 * postgresql-topn stores counts of up to 3 n keys, where n is its setting topn.number_of_counters.
 * A key beyond 3 n drops the half of the keys with the smaller counts.  The result is the n keys
 * with the largest counts.  A dropped key that occurs again starts at 1.  Counts are never above
 * the true counts, but may be too low by any amount.  The original accepts no weights; this file
 * adds weights to the counts.
 *
 * The size of the structure is the bytes of 3 n keys in the layout of peers_list.h.  The extension
 * takes more bytes: 256 for each key, and JSON texts.
 *
 * bench/peers_topn.c
 */
#include "peers.h"
#include "peers_list.h"

#define MARGIN 3

static void *
make(const peer_kind *kind, const peer_order *order)
{
	peer_list *list = bench_alloc(1, sizeof(*list));

	(void) kind;
	peer_list_init(list, (uint32_t) (order->bytes / PEER_LIST_BYTES), false);
	return list;
}

static void
add(void *peer, const uint64_t *key, const int64_t *weight, size_t count)
{
	peer_list *list = peer;
	size_t k;

	for (k = 0; k < count; k++)
	{
		uint32_t w = weight ? (uint32_t) weight[k] : 1;
		int64_t at = peer_list_find(list, key[k]);

		if (at >= 0)
		{
			peer_list_set(list, (uint32_t) at, list->count[at] + w);
			continue;
		}
		if (peer_list_full(list))
			while (list->used > list->room / 2)
				peer_list_drop_least(list);
		peer_list_add(list, key[k], w, 0);
	}
}

/* Add up the counts.  A key beyond the limit drops the half of the keys with the smaller counts. */
static void
merge(void *into, const void *from)
{
	const peer_list *b = from;
	uint32_t i;

	for (i = 0; i < b->used; i++)
	{
		int64_t weight = b->count[i];

		add(into, b->key + i, &weight, 1);
	}
}

/* Write the n keys with the largest counts, and drop all other keys. */
static uint32_t
list_keys(void *peer, peer_entry *entry)
{
	peer_list *list = peer;
	uint32_t i;

	while (list->used > list->room / MARGIN)
		peer_list_drop_least(list);
	for (i = 0; i < list->used; i++)
		entry[i] = (peer_entry){ list->key[i], list->count[i], list->count[i] };
	return list->used;
}

const peer_kind peer_topn = {
	.name = "topn",
	.merges = "yes, without bounds",
	.weights = "no",
	.removes = "no",
	.make = make,
	.add = add,
	.merge = merge,
	.estimate = peer_bare_estimate,
	.list = list_keys,
	.bytes = peer_bare_bytes,
	.write = peer_bare_write,
	.free = peer_bare_free,
};
