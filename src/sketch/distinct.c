/*
 * distinct.c
 *		How many distinct keys a sketch has, from the counters that are zero.
 *
 * distinct.h has the derivation.
 *
 * src/sketch/distinct.c
 */
#include <math.h>

#include "sketch/measure.h"
#include "sketch/distinct.h"
#include "sketch/blocks.h"

/* Buckets between two pauses. */
#define PAUSE 4096

/* How counters are chosen. */
typedef struct layout
{
	double counters; /* C */
	double bucket;   /* counters of a bucket; of all others, a key of the bucket has none */
	double p;        /* chance that a key has a given counter */
} layout;

static layout
layout_of(const qs_sketch *sk)
{
	const qs_params *p = &sk->params;
	double n = (double) p->n;
	double cells = qs_bucket_is_fat(sk, QS_SIDE_BEST) ? p->z : 1;
	double m = qs_bucket_width(p->structure);

	if (qs_has_rows(p->structure))
		return (layout){ .counters = p->depth * n, .bucket = 1, .p = 1 / n };
	return (
		layout){ .counters = m * cells * n, .bucket = m * cells, .p = p->depth / (m * cells * n) };
}

/* The counters of a compact sketch that are not zero, which are those it has. */
static uint64_t
count_compact(const qs_sketch *view, const qb_memory *memory)
{
	qs_groups groups = qs_groups_of(view);
	uint64_t count = 0;
	qs_block_reader reader;
	qs_block block;

	while (qs_next_group(&groups, &reader))
	{
		qb_pause_after(memory, &groups.steps, 1 + (uint64_t) (reader.end - reader.next));
		while (qs_read_block(&reader, &block))
			count += block.count;
	}
	return count;
}

static uint64_t
count_zeros(const qs_sketch *sk, const qb_memory *memory)
{
	uint32_t counters = qs_bucket_counters(sk, QS_SIDE_BEST);
	uint64_t value[QS_BUCKET_MAX];
	uint64_t zeros = 0;
	uint64_t i;

	for (i = 0; i < sk->params.n; i++)
	{
		uint32_t j;

		if (i % PAUSE == 0)
			qb_pause(memory);
		qs_bucket_read(sk, QS_SIDE_BEST, i, value);
		for (j = 0; j < counters; j++)
			zeros += value[j] == 0;
	}
	return zeros;
}

/* both[t]: the chance that a rotated mask has a given counter and the one t positions on. */
static void
measure_masks(const qs_sketch *sk, double *both)
{
	uint32_t m = qs_bucket_width(sk->params.structure);
	uint32_t masks = qs_mask_count(&sk->params);
	uint32_t rotation;
	uint32_t i;

	for (rotation = 0; rotation < m; rotation++)
		both[rotation] = 0;
	for (i = 0; i < masks; i++)
	{
		uint32_t mask = sk->masks ? sk->masks[i] : qs_mask(sk->seed_key, m, sk->params.depth, i);

		for (rotation = 1; rotation < m; rotation++)
			both[rotation] += __builtin_popcount(mask & qs_mask_rotate_by(mask, m, rotation));
	}
	for (rotation = 0; rotation < m; rotation++)
		both[rotation] /= (double) m * masks;
}

/*
 * P(both zero) / q^2 - 1 of two counters that a key has together with chance s.  A key that
 * has one counter in any case (p = 1) leaves none that is zero.
 */
static double
excess(const layout *l, double s, double keys)
{
	return expm1(keys * log1p((s - l->p * l->p) / ((1 - l->p) * (1 - l->p))));
}

/* The sum of excess() over the other counters of a counter's bucket. */
static double
excess_in_bucket(const qs_sketch *sk, const layout *l, double keys)
{
	double n = (double) sk->params.n;
	double z = qs_bucket_is_fat(sk, QS_SIDE_BEST) ? sk->params.z : 1;
	double both[QS_MASK_BITS_MAX];
	double sum;
	uint32_t rotation;

	measure_masks(sk, both);
	sum = z > 1 ? (z - 1) * excess(l, 0, keys) : 0;
	for (rotation = 1; rotation < qs_bucket_width(sk->params.structure); rotation++)
		sum += z * excess(l, both[rotation] / (z * z * n), keys);
	return sum;
}

/* The variance of U (distinct.h), if there are "keys" distinct keys. */
static double
variance_of(const qs_sketch *sk, const layout *l, double keys)
{
	double q = exp(keys * log1p(-l->p));
	double others; /* the sum of excess() over all other counters of a counter */

	if (qs_has_rows(sk->params.structure))
		others = ((double) sk->params.n - 1) * excess(l, 0, keys);
	else
		others = excess_in_bucket(sk, l, keys) + (l->counters - l->bucket) * excess(l, 0, keys);
	return l->counters * q * (1 - q + q * others);
}

qs_distinct
qs_distinct_keys(const qs_sketch *sk, const qb_memory *memory)
{
	qs_distinct result = { .known = true };
	layout l = layout_of(sk);
	double zeros;
	double slope;
	double variance;
	double keys;

	if (sk->encoding == QS_EXPLICIT)
	{
		result.estimate = (double) sk->used;
		return result;
	}
	if (sk->encoding == QS_COMPACT)
		zeros = l.counters - (double) count_compact(sk, memory);
	else
		zeros = (double) count_zeros(sk, memory);
	if (zeros == l.counters)
		return result;
	result.known = zeros >= QS_DISTINCT_ZEROS && l.p < 1;
	if (!result.known)
		return result;
	slope = -log1p(-l.p);
	keys = -log(zeros / l.counters) / slope;
	variance = variance_of(sk, &l, keys);
	if (variance < 0)
		variance = 0;
	result.estimate = keys - variance / (2 * zeros * zeros * slope);
	result.standard_error = sqrt(variance) / (zeros * slope);
	return result;
}
