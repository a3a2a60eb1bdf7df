/*
 * product.c
 *		How many pairs of equal keys two sketches have: the size of a join.
 *
 * The variance of a bucket's product is k times a sum over pairs of different keys x
 * and y, of f_x f_x g_y g_y + f_x g_x f_y g_y.  This sum is the product of the
 * second moments F and G of the bucket's counts, plus the square of the bucket's
 * product, less what single keys add to either.  k is the variance of how often two
 * keys meet, in units in which a key meets itself once: 1 / (m - 1) for plain
 * counters.  Where one heavy key makes nearly all of the second moment, its counters
 * can be seen and are treated apart.  Keys of other buckets count as light, which
 * overestimates the variance a little.
 *
 * src/sketch/product.c
 */
#include <math.h>

#include "sketch/bucket.h"
#include "sketch/explicit.h"
#include "sketch/product.h"

/* From this share of the variance on, the d largest counters are taken for one heavy key's. */
#define HEAVY_SHARE 0.9

/* Buckets between two pauses. */
#define PAUSE 4096

/* What all buckets have in common. */
typedef struct layout
{
	uint32_t m;     /* counters */
	uint32_t d;     /* counters of a key */
	double unit;    /* <a, b> less its mean counts a key's product so often: d - d * d / m */
	double meeting; /* variance of how often two keys meet; k above */
} layout;

/* Sums of squares and of products of counters less their mean. */
typedef struct moments
{
	double aa;
	double bb;
	double ab;
} moments;

/* The result for a bucket, for a row, or for all of them. */
typedef struct term
{
	double product;
	double variance;
} term;

static void
pause_at(const qb_memory *memory, uint64_t bucket)
{
	if (bucket % PAUSE == 0)
		qb_pause(memory);
}

bool
qs_has_product(const qs_sketch *sk)
{
	return sk->params.part != QS_PART_DEVICE;
}

/* ---- one bucket ---- */

/* The mean of the counters whose mark in "in" is "wanted". */
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

/* Mark the d largest counters. */
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

/* How far the mean of the marked counters is above that of the unmarked ones. */
static double
contrast(const uint64_t *value, const bool *in, uint32_t count)
{
	return mean_of(value, in, true, count) - mean_of(value, in, false, count);
}

/* Moments about two means, one for the marked counters and one for the unmarked ones. */
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

/* The sum over pairs of different keys if all keys are light. */
static double
light_pairs(const layout *l, const moments *s)
{
	double k = l->meeting;
	double squares = s->aa / l->unit * (s->bb / l->unit);
	double product = s->ab / l->unit * (s->ab / l->unit);

	return (2 * (squares + 2 * product) / (1 + 2 * k) + (squares - product) / (1 - k)) / 3;
}

/*
 * The sum over pairs of different keys if one heavy key owns the marked counters:
 * its pairs with light keys, and the pairs of light keys.
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

/* The share of the counters' variance that comes from the d largest standing out from the rest. */
static double
heavy_share(const layout *l, const uint64_t *value, double variance, bool *in)
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
	double share_a = heavy_share(l, a, s.aa, in_a);
	double share_b = heavy_share(l, b, s.bb, in_b);
	double pairs;

	if (share_a < HEAVY_SHARE && share_b < HEAVY_SHARE)
		pairs = light_pairs(l, &s);
	else
		pairs = heavy_pairs(l, a, b, share_a >= share_b ? in_a : in_b);
	return (term){ .product = s.ab / l->unit, .variance = l->meeting * pairs };
}

/* ---- all buckets ---- */

/*
 * The variance of how often two keys meet in a fat bucket.  The number of
 * sub-buckets that both chose varies, and in each they share a cell with chance 1 /
 * z.
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

static qs_product
sum_of_buckets(const qs_sketch *a, const qs_sketch *b, const qb_memory *memory)
{
	layout l = layout_of(a);
	uint64_t value_a[QS_BUCKET_MAX];
	uint64_t value_b[QS_BUCKET_MAX];
	term sum = { 0, 0 };
	uint64_t i;

	for (i = 0; i < a->params.n; i++)
	{
		term one;

		pause_at(memory, i);
		qs_bucket_read(a, QS_SIDE_BEST, i, value_a);
		qs_bucket_read(b, QS_SIDE_BEST, i, value_b);
		one = bucket_term(&l, value_a, value_b);
		sum.product += one.product;
		sum.variance += one.variance;
	}
	return (qs_product){ .estimate = sum.product,
						 .standard_error = sum.variance > 0 ? sqrt(sum.variance) : 0 };
}

/* ---- rows of counters: those of thread, or the bucket totals where d = m ---- */

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

/* The variance of the median of "count" normally distributed numbers with variance 1. */
static double
median_variance(uint32_t count)
{
	static const double pi = 3.14159265358979323846;

	return count == 2 ? 0.5 : pi / (2 * (count - 1) + pi);
}

/* Sums over the counters of one row, less their mean. */
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
 * In a row, all keys of one counter count as one key, so pairs of different keys are
 * pairs of counters.
 */
static term
row_term(const row *r, double n)
{
	double unit = 1 - 1 / n;
	double pairs = r->s.aa * r->s.bb + r->s.ab * r->s.ab - 2 * r->aabb;

	return (term){ .product = r->s.ab / unit, .variance = pairs / (n - 1) };
}

static void
read_rows(const qs_sketch *a, const qs_sketch *b, uint32_t rows, row *r, const qb_memory *memory)
{
	double mean_a = (double) a->total / (double) a->params.n;
	double mean_b = (double) b->total / (double) b->params.n;
	uint64_t value_a[QS_BUCKET_MAX];
	uint64_t value_b[QS_BUCKET_MAX];
	uint64_t i;
	uint32_t j;

	for (i = 0; i < a->params.n; i++)
	{
		pause_at(memory, i);
		qs_bucket_read(a, QS_SIDE_BEST, i, value_a);
		qs_bucket_read(b, QS_SIDE_BEST, i, value_b);
		for (j = 0; j < rows; j++)
			count_counter(&r[j], (double) value_a[j] - mean_a, (double) value_b[j] - mean_b);
	}
}

static qs_product
median_of_rows(const qs_sketch *a, const qs_sketch *b, uint32_t rows, const qb_memory *memory)
{
	row r[QS_DEPTH_MAX] = { { { 0, 0, 0 }, 0 } };
	double product[QS_DEPTH_MAX] = { 0 }; /* link-time optimization cannot know that d > 0 */
	double variance[QS_DEPTH_MAX] = { 0 };
	double middle;
	uint32_t j;

	read_rows(a, b, rows, r, memory);
	for (j = 0; j < rows; j++)
	{
		term one = row_term(&r[j], (double) a->params.n);

		product[j] = one.product;
		variance[j] = one.variance;
	}
	middle = median(variance, rows) * median_variance(rows);
	return (qs_product){ .estimate = median(product, rows),
						 .standard_error = middle > 0 ? sqrt(middle) : 0 };
}

/*
 * One counter for all keys says only that the product is between zero and the
 * product of the totals.
 */
static qs_product
unknown_product(const qs_sketch *a, const qs_sketch *b)
{
	double most = (double) a->total * (double) b->total;

	return (qs_product){ .estimate = most / 2, .standard_error = most / 2 };
}

static qs_product
dense_product(const qs_sketch *a, const qs_sketch *b, const qb_memory *memory)
{
	bool thread = qs_has_rows(a->params.structure);

	if (!thread && qs_bucket_counters(a, QS_SIDE_BEST) > a->params.depth)
		return sum_of_buckets(a, b, memory);
	if (a->params.n == 1)
		return unknown_product(a, b);
	return median_of_rows(a, b, thread ? a->params.depth : 1, memory);
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

/* The sketch itself if it is dense and has n buckets, else a copy that is. */
static qb_status
dense_of(const qs_sketch **dense, qs_sketch *copy, const qs_sketch *sk, uint64_t n,
		 const qb_memory *memory)
{
	qb_status status;

	*dense = sk;
	if (sk->form == QS_DENSE && sk->params.n == n)
		return QB_OK;
	*dense = copy;
	status = qs_copy(copy, sk, memory);
	if (status == QB_OK)
		status = qs_fold(copy, n);
	if (status == QB_OK && copy->form == QS_EXPLICIT)
		status = qs_make_dense(copy);
	return status;
}

qb_status
qs_inner_product(const qs_sketch *a, const qs_sketch *b, const qb_memory *memory, qs_product *out)
{
	uint64_t n = a->params.n < b->params.n ? a->params.n : b->params.n;
	qs_sketch copy_a, copy_b;
	const qs_sketch *dense_a, *dense_b;
	qb_status status;

	if (a->form == QS_EXPLICIT && b->form == QS_EXPLICIT)
	{
		*out = exact_product(a, b);
		return QB_OK;
	}
	qs_init(&copy_a, &a->params, memory);
	qs_init(&copy_b, &b->params, memory);
	status = dense_of(&dense_a, &copy_a, a, n, memory);
	if (status == QB_OK)
		status = dense_of(&dense_b, &copy_b, b, n, memory);
	if (status == QB_OK)
		*out = dense_product(dense_a, dense_b, memory);
	qs_free(&copy_a);
	qs_free(&copy_b);
	return status;
}
