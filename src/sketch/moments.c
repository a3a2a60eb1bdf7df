/*
 * moments.c
 *		Estimates the number of distinct keys of a sketch, and the size of a join of two
 *		sketches.
 *
 * moments.h has the derivations.
 *
 * A bucket's product is its estimate of J, and has the variance k * S.  S is the sum, over ordered
 * pairs of different keys x and y, of f_x f_x g_y g_y + f_x g_x f_y g_y, where f and g are the
 * keys' counts in the two sketches.  Let F and G be the second moments of the bucket's counts in
 * the two sketches.  Then S is F * G, plus the square of the bucket's product, minus the
 * contribution of single keys to both terms.  k is the variance of the number of counters that two
 * keys share, divided by the square of d - d * d / m.  For plain counters, k is 1 / (m - 1).
 *
 * If one heavy key has nearly all of a second moment, its counters can be recognized and are
 * treated separately.  Keys of all other buckets are treated as light, which overestimates the
 * variance a little.
 *
 * src/sketch/moments.c
 */
#include <math.h>

#include "sketch/moments.h"

#include "sketch/explicit.h"
#include "sketch/pieces.h"

/*
 * If the d largest counters make at least this fraction of the variance, they are treated as the
 * counters of one heavy key.
 */
#define HEAVY_FRACTION 0.9

/* The numbers of counters and of buckets between two pauses. */
#define PAUSE   65536
#define BUCKETS 4096

/* The parameters that all buckets have in common. */
typedef struct layout
{
	uint32_t m;     /* counters of a bucket */
	uint32_t d;     /* counters of a key */
	double unit;    /* factor of a key's f * g in moments.ab: d - d * d / m */
	double meeting; /* k, as the file's opening comment defines it */
} layout;

/* Sums of squares and of products of counters after subtraction of their mean. */
typedef struct moments
{
	double aa;
	double bb;
	double ab;
} moments;

/* The result for a bucket, for a row, or for the whole sketch. */
typedef struct term
{
	double product;
	double variance;
} term;

bool
qs_has_product(const qs_sketch *sk)
{
	return sk->params.part != QS_PART_DEVICE;
}

/* ---- one bucket ---- */

/* Returns the mean of all counters i for which in[i] equals "wanted". */
static double
mean_of(const uint64_t *value, const bool *in, bool wanted, uint32_t count)
{
	unsigned __int128 sum = 0;
	uint32_t number = 0;
	uint32_t i;

	for (i = 0; i < count; i++)
		if (in[i] == wanted)
		{
			sum += value[i];
			number++;
		}
	return (double) sum / number;
}

/* Sets in[i] for the d largest counters. */
static void
find_largest(const uint64_t *value, const layout *l, bool *in)
{
	uint32_t i, found;

	memset(in, 0, l->m * sizeof(bool));
	for (found = 0; found < l->d; found++)
	{
		uint32_t best = l->m;

		for (i = 0; i < l->m; i++)
			if (!in[i] && (best == l->m || value[i] > value[best]))
				best = i;
		in[best] = true;
	}
}

/* Returns the mean of the counters in "in", minus the mean of all other counters. */
static double
contrast(const uint64_t *value, const bool *in, uint32_t count)
{
	return mean_of(value, in, true, count) - mean_of(value, in, false, count);
}

/*
 * Returns the moments about two means.  Element 1 of mean_a and mean_b is the mean of the counters
 * in "in", and element 0 is the mean of all other counters.
 */
static moments
moments_about(const uint64_t *a, const uint64_t *b, const bool *in, const double *mean_a,
			  const double *mean_b, uint32_t count)
{
	moments s = { 0, 0, 0 };
	uint32_t i;

	for (i = 0; i < count; i++)
	{
		double x = (double) a[i] - mean_a[in[i]];
		double y = (double) b[i] - mean_b[in[i]];

		s.aa += x * x;
		s.bb += y * y;
		s.ab += x * y;
	}
	return s;
}

static moments
bucket_moments(const uint64_t *a, const uint64_t *b, const bool *in, uint32_t count)
{
	bool none[QS_BUCKET_MAX] = { false };
	double mean_a[2] = { mean_of(a, none, false, count) };
	double mean_b[2] = { mean_of(b, none, false, count) };

	if (in)
	{
		mean_a[0] = mean_of(a, in, false, count);
		mean_a[1] = mean_of(a, in, true, count);
		mean_b[0] = mean_of(b, in, false, count);
		mean_b[1] = mean_of(b, in, true, count);
	}
	return moments_about(a, b, in ? in : none, mean_a, mean_b, count);
}

/* Returns S of the file's opening comment if all keys are light. */
static double
light_pairs(const layout *l, const moments *s)
{
	double k = l->meeting;
	double squares = s->aa / l->unit * (s->bb / l->unit);
	double product = s->ab / l->unit * (s->ab / l->unit);

	return (2 * (squares + 2 * product) / (1 + 2 * k) + (squares - product) / (1 - k)) / 3;
}

/*
 * Returns S if one heavy key owns the counters in "in".  S has the pairs of the heavy key with
 * light keys, and the pairs of light keys.
 */
static double
heavy_pairs(const layout *l, const uint64_t *a, const uint64_t *b, const bool *in)
{
	double f = contrast(a, in, l->m);
	double g = contrast(b, in, l->m);
	moments s = bucket_moments(a, b, in, l->m);
	double scale = (l->m - 1.0) / (l->m - 2.0) / l->unit;
	double aa = s.aa * scale;
	double bb = s.bb * scale;
	double ab = s.ab * scale;

	return f * f * bb + g * g * aa + 2 * f * g * ab + aa * bb + ab * ab;
}

/*
 * Sets in[i] for the d largest counters.  Returns the fraction of the variance that is due to the
 * difference between the mean of these counters and the mean of all other counters.
 */
static double
heavy_fraction(const layout *l, const uint64_t *value, double variance, bool *in)
{
	double f;

	find_largest(value, l, in);
	f = contrast(value, in, l->m);
	return variance > 0 ? f * f * l->unit / variance : 1;
}

static term
bucket_term(const layout *l, const uint64_t *a, const uint64_t *b)
{
	bool in_a[QS_BUCKET_MAX];
	bool in_b[QS_BUCKET_MAX];
	moments s = bucket_moments(a, b, NULL, l->m);
	double fraction_a = heavy_fraction(l, a, s.aa, in_a);
	double fraction_b = heavy_fraction(l, b, s.bb, in_b);
	double pairs;

	if (fraction_a < HEAVY_FRACTION && fraction_b < HEAVY_FRACTION)
		pairs = light_pairs(l, &s);
	else
		pairs = heavy_pairs(l, a, b, fraction_a >= fraction_b ? in_a : in_b);
	return (term){ .product = s.ab / l->unit, .variance = l->meeting * pairs };
}

/* ---- all buckets ---- */

/*
 * Returns k for a fat bucket.  The number of sub-buckets that both keys chose varies, and in each
 * shared sub-bucket the keys share a cell with chance 1 / z.
 */
static double
fat_meeting(uint32_t d, uint32_t z, double unit)
{
	double p = (double) d / QS_SF_WIDTH;
	double shared = d * p;
	double varies = shared * (1 - p) * (QS_SF_WIDTH - d) / (QS_SF_WIDTH - 1);

	return (shared * (1 - 1.0 / z) / z + varies / z / z) / (unit * unit);
}

static layout
layout_of(const qs_sketch *sk)
{
	uint32_t m = qs_bucket_counters(sk, QS_SIDE_BEST);
	uint32_t d = sk->params.depth;
	layout l = { .m = m, .d = d, .unit = d - (double) d * d / m, .meeting = 1 / (m - 1.0) };

	if (qs_bucket_is_fat(sk, QS_SIDE_BEST))
		l.meeting = fat_meeting(d, sk->params.z, l.unit);
	return l;
}

/*
 * Adds up the products and variances of the buckets that are nonzero in both sketches.  All other
 * buckets add 0: if all counters of a bucket are 0 in one sketch, the moments of these counters are
 * 0.
 */
static qs_product
sum_of_buckets(const qs_sketch *a, const qs_sketch *b, uint64_t n, const qb_memory *memory)
{
	layout l = layout_of(a);
	term sum = { 0, 0 };
	qs_walk in_a, in_b;

	qs_walk_begin(&in_a, a, n, memory);
	qs_walk_begin(&in_b, b, n, memory);
	while (in_a.more && in_b.more)
	{
		uint64_t bucket = in_a.bucket;

		if (bucket == in_b.bucket)
		{
			term one = bucket_term(&l, in_a.value, in_b.value);

			sum.product += one.product;
			sum.variance += one.variance;
		}
		if (bucket <= in_b.bucket)
			qs_walk_next(&in_a);
		if (in_b.bucket <= bucket)
			qs_walk_next(&in_b);
	}
	return (qs_product){ .estimate = sum.product,
						 .standard_error = sum.variance > 0 ? sqrt(sum.variance) : 0 };
}

/* ---- rows of counters: the rows of thread, or the bucket totals if d = m ---- */

static double
median(double *value, uint32_t count)
{
	uint32_t i;

	for (i = 1; i < count; i++)
	{
		double v = value[i];
		uint32_t j = i;

		for (; j > 0 && value[j - 1] > v; j--)
			value[j] = value[j - 1];
		value[j] = v;
	}
	return (value[(count - 1) / 2] + value[count / 2]) / 2;
}

/* Approximates the variance of the median of "count" normal random numbers of variance 1. */
static double
median_variance(uint32_t count)
{
	static const double pi = 3.14159265358979323846;

	return count == 2 ? 0.5 : pi / (2 * (count - 1) + pi);
}

/* Sums over the counters of one row after subtraction of their mean. */
typedef struct row
{
	moments s;
	double aabb;
} row;

static void
count_counter(row *r, double a, double b)
{
	r->s.aa += a * a;
	r->s.bb += b * b;
	r->s.ab += a * b;
	r->aabb += a * a * b * b;
}

/*
 * In a row, all keys of one counter are treated as one key, so pairs of different keys are pairs of
 * counters.
 */
static term
row_term(const row *r, double n)
{
	double unit = 1 - 1 / n;
	double pairs = r->s.aa * r->s.bb + r->s.ab * r->s.ab - 2 * r->aabb;

	return (term){ .product = r->s.ab / unit, .variance = pairs / (n - 1) };
}

/*
 * Adds "times" counters that are zero in both sketches.  Adds the counters one by one, so that the
 * sum is rounded as if the walks visited all counters.
 */
static void
count_zeros(row *r, double a, double b, uint64_t times, const qb_memory *memory)
{
	const row one = { { a * a, b * b, a * b }, a * a * b * b };
	row sum = *r;

	while (times > 0)
	{
		uint64_t some = times < PAUSE ? times : PAUSE;

		for (times -= some; some > 0; some--)
		{
			sum.s.aa += one.s.aa;
			sum.s.bb += one.s.bb;
			sum.s.ab += one.s.ab;
			sum.aabb += one.aabb;
		}
		qb_pause(memory);
	}
	*r = sum;
}

/*
 * Returns the smaller of the walks' current buckets, or "end" if no current bucket is before "end".
 */
static uint64_t
first_of(const qs_walk *a, const qs_walk *b, uint64_t end)
{
	uint64_t first = a->more && a->bucket < end ? a->bucket : end;

	return b->more && b->bucket < first ? b->bucket : first;
}

/*
 * Returns the counter of a bucket, and moves the walk to the next bucket.  Returns 0 if the walk
 * has skipped the bucket, which is then zero.
 */
static uint64_t
take_counter(qs_walk *walk, uint64_t bucket)
{
	uint64_t value;

	if (!walk->more || walk->bucket != bucket)
		return 0;
	value = walk->value[0];
	qs_walk_next(walk);
	return value;
}

/* Adds up one row, which begins at bucket "i" of the walks. */
static void
read_row(row *r, qs_walk *a, qs_walk *b, uint64_t i, uint64_t n)
{
	double mean_a = (double) a->sk->total / (double) n;
	double mean_b = (double) b->sk->total / (double) n;
	uint64_t end = i + n;

	while (i < end)
	{
		uint64_t bucket = first_of(a, b, end);

		count_zeros(r, 0 - mean_a, 0 - mean_b, bucket - i, a->memory);
		if (bucket < end)
		{
			double x = (double) take_counter(a, bucket);

			count_counter(r, x - mean_a, (double) take_counter(b, bucket) - mean_b);
			bucket++;
		}
		i = bucket;
	}
}

static qs_product
median_of_rows(const qs_sketch *a, const qs_sketch *b, uint64_t n, const qb_memory *memory)
{
	uint32_t rows = qs_has_rows(a->params.structure) ? a->params.depth : 1;
	row r[QS_DEPTH_MAX] = { { { 0, 0, 0 }, 0 } };
	double product[QS_DEPTH_MAX] = { 0 }; /* set because LTO warns: it cannot prove d > 0 */
	double variance[QS_DEPTH_MAX] = { 0 };
	qs_walk in_a, in_b;
	double middle;
	uint32_t j;

	qs_walk_begin(&in_a, a, n, memory);
	qs_walk_begin(&in_b, b, n, memory);
	for (j = 0; j < rows; j++)
	{
		term one;

		read_row(&r[j], &in_a, &in_b, j * n, n);
		one = row_term(&r[j], (double) n);

		product[j] = one.product;
		variance[j] = one.variance;
	}
	middle = median(variance, rows) * median_variance(rows);
	return (qs_product){ .estimate = median(product, rows),
						 .standard_error = middle > 0 ? sqrt(middle) : 0 };
}

/*
 * If all keys share one counter, J can be any number between zero and the product of the totals.
 */
static qs_product
unknown_product(const qs_sketch *a, const qs_sketch *b)
{
	double most = (double) a->total * (double) b->total;

	return (qs_product){ .estimate = most / 2, .standard_error = most / 2 };
}

/* True if products are estimated bucket by bucket. */
static bool
has_buckets(const qs_sketch *sk)
{
	return !qs_has_rows(sk->params.structure) &&
		   qs_bucket_counters(sk, QS_SIDE_BEST) > sk->params.depth;
}

static qs_product
estimated_product(const qs_sketch *a, const qs_sketch *b, uint64_t n, const qb_memory *memory)
{
	if (has_buckets(a))
		return sum_of_buckets(a, b, n, memory);
	return n == 1 ? unknown_product(a, b) : median_of_rows(a, b, n, memory);
}

/* ---- any two sketches ---- */

static qs_product
exact_product(const qs_sketch *a, const qs_sketch *b)
{
	unsigned __int128 sum = 0;
	uint64_t position = 0;
	qs_entry e;

	while (qs_explicit_next(a, &position, &e))
		sum += (unsigned __int128) e.count * (uint64_t) qs_explicit_get(b, e.fingerprint);
	return (qs_product){ .estimate = (double) sum, .standard_error = 0 };
}

/* Sets *readable to the sketch if a walk can read it, else to a dense copy. */
static qb_status
readable_of(const qs_sketch **readable, qs_sketch *copy, const qs_sketch *sk,
			const qb_memory *memory)
{
	qb_status status;

	*readable = sk;
	if (sk->encoding != QS_EXPLICIT)
		return QB_OK;
	*readable = copy;
	status = qs_copy(copy, sk, memory);
	return status == QB_OK ? qs_make_dense(copy) : status;
}

/* True if one sketch can be folded to the parameters of the other sketch, and their keys match. */
static bool
have_product(const qs_sketch *a, const qs_sketch *b)
{
	return (qs_params_fold(&a->params, &b->params) || qs_params_fold(&b->params, &a->params)) &&
		   qb_keys_match(&a->keys, &b->keys);
}

qb_status
qs_inner_product(const qs_sketch *a, const qs_sketch *b, const qb_memory *memory, qs_product *out)
{
	uint64_t n = a->params.n < b->params.n ? a->params.n : b->params.n;
	qs_sketch copy_a, copy_b;
	const qs_sketch *read_a, *read_b;
	qb_status status;

	if (!have_product(a, b))
		return QB_MISMATCH;
	if (a->encoding == QS_EXPLICIT && b->encoding == QS_EXPLICIT)
	{
		*out = exact_product(a, b);
		return QB_OK;
	}
	qs_init(&copy_a, &a->params, memory);
	qs_init(&copy_b, &b->params, memory);
	status = readable_of(&read_a, &copy_a, a, memory);
	read_b = read_a;
	if (status == QB_OK && b != a)
		status = readable_of(&read_b, &copy_b, b, memory);
	if (status == QB_OK)
		*out = estimated_product(read_a, read_b, n, memory);
	qs_free(&copy_a);
	qs_free(&copy_b);
	return status;
}

/* ---- distinct keys ---- */

/* The chance that a key owns a counter, and numbers of counters. */
typedef struct zeros
{
	double counters; /* C: number of counters */
	double bucket;   /* counters of a bucket; thread: 1 */
	double p;        /* the chance that a key owns a given counter */
} zeros;

static zeros
zeros_of(const qs_sketch *sk)
{
	const qs_params *p = &sk->params;
	double n = (double) p->n;
	double cells = qs_bucket_is_fat(sk, QS_SIDE_BEST) ? p->z : 1;
	double m = qs_bucket_width(p->structure);

	if (qs_has_rows(p->structure))
		return (zeros){ .counters = p->depth * n, .bucket = 1, .p = 1 / n };
	return (
		zeros){ .counters = m * cells * n, .bucket = m * cells, .p = p->depth / (m * cells * n) };
}

/* Returns the number of nonzero counters of a compact sketch.  Only these counters are stored. */
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
zeros_in(const qs_sketch *sk, const qb_memory *memory)
{
	uint32_t counters = qs_bucket_counters(sk, QS_SIDE_BEST);
	uint64_t value[QS_BUCKET_MAX];
	uint64_t zeros = 0;
	uint64_t i;

	for (i = 0; i < sk->params.n; i++)
	{
		uint32_t j;

		if (i % BUCKETS == 0)
			qb_pause(memory);
		qs_bucket_read(sk, QS_SIDE_BEST, i, value);
		for (j = 0; j < counters; j++)
			zeros += value[j] == 0;
	}
	return zeros;
}

/*
 * Sets both[t], for t = 1 .. m - 1, to the chance that a rotated mask selects both a given counter
 * and the counter t positions further.
 */
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
 * Returns P(both zero) / q^2 - 1 for two counters (moments.h).  A key owns both counters with
 * chance s.  p is less than 1.
 */
static double
excess(const zeros *l, double s, double keys)
{
	return expm1(keys * log1p((s - l->p * l->p) / ((1 - l->p) * (1 - l->p))));
}

/*
 * Returns the sum of excess() over all pairs of a given counter and another counter of its bucket.
 */
static double
excess_in_bucket(const qs_sketch *sk, const zeros *l, double keys)
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

/* Returns the variance of U (moments.h) if the sketch has "keys" distinct keys. */
static double
variance_of(const qs_sketch *sk, const zeros *l, double keys)
{
	double q = exp(keys * log1p(-l->p));
	double others; /* sum of excess() over all pairs of a given counter and another counter */

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
	zeros l = zeros_of(sk);
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
		zeros = (double) zeros_in(sk, memory);
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
