/*
 * staging.cu
 *		Batches of keys on their way from the host to a device, and answers back.
 *
 * cuda/staging.cu
 */
#include "staging.cuh"

static qb_status
open_slot(qs_cuda *gpu, qs_slot *slot)
{
	QS_CUDA_TRY(gpu, cudaMallocHost(&slot->host, gpu->slot_bytes));
	QS_TRY(qs_device_alloc(gpu, gpu->slot_bytes, (void **) &slot->device));
	QS_CUDA_TRY(gpu, cudaEventCreateWithFlags(&slot->arrived, cudaEventDisableTiming));
	QS_CUDA_TRY(gpu, cudaEventCreateWithFlags(&slot->done, cudaEventDisableTiming));
	QS_CUDA_TRY(gpu, cudaEventCreateWithFlags(&slot->left, cudaEventDisableTiming));
	return QB_OK;
}

static void
close_slot(qs_cuda *gpu, qs_slot *slot)
{
	if (slot->host)
		cudaFreeHost(slot->host);
	qs_device_free(gpu, slot->device, gpu->slot_bytes);
	if (slot->arrived)
		cudaEventDestroy(slot->arrived);
	if (slot->done)
		cudaEventDestroy(slot->done);
	if (slot->left)
		cudaEventDestroy(slot->left);
}

qb_status
qs_staging_open(qs_cuda *gpu)
{
	for (int i = 0; i < QS_SLOTS; i++)
		QS_TRY(open_slot(gpu, &gpu->slot[i]));
	return QB_OK;
}

void
qs_staging_close(qs_cuda *gpu)
{
	for (int i = 0; i < QS_SLOTS; i++)
		close_slot(gpu, &gpu->slot[i]);
}

/* Is this pinned memory, which the device can copy from directly? */
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

qs_host_batch
qs_describe(const uint64_t *key, const int64_t *weight, void *answer, size_t answer_bytes,
			uint64_t count)
{
	return { key,
			 weight,
			 answer,
			 answer_bytes,
			 count,
			 is_pinned(key),
			 is_pinned(weight),
			 is_pinned(answer) };
}

/* Bytes that a key takes in a slot. */
static size_t
each_bytes(const qs_host_batch *b)
{
	return sizeof(uint64_t) + (b->weight ? sizeof(int64_t) : 0) + (b->answer ? b->answer_bytes : 0);
}

uint64_t
qs_piece_keys(const qs_cuda *gpu, const qs_host_batch *b)
{
	return gpu->slot_bytes / each_bytes(b);
}

/* Queue the copy of an array into a slot, at the same offset on both sides. */
static qb_status
copy_in(qs_cuda *gpu, qs_slot *slot, size_t offset, const void *from, bool pinned, size_t bytes)
{
	if (!pinned)
		from = memcpy(slot->host + offset, from, bytes);
	QS_CUDA_TRY(
		gpu, cudaMemcpyAsync(slot->device + offset, from, bytes, cudaMemcpyHostToDevice, gpu->in));
	gpu->stats.bytes_in += bytes;
	return QB_OK;
}

/* Offset of what stands behind the keys of a slot: weights or answers. */
static size_t
second_offset(const qs_cuda *gpu, const qs_host_batch *b)
{
	return qs_piece_keys(gpu, b) * sizeof(uint64_t);
}

/* The slot's last copy has left host memory, and a new one waits for the slot's kernel. */
static qb_status
begin_fill(qs_cuda *gpu, qs_slot *slot)
{
	QS_TRY(qs_wait_event(gpu, slot->arrived));
	QS_CUDA_TRY(gpu, cudaStreamWaitEvent(gpu->in, slot->done, 0));
	return QB_OK;
}

/* Copy keys of a batch to an index among the keys of a slot, and their weights. */
static qb_status
copy_piece(qs_cuda *gpu, qs_slot *slot, const qs_host_batch *b, uint64_t from, uint64_t count,
		   uint64_t to)
{
	QS_TRY(copy_in(gpu, slot, to * sizeof(uint64_t), b->key + from, b->pinned_key,
				   count * sizeof(uint64_t)));
	if (b->weight)
		QS_TRY(copy_in(gpu, slot, second_offset(gpu, b) + to * sizeof(int64_t), b->weight + from,
					   b->pinned_weight, count * sizeof(int64_t)));
	return QB_OK;
}

/* Make kernels wait for the slot, which has so many keys like these. */
static qb_status
end_fill(qs_cuda *gpu, qs_slot *slot, const qs_host_batch *b, uint64_t count, qs_batch *ready)
{
	QS_CUDA_TRY(gpu, cudaEventRecord(slot->arrived, gpu->in));
	QS_CUDA_TRY(gpu, cudaStreamWaitEvent(gpu->stream, slot->arrived, 0));
	ready->key = (const uint64_t *) slot->device;
	ready->weight = b->weight ? (const int64_t *) (slot->device + second_offset(gpu, b)) : NULL;
	ready->count = count;
	return QB_OK;
}

qb_status
qs_fill_slot(qs_cuda *gpu, qs_slot *slot, const qs_host_batch *b, uint64_t at, uint64_t count,
			 qs_batch *ready)
{
	QS_TRY(begin_fill(gpu, slot));
	QS_TRY(copy_piece(gpu, slot, b, at, count, 0));
	return end_fill(gpu, slot, b, count, ready);
}

bool
qs_fit(const qs_cuda *gpu, const qs_host_batch *b, int batches)
{
	uint64_t count = 0;

	for (int i = 0; i < batches; i++)
		count += b[i].count;
	return count <= qs_piece_keys(gpu, b);
}

qb_status
qs_fill_slot_all(qs_cuda *gpu, qs_slot *slot, const qs_host_batch *b, int batches, qs_batch *ready)
{
	uint64_t count = 0;

	QS_TRY(begin_fill(gpu, slot));
	for (int i = 0; i < batches; i++)
	{
		QS_TRY(copy_piece(gpu, slot, &b[i], 0, b[i].count, count));
		count += b[i].count;
	}
	return end_fill(gpu, slot, b, count, ready);
}

void *
qs_slot_answers(const qs_cuda *gpu, const qs_slot *slot, const qs_host_batch *b)
{
	return slot->device + second_offset(gpu, b);
}

static uint8_t *
answer_at(const qs_host_batch *b, uint64_t i)
{
	return (uint8_t *) b->answer + i * b->answer_bytes;
}

qb_status
qs_finish_slot(qs_cuda *gpu, qs_slot *slot, const qs_host_batch *b, const qs_pending *p)
{
	size_t offset = second_offset(gpu, b);
	size_t bytes = p->count * b->answer_bytes;
	void *to = b->pinned_answer ? answer_at(b, p->at) : slot->host + offset;

	QS_CUDA_TRY(gpu, cudaEventRecord(slot->done, gpu->stream));
	if (!b->answer)
		return QB_OK;
	QS_CUDA_TRY(gpu, cudaStreamWaitEvent(gpu->out, slot->done, 0));
	QS_CUDA_TRY(
		gpu, cudaMemcpyAsync(to, slot->device + offset, bytes, cudaMemcpyDeviceToHost, gpu->out));
	QS_CUDA_TRY(gpu, cudaEventRecord(slot->left, gpu->out));
	gpu->stats.bytes_out += bytes;
	return QB_OK;
}

qb_status
qs_drain_slot(qs_cuda *gpu, qs_slot *slot, const qs_host_batch *b, qs_pending *p)
{
	if (p->count == 0 || !b->answer)
		return QB_OK;
	QS_TRY(qs_wait_event(gpu, slot->left));
	if (!b->pinned_answer)
		memcpy(answer_at(b, p->at), slot->host + second_offset(gpu, b), p->count * b->answer_bytes);
	p->count = 0;
	return QB_OK;
}
