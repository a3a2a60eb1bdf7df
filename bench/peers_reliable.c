/*
 * peers_reliable.c
 *		ReliableSketch: layers of buckets that know how wrong they are.
 *
 * A bucket has a key and two counts: "yes" is never below what the key has counted here, "no" never
 * below what any other key has.  When "no" reaches "yes", the last key takes the bucket, and the
 * two change places.  A layer has a threshold that "no" never exceeds.  When it would, and "yes" is above
 * the threshold, the bucket is locked: its key counts on, and what is left of others goes to
 * the next layer.  So no key is told more than the sum of all thresholds too much, and the structure is
 * made for such a sum, Lambda.
 *
 * Widths of layers halve, and thresholds go down by 2.5 (Wu and others, "Approaching 100% Confidence
 * in Stream Summary through ReliableSketch", 2024; the sketch without its filter of rare keys).
 *
 * What the last layer has no room for is lost.  The paper sizes the layers so that this hardly
 * ever happens; here bytes are given, so the Lambda is found that loses nothing of the order's rows, by
 * trying.  That favours it: a user does not know the rows before.
 *
 * Depends on the order of the rows, and cannot be merged: a bucket belongs to one of the keys,
 * and a locked one has let others pass.
 *
 * bench/peers_reliable.c
 */
#include <stdlib.h>
#include <string.h>

#include "peers.h"

#define LAYERS     12
#define WIDTHS     2   /* ratio of two layers */
#define THRESHOLDS 2.5 /* the same */

#define FIRST_TRY 0.25 /* of total weight / buckets */
#define NEXT_TRY  1.2

typedef struct bucket
{
	uint64_t key;
	uint32_t yes;
	uint32_t no;
} bucket;

typedef struct reliable
{
	uint64_t seed;
	uint64_t buckets; /* of all layers */
	uint64_t width[LAYERS];
	uint32_t threshold[LAYERS];
	bucket *layer[LAYERS];
	uint64_t lost; /* weight */
} reliable;

static void
release(void *peer)
{
	reliable *r = peer;

	free(r->layer[0]);
	free(r);
}

static reliable *
make_for(const peer_order *order, double lambda)
{
	reliable *r = bench_alloc(1, sizeof(*r));
	uint64_t room = order->bytes / sizeof(bucket);
	double threshold = lambda * (THRESHOLDS - 1) / THRESHOLDS;
	uint32_t i;

	r->seed = order->seed;
	r->layer[0] = bench_alloc(room, sizeof(bucket));
	for (i = 0; i < LAYERS; i++)
	{
		r->width[i] = (room - r->buckets + 1) / WIDTHS;
		r->threshold[i] = (uint32_t) threshold;
		r->layer[i] = r->layer[0] + r->buckets;
		r->buckets += r->width[i];
		threshold /= THRESHOLDS;
	}
	return r;
}

static bucket *
find(const reliable *r, uint32_t layer, uint64_t key)
{
	return r->layer[layer] + peer_cell(key, r->seed, layer, r->width[layer]);
}

/* Count in one bucket; returns what is left for the next layer. */
static uint32_t
count_in(bucket *b, uint32_t threshold, uint64_t key, uint32_t weight)
{
	uint32_t fits = threshold - b->no;

	if (b->yes > 0 && b->key == key)
	{
		b->yes += weight;
		return 0;
	}
	if (weight > fits && b->yes > threshold)
	{
		b->no = threshold;
		return weight - fits;
	}
	b->no += weight;
	if (b->no >= b->yes)
		*b = (bucket){ key, b->no, b->yes };
	return 0;
}

static void
add(void *peer, const uint64_t *key, const int64_t *weight, size_t count)
{
	reliable *r = peer;
	size_t k;
	uint32_t i;

	for (k = 0; k < count; k++)
	{
		uint32_t left = weight ? (uint32_t) weight[k] : 1;

		for (i = 0; i < LAYERS && r->width[i] > 0 && left > 0; i++)
			left = count_in(find(r, i, key[k]), r->threshold[i], key[k], left);
		r->lost += left;
	}
}

/* With the least Lambda of those tried that loses nothing. */
static void *
make(const peer_kind *kind, const peer_order *order)
{
	const stream *s = order->input;
	double lambda = FIRST_TRY * (double) s->total * sizeof(bucket) / (double) order->bytes;

	(void) kind;
	for (;; lambda = lambda * NEXT_TRY + 1)
	{
		reliable *r = make_for(order, lambda);
		uint64_t lost;

		add(r, s->row, s->weight, s->rows);
		lost = r->lost;
		release(r);
		if (lost == 0)
			return make_for(order, lambda);
	}
}

/* A layer that may have let the key pass is one whose "no" is at its threshold. */
static int64_t
estimate(const void *peer, uint64_t key)
{
	const reliable *r = peer;
	int64_t told = 0;
	uint32_t i;

	for (i = 0; i < LAYERS && r->width[i] > 0; i++)
	{
		const bucket *b = find(r, i, key);

		if (b->yes > 0 && b->key == key)
			return told + b->yes;
		told += b->no;
		if (b->no < r->threshold[i])
			break;
	}
	return told;
}

int64_t
peer_reliable_error(const void *peer)
{
	const reliable *r = peer;
	int64_t sum = 0;
	uint32_t i;

	for (i = 0; i < LAYERS; i++)
		sum += r->threshold[i];
	return sum;
}

static uint64_t
bytes(const void *peer)
{
	return ((const reliable *) peer)->buckets * sizeof(bucket);
}

/* Counts of both kinds, then keys: so counts compress well. */
static uint8_t *
write_buckets(void *peer, size_t *size)
{
	const reliable *r = peer;
	size_t n = r->buckets;
	uint8_t *out = bench_alloc(n, sizeof(bucket));
	size_t i;

	*size = n * sizeof(bucket);
	for (i = 0; i < n; i++)
	{
		memcpy(out + 4 * i, &r->layer[0][i].no, 4);
		memcpy(out + 4 * (n + i), &r->layer[0][i].yes, 4);
		memcpy(out + 8 * (n + i), &r->layer[0][i].key, 8);
	}
	return out;
}

const peer_kind peer_reliable = {
	.name = "ReliableSketch",
	.merges = "no",
	.weights = "yes",
	.removes = "no",
	.make = make,
	.add = add,
	.estimate = estimate,
	.bytes = bytes,
	.write = write_buckets,
	.free = release,
};
