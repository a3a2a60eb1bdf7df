/*
 * sketch_batch.cu
 *		Batches of keys into sketches: from the device, and from the host through
 *		staging.
 *
 * cuda/sketch_batch.cu
 */
#include "sketch.cuh"

qb_status
qs_insert_keys(qs_cuda_sketch *sk, const qs_batch *b)
{
	QS_TRY(qs_reserve_launch(sk, b->count, false));
	return sk->ops->insert(sk->gpu, &sk->view, b);
}

static qb_status
insert(qs_cuda_sketch *sk, const qs_batch *b)
{
	return b->weight ? qs_insert_keys(sk, b) : qs_insert_fastest(sk, b);
}

static qb_status
sum_device_weights(qs_cuda *gpu, const qs_batch *b, int64_t *sum)
{
	if (b->weight)
		return qs_weights_sum(gpu, b->weight, b->count, sum);
	*sum = (int64_t) b->count;
	return QB_OK;
}

/* Check whether keys with this sum of weights may be added; if so, make room for them. */
static qb_status
start_insert(qs_cuda_sketch *sk, int64_t sum, uint64_t count)
{
	if (qs_has_fat(sk->params.structure))
		return QB_READ_ONLY;
	if (sum < 0)
		return QB_TOTAL_OVERFLOW;
	QS_TRY(qs_cuda_prepare(sk, sum, count));
	sk->total += sum;
	sk->gpu->stats.insert_batches++;
	sk->gpu->stats.insert_keys += count;
	return QB_OK;
}

qb_status
qs_cuda_insert(qs_cuda_sketch *sk, const uint64_t *key, const int64_t *weight, size_t count)
{
	qs_host_batch b;

	QS_TRY(qs_cuda_enter(sk->gpu));
	QS_TRY(start_insert(sk, qs_weight_sum(weight, count), count));
	b = qs_describe(key, weight, NULL, 0, count);
	return qs_for_pieces(
		sk->gpu, &b, [&](const qs_batch *ready, uint64_t, void *) { return insert(sk, ready); });
}

/* Add batches that fit into a slot, by one launch. */
static qb_status
insert_together(qs_cuda_sketch *sk, const qs_host_batch *b, int batches)
{
	qs_cuda *gpu = sk->gpu;
	qs_slot *slot = &gpu->slot[qs_next_slot(gpu)];
	qs_batch ready;

	QS_TRY(qs_fill_slot_all(gpu, slot, b, batches, &ready));
	QS_TRY(insert(sk, &ready));
	QS_CUDA_TRY(gpu, cudaEventRecord(slot->done, gpu->stream));
	QS_CUDA_TRY(gpu, cudaStreamSynchronize(gpu->in));
	return QB_OK;
}

qb_status
qs_cuda_insert_all(qs_cuda_sketch *sk, const qs_cuda_keys *run, int runs)
{
	qs_host_batch b[QS_CUDA_TOGETHER];
	uint64_t count = 0;
	int64_t sum = 0;

	QS_TRY(qs_cuda_enter(sk->gpu));
	if (runs < 1 || runs > QS_CUDA_TOGETHER)
		return QB_NO_MEMORY;
	for (int i = 0; i < runs; i++)
	{
		int64_t more = qs_weight_sum(run[i].weight, run[i].count);

		if (more < 0 || more > INT64_MAX - sum)
			return QB_TOTAL_OVERFLOW;
		sum += more;
		count += run[i].count;
		b[i] = qs_describe(run[i].key, run[i].weight, NULL, 0, run[i].count);
	}
	if (!qs_fit(sk->gpu, b, runs))
		return QB_NO_MEMORY;
	QS_TRY(start_insert(sk, sum, count));
	return insert_together(sk, b, runs);
}

qb_status
qs_cuda_insert_device(qs_cuda_sketch *sk, const uint64_t *key, const int64_t *weight, size_t count)
{
	qs_batch b = { key, weight, count };
	int64_t sum;

	QS_TRY(qs_cuda_enter(sk->gpu));
	if (count == 0)
		return QB_OK;
	QS_TRY(sum_device_weights(sk->gpu, &b, &sum));
	QS_TRY(start_insert(sk, sum, count));
	return insert(sk, &b);
}

qb_status
qs_cuda_query_device(qs_cuda_sketch *sk, const uint64_t *key, size_t count, int64_t *estimate)
{
	qs_batch b = { key, NULL, count };

	QS_TRY(qs_cuda_enter(sk->gpu));
	if (count == 0)
		return QB_OK;
	sk->gpu->stats.query_keys += count;
	return sk->ops->query(sk->gpu, &sk->view, &b, estimate);
}

qb_status
qs_cuda_query(qs_cuda_sketch *sk, const uint64_t *key, size_t count, int64_t *estimate)
{
	qs_cuda *gpu = sk->gpu;
	qs_host_batch b;

	QS_TRY(qs_cuda_enter(gpu));
	b = qs_describe(key, NULL, estimate, sizeof(*estimate), count);
	gpu->stats.query_keys += count;
	return qs_for_pieces(gpu, &b, [&](const qs_batch *ready, uint64_t, void *answers) {
		return sk->ops->query(gpu, &sk->view, ready, (int64_t *) answers);
	});
}
