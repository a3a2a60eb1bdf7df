/*
 * unbiased.c
 *		Estimates without the minimum's bias, computed from the key's bucket.
 *
 * Estimates from thread sketches and from device parts of sf have separate derivations (below).
 * All other unbiased estimates follow from one argument.  Let f be the weight of a key.  Without
 * this key, the counts of the key's bucket come from keys with random masks.  So any k counters of
 * the bucket have the same joint distribution as any other k counters.  The mean of the minimum,
 * over all k-subsets of the key's own counters, is f plus a noise.  The mean of the minimum, over
 * all k-subsets of all other counters of the bucket, is a noise of the same distribution.  So the
 * difference of the two means has the expectation f.
 *
 * Two values of k are used.  k = 1 compares the means of counters.  k = d compares minima.  If the
 * bucket has only c < d other counters, k = c is used instead of k = d.
 *
 * If few heavy keys make most of the noise, the difference of minima varies less than the
 * difference of means.  If many light keys make the noise, the difference of minima varies more.
 * Any mixture with fixed weights is unbiased.  mean_weight() chooses the weights with the least
 * mean absolute error over absent keys, whose count is zero.
 *
 * src/sketch/unbiased.c
 */
#include "sketch/measure.h"

#include "sketch/explicit.h"
#include "sketch/sketch.h"

/* The weights that are compared are multiples of 1/16. */
#define WEIGHT_STEPS 16

/*
 * The maximum number of absent keys for which weights are compared, and the maximum number of
 * counters that are read for these keys.
 */
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
 * Splits a bucket's counters into those that the key owns and all other counters.  Both arrays are
 * ascending.
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
		/* every key of the bucket owns all counters, so no counter contains only noise */
		e.by_min = e.by_mean = (double) value[0] - (double) sk->total / (double) sk->params.n;
		return e;
	}
	split(value, m, qs_mask_of(sk, hv), own, others);
	e.by_min = qs_subset_minimum(own, d, k) - qs_subset_minimum(others, m - d, k);
	e.by_mean = mean(own, d) - mean(others, m - d);
	return e;
}

/*
 * Estimates from a fat bucket.  Moves the key's cells to "own".  An absent key has one of the
 * remaining cells in each of d random sub-buckets.  The minimum of these d cells is noise.
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

/* Rows are independent, so the mean estimate of an absent key does not depend on the key. */
static pair
estimate_thread(const qs_sketch *sk, double mean_noise, uint64_t hv)
{
	uint64_t n = sk->params.n;
	uint64_t own[QS_DEPTH_MAX] = { 0 }; /* prevents a warning: LTO cannot know that d > 0 */
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
mixture(pair e, double weight)
{
	return e.by_min + weight * (e.by_mean - e.by_min);
}

/*
 * Returns the weight, 0 to 1, of the difference of means in the mixture.  The difference of minima
 * has the remaining weight.
 */
static double
mean_weight(const qs_sketch *sk, double mean_noise)
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

/*
 * ---- unbiased estimates from the device part of an sf sketch ----
 *
 * Let F be the cumulative distribution of slim counters.  Then the distribution of a cell is
 * F^(1/z).  The distribution of the maximum of the z - 1 other cells of its sub-bucket is
 * F^((z-1)/z).  The estimate of a key of count f is the minimum of d values max(f + own cell,
 * maximum of the other cells).  The mean of the estimate is
 *
 *	g(f) = f + sum over w >= 0 of (1 - F(w)^(1/z) * F(f + w)^((z-1)/z))^d
 *
 * F is computed from the estimates of absent keys.  Such an estimate exceeds w with a chance of
 * (1 - F(w))^d.  F has no information about cells below the least slim counter.  These cells are
 * fitted such that all cells have the mean that follows from N.
 */

/* g(f) is stored for each small count f, and for larger counts in steps of a sixteenth of f. */
#define STEP(f) (1 + (f) / 16)

/* The distribution of cells: by bin, and below noise->base, where the bins begin. */
typedef struct cells
{
	const qs_noise *noise;
	double *cdf;     /* chance that a cell is at most the bin's last value */
	double *others;  /* chance that no other cell of a sub-bucket exceeds the bin's last value */
	double low;      /* the least cell below the base */
	double fraction; /* the fraction of cells below the base */
} cells;

/* True if unbiased estimates of this dense sketch use only slim counters. */
static bool
slim_alone(const qs_sketch *sk)
{
	return qs_has_fat(sk->params.structure) && sk->params.part == QS_PART_DEVICE;
}

static double
power(double x, uint32_t n)
{
	double product = 1;

	while (n-- > 0)
		product *= x;
	return product;
}

/*
 * Returns the n-th root of 0 <= x <= 1 by Newton's method, which starts above the root and
 * descends.
 */
static double
root(double x, uint32_t n)
{
	double y = 1;

	while (x > 0)
	{
		double next = y - (y - x / power(y, n - 1)) / n;

		if (next >= y)
			return y;
		y = next;
	}
	return 0;
}

/* Returns the chance that a cell is at most w. */
static double
cell_cdf(const cells *c, double w)
{
	double base = (double) c->noise->base;

	if (w >= base)
		return c->cdf[qs_noise_bin(c->noise, (uint64_t) w)];
	return w <= c->low ? 0 : c->fraction * (w - c->low) / (base - c->low);
}

/*
 * Fits the cells below the base to the mean of all cells.  These cells are assumed to be evenly
 * distributed from c->low to the base.  The fraction of these cells is such that about one slim
 * counter is expected below the base.  With a larger fraction the least slim counter would be below
 * the base.
 */
static void
fit_low_cells(cells *c, const qs_sketch *sk)
{
	const qs_noise *noise = c->noise;
	double slim = (double) sk->params.n * 8;
	double mean = (double) sk->total * sk->params.depth / (slim * sk->params.z);
	double seen = (double) noise->base;
	uint32_t i;

	c->low = (double) noise->base;
	c->fraction = root(1 / slim, sk->params.z);
	for (i = 0; i < noise->bins; i++)
		seen += (1 - c->cdf[i]) * (double) qs_bin_width(i);
	if (seen > mean)
		c->low -= 2 * (seen - mean) / c->fraction;
	if (c->low < 0)
		c->low = 0;
}

/* Returns g(f).  Each bin that ends above f adds a term, as in qs_noise_mean(). */
static double
expect_estimate(const cells *c, uint32_t depth, double f)
{
	double v = (double) c->noise->base; /* f + w */
	double before = 1;
	double sum = f > v ? f : v;
	uint32_t i;

	for (i = 0; i < c->noise->bins; i++)
	{
		double width = (double) qs_bin_width(i);
		double after, part;

		v += width;
		if (v <= f)
			continue;
		after = power(1 - cell_cdf(c, v - 1 - f) * c->others[i], depth);
		part = v - f < width ? v - f : width;
		sum += part * before - (before - after) * (part + 1) / 2;
		before = after;
	}
	return sum;
}

static void
fill_cells(cells *c, const qs_sketch *sk)
{
	uint32_t i;

	for (i = 0; i < c->noise->bins; i++)
	{
		double slim = 1 - root(c->noise->above[i], sk->params.depth);

		c->cdf[i] = root(slim, sk->params.z);
		c->others[i] = c->cdf[i] > 0 ? slim / c->cdf[i] : 0;
	}
	fit_low_cells(c, sk);
}

/*
 * Computes noise->average_estimate of a device part from noise->above.  QB_NO_MEMORY is the only
 * error.
 */
static qb_status
slim_measure(qs_noise *noise, const qs_sketch *sk)
{
	const qb_memory *memory = noise->memory;
	cells c = { .noise = noise };
	uint64_t most =
		noise->most < INT64_MAX ? noise->most : INT64_MAX; /* damaged bytes may have more noise */
	uint64_t f;

	for (f = 0; f <= most; f += STEP(f))
		noise->counts++;
	c.cdf = memory->alloc(memory->context, sizeof(double) * noise->bins * 2);
	noise->average_estimate = memory->alloc(memory->context, sizeof(double) * noise->counts);
	if (c.cdf && noise->average_estimate)
	{
		c.others = c.cdf + noise->bins;
		fill_cells(&c, sk);
		for (f = 0, noise->counts = 0; f <= most; f += STEP(f))
			noise->average_estimate[noise->counts++] =
				expect_estimate(&c, sk->params.depth, (double) f);
	}
	if (c.cdf)
		memory->release(memory->context, c.cdf);
	return c.cdf && noise->average_estimate ? QB_OK : QB_NO_MEMORY;
}

/* Returns the count whose average estimate is "estimate": the inverse of g. */
static double
slim_estimate(const qs_noise *noise, double estimate)
{
	double f = 0;
	uint32_t i;

	if (estimate <= noise->average_estimate[0])
		return estimate - noise->average_estimate[0];
	for (i = 0; i + 1 < noise->counts; i++)
	{
		double step = (double) STEP((uint64_t) f);

		if (estimate < noise->average_estimate[i + 1])
			return f + step * (estimate - noise->average_estimate[i]) /
						   (noise->average_estimate[i + 1] - noise->average_estimate[i]);
		f += step;
	}
	return f + estimate - noise->average_estimate[i];
}

/* ---- any sketch ---- */

qb_status
qs_noise_init(qs_noise *noise, const qs_sketch *sk, uint64_t probes, const qb_memory *memory)
{
	qb_status status = qs_noise_measure(noise, sk, probes, memory);

	if (status != QB_OK || noise->buckets == 0)
		return status;
	if (slim_alone(sk) && slim_measure(noise, sk) != QB_OK)
	{
		qs_noise_free(noise);
		return QB_NO_MEMORY;
	}
	noise->mean = qs_noise_mean(noise);
	noise->mean_weight = mean_weight(sk, noise->mean);
	return QB_OK;
}

double
qs_estimate_unbiased(const qs_sketch *sk, const qs_noise *noise, uint64_t fingerprint)
{
	uint64_t hv = qb_hash(fingerprint, sk->seed_key);

	if (sk->encoding == QS_EXPLICIT)
		return (double) qs_explicit_get(sk, fingerprint);
	if (slim_alone(sk))
		return slim_estimate(noise, (double) qs_estimate(sk, fingerprint));
	return mixture(estimate_both(sk, noise->mean, hv), noise->mean_weight);
}
