/*
 * peers_heavy_keeper.c
 *		HeavyKeeper.
 *
 * d = 2 rows of buckets with the fingerprint of a key, of 16 bits, and a counter.  A key
 * whose fingerprint is there counts; another one takes 1 off the counter with the chance
 * b ^ -counter, b = 1.08, and moves in when it reaches 0.  Beside them is a list of the k
 * keys with the largest estimates (Gong and others, "HeavyKeeper: An Accurate Algorithm for
 * Finding Top-k Elephant Flows", 2018, the parallel version with both optimizations).  A key
 * that is not listed counts only up to the least count of the list, and enters it only one above
 * that.  The paper's text asks for a counter below the least count, with which no key could
 * enter; below or equal is what works.
 *
 * Counters have 4 bytes, where the paper has 2, as keys here are more frequent than that.
 * Counts only rows of weight 1.  Not mergeable: a counter belongs to one of the keys.
 *
 * bench/peers_heavy_keeper.c
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "peers.h"
#include "peers_list.h"

#define DEPTH  2
#define DECAY  1.08
#define CHANCE 512 /* beyond this count a counter never decays: its chance is below 2^-56 */

typedef struct heavy_keeper
{
	uint64_t seed;
	uint64_t width;
	uint16_t *print;
	uint32_t *count;
	peer_list list;
	uint64_t random;
	uint64_t chance[CHANCE]; /* 2^64 times that of a decay */
} heavy_keeper;

static void *
make(const peer_kind *kind, const peer_order *order)
{
	heavy_keeper *h = bench_alloc(1, sizeof(*h));
	uint32_t keys = order->keys ? order->keys : 1;
	uint32_t i;

	(void) kind;
	h->seed = h->random = order->seed;
	h->width = (order->bytes - (uint64_t) keys * PEER_LIST_BYTES) / PEER_BUCKET_BYTES / DEPTH;
	h->print = bench_alloc(h->width * DEPTH, sizeof(*h->print));
	h->count = bench_alloc(h->width * DEPTH, sizeof(*h->count));
	peer_list_init(&h->list, keys, false);
	h->chance[0] = UINT64_MAX;
	for (i = 1; i < CHANCE; i++)
		h->chance[i] = (uint64_t) (pow(DECAY, -(double) i) * 0x1p64);
	return h;
}

static uint16_t
print_of(const heavy_keeper *h, uint64_t key)
{
	return (uint16_t) (qb_hash(key, qb_seed_key(~h->seed)) >> 48);
}

/* Should a counter with this count lose 1? */
static bool
decays(heavy_keeper *h, uint32_t count)
{
	return count < CHANCE && bench_random(&h->random) <= h->chance[count];
}

/* Count the key in one bucket, if it has it or gets it; returns what it says of the key. */
static uint32_t
count_in(heavy_keeper *h, uint64_t at, uint16_t print, bool listed, uint32_t least)
{
	if (h->count[at] > 0 && h->print[at] == print)
	{
		h->count[at] += listed || h->count[at] <= least;
		return h->count[at];
	}
	if (h->count[at] > 0 && (!decays(h, h->count[at]) || --h->count[at] > 0))
		return 0;
	h->print[at] = print;
	h->count[at] = 1;
	return 1;
}

static void
add_one(heavy_keeper *h, uint64_t key)
{
	int64_t listed = peer_list_find(&h->list, key);
	uint32_t least = peer_list_full(&h->list) ? h->list.count[0] : 0;
	uint32_t told = 0;
	uint32_t i;

	for (i = 0; i < DEPTH; i++)
	{
		uint64_t at = i * h->width + peer_cell(key, h->seed, i, h->width);
		uint32_t count = count_in(h, at, print_of(h, key), listed >= 0, least);

		told = count > told ? count : told;
	}
	if (listed >= 0 && told > h->list.count[listed])
		peer_list_set(&h->list, (uint32_t) listed, told);
	if (listed >= 0 || told == 0)
		return;
	if (peer_list_full(&h->list) && told == least + 1)
		peer_list_drop_least(&h->list);
	if (!peer_list_full(&h->list))
		peer_list_add(&h->list, key, told, 0);
}

static void
add(void *peer, const uint64_t *key, const int64_t *weight, size_t count)
{
	size_t k;

	(void) weight;
	for (k = 0; k < count; k++)
		add_one(peer, key[k]);
}

static int64_t
estimate(const void *peer, uint64_t key)
{
	const heavy_keeper *h = peer;
	int64_t listed = peer_list_find(&h->list, key);
	uint32_t told = listed >= 0 ? h->list.count[listed] : 0;
	uint32_t i;

	for (i = 0; i < DEPTH; i++)
	{
		uint64_t at = i * h->width + peer_cell(key, h->seed, i, h->width);

		if (h->print[at] == print_of(h, key) && h->count[at] > told)
			told = h->count[at];
	}
	return told;
}

static uint32_t
list_keys(void *peer, peer_entry *entry)
{
	const peer_list *list = &((const heavy_keeper *) peer)->list;
	uint32_t i;

	for (i = 0; i < list->used; i++)
		entry[i] = (peer_entry){ list->key[i], 0, list->count[i] };
	return list->used;
}

static uint64_t
bytes(const void *peer)
{
	const heavy_keeper *h = peer;

	return h->width * DEPTH * PEER_BUCKET_BYTES + peer_list_bytes(&h->list);
}

static uint8_t *
write_all(void *peer, size_t *size)
{
	heavy_keeper *h = peer;
	size_t buckets = h->width * DEPTH;
	size_t listed;
	uint8_t *list = peer_bare_write(&h->list, &listed);
	uint8_t *out = bench_alloc(buckets * PEER_BUCKET_BYTES + listed, 1);

	memcpy(out, h->count, buckets * sizeof(*h->count));
	memcpy(out + buckets * sizeof(*h->count), h->print, buckets * sizeof(*h->print));
	memcpy(out + buckets * PEER_BUCKET_BYTES, list, listed);
	free(list);
	*size = buckets * PEER_BUCKET_BYTES + listed;
	return out;
}

static void
release(void *peer)
{
	heavy_keeper *h = peer;

	free(h->print);
	free(h->count);
	peer_list_free(&h->list);
	free(h);
}

const peer_kind peer_heavy_keeper = {
	.name = "HeavyKeeper",
	.merges = "no",
	.weights = "no",
	.removes = "no",
	.make = make,
	.add = add,
	.estimate = estimate,
	.list = list_keys,
	.bytes = bytes,
	.write = write_all,
	.free = release,
};
