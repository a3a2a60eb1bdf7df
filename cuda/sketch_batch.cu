/*
 * sketch_batch.cu
 *		Batches of keys: from the device, and from the host through staging.
 *
 * Host keys go through two slots of pinned memory, each with device memory of
 * the same size: while the kernel works on one, the other is being copied and
 * the host fills the next.  Keys that lie in pinned memory already are copied
 * from where they are.  Floor: 8 bytes per key (16 with weights, or with the
 * estimate back) over the bus, which is slower than any kernel here.
 *
 * A slot holds the keys of a piece of a batch, then their weights or
 * estimates.
 *
 * cuda/sketch_batch.cu
 */
#include "device.cuh"

/* A batch in host memory. */
struct host_batch
{
	const uint64_t *key;
	const int64_t *weight; /* or NULL */
	int64_t *estimate;     /* or NULL */
	uint64_t count;
	bool pinned_key, pinned_weight, pinned_estimate;
};

/* Is this memory that the device can copy from by itself? */
static bool
is_pinned(const void *pointer)
{
	cudaPointerAttributes attributes;

	if (!pointer)
		return false;
	if (cudaPointerGetAttributes(&attributes, pointer) != cudaSuccess)
	{
		cudaGetLastError();
		return false;
	}
	return attributes.type == cudaMemoryTypeHost;
}

static host_batch
describe(const uint64_t *key, const int64_t *weight, int64_t *estimate, uint64_t count)
{
	return { key, weight, estimate, count, is_pinned(key), is_pinned(weight), is_pinned(estimate) };
}

/* Bytes of a key in a slot. */
static size_t
each_bytes(const host_batch *b)
{
	return sizeof(uint64_t) + (b->weight || b->estimate ? sizeof(int64_t) : 0);
}

static uint64_t
piece_keys(const qs_cuda *gpu, const host_batch *b)
{
	return gpu->slot_bytes / each_bytes(b);
}

/* Queue the copy of an array into a slot, at the same offset on both sides. */
static qs_status
copy_in(qs_cuda *gpu, qs_slot *slot, size_t offset, const void *from, bool pinned, size_t bytes)
{
	if (!pinned)
		from = memcpy(slot->host + offset, from, bytes);
	QS_CUDA_TRY(
		gpu, cudaMemcpyAsync(slot->device + offset, from, bytes, cudaMemcpyHostToDevice, gpu->in));
	gpu->stats.bytes_in += bytes;
	return QS_OK;
}

/*
 * Bring a piece into a slot and make kernels wait for it; *ready says where
 * it is on the device.
 */
static qs_status
fill_slot(qs_cuda *gpu, qs_slot *slot, const host_batch *b, uint64_t at, uint64_t count,
		  qs_batch *ready)
{
	size_t second = piece_keys(gpu, b) * sizeof(uint64_t);

	/* the copy before the last one is out of host memory, its kernel done */
	QS_CUDA_TRY(gpu, cudaEventSynchronize(slot->arrived));
	QS_CUDA_TRY(gpu, cudaStreamWaitEvent(gpu->in, slot->done, 0));
	QS_TRY(copy_in(gpu, slot, 0, b->key + at, b->pinned_key, count * sizeof(uint64_t)));
	if (b->weight)
		QS_TRY(
			copy_in(gpu, slot, second, b->weight + at, b->pinned_weight, count * sizeof(int64_t)));
	QS_CUDA_TRY(gpu, cudaEventRecord(slot->arrived, gpu->in));
	QS_CUDA_TRY(gpu, cudaStreamWaitEvent(gpu->stream, slot->arrived, 0));
	ready->key = (const uint64_t *) slot->device;
	ready->weight = b->weight ? (const int64_t *) (slot->device + second) : NULL;
	ready->count = count;
	return QS_OK;
}

qs_status
qs_change_keys(qs_cuda_sketch *sk, const qs_batch *b, qs_change change)
{
	if (change == QS_CHANGE_ADD)
		QS_TRY(qs_reserve_launch(sk, b->count));
	return sk->ops->change(sk->gpu, &sk->view, b, change);
}

/* Apply a change with all keys of a host batch. */
static qs_status
change_host(qs_cuda_sketch *sk, const host_batch *b, qs_change change)
{
	qs_cuda *gpu = sk->gpu;
	uint64_t piece = piece_keys(gpu, b);
	int turn = 0;

	for (uint64_t at = 0; at < b->count; at += piece)
	{
		uint64_t count = b->count - at < piece ? b->count - at : piece;
		qs_slot *slot = &gpu->slot[turn++ % QS_SLOTS];
		qs_batch ready;

		QS_TRY(fill_slot(gpu, slot, b, at, count, &ready));
		if (change == QS_CHANGE_ADD && !ready.weight)
			QS_TRY(qs_insert_fastest(sk, &ready));
		else
			QS_TRY(qs_change_keys(sk, &ready, change));
		QS_CUDA_TRY(gpu, cudaEventRecord(slot->done, gpu->stream));
	}
	QS_CUDA_TRY(gpu, cudaStreamSynchronize(gpu->in));
	return QS_OK;
}

int64_t
qs_host_weights_sum(const int64_t *weight, uint64_t count)
{
	int64_t sum = 0;

	if (!weight)
		return (int64_t) count;
	for (uint64_t i = 0; i < count; i++)
		if (__builtin_add_overflow(sum, weight[i], &sum))
			return -1;
	return sum;
}

static qs_status
sum_device_weights(qs_cuda *gpu, const qs_batch *b, int64_t *sum)
{
	if (b->weight)
		return qs_weights_sum(gpu, b->weight, b->count, sum);
	*sum = (int64_t) b->count;
	return QS_OK;
}

/* May keys of this sum of weights be added?  Then make room for them. */
static qs_status
start_insert(qs_cuda_sketch *sk, int64_t sum, uint64_t count)
{
	if (sk->params.structure == QS_SF)
		return QS_READ_ONLY;
	if (sum < 0)
		return QS_TOTAL_OVERFLOW;
	QS_TRY(qs_cuda_prepare(sk, sum, count));
	sk->total += sum;
	sk->gpu->stats.insert_batches++;
	sk->gpu->stats.insert_keys += count;
	return QS_OK;
}

qs_status
qs_cuda_insert(qs_cuda_sketch *sk, const uint64_t *key, const int64_t *weight, size_t count)
{
	host_batch b;

	QS_TRY(qs_cuda_enter(sk->gpu));
	QS_TRY(start_insert(sk, qs_host_weights_sum(weight, count), count));
	b = describe(key, weight, NULL, count);
	return change_host(sk, &b, QS_CHANGE_ADD);
}

qs_status
qs_cuda_insert_device(qs_cuda_sketch *sk, const uint64_t *key, const int64_t *weight, size_t count)
{
	qs_batch b = { key, weight, count };
	int64_t sum;

	QS_TRY(qs_cuda_enter(sk->gpu));
	if (count == 0)
		return QS_OK;
	QS_TRY(sum_device_weights(sk->gpu, &b, &sum));
	QS_TRY(start_insert(sk, sum, count));
	if (weight)
		return qs_change_keys(sk, &b, QS_CHANGE_ADD);
	return qs_insert_fastest(sk, &b);
}

/* Did a removal take what was not there?  The flag is cleared. */
static qs_status
check_underflow(qs_cuda_sketch *sk, bool *underflow)
{
	qs_cuda *gpu = sk->gpu;

	QS_TRY(sk->ops->check(gpu, &sk->view));
	QS_CUDA_TRY(gpu, cudaMemcpyAsync(gpu->host_result, sk->view.flags, sizeof(uint32_t),
									 cudaMemcpyDeviceToHost, gpu->stream));
	QS_CUDA_TRY(gpu, cudaMemsetAsync(sk->view.flags, 0, sizeof(uint32_t), gpu->stream));
	QS_CUDA_TRY(gpu, cudaStreamSynchronize(gpu->stream));
	*underflow = (*(const uint32_t *) gpu->host_result & QS_FLAG_UNDERFLOW) != 0;
	return QS_OK;
}

static qs_status
start_remove(const qs_cuda_sketch *sk, int64_t sum)
{
	if (sk->params.structure == QS_SF)
		return QS_READ_ONLY;
	return sum < 0 || sum > sk->total ? QS_UNDERFLOW : QS_OK;
}

static void
finish_remove(qs_cuda_sketch *sk, int64_t sum, uint64_t count)
{
	sk->total -= sum;
	sk->gpu->stats.remove_keys += count;
}

qs_status
qs_cuda_remove(qs_cuda_sketch *sk, const uint64_t *key, const int64_t *weight, size_t count)
{
	int64_t sum = qs_host_weights_sum(weight, count);
	host_batch b;
	bool underflow;

	QS_TRY(qs_cuda_enter(sk->gpu));
	QS_TRY(start_remove(sk, sum));
	b = describe(key, weight, NULL, count);
	QS_TRY(change_host(sk, &b, QS_CHANGE_REMOVE));
	QS_TRY(check_underflow(sk, &underflow));
	if (underflow)
	{
		QS_TRY(change_host(sk, &b, QS_CHANGE_UNDO));
		return QS_UNDERFLOW;
	}
	finish_remove(sk, sum, count);
	return QS_OK;
}

qs_status
qs_cuda_remove_device(qs_cuda_sketch *sk, const uint64_t *key, const int64_t *weight, size_t count)
{
	qs_batch b = { key, weight, count };
	bool underflow;
	int64_t sum;

	QS_TRY(qs_cuda_enter(sk->gpu));
	if (count == 0)
		return QS_OK;
	QS_TRY(sum_device_weights(sk->gpu, &b, &sum));
	QS_TRY(start_remove(sk, sum));
	QS_TRY(qs_change_keys(sk, &b, QS_CHANGE_REMOVE));
	QS_TRY(check_underflow(sk, &underflow));
	if (underflow)
	{
		QS_TRY(qs_change_keys(sk, &b, QS_CHANGE_UNDO));
		return QS_UNDERFLOW;
	}
	finish_remove(sk, sum, count);
	return QS_OK;
}

qs_status
qs_cuda_query_device(qs_cuda_sketch *sk, const uint64_t *key, size_t count, int64_t *estimate)
{
	qs_batch b = { key, NULL, count };

	QS_TRY(qs_cuda_enter(sk->gpu));
	if (count == 0)
		return QS_OK;
	sk->gpu->stats.query_keys += count;
	return sk->ops->query(sk->gpu, &sk->view, &b, estimate);
}

/* A piece whose estimates are on their way to the host. */
struct pending
{
	uint64_t at, count;
};

/* Wait for the estimates in a slot and hand them on. */
static qs_status
drain_slot(qs_cuda *gpu, qs_slot *slot, const host_batch *b, pending *p)
{
	if (p->count == 0)
		return QS_OK;
	QS_CUDA_TRY(gpu, cudaEventSynchronize(slot->left));
	if (!b->pinned_estimate)
		memcpy(b->estimate + p->at, slot->host + piece_keys(gpu, b) * sizeof(uint64_t),
			   p->count * sizeof(int64_t));
	p->count = 0;
	return QS_OK;
}

/* Query the keys that are in a slot and queue the copy of the estimates. */
static qs_status
query_slot(qs_cuda_sketch *sk, qs_slot *slot, const host_batch *b, const qs_batch *ready,
		   const pending *p)
{
	qs_cuda *gpu = sk->gpu;
	size_t offset = piece_keys(gpu, b) * sizeof(uint64_t);
	size_t bytes = p->count * sizeof(int64_t);
	void *to = b->pinned_estimate ? (void *) (b->estimate + p->at) : slot->host + offset;

	QS_TRY(sk->ops->query(gpu, &sk->view, ready, (int64_t *) (slot->device + offset)));
	QS_CUDA_TRY(gpu, cudaEventRecord(slot->done, gpu->stream));
	QS_CUDA_TRY(gpu, cudaStreamWaitEvent(gpu->out, slot->done, 0));
	QS_CUDA_TRY(
		gpu, cudaMemcpyAsync(to, slot->device + offset, bytes, cudaMemcpyDeviceToHost, gpu->out));
	QS_CUDA_TRY(gpu, cudaEventRecord(slot->left, gpu->out));
	gpu->stats.bytes_out += bytes;
	return QS_OK;
}

qs_status
qs_cuda_query(qs_cuda_sketch *sk, const uint64_t *key, size_t count, int64_t *estimate)
{
	qs_cuda *gpu = sk->gpu;
	pending waiting[QS_SLOTS] = {};
	host_batch b;
	uint64_t piece;
	int turn = 0;

	QS_TRY(qs_cuda_enter(gpu));
	b = describe(key, NULL, estimate, count);
	piece = piece_keys(gpu, &b);
	for (uint64_t at = 0; at < count; at += piece)
	{
		int s = turn++ % QS_SLOTS;
		qs_slot *slot = &gpu->slot[s];
		qs_batch ready;

		QS_TRY(drain_slot(gpu, slot, &b, &waiting[s]));
		waiting[s] = { at, count - at < piece ? count - at : piece };
		QS_TRY(fill_slot(gpu, slot, &b, at, waiting[s].count, &ready));
		QS_TRY(query_slot(sk, slot, &b, &ready, &waiting[s]));
	}
	for (int s = 0; s < QS_SLOTS; s++)
		QS_TRY(drain_slot(gpu, &gpu->slot[s], &b, &waiting[s]));
	gpu->stats.query_keys += count;
	return QS_OK;
}
