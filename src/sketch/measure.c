/*
 * measure.c
 *		Measures the noise of a sketch from its tables, and forecasts errors.
 *
 * The first pass finds the least and the largest counter, which determine the first bin and the
 * number of bins.  The second pass reads bucket after bucket.  For each counter, it computes the
 * chance that this counter is the estimate of an absent key, and adds the chance to the counter's
 * bin.  For thread, the second pass makes a histogram of each row, and multiplies the tails of all
 * histograms.
 *
 * src/sketch/measure.c
 */
#include <math.h>

#include "sketch/measure.h"

#include "sketch/sketch.h"

/* ---- which buckets ---- */

/*
 * In thread, bucket i is counter i of all rows.  For one probe, a sample of the buckets is enough.
 * The error of many probes depends on the rarest noise, so all buckets are read.
 */
uint64_t
qs_noise_buckets(const qs_sketch *sk, uint64_t probes)
{
	uint64_t room = QS_NOISE_COUNTERS / qs_bucket_counters(sk, QS_SIDE_ESTIMATE);

	if (sk->encoding == QS_EXPLICIT)
		return 0;
	return probes > 1 || sk->params.n < room ? sk->params.n : room;
}

/* Buckets between two pauses. */
#define PAUSE 4096

/* Reads bucket i of the sample.  The sample has all n buckets, or evenly spaced buckets. */
static void
visit(const qs_noise *noise, const qs_sketch *sk, uint64_t i, uint64_t *value)
{
	uint64_t bucket = (uint64_t) ((unsigned __int128) i * sk->params.n / noise->buckets);

	if (i % PAUSE == 0)
		qb_pause(noise->memory);
	qs_bucket_read(sk, QS_SIDE_ESTIMATE, bucket, value);
}

static void
find_range(qs_noise *noise, const qs_sketch *sk)
{
	uint32_t counters = qs_bucket_counters(sk, QS_SIDE_ESTIMATE);
	uint64_t count = noise->buckets;
	uint64_t value[QS_BUCKET_MAX];
	uint64_t i;

	noise->base = UINT64_MAX;
	noise->most = 0;
	for (i = 0; i < count; i++)
	{
		uint32_t j;

		visit(noise, sk, i, value);
		for (j = 0; j < counters; j++)
		{
			noise->base = value[j] < noise->base ? value[j] : noise->base;
			noise->most = value[j] > noise->most ? value[j] : noise->most;
		}
	}
}

/* ---- filling each bin with the chance that noise is in the bin ---- */

/*
 * Fills the bins from buckets of plain counters.  The estimate of an absent key is the minimum of
 * any d counters of a bucket.
 */
static void
fill_plain(qs_noise *noise, const qs_sketch *sk)
{
	uint32_t counters = qs_bucket_counters(sk, QS_SIDE_ESTIMATE);
	uint64_t count = noise->buckets;
	double chance[QS_MASK_BITS_MAX];
	uint64_t value[QS_BUCKET_MAX];
	uint64_t i;

	qs_subset_chances(counters, sk->params.depth, chance);
	for (i = 0; i < count; i++)
	{
		uint32_t j;

		visit(noise, sk, i, value);
		qs_values_sort(value, counters);
		for (j = 0; j <= counters - sk->params.depth; j++)
			noise->above[qs_bin_of(value[j] - noise->base)] += chance[j] / (double) count;
	}
}

/*
 * Fills the bins from fat buckets.  The estimate of an absent key is the minimum of one cell in
 * each of any d sub-buckets.
 */
static void
fill_fat(qs_noise *noise, const qs_sketch *sk)
{
	uint32_t z = sk->params.z;
	uint64_t count = noise->buckets;
	uint64_t cell[QS_BUCKET_MAX];
	uint64_t value[QS_BUCKET_MAX + 1];
	double chance[QS_BUCKET_MAX + 1];
	uint32_t size[QS_SF_WIDTH];
	uint64_t i;
	uint32_t j;

	for (j = 0; j < QS_SF_WIDTH; j++)
		size[j] = z;
	for (i = 0; i < count; i++)
	{
		uint32_t values;

		visit(noise, sk, i, cell);
		for (j = 0; j < QS_SF_WIDTH; j++)
			qs_values_sort(cell + j * z, z);
		values = qs_fat_chances(cell, z, size, sk->params.depth, value, chance);
		for (j = 0; j < values; j++)
			if (value[j] >= noise->base)
				noise->above[qs_bin_of(value[j] - noise->base)] += chance[j] / (double) count;
	}
}

/* Changes the chance of each bin into the chance of noise beyond the bin. */
static void
to_tails(double *chance, uint32_t bins)
{
	double tail = 0;
	uint32_t i;

	for (i = bins; i-- > 0;)
	{
		double own = chance[i];

		chance[i] = tail;
		tail += own;
	}
}

/*
 * Fills the bins of a thread sketch.  The estimate of an absent key is the minimum of one counter
 * in each row.  The rows are independent, so their tails are multiplied.  noise->above then
 * contains tails.
 */
static qb_status
fill_thread(qs_noise *noise, const qs_sketch *sk)
{
	uint32_t depth = sk->params.depth;
	uint64_t count = noise->buckets;
	uint64_t value[QS_BUCKET_MAX];
	double *rows =
		noise->memory->alloc(noise->memory->context, sizeof(double) * noise->bins * depth);
	uint64_t i;
	uint32_t j;

	if (!rows)
		return QB_NO_MEMORY;
	for (i = 0; i < count; i++)
	{
		visit(noise, sk, i, value);
		for (j = 0; j < depth; j++)
			rows[(size_t) j * noise->bins + qs_bin_of(value[j] - noise->base)] +=
				1.0 / (double) count;
	}
	for (i = 0; i < noise->bins; i++)
		noise->above[i] = 1;
	for (j = 0; j < depth; j++)
	{
		double *row = rows + (size_t) j * noise->bins;

		to_tails(row, noise->bins);
		for (i = 0; i < noise->bins; i++)
			noise->above[i] *= row[i];
	}
	noise->memory->release(noise->memory->context, rows);
	return QB_OK;
}

/* ---- masks that keys share ---- */

static uint32_t
common_divisor(uint32_t a, uint32_t b)
{
	while (b != 0)
	{
		uint32_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* Returns the number of ways to choose k of n elements. */
static double
choices(uint32_t n, uint32_t k)
{
	double ways = 1;
	uint32_t i;

	for (i = 0; i < k; i++)
		ways = ways * (n - i) / (i + 1);
	return ways;
}

/*
 * Returns the chance that two keys of a bucket have equal masks, divided by the chance with masks
 * drawn from all C(m, d) masks.  Let H be the number of masks in the table.  Two keys draw the same
 * mask of the table with chance 1/H.  Each key rotates this mask independently (params.h), and the
 * rotated masks are equal with chance o / C(m, d).  Here o is the number of classes of masks.  A
 * class has all rotations of a mask.  By Burnside's lemma o is the mean, over all rotations, of the
 * number of masks that a rotation leaves unchanged.  If two keys draw different masks, the rotated
 * masks are equal with chance 1 / C(m, d).
 */
static double
mask_repeats(const qs_sketch *sk)
{
	uint32_t m = qs_bucket_width(sk->params.structure);
	uint32_t d = sk->params.depth;
	double fixed = 0;
	uint32_t rotation;

	if (qs_has_rows(sk->params.structure))
		return 1;
	for (rotation = 0; rotation < m; rotation++)
	{
		uint32_t cycles = common_divisor(m, rotation);

		if (d % (m / cycles) == 0)
			fixed += choices(cycles, d / (m / cycles));
	}
	return 1 + (fixed / m - 1) / qs_mask_count(&sk->params);
}

/* ---- measuring ---- */

static qb_status
fill(qs_noise *noise, const qs_sketch *sk)
{
	if (qs_has_rows(sk->params.structure))
		return fill_thread(noise, sk);
	if (qs_bucket_is_fat(sk, QS_SIDE_ESTIMATE))
		fill_fat(noise, sk);
	else
		fill_plain(noise, sk);
	to_tails(noise->above, noise->bins);
	return QB_OK;
}

qb_status
qs_noise_measure(qs_noise *noise, const qs_sketch *sk, uint64_t probes, const qb_memory *memory)
{
	qb_status status;

	memset(noise, 0, sizeof(*noise));
	noise->memory = memory;
	noise->buckets = qs_noise_buckets(sk, probes);
	if (noise->buckets == 0)
		return QB_OK;
	noise->repeats = mask_repeats(sk);
	find_range(noise, sk);
	noise->bins = qs_bin_of(noise->most - noise->base) + 1;
	noise->above = memory->alloc(memory->context, sizeof(double) * noise->bins);
	if (!noise->above)
		return QB_NO_MEMORY;
	status = fill(noise, sk);
	if (status != QB_OK)
		qs_noise_free(noise);
	return status;
}

/* ---- errors from the distribution of noise ---- */

/* Chances count as equal if they differ by less than this fraction. */
#define ROUNDING 1e-9

void
qs_noise_free(qs_noise *noise)
{
	if (noise->above)
		noise->memory->release(noise->memory->context, noise->above);
	if (noise->average_estimate)
		noise->memory->release(noise->memory->context, noise->average_estimate);
	noise->above = noise->average_estimate = NULL;
	noise->bins = noise->counts = 0;
}

/* Returns the chance of noise beyond the last value of the preceding bin. */
static double
tail_before(const qs_noise *noise, uint32_t bin)
{
	return bin > 0 ? noise->above[bin - 1] : 1;
}

/*
 * The mean is the base plus the sum, over all v >= 0, of the chance that the distance exceeds v.
 * Within a bin, this chance is assumed to fall linearly.
 */
double
qs_noise_mean(const qs_noise *noise)
{
	double sum = (double) noise->base;
	uint32_t i;

	for (i = 0; i < noise->bins; i++)
	{
		double width = (double) qs_bin_width(i);
		double before = tail_before(noise, i);

		sum += width * before - (before - noise->above[i]) * (width + 1) / 2;
	}
	return sum;
}

/* Returns the first bin such that noise beyond the bin has a chance of at most "tail". */
static uint32_t
find_bin(const qs_noise *noise, double tail)
{
	uint32_t low = 0;
	uint32_t high = noise->bins - 1;

	while (low < high)
	{
		uint32_t middle = (low + high) / 2;

		if (noise->above[middle] <= tail)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/*
 * Interpolates the quantile within its bin.  Returns the quantile's rank, 1 .. width, among the
 * bin's values.
 */
static uint64_t
rank_in_bin(const qs_noise *noise, uint32_t bin, double tail)
{
	double before = tail_before(noise, bin);
	uint64_t width = qs_bin_width(bin);
	double rank;

	if (width == 1 || before <= noise->above[bin])
		return 1;
	rank = (before - tail) / (before - noise->above[bin]) * (double) width;
	if (rank >= (double) width)
		return width;
	return rank < 0 ? 1 : (uint64_t) rank + 1;
}

/*
 * For several probes, the error is the last value of the bin.  A single heavy key may cause the
 * rarest noise, and this noise may be anywhere in the bin.
 */
int64_t
qs_noise_error(const qs_noise *noise, double confidence, uint64_t probes)
{
	double tail = (1 - confidence) * (1 + ROUNDING);
	uint64_t distance;
	uint32_t bin;

	if (noise->bins == 0)
		return 0;
	if (probes > 1)
		tail /= (double) probes * noise->repeats;
	bin = find_bin(noise, tail);
	distance = qs_bin_start(bin);
	distance += (probes > 1 ? qs_bin_width(bin) : rank_in_bin(noise, bin, tail)) - 1;
	if (distance > noise->most - noise->base)
		distance = noise->most - noise->base;
	distance += noise->base;
	return distance < INT64_MAX ? (int64_t) distance : INT64_MAX;
}

/* Estimates of damaged bytes may be below zero.  The error is at least 0. */
qs_bounds
qs_bounds_of(int64_t estimate, int64_t error)
{
	return (qs_bounds){ .lower = estimate > error ? estimate - error : 0,
						.estimate = estimate,
						.upper = estimate };
}

/* ---- chances of a random choice in a bucket ---- */

void
qs_values_sort(uint64_t *value, uint32_t count)
{
	uint32_t i;

	for (i = 1; i < count; i++)
	{
		uint64_t v = value[i];
		uint32_t j = i;

		for (; j > 0 && value[j - 1] > v; j--)
			value[j] = value[j - 1];
		value[j] = v;
	}
}

/*
 * chance[i] = C(count - 1 - i, k - 1) / C(count, k).  Value i is chosen, and all other chosen
 * values are among the count - 1 - i values after it.
 */
void
qs_subset_chances(uint32_t count, uint32_t k, double *chance)
{
	uint32_t i;

	chance[0] = (double) k / count;
	for (i = 1; i <= count - k; i++)
		chance[i] = chance[i - 1] * (count - k + 1 - i) / (count - i);
}

double
qs_subset_minimum(const uint64_t *value, uint32_t count, uint32_t k)
{
	double chance[QS_MASK_BITS_MAX];
	double mean = 0;
	uint32_t i;

	qs_subset_chances(count, k, chance);
	for (i = 0; i <= count - k; i++)
		mean += chance[i] * (double) value[i];
	return mean;
}

/* Returns the sum of the products of all subsets that have k of the 8 fractions. */
static double
sum_of_products(const double *fraction, uint32_t k)
{
	double sum[QS_SF_WIDTH + 1] = { 1 }; /* sum[i]: sum of the products of i fractions */
	uint32_t i, j;

	for (j = 0; j < QS_SF_WIDTH; j++)
		for (i = k; i > 0; i--)
			sum[i] += sum[i - 1] * fraction[j];
	return sum[k];
}

/*
 * Visits the cells in descending order.  The minimum is at least v if every chosen cell is at least
 * v.  fraction[j] is the fraction of sub-bucket j's cells that are at least v.
 */
uint32_t
qs_fat_chances(const uint64_t *cell, uint32_t stride, const uint32_t *size, uint32_t k,
			   uint64_t *value, double *chance)
{
	uint32_t left[QS_SF_WIDTH];
	double fraction[QS_SF_WIDTH] = { 1, 1, 1, 1, 1, 1, 1, 1 };
	double subsets = sum_of_products(fraction, k);
	double reached = 0;
	uint32_t count = 0;

	memcpy(left, size, sizeof(left));
	memset(fraction, 0, sizeof(fraction));
	for (;;)
	{
		uint64_t v = 0;
		uint32_t top = 0;
		double tail;
		uint32_t j;

		for (j = 0; j < QS_SF_WIDTH; j++)
			if (left[j] > 0 && cell[j * stride + left[j] - 1] > v)
				v = cell[(top = j) * stride + left[j] - 1];
		if (v == 0)
			break;
		left[top]--;
		fraction[top] += 1.0 / size[top];
		tail = sum_of_products(fraction, k) / subsets;
		value[count] = v;
		chance[count++] = tail - reached;
		reached = tail;
	}
	value[count] = 0;
	chance[count++] = 1 - reached;
	return count;
}

/* ---- forecasting the error of a sketch of some size, before it is built ---- */

/* A model has this many keys, unless it would have too few or too many buckets. */
#define MODEL_KEYS        (UINT64_C(1) << 18)
#define MODEL_BUCKETS_MIN 64
#define MODEL_BUCKETS_MAX 4096

/*
 * The largest average number of keys of a model's counter.  With keys of weight 1, such a counter
 * exceeds 255, so a model of multilevel has high buckets.
 */
#define MODEL_COUNT 512

/* Returns the fraction of a bucket's keys that own a given counter. */
static double
counter_fraction(const qs_params *p)
{
	return qs_has_rows(p->structure) ? 1 : (double) p->depth / qs_bucket_width(p->structure);
}

/* Assigns weights to the keys of a model. */
typedef struct giver
{
	const qs_load *load;
	uint64_t state; /* state of the random draws */
	double weight;  /* average weight of a key */
	double keys;    /* number of keys so far */
	double given;   /* sum of all weights so far */
} giver;

/*
 * Returns the next key's weight, which is drawn from the weights of the load.  If the load has no
 * weights, returns the average weight, rounded up or down such that rounding errors do not
 * accumulate.
 */
static int64_t
give(giver *g)
{
	const qs_load *load = g->load;
	double own;

	g->keys++;
	if (load->weight)
		own = (double) load->weight[qb_mul_high(qb_mix64(g->state += QB_ROW_STEP), load->weights)];
	else
		own = floor(g->weight * g->keys) - g->given;
	g->given += own;
	return (int64_t) own;
}

/* Adds "count" pseudorandom keys, which depend only on the number of buckets. */
static qb_status
fill_model(qs_sketch *sk, uint64_t count, giver *g)
{
	uint64_t state = qb_mix64(sk->params.n);
	uint64_t done = 0;

	while (done < count)
	{
		size_t batch = count - done < QS_BATCH ? (size_t) (count - done) : QS_BATCH;
		qb_status status = sk->ops->reserve ? sk->ops->reserve(sk, batch) : QB_OK;
		uint64_t hv[QS_BATCH];
		int64_t own[QS_BATCH];
		size_t i;

		if (status != QB_OK)
			return status;
		for (i = 0; i < batch; i++)
		{
			hv[i] = qb_mix64(state += QB_ROW_STEP);
			own[i] = give(g);
		}
		sk->ops->add(sk, hv, own, batch);
		done += batch;
	}
	sk->total = (int64_t) g->given;
	return QB_OK;
}

/* Returns the largest weight of a key. */
static double
largest_weight(const qs_load *load)
{
	int64_t largest = 0;
	uint64_t i;

	for (i = 0; i < load->weights; i++)
		if (load->weight[i] > largest)
			largest = load->weight[i];
	return load->weight ? (double) largest : load->total / load->keys;
}

static qb_status
build_model(qs_sketch *model, const qs_params *params, double in_bucket, const qs_load *load,
			const qb_memory *memory)
{
	double buckets = fmin(fmax(MODEL_KEYS / in_bucket, MODEL_BUCKETS_MIN), MODEL_BUCKETS_MAX);
	giver g = { .load = load, .weight = load->total / load->keys };
	qs_params p = *params;
	uint64_t keys;
	qb_status status;

	if ((double) p.n > buckets)
		p.n = (uint64_t) buckets;
	keys = (uint64_t) ceil(in_bucket * (double) p.n);
	qs_init(model, &p, memory);
	status = qs_start_dense(model, (double) keys * largest_weight(load) >= (double) QS_WIDE_TOTAL);
	return status == QB_OK ? fill_model(model, keys, &g) : status;
}

/* Computes the error of a sketch with "times" times the model's number of keys per bucket. */
static qb_status
measure_model(qs_forecast *forecast, const qs_sketch *model, double times, double confidence,
			  const qb_memory *memory)
{
	double mean =
		counter_fraction(&model->params) * (double) model->total / (double) model->params.n;
	uint32_t cells = qs_has_fat(model->params.structure) ? model->params.z : 1;
	qs_noise noise;
	qb_status status = qs_noise_measure(&noise, model, 1, memory);

	if (status != QB_OK)
		return status;
	forecast->error = (double) qs_noise_error(&noise, confidence, 1);
	qs_noise_free(&noise);
	mean /= cells; /* mean of one cell; an sf estimate uses the largest of z cells */
	if (times > 1)
		forecast->error = mean * times + (forecast->error - mean) * sqrt(times);
	return QB_OK;
}

/*
 * Forecasts an explicit sketch.  An explicit sketch has no error, and an entry of 16 bytes for each
 * key.
 */
static void
forecast_explicit(qs_forecast *forecast, double keys)
{
	forecast->error = 0;
	forecast->table_bytes = 16 * keys;
}

/* Returns the bytes of all tables of the sketch, with the counter width that its total needs. */
static double
table_bytes(const qs_sketch *model, const qs_params *params, double total)
{
	bool wide = total >= (double) QS_WIDE_TOTAL;
	uint64_t high = model->ops->live_extra ? model->ops->live_extra(model) : 0;

	return (double) qs_tables_bytes(&model->params, wide, high) * (double) params->n /
		   (double) model->params.n;
}

qb_status
qs_forecast_make(qs_forecast *forecast, const qs_params *params, const qs_load *load,
				 double confidence, const qb_memory *memory)
{
	double in_bucket = load->keys / (double) params->n;
	double drawn = fmin(in_bucket, MODEL_COUNT / counter_fraction(params));
	qs_sketch model;
	qb_status status;

	if (load->keys <= qs_explicit_limit(params))
	{
		forecast_explicit(forecast, load->keys);
		return QB_OK;
	}
	status = build_model(&model, params, drawn, load, memory);
	if (status == QB_OK)
		status = measure_model(forecast, &model, in_bucket / drawn, confidence, memory);
	if (status == QB_OK)
		forecast->table_bytes = table_bytes(&model, params, load->total);
	qs_free(&model);
	return status;
}
