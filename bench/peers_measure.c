/*
 * peers_measure.c
 *		Fills structures, and measures their errors and the keys that they name.
 *
 * bench/peers_measure.c
 */
#include <stdlib.h>

#include "peers.h"

#define SEEDS 3

const peer_size peer_sizes[PEER_SIZES] = {
	{ "16 kB", 16 << 10 }, { "64 kB", 64 << 10 }, { "256 kB", 256 << 10 },
	{ "1 MB", 1 << 20 },   { "4 MB", 4 << 20 },   { "16 MB", 16 << 20 },
};

/* Make a structure of the rows number "from" to "to" - 1. */
static void *
fill_rows(const peer_kind *kind, const peer_order *order, size_t from, size_t to)
{
	const stream *s = order->input;
	void *peer = kind->make(kind, order);
	size_t i, n;

	for (i = from; i < to; i += n)
	{
		n = to - i < QS_BATCH ? to - i : QS_BATCH;
		kind->add(peer, s->row + i, s->weight ? s->weight + i : NULL, n);
	}
	return peer;
}

void *
peer_fill_shards(const peer_kind *kind, const peer_order *order, uint32_t shards)
{
	size_t rows = order->input->rows;
	void *peer = fill_rows(kind, order, 0, rows / shards);
	uint32_t i;

	for (i = 1; i < shards; i++)
	{
		void *shard = fill_rows(kind, order, rows * i / shards, rows * (i + 1) / shards);

		kind->merge(peer, shard);
		kind->free(shard);
	}
	if (kind->ready)
		kind->ready(peer);
	return peer;
}

void *
peer_fill(const peer_kind *kind, const peer_order *order)
{
	return peer_fill_shards(kind, order, 1);
}

static int
ascending(const void *a, const void *b)
{
	int64_t x = *(const int64_t *) a;
	int64_t y = *(const int64_t *) b;

	return (x > y) - (x < y);
}

peer_errors
peer_measure(const peer_kind *kind, const void *peer, const stream *s, uint32_t from, uint32_t to)
{
	peer_errors e = { .keys = to - from };
	int64_t *off;
	uint32_t i;

	if (to <= from)
		return e;
	off = bench_alloc(e.keys, sizeof(*off));
	for (i = 0; i < e.keys; i++)
	{
		off[i] = llabs(kind->estimate(peer, s->key[from + i]) - s->count[from + i]);
		e.mean += (double) off[i] / e.keys;
	}
	qsort(off, e.keys, sizeof(*off), ascending);
	e.median = off[(e.keys - 1) / 2];
	e.most_of = off[(uint64_t) (e.keys - 1) * 99 / 100];
	e.worst = off[e.keys - 1];
	free(off);
	return e;
}

peer_errors
peer_over_seeds(const peer_kind *kind, const peer_order *order)
{
	const stream *s = order->input;
	peer_errors sum = { 0 };
	int64_t worst[SEEDS];
	uint64_t seed;

	for (seed = 1; seed <= SEEDS; seed++)
	{
		peer_order with = {
			.bytes = order->bytes, .keys = order->keys, .seed = seed, .input = s, .low = order->low
		};
		void *peer = peer_fill(kind, &with);
		peer_errors e = peer_measure(kind, peer, s, 0, s->keys);
		size_t at = seed - 1;

		report_check(order->low || kind->bytes(peer) <= order->bytes,
					 "%s: %llu of %llu bytes, mean error %.2f", kind->name,
					 (unsigned long long) kind->bytes(peer), (unsigned long long) order->bytes,
					 e.mean);
		sum.mean += e.mean / SEEDS;
		sum.most_of += e.most_of;
		for (; at > 0 && worst[at - 1] > e.worst; at--)
			worst[at] = worst[at - 1];
		worst[at] = e.worst;
		kind->free(peer);
	}
	sum.most_of /= SEEDS;
	sum.worst = worst[SEEDS / 2];
	return sum;
}

void
peer_write_errors(FILE *out, const peer_errors *e)
{
	fprintf(out, e->mean < 100 ? " %.2f / %lld / %lld" : " %.0f / %lld / %lld", e->mean,
			(long long) e->most_of, (long long) e->worst);
}

uint32_t
peer_keys_from(const stream *s, int64_t least)
{
	uint32_t low = 0;
	uint32_t high = s->keys;

	while (low < high)
	{
		uint32_t middle = low + (high - low) / 2;

		if (s->count[middle] >= least)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int
by_estimate(const void *a, const void *b)
{
	const peer_entry *x = a;
	const peer_entry *y = b;

	if (x->estimate != y->estimate)
		return x->estimate < y->estimate ? 1 : -1;
	if (x->lower != y->lower)
		return x->lower < y->lower ? 1 : -1;
	return (x->key > y->key) - (x->key < y->key);
}

peer_entry *
peer_named(const peer_kind *kind, void *peer, uint32_t *entries)
{
	peer_entry *entry = bench_alloc(PEER_ENTRIES, sizeof(*entry));

	*entries = kind->list(peer, entry);
	qsort(entry, *entries, sizeof(*entry), by_estimate);
	return entry;
}

int64_t
peer_truth(const stream *s, uint64_t key)
{
	uint32_t low = 0;
	uint32_t high = s->keys;

	while (low < high)
	{
		uint32_t middle = low + (high - low) / 2;

		if (s->key[s->by_key[middle]] < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low < s->keys && s->key[s->by_key[low]] == key ? s->count[s->by_key[low]] : 0;
}

uint32_t
peer_right(const stream *s, const peer_entry *entry, uint32_t entries, uint32_t k)
{
	int64_t least = s->count[k < s->keys ? k - 1 : s->keys - 1];
	uint32_t right = 0;
	uint32_t i;

	for (i = 0; i < k && i < entries; i++)
		right += peer_truth(s, entry[i].key) >= least;
	return right;
}
