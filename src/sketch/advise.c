/*
 * advise.c
 *		Which error a sketch of some size will have, before it is built.
 *
 * src/sketch/advise.c
 */
#include <math.h>

#include "sketch/advise.h"
#include "sketch/format.h"
#include "sketch/measure.h"

/* How many keys a model has, unless that would give it too few or too many buckets. */
#define MODEL_KEYS        (UINT64_C(1) << 18)
#define MODEL_BUCKETS_MIN 64
#define MODEL_BUCKETS_MAX 4096

/* The most that a counter of a model gets on average; more than a byte holds. */
#define MODEL_COUNT 512

/* The fraction of a bucket's keys that each of its counters gets. */
static double
share_of_counter(const qs_params *p)
{
	return qs_has_rows(p->structure) ? 1 : (double) p->depth / qs_bucket_width(p->structure);
}

/* Weights of keys, one after the other. */
typedef struct giver
{
	const qs_load *load;
	uint64_t state; /* of the draws */
	double weight;  /* of each key on average */
	double keys;    /* so far */
	double given;   /* weight so far */
} giver;

/* The next key's weight: drawn from those of the load, or such that the sum is right. */
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

/* Add "count" keys, drawn at random but always the same ones. */
static qb_status
fill(qs_sketch *sk, uint64_t count, giver *g)
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

/* The largest weight of a key. */
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
	return status == QB_OK ? fill(model, keys, &g) : status;
}

/* The model's error, scaled to a sketch with "times" as many keys in a bucket. */
static qb_status
measure_model(qs_forecast *forecast, const qs_sketch *model, double times, double confidence,
			  const qb_memory *memory)
{
	double mean =
		share_of_counter(&model->params) * (double) model->total / (double) model->params.n;
	uint32_t cells = qs_has_fat(model->params.structure) ? model->params.z : 1;
	qs_noise noise;
	qb_status status = qs_noise_init(&noise, model, 1, memory);

	if (status != QB_OK)
		return status;
	forecast->error = (double) qs_noise_error(&noise, confidence, 1);
	qs_noise_free(&noise);
	mean /= cells; /* of one cell; sf tells the largest of z cells */
	if (times > 1)
		forecast->error = mean * times + (forecast->error - mean) * sqrt(times);
	return QB_OK;
}

/* Few keys are all kept exactly, in entries of 16 bytes. */
static void
forecast_explicit(qs_forecast *forecast, double keys)
{
	forecast->error = 0;
	forecast->table_bytes = 16 * keys;
}

/* Bytes of the whole sketch's counters, as wide as its total asks for. */
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
	double drawn = fmin(in_bucket, MODEL_COUNT / share_of_counter(params));
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
