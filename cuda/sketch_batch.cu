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
	QS_TRY(qs_reserve_launch(sk, b->count));
	return sk->ops->insert(sk->gpu, &sk->view, b);
}

static qb_status
insert(qs_cuda_sketch *sk, const qs_batch *b)
{
	return b->weight ? qs_insert_keys(sk, b) : qs_insert_fastest(sk, b);
}

/* Add all keys of a host batch. */
static qb_status
insert_host(qs_cuda_sketch *sk, const qs_host_batch *b)
{
	qs_cuda *gpu = sk->gpu;
	uint64_t piece = qs_piece_keys(gpu, b);
	int turn = 0;

	for (uint64_t at = 0; at < b->count; at += piece)
	{
		uint64_t count = b->count - at < piece ? b->count - at : piece;
		qs_slot *slot = &gpu->slot[turn++ % QS_SLOTS];
		qs_batch ready;

		QS_TRY(qs_fill_slot(gpu, slot, b, at, count, &ready));
		QS_TRY(insert(sk, &ready));
		QS_CUDA_TRY(gpu, cudaEventRecord(slot->done, gpu->stream));
	}
	QS_CUDA_TRY(gpu, cudaStreamSynchronize(gpu->in));
	return QB_OK;
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
	if (sk->params.structure == QS_SF)
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
	return insert_host(sk, &b);
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

/* Query the keys in a slot, and queue the copy of the estimates. */
static qb_status
query_slot(qs_cuda_sketch *sk, qs_slot *slot, const qs_host_batch *b, const qs_batch *ready,
		   const qs_pending *p)
{
	int64_t *answer = (int64_t *) qs_slot_answers(sk->gpu, slot, b);

	QS_TRY(sk->ops->query(sk->gpu, &sk->view, ready, answer));
	return qs_send_answers(sk->gpu, slot, b, p);
}

qb_status
qs_cuda_query(qs_cuda_sketch *sk, const uint64_t *key, size_t count, int64_t *estimate)
{
	qs_cuda *gpu = sk->gpu;
	qs_pending waiting[QS_SLOTS] = {};
	qs_host_batch b;
	uint64_t piece;
	int turn = 0;

	QS_TRY(qs_cuda_enter(gpu));
	b = qs_describe(key, NULL, estimate, sizeof(*estimate), count);
	piece = qs_piece_keys(gpu, &b);
	for (uint64_t at = 0; at < count; at += piece)
	{
		int s = turn++ % QS_SLOTS;
		qs_slot *slot = &gpu->slot[s];
		qs_batch ready;

		QS_TRY(qs_drain_slot(gpu, slot, &b, &waiting[s]));
		waiting[s] = { at, count - at < piece ? count - at : piece };
		QS_TRY(qs_fill_slot(gpu, slot, &b, at, waiting[s].count, &ready));
		QS_TRY(query_slot(sk, slot, &b, &ready, &waiting[s]));
	}
	for (int s = 0; s < QS_SLOTS; s++)
		QS_TRY(qs_drain_slot(gpu, &gpu->slot[s], &b, &waiting[s]));
	gpu->stats.query_keys += count;
	return QB_OK;
}
