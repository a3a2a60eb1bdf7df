/*
 * unbiased.c
 *		Estimates without the minimum's bias, from the same bucket.
 *
 * All estimates here come from one argument.  Take away the key and its weight f.
 * What is left in its bucket was put there under random masks, so any k counters of
 * the bucket have the same joint distribution as any other k.  Take the mean, over
 * all k-subsets of the key's own counters, of the subset's minimum: it is f plus a
 * noise.  The same mean over the counters that the key does not own is such a
 * noise.  So their difference has expectation f.  Two such differences are used: k =
 * d, which is the usual minimum (where fewer than d counters are left, k is their
 * number), and k = 1, which compares means.
 *
 * The minimum is robust where few heavy keys make most of the noise; the mean varies
 * less where many light keys do.  Any mixture with fixed weights is unbiased.  So
 * the weight is the one with the least mean absolute error over keys that are not
 * there, whose count is known to be zero.
 *
 * src/sketch/unbiased.c
 */
#include "sketch/bucket.h"
#include "sketch/explicit.h"
#include "sketch/slim.h"
#include "sketch/thread.h"
#include "sketch/unbiased.h"

/* Weights that are tried: multiples of 1/16. */
#define WEIGHT_STEPS 16

/* How many keys the weights are tried on, and how many counters that may read. */
#define PROBES         2048
#define PROBE_COUNTERS (UINT64_C(1) << 16)

/* Two estimates of one count. */
typedef struct pair
{
	double by_min;
	double by_mean;
} pair;

bool
qs_unbiased_needs_noise(const qs_sketch *sk)
{
	return sk->encoding == QS_DENSE;
}

static double
mean(const uint64_t *value, uint32_t count)
{
	double sum = 0;
	uint32_t i;

	for (i = 0; i < count; i++)
		sum += (double) value[i];
	return sum / count;
}

/*
 * Split a bucket's counters into those that the key owns and those that it does not,
 * both ascending.
 */
static void
split(const uint64_t *value, uint32_t count, uint32_t mask, uint64_t *own, uint64_t *others)
{
	uint32_t owned = 0;
	uint32_t i;

	for (i = 0; i < count; i++)
		if (mask >> i & 1)
			own[owned++] = value[i];
		else
			others[i - owned] = value[i];
	qs_values_sort(own, owned);
	qs_values_sort(others, count - owned);
}

static pair
estimate_plain(const qs_sketch *sk, uint64_t hv)
{
	uint32_t m = qs_bucket_width(sk->params.structure);
	uint32_t d = sk->params.depth;
	uint32_t k = d < m - d ? d : m - d;
	uint64_t value[QS_MASK_BITS_MAX];
	uint64_t own[QS_MASK_BITS_MAX];
	uint64_t others[QS_MASK_BITS_MAX];
	pair e;

	qs_bucket_read(sk, QS_SIDE_BEST, qb_reduce(hv, sk->params.n), value);
	if (k == 0)
	{
		/* every key of the bucket owns all counters, so none is left for the noise */
		e.by_min = e.by_mean = (double) value[0] - (double) sk->total / (double) sk->params.n;
		return e;
	}
	split(value, m, qs_mask_of(sk, hv), own, others);
	e.by_min = qs_subset_minimum(own, d, k) - qs_subset_minimum(others, m - d, k);
	e.by_mean = mean(own, d) - mean(others, m - d);
	return e;
}

/*
 * In a fat bucket, move the key's own cells to "own", and see what d of the 8
 * sub-buckets tell with the cells that are left.
 */
static pair
estimate_fat(const qs_sketch *sk, uint64_t hv)
{
	uint32_t z = sk->params.z;
	uint32_t d = sk->params.depth;
	uint32_t mask = qs_mask_of(sk, hv);
	uint64_t cell[QS_BUCKET_MAX];
	uint64_t value[QS_BUCKET_MAX + 1];
	double chance[QS_BUCKET_MAX + 1];
	uint64_t own[QS_SF_WIDTH];
	uint32_t size[QS_SF_WIDTH];
	uint32_t owned = 0;
	pair noise = { 0, 0 };
	uint32_t count, j;

	qs_bucket_read(sk, QS_SIDE_BEST, qb_reduce(hv, sk->params.n), cell);
	for (j = 0; j < QS_SF_WIDTH; j++)
	{
		size[j] = z;
		if (mask >> j & 1)
		{
			uint64_t *mine = cell + j * z + qs_sf_cell(hv, owned, z);

			own[owned++] = *mine;
			*mine = cell[j * z + z - 1];
			size[j] = z - 1;
		}
		qs_values_sort(cell + j * z, size[j]);
		noise.by_mean += mean(cell + j * z, size[j]) / QS_SF_WIDTH;
	}
	qs_values_sort(own, d);
	count = qs_fat_chances(cell, z, size, d, value, chance);
	for (j = 0; j < count; j++)
		noise.by_min += chance[j] * (double) value[j];
	return (pair){ .by_min = (double) own[0] - noise.by_min,
				   .by_mean = mean(own, d) - noise.by_mean };
}

/* Rows are independent, so what absent keys are told is the same everywhere. */
static pair
estimate_thread(const qs_sketch *sk, double mean_noise, uint64_t hv)
{
	uint64_t n = sk->params.n;
	uint64_t own[QS_DEPTH_MAX] = { 0 }; /* link-time optimization cannot know that d > 0 */
	uint32_t j;

	for (j = 0; j < sk->params.depth; j++)
		own[j] = qb_counter_get(sk->table, n * j + qs_row_cell(hv, j, n), sk->wide);
	qs_values_sort(own, sk->params.depth);
	return (pair){ .by_min = (double) own[0] - mean_noise,
				   .by_mean = mean(own, sk->params.depth) - (double) sk->total / (double) n };
}

static pair
estimate_both(const qs_sketch *sk, double mean_noise, uint64_t hv)
{
	if (qs_has_rows(sk->params.structure))
		return estimate_thread(sk, mean_noise, hv);
	if (qs_bucket_is_fat(sk, QS_SIDE_BEST))
		return estimate_fat(sk, hv);
	return estimate_plain(sk, hv);
}

static double
distance(double x)
{
	return x < 0 ? -x : x;
}

static double
mixture(pair e, double mean_weight)
{
	return e.by_min + mean_weight * (e.by_mean - e.by_min);
}

double
qs_unbiased_weight(const qs_sketch *sk, double mean_noise)
{
	uint64_t probes = PROBE_COUNTERS / qs_bucket_counters(sk, QS_SIDE_BEST);
	double error[WEIGHT_STEPS + 1] = { 0 };
	uint32_t best = 0;
	uint64_t i;
	uint32_t w;

	if (probes > PROBES)
		probes = PROBES;
	for (i = 0; i < probes; i++)
	{
		pair e = estimate_both(sk, mean_noise, qb_mix64(sk->seed_key + i));

		for (w = 0; w <= WEIGHT_STEPS; w++)
			error[w] += distance(mixture(e, (double) w / WEIGHT_STEPS));
	}
	for (w = 1; w <= WEIGHT_STEPS; w++)
		if (error[w] < error[best])
			best = w;
	return (double) best / WEIGHT_STEPS;
}

double
qs_estimate_unbiased(const qs_sketch *sk, const qs_noise *noise, uint64_t fingerprint)
{
	uint64_t hv = qb_hash(fingerprint, sk->seed_key);

	if (sk->encoding == QS_EXPLICIT)
		return (double) qs_explicit_get(sk, fingerprint);
	if (qs_slim_alone(sk))
		return qs_slim_estimate(noise, (double) qs_estimate(sk, fingerprint));
	return mixture(estimate_both(sk, noise->mean, hv), noise->mean_weight);
}
