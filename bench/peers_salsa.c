/*
 * peers_salsa.c
 *		SALSA: Count-Min with counters that merge with their neighbours.
 *
 * Each of d rows has counters of one byte.  A counter that overflows merges with its neighbour, to
 * a counter of two bytes and, after the next overflow, of four bytes.  The merged counter
 * has the larger of both values (Ben Basat, Einziger, Mitzenmacher and Vargaftik, "SALSA:
 * Self-Adjusting Lean Streaming Analytics", 2021: maximum merge, simple encoding).  Each byte has a
 * bit for merges.  The bit of the first byte of a pair is set if the pair has merged.  The bit of
 * the second byte of four is set if all four have merged.
 *
 * Estimates are never below the true weight, and never above the estimates of a Count-Min sketch
 * whose counters are the groups of four bytes.  Merging by the larger value makes removals
 * impossible.  With conservative update, only counters below estimate + w are raised.
 *
 * Total weights must stay below 2^32.
 *
 * bench/peers_salsa.c
 */
#include <stdlib.h>
#include <string.h>

#include "peers.h"

#define DEPTH 3
#define GROUP 4 /* bytes of the largest counter */

typedef struct salsa
{
	uint64_t seed;
	uint64_t width; /* bytes of one row */
	bool conservative;
	uint8_t *cell;
	uint8_t *merged; /* a bit for each byte of "cell" */
} salsa;

static void *
make(const peer_kind *kind, const peer_order *order)
{
	salsa *s = bench_alloc(1, sizeof(*s));

	s->seed = order->seed;
	s->conservative = kind == &peer_salsa_conservative;
	s->width = order->bytes * 8 / 9 / DEPTH / (2 * GROUP) * (2 * GROUP);
	s->cell = bench_alloc(s->width * DEPTH, 1);
	s->merged = bench_alloc(s->width * DEPTH / 8, 1);
	return s;
}

static bool
bit(const salsa *s, uint64_t at)
{
	return s->merged[at / 8] >> (at % 8) & 1;
}

/* Return the bytes of the counter that contains byte "at". */
static uint32_t
size_of(const salsa *s, uint64_t at)
{
	if (bit(s, (at & ~UINT64_C(3)) + 1))
		return 4;
	return bit(s, at & ~UINT64_C(1)) ? 2 : 1;
}

/* Return the counter of "size" bytes that contains byte "at". */
static uint32_t
load(const salsa *s, uint64_t at, uint32_t size)
{
	const uint8_t *cell = s->cell + (at & ~(uint64_t) (size - 1));
	uint32_t value = 0;
	uint32_t i;

	for (i = 0; i < size; i++)
		value |= (uint32_t) cell[i] << (8 * i);
	return value;
}

static void
store(salsa *s, uint64_t at, uint32_t size, uint32_t value)
{
	uint8_t *cell = s->cell + (at & ~(uint64_t) (size - 1));
	uint32_t i;

	for (i = 0; i < size; i++)
		cell[i] = (uint8_t) (value >> (8 * i));
}

static uint32_t
larger(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* Return the largest of the counters in the aligned "size" bytes that contain byte "at". */
static uint32_t
largest(const salsa *s, uint64_t at, uint32_t size)
{
	uint64_t first = at & ~(uint64_t) (size - 1);

	if (size_of(s, first) >= size)
		return load(s, first, size);
	return larger(largest(s, first, size / 2), largest(s, first + size / 2, size / 2));
}

/*
 * Merge the counter at "at" with its neighbours until it has "least" bytes and can hold "value".
 * Set the counter to the largest of "value" and the merged counters.
 */
static void
grow(salsa *s, uint64_t at, uint32_t least, uint32_t value)
{
	uint32_t size = size_of(s, at);

	value = larger(value, load(s, at, size));
	while (size < least || (size < GROUP && value >> (8 * size)))
	{
		uint64_t sibling = (at & ~(uint64_t) (size - 1)) ^ size;
		uint64_t mark = (at & ~(uint64_t) (2 * size - 1)) + size - 1;

		value = larger(value, largest(s, sibling, size));
		s->merged[mark / 8] |= (uint8_t) (1 << (mark % 8));
		size *= 2;
	}
	store(s, at, size, value);
}

static void
find(const salsa *s, uint64_t key, uint64_t *at)
{
	uint32_t i;

	for (i = 0; i < DEPTH; i++)
		at[i] = i * s->width + peer_cell(key, s->seed, i, s->width);
}

static int64_t
estimate(const void *peer, uint64_t key)
{
	const salsa *s = peer;
	uint64_t at[DEPTH];
	uint32_t least = UINT32_MAX;
	uint32_t i;

	find(s, key, at);
	for (i = 0; i < DEPTH; i++)
	{
		uint32_t value = load(s, at[i], size_of(s, at[i]));

		least = value < least ? value : least;
	}
	return least;
}

static void
add(void *peer, const uint64_t *key, const int64_t *weight, size_t count)
{
	salsa *s = peer;
	uint64_t at[DEPTH];
	size_t k;
	uint32_t i;

	for (k = 0; k < count; k++)
	{
		uint32_t w = weight ? (uint32_t) weight[k] : 1;
		uint32_t told = s->conservative ? (uint32_t) estimate(s, key[k]) + w : 0;

		find(s, key[k], at);
		for (i = 0; i < DEPTH; i++)
		{
			uint32_t now = load(s, at[i], size_of(s, at[i]));

			grow(s, at[i], 1, s->conservative ? larger(now, told) : now + w);
		}
	}
}

/*
 * Where counters of the two sketches overlap, make one counter of the larger size.  Its value is
 * the counter of "a" plus the largest counter of "b" in the same bytes, so estimates are never
 * below the true weight.  All sums of a group are computed before a sum can overflow into a
 * neighbour.
 */
static void
merge_group(salsa *a, const salsa *b, uint64_t first)
{
	uint32_t sum[GROUP];
	uint32_t i;

	for (i = 0; i < GROUP; i++)
		grow(a, first + i, size_of(b, first + i), 0);
	for (i = 0; i < GROUP; i++)
	{
		uint32_t size = size_of(a, first + i);

		sum[i] = load(a, first + i, size) + largest(b, first + i, size);
	}
	for (i = 0; i < GROUP; i++)
		grow(a, first + i, 1, sum[i]);
}

static void
merge(void *into, const void *from)
{
	salsa *a = into;
	uint64_t at;

	for (at = 0; at < a->width * DEPTH; at += GROUP)
		merge_group(a, from, at);
}

static uint64_t
bytes(const void *peer)
{
	return ((const salsa *) peer)->width * DEPTH * 9 / 8;
}

static uint8_t *
write_cells(void *peer, size_t *size)
{
	const salsa *s = peer;
	uint64_t cells = s->width * DEPTH;
	uint8_t *out = bench_alloc(cells * 9 / 8, 1);

	*size = cells * 9 / 8;
	memcpy(out, s->cell, cells);
	memcpy(out + cells, s->merged, cells / 8);
	return out;
}

static void
release(void *peer)
{
	salsa *s = peer;

	free(s->cell);
	free(s->merged);
	free(s);
}

#define SALSA(what, merged)                                                                      \
	.name = what, .merges = merged, .weights = "yes", .removes = "no", .make = make, .add = add, \
	.merge = merge, .estimate = estimate, .bytes = bytes, .write = write_cells, .free = release

const peer_kind peer_salsa = { SALSA("SALSA", "nearly exactly") };
const peer_kind peer_salsa_conservative = { SALSA("SALSA, conservative", "with more error") };
