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

/* Keys of a model, as far as there are buckets enough and not too many. */
#define MODEL_KEYS        (UINT64_C(1) << 18)
#define MODEL_BUCKETS_MIN 64
#define MODEL_BUCKETS_MAX 4096

/* Most that a counter of a model gets on average; more than a byte holds. */
#define MODEL_COUNT 512

/* The share of a bucket's keys that each of its counters gets. */
static double
share_of_counter(const qs_params *p)
{
	return qs_has_rows(p->structure) ? 1 : (double) p->depth / qs_bucket_width(p->structure);
}

/* Add "count" keys drawn at random but always the same, with this weight on average. */
static qs_status
fill(qs_sketch *sk, uint64_t count, double weight)
{
	uint64_t state = qs_mix64(sk->params.n);
	double given = 0;
	uint64_t done = 0;

	while (done < count)
	{
		size_t batch = count - done < QS_BATCH ? (size_t) (count - done) : QS_BATCH;
		qs_status status = sk->ops->reserve ? sk->ops->reserve(sk, batch) : QS_OK;
		uint64_t hv[QS_BATCH];
		int64_t own[QS_BATCH];
		size_t i;

		if (status != QS_OK)
			return status;
		for (i = 0; i < batch; i++)
		{
			hv[i] = qs_mix64(state += QS_ROW_STEP);
			own[i] = (int64_t) (floor(weight * (double) (done + i + 1)) - given);
			given += (double) own[i];
		}
		sk->ops->add(sk, hv, own, batch);
		done += batch;
	}
	sk->total = (int64_t) given;
	return QS_OK;
}

static qs_status
build_model(qs_sketch *model, const qs_params *params, double in_bucket, double weight,
			const qs_memory *memory)
{
	double buckets = fmin(fmax(MODEL_KEYS / in_bucket, MODEL_BUCKETS_MIN), MODEL_BUCKETS_MAX);
	qs_params p = *params;
	uint64_t keys;
	qs_status status;

	if ((double) p.n > buckets)
		p.n = (uint64_t) buckets;
	keys = (uint64_t) ceil(in_bucket * (double) p.n);
	qs_init(model, &p, memory);
	status = qs_start_dense(model, (double) keys * weight >= (double) QS_WIDE_TOTAL);
	return status == QS_OK ? fill(model, keys, weight) : status;
}

/* What the model says, with "times" as many keys in a bucket as it has. */
static qs_status
measure_model(qs_forecast *forecast, const qs_sketch *model, double times, double confidence,
			  const qs_memory *memory)
{
	double mean =
		share_of_counter(&model->params) * (double) model->total / (double) model->params.n;
	uint32_t cells = qs_has_fat(model->params.structure) ? model->params.z : 1;
	qs_noise noise;
	qs_status status = qs_noise_init(&noise, model, 1, memory);

	if (status != QS_OK)
		return status;
	forecast->error = (double) qs_noise_error(&noise, confidence, 1);
	qs_noise_free(&noise);
	mean /= cells; /* the largest of these is told */
	if (times > 1)
		forecast->error = mean * times + (forecast->error - mean) * sqrt(times);
	forecast->stored_bytes = (double) (qs_flat_size(model) - QS_HEADER_BYTES);
	return QS_OK;
}

/* All of few keys are kept exactly, in entries of 16 bytes. */
static void
forecast_explicit(qs_forecast *forecast, double keys)
{
	forecast->error = 0;
	forecast->stored_bytes = QS_HEADER_BYTES + 16 * keys;
}

qs_status
qs_forecast_make(qs_forecast *forecast, const qs_params *params, double rows, double keys,
				 double confidence, const qs_memory *memory)
{
	double in_bucket = keys / (double) params->n;
	double drawn = fmin(in_bucket, MODEL_COUNT / share_of_counter(params));
	qs_sketch model;
	qs_status status;

	if (keys <= qs_explicit_limit(params))
	{
		forecast_explicit(forecast, keys);
		return QS_OK;
	}
	status = build_model(&model, params, drawn, rows / keys, memory);
	if (status == QS_OK)
		status = measure_model(forecast, &model, in_bucket / drawn, confidence, memory);
	if (status == QS_OK)
	{
		forecast->stored_bytes *= (double) params->n / (double) model.params.n;
		if (rows >= (double) QS_WIDE_TOTAL && !model.wide && !qs_has_high(params->structure))
			forecast->stored_bytes *= 2;
		forecast->stored_bytes += QS_HEADER_BYTES;
	}
	qs_free(&model);
	return status;
}
