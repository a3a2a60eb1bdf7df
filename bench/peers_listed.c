/*
 * peers_listed.c
 *		A sketch with a list of the k keys that had the largest estimates.
 *
 * A sketch does not store its keys.  Usually, a heap of k keys is added to the sketch: each added
 * key is estimated, and enters the heap if its estimate is greater than the least estimate in the
 * heap.  This file estimates keys after each batch of rows, not after each row.  The list and the
 * sketch together have the given bytes.
 *
 * bench/peers_listed.c
 */
#include <stdlib.h>

#include "peers.h"
#include "peers_list.h"

typedef struct listed
{
	const peer_kind *kind;
	void *sketch;
	peer_list list;
} listed;

static void *
make(const peer_kind *kind, const peer_order *order)
{
	listed *l = bench_alloc(1, sizeof(*l));
	peer_order rest = *order;

	rest.bytes -= (uint64_t) order->keys * PEER_LIST_BYTES;
	l->kind = kind->within;
	l->sketch = l->kind->make(l->kind, &rest);
	peer_list_init(&l->list, order->keys, false);
	return l;
}

static void
offer(listed *l, uint64_t key)
{
	uint32_t told = (uint32_t) l->kind->estimate(l->sketch, key);
	int64_t at = peer_list_find(&l->list, key);

	if (at >= 0)
	{
		peer_list_set(&l->list, (uint32_t) at, told);
		return;
	}
	if (peer_list_full(&l->list) && told > l->list.count[0])
		peer_list_drop_least(&l->list);
	if (!peer_list_full(&l->list))
		peer_list_add(&l->list, key, told, 0);
}

static void
add(void *peer, const uint64_t *key, const int64_t *weight, size_t count)
{
	listed *l = peer;
	size_t i;

	l->kind->add(l->sketch, key, weight, count);
	for (i = 0; i < count; i++)
		offer(l, key[i]);
}

/* Merge the sketches, and estimate the keys of both lists again. */
static void
merge(void *into, const void *from)
{
	listed *a = into;
	const listed *b = from;
	peer_list before = a->list;
	uint32_t i;

	a->kind->merge(a->sketch, b->sketch);
	peer_list_init(&a->list, before.room, false);
	for (i = 0; i < before.used; i++)
		offer(a, before.key[i]);
	for (i = 0; i < b->list.used; i++)
		offer(a, b->list.key[i]);
	peer_list_free(&before);
}

static int64_t
estimate(const void *peer, uint64_t key)
{
	const listed *l = peer;

	return l->kind->estimate(l->sketch, key);
}

static uint32_t
list_keys(void *peer, peer_entry *entry)
{
	const listed *l = peer;
	uint32_t i;

	for (i = 0; i < l->list.used; i++)
		entry[i] = (peer_entry){ l->list.key[i], 0, l->kind->estimate(l->sketch, l->list.key[i]) };
	return l->list.used;
}

static uint64_t
bytes(const void *peer)
{
	const listed *l = peer;

	return l->kind->bytes(l->sketch) + peer_list_bytes(&l->list);
}

static void
release(void *peer)
{
	listed *l = peer;

	l->kind->free(l->sketch);
	peer_list_free(&l->list);
	free(l);
}

#define LISTED(what, sketch)                                                                       \
	.name = what, .within = &sketch, .merges = "as the sketch", .weights = "yes", .removes = "no", \
	.make = make, .add = add, .merge = merge, .estimate = estimate, .list = list_keys,             \
	.bytes = bytes, .free = release

const peer_kind peer_listed_thread = { LISTED("Count-Min and a heap", peer_thread) };
const peer_kind peer_listed_conservative = { LISTED("Count-Min, conservative, and a heap",
													peer_conservative) };
const peer_kind peer_listed_count_sketch = { LISTED("Count sketch and a heap", peer_count_sketch) };
const peer_kind peer_listed_salsa = { LISTED("SALSA and a heap", peer_salsa) };
const peer_kind peer_listed_salsa_conservative = { LISTED("SALSA, conservative, and a heap",
														  peer_salsa_conservative) };
