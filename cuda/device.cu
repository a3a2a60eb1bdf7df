/*
 * device.cu
 *		Opens devices; allocates device memory; stores errors; copies batches of keys from the
 *		host.
 *
 * Memory is allocated from a pool of the device, in stream order, because cudaMalloc() takes long
 * and cudaFree() waits for the device.  The pool keeps some of the freed memory (spare_bytes()),
 * and returns all other freed memory to the driver.  A device without pools uses cudaMalloc() and
 * cudaFree().  The workspace grows to the size that the largest batch needs, and stays allocated
 * until qs_workspace_free().
 *
 * A later call returns the error of a kernel.  Such an error is sticky: all further CUDA calls of
 * the process fail.
 *
 * cuda/device.cu
 */
#include "device.cuh"

#include <new>

/* Random reads or writes in one piece of work.  A GPU makes 5 to 20 billion of them per second. */
#define PIECE_WORK 134217728

/* Copying this many bytes to the host, or to another GPU, takes at most about 2 ms. */
#define MERGE_BYTES (UINT64_C(32) << 20)

/* An H100 inserts 100 million keys of a column in 2.8 ms, so this many keys take about 4 ms. */
#define ROWS_TOGETHER (UINT64_C(1) << 27)

/*
 * Bytes of all staging slots together.  The bus copies the default number of bytes in 1 to 3 ms.
 */
#define DEFAULT_STAGING (UINT64_C(64) << 20)
#define MIN_STAGING     (UINT64_C(1) << 16)

/*
 * The pool keeps freed memory: 1 / POOL_SPARE_FRACTION of the device's memory, but at most the
 * limit for values, and in any case at least 1 GB.  Between two trims the pool may keep twice this
 * amount.  Allocating 4 GB from the driver and returning them takes 9 ms (H100).
 */
#define POOL_SPARE_FRACTION 16
#define POOL_SPARE_LEAST    (UINT64_C(1) << 30)

qb_status
qs_cuda_note(qs_cuda_error *error, cudaError_t code, const char *call)
{
	if (code == cudaSuccess)
		return QB_OK;
	cudaGetLastError(); /* clear the error, so that a later call does not report it */
	error->status = code == cudaErrorMemoryAllocation ? QB_NO_MEMORY : QB_DEVICE_ERROR;
	error->code = code;
	error->name = cudaGetErrorName(code);
	error->call = call;
	return error->status;
}

int
qs_cuda_device_count(qs_cuda_error *error)
{
	int count = 0;

	*error = {};
	if (qs_cuda_note(error, cudaGetDeviceCount(&count), "cudaGetDeviceCount") != QB_OK)
		return 0;
	return count;
}

qb_status
qs_cuda_device_get(int device, qs_cuda_device *info, qs_cuda_error *error)
{
	cudaDeviceProp p;
	size_t free_bytes, total_bytes;

	*error = {};
	*info = {};
	QS_CUDA_TRY_NOTED(error, cudaGetDeviceProperties(&p, device));
	QS_CUDA_TRY_NOTED(error, cudaSetDevice(device));
	QS_CUDA_TRY_NOTED(error, cudaMemGetInfo(&free_bytes, &total_bytes));
	QS_CUDA_TRY_NOTED(error, cudaDriverGetVersion(&info->driver));
	QS_CUDA_TRY_NOTED(error, cudaRuntimeGetVersion(&info->runtime));
	memcpy(info->name, p.name, sizeof(info->name));
	info->major = p.major;
	info->minor = p.minor;
	info->multiprocessors = p.multiProcessorCount;
	info->memory_bytes = total_bytes;
	info->memory_free = free_bytes;
	info->l2_bytes = p.l2CacheSize;
	return QB_OK;
}

qb_status
qs_cuda_enter(qs_cuda *gpu)
{
	gpu->error = {};
	QS_CUDA_TRY(gpu, cudaSetDevice(gpu->device));
	return QB_OK;
}

/*
 * Return the unused bytes that the pool keeps: a fraction of the device's memory, at most the
 * limit, and at least POOL_SPARE_LEAST.
 */
static size_t
spare_bytes(const qs_cuda *gpu)
{
	size_t spare = gpu->pool_spare < gpu->limit ? gpu->pool_spare : gpu->limit;

	return spare < POOL_SPARE_LEAST ? POOL_SPARE_LEAST : spare;
}

/* After each spare_bytes() freed bytes, trim the pool to spare_bytes() unused bytes. */
static void
trim_pool(qs_cuda *gpu, size_t freed)
{
	size_t spare = spare_bytes(gpu);

	gpu->freed += freed;
	if (gpu->freed < spare)
		return;
	gpu->freed = 0;
	cudaMemPoolTrimTo(gpu->pool, gpu->stats.device_bytes + spare);
}

void
qs_device_free(qs_cuda *gpu, void *pointer, size_t bytes)
{
	if (!pointer)
		return;
	gpu->stats.device_bytes -= bytes;
	if (!gpu->pool)
	{
		cudaFree(pointer);
		return;
	}
	cudaFreeAsync(pointer, gpu->stream);
	trim_pool(gpu, bytes);
}

qb_status
qs_device_take(qs_cuda *gpu, size_t bytes, void **pointer)
{
	/* round up to 16 bytes, because kernels copy in units of 16 bytes */
	size_t size = bytes > 0 ? (bytes + 15) / 16 * 16 : 1;

	*pointer = NULL;
	if (gpu->pool)
		QS_CUDA_TRY(gpu, cudaMallocFromPoolAsync(pointer, size, gpu->pool, gpu->stream));
	else
		QS_CUDA_TRY(gpu, cudaMalloc(pointer, size));
	gpu->stats.device_bytes += bytes;
	return QB_OK;
}

qb_status
qs_device_alloc(qs_cuda *gpu, size_t bytes, void **pointer)
{
	qb_status status = qs_device_take(gpu, bytes, pointer);
	auto clear = [&]() -> qb_status {
		QS_CUDA_TRY(gpu, cudaMemsetAsync(*pointer, 0, bytes, gpu->stream));
		return QB_OK;
	};

	if (status == QB_OK)
		status = clear();
	if (status != QB_OK)
	{
		qs_device_free(gpu, *pointer, bytes);
		*pointer = NULL;
	}
	return status;
}

qb_status
qs_workspace(qs_cuda *gpu, size_t bytes, uint8_t **pointer)
{
	if (bytes > gpu->work_bytes)
	{
		void *work;

		qs_workspace_free(gpu);
		QS_TRY(qs_device_take(gpu, bytes, &work));
		gpu->work = (uint8_t *) work;
		gpu->work_bytes = bytes;
	}
	*pointer = gpu->work;
	return QB_OK;
}

void
qs_workspace_free(qs_cuda *gpu)
{
	qs_device_free(gpu, gpu->work, gpu->work_bytes);
	gpu->work = NULL;
	gpu->work_bytes = 0;
}

void
qs_free_room(qs_cuda *gpu, qs_buffer *buffer)
{
	qs_device_free(gpu, buffer->word, buffer->room * sizeof(uint64_t));
	*buffer = {};
}

qb_status
qs_have_room(qs_cuda *gpu, qs_buffer *buffer, uint64_t words)
{
	uint64_t bytes = words * sizeof(uint64_t);

	if (words <= buffer->room)
		return QB_OK;
	qs_free_room(gpu, buffer);
	QS_TRY(qs_ask_room(gpu, bytes));
	QS_TRY(qs_device_alloc(gpu, bytes, (void **) &buffer->word));
	buffer->room = words;
	return QB_OK;
}

cudaError_t
qs_query_event(cudaEvent_t event)
{
	cudaError_t state = cudaEventQuery(event);

	if (state != cudaSuccess)
		cudaGetLastError();
	return state;
}

qb_status
qs_wait_event(qs_cuda *gpu, cudaEvent_t event)
{
	cudaError_t ready;

	if (!gpu->pause)
	{
		QS_CUDA_TRY(gpu, cudaEventSynchronize(event));
		return QB_OK;
	}
	while ((ready = qs_query_event(event)) == cudaErrorNotReady)
		gpu->pause();
	QS_CUDA_TRY(gpu, cudaSetDevice(gpu->device));
	QS_CUDA_TRY(gpu, ready);
	return QB_OK;
}

qb_status
qs_wait(qs_cuda *gpu, cudaStream_t stream)
{
	if (!gpu->pause)
	{
		QS_CUDA_TRY(gpu, cudaStreamSynchronize(stream));
		return QB_OK;
	}
	QS_CUDA_TRY(gpu, cudaEventRecord(gpu->awaited, stream));
	return qs_wait_event(gpu, gpu->awaited);
}

/* Read the properties that launches depend on. */
static qb_status
read_properties(qs_cuda *gpu)
{
	int d = gpu->device, l2, shared, same;

	QS_CUDA_TRY(gpu, cudaSetDevice(d));
	QS_CUDA_TRY(gpu,
				cudaDeviceGetAttribute(&gpu->multiprocessors, cudaDevAttrMultiProcessorCount, d));
	QS_CUDA_TRY(gpu,
				cudaDeviceGetAttribute(&gpu->threads, cudaDevAttrMaxThreadsPerMultiProcessor, d));
	QS_CUDA_TRY(gpu, cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, d));
	QS_CUDA_TRY(gpu, cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, d));
	QS_CUDA_TRY(gpu,
				cudaDeviceGetAttribute(&same, cudaDevAttrCanUseHostPointerForRegisteredMem, d));
	gpu->l2_bytes = l2;
	gpu->shared_max = shared;
	gpu->writes_host = same != 0;
	return QB_OK;
}

/* Create the pool, if possible.  The pool returns memory to the driver only in trim_pool(). */
static qb_status
open_pool(qs_cuda *gpu)
{
	cudaMemPoolProps properties = {};
	uint64_t all = UINT64_MAX;
	size_t free_bytes, total_bytes;
	int supported;

	QS_CUDA_TRY(gpu,
				cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, gpu->device));
	if (!supported)
		return QB_OK;
	QS_CUDA_TRY(gpu, cudaMemGetInfo(&free_bytes, &total_bytes));
	gpu->pool_spare = total_bytes / POOL_SPARE_FRACTION;
	properties.allocType = cudaMemAllocationTypePinned;
	properties.location.type = cudaMemLocationTypeDevice;
	properties.location.id = gpu->device;
	QS_CUDA_TRY(gpu, cudaMemPoolCreate(&gpu->pool, &properties));
	QS_CUDA_TRY(gpu, cudaMemPoolSetAttribute(gpu->pool, cudaMemPoolAttrReleaseThreshold, &all));
	return QB_OK;
}

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

/*
 * Create streams, events and buffers.  Members that were not created stay zero, so qs_cuda_close()
 * works after any failure.  The final wait is needed because gpu->stream zeroes the slots, and
 * other streams use them.
 */
static qb_status
open_device(qs_cuda *gpu)
{
	QS_TRY(read_properties(gpu));
	QS_TRY(open_pool(gpu));
	QS_CUDA_TRY(gpu, cudaStreamCreateWithFlags(&gpu->stream, cudaStreamNonBlocking));
	QS_CUDA_TRY(gpu, cudaStreamCreateWithFlags(&gpu->in, cudaStreamNonBlocking));
	QS_CUDA_TRY(gpu, cudaStreamCreateWithFlags(&gpu->out, cudaStreamNonBlocking));
	QS_CUDA_TRY(gpu, cudaEventCreateWithFlags(&gpu->reached, cudaEventDisableTiming));
	QS_CUDA_TRY(gpu, cudaEventCreateWithFlags(&gpu->awaited, cudaEventDisableTiming));
	QS_CUDA_TRY(gpu, cudaEventCreateWithFlags(&gpu->paced, cudaEventDisableTiming));
	QS_TRY(qs_device_alloc(gpu, QS_RESULT_WORDS * sizeof(uint64_t), (void **) &gpu->result));
	QS_TRY(qs_device_alloc(gpu, QS_SCRATCH_WORDS * sizeof(uint64_t), (void **) &gpu->scratch));
	QS_CUDA_TRY(gpu, cudaMallocHost(&gpu->host_result, QS_RESULT_WORDS * sizeof(uint64_t)));
	for (qs_slot &slot : gpu->slot)
		QS_TRY(open_slot(gpu, &slot));
	QS_CUDA_TRY(gpu, cudaStreamSynchronize(gpu->stream));
	return QB_OK;
}

qb_status
qs_cuda_open(int device, const qs_cuda_options *options, qs_cuda **gpu, qs_cuda_error *error)
{
	qs_cuda *opened = new (std::nothrow) qs_cuda();
	size_t staging = options && options->staging_bytes ? options->staging_bytes : DEFAULT_STAGING;
	qb_status status;

	*error = {};
	*gpu = NULL;
	if (!opened)
	{
		error->status = QB_NO_MEMORY;
		return QB_NO_MEMORY;
	}
	if (staging < MIN_STAGING)
		staging = MIN_STAGING;
	opened->device = device;
	opened->slot_bytes = staging / QS_SLOTS / 256 * 256;
	opened->bulk = options ? options->bulk : QS_BULK_AUTO;
	status = open_device(opened);
	if (status != QB_OK)
	{
		*error = opened->error;
		qs_cuda_close(opened);
		return status;
	}
	opened->base = qs_cuda_used(opened);
	opened->limit = UINT64_MAX;
	opened->pause = options ? options->pause : NULL;
	*gpu = opened;
	return QB_OK;
}

void
qs_cuda_close(qs_cuda *gpu)
{
	if (!gpu)
		return;
	cudaSetDevice(gpu->device);
	if (gpu->stream)
		cudaStreamSynchronize(gpu->stream);
	for (qs_slot &slot : gpu->slot)
		close_slot(gpu, &slot);
	qs_workspace_free(gpu);
	qs_device_free(gpu, gpu->result, QS_RESULT_WORDS * sizeof(uint64_t));
	qs_device_free(gpu, gpu->scratch, QS_SCRATCH_WORDS * sizeof(uint64_t));
	if (gpu->host_result)
		cudaFreeHost(gpu->host_result);
	if (gpu->stream)
	{
		cudaStreamSynchronize(gpu->stream);
		cudaStreamDestroy(gpu->stream);
	}
	if (gpu->reached)
		cudaEventDestroy(gpu->reached);
	if (gpu->awaited)
		cudaEventDestroy(gpu->awaited);
	if (gpu->paced)
		cudaEventDestroy(gpu->paced);
	if (gpu->pool)
		cudaMemPoolDestroy(gpu->pool);
	if (gpu->in)
		cudaStreamDestroy(gpu->in);
	if (gpu->out)
		cudaStreamDestroy(gpu->out);
	cudaGetLastError();
	delete gpu;
}

const qs_cuda_error *
qs_cuda_last_error(const qs_cuda *gpu)
{
	return &gpu->error;
}

qb_status
qs_cuda_sync(qs_cuda *gpu)
{
	QS_TRY(qs_cuda_enter(gpu));
	QS_TRY(qs_wait(gpu, gpu->in));
	QS_TRY(qs_wait(gpu, gpu->stream));
	return qs_wait(gpu, gpu->out);
}

qb_status
qs_cuda_pace(qs_cuda *gpu)
{
	QS_TRY(qs_cuda_enter(gpu));
	QS_TRY(qs_wait_event(gpu, gpu->paced));
	QS_CUDA_TRY(gpu, cudaEventRecord(gpu->paced, gpu->stream));
	return QB_OK;
}

uint64_t
qs_cuda_used(const qs_cuda *gpu)
{
	return gpu->stats.device_bytes - gpu->work_bytes - gpu->base;
}

void
qs_cuda_limit(qs_cuda *gpu, uint64_t bytes)
{
	gpu->limit = bytes;
}

qb_status
qs_ask_room(const qs_cuda *gpu, uint64_t bytes)
{
	uint64_t used = qs_cuda_used(gpu);

	return used <= gpu->limit && bytes <= gpu->limit - used ? QB_OK : QB_NO_MEMORY;
}

const qs_device_ops qs_cuda_devices = {
	.count = qs_cuda_device_count,
	.get = qs_cuda_device_get,
	.open = qs_cuda_open,
	.close = qs_cuda_close,
	.join = qs_cuda_join,
	.pin = qs_cuda_host_register,
	.limit = qs_cuda_limit,
	.used = qs_cuda_used,
	.sync = qs_cuda_sync,
	.pace = qs_cuda_pace,
	.error = qs_cuda_last_error,
	.piece_work = PIECE_WORK,
	.merge_bytes = MERGE_BYTES,
	.rows_together = ROWS_TOGETHER,
	.sketch = &qs_cuda_sketches,
	.sets = &qset_cuda_collections,
	.filter = &qf_cuda_filters,
	.column = &qs_cuda_columns,
	.exact = &qs_cuda_exacts,
	.memberships = &qset_cuda_rows,
};

/* ---- batches of keys from the host, and their answers ---- */

qs_host_batch
qs_describe(const uint64_t *key, const int64_t *weight, void *answer, size_t answer_bytes,
			uint64_t count)
{
	return { key,
			 weight,
			 answer,
			 answer_bytes,
			 count,
			 qs_is_pinned(key),
			 qs_is_pinned(weight),
			 qs_is_pinned(answer) };
}

/* Return the bytes of a slot that each key needs. */
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

/*
 * Queue the copy of an array to the slot's device memory, at this offset.  If the array is not
 * pinned, copy it through the slot's host memory, at the same offset.
 */
static qb_status
copy_in(qs_cuda *gpu, qs_slot *slot, size_t offset, const void *from, bool pinned, size_t bytes)
{
	if (!pinned)
		from = memcpy(slot->host + offset, from, bytes);
	QS_CUDA_TRY(
		gpu, cudaMemcpyAsync(slot->device + offset, from, bytes, cudaMemcpyHostToDevice, gpu->in));
	return QB_OK;
}

/*
 * Return the byte offset of a slot's second array, which has weights or answers and follows the
 * keys.
 */
static size_t
second_offset(const qs_cuda *gpu, const qs_host_batch *b)
{
	return qs_piece_keys(gpu, b) * sizeof(uint64_t);
}

/*
 * Wait for the slot's last copy from host memory, and make the next copy wait for the slot's
 * kernel.
 */
static qb_status
begin_fill(qs_cuda *gpu, qs_slot *slot)
{
	QS_TRY(qs_wait_event(gpu, slot->arrived));
	QS_CUDA_TRY(gpu, cudaStreamWaitEvent(gpu->in, slot->done, 0));
	return QB_OK;
}

/* Make later kernels wait for the copies to the slot. */
static qb_status
end_fill(qs_cuda *gpu, qs_slot *slot)
{
	QS_CUDA_TRY(gpu, cudaEventRecord(slot->arrived, gpu->in));
	QS_CUDA_TRY(gpu, cudaStreamWaitEvent(gpu->stream, slot->arrived, 0));
	return QB_OK;
}

qb_status
qs_fill_slot(qs_cuda *gpu, qs_slot *slot, const qs_host_batch *b, int batches, qs_batch *ready)
{
	size_t second = second_offset(gpu, b);

	*ready = { (const uint64_t *) slot->device, NULL, 0 };
	if (b->weight)
		ready->weight = (const int64_t *) (slot->device + second);
	QS_TRY(begin_fill(gpu, slot));
	for (int i = 0; i < batches; i++)
	{
		size_t at = ready->count * sizeof(uint64_t), bytes = b[i].count * sizeof(uint64_t);

		QS_TRY(copy_in(gpu, slot, at, b[i].key, b[i].pinned_key, bytes));
		if (b[i].weight)
			QS_TRY(copy_in(gpu, slot, second + at, b[i].weight, b[i].pinned_weight, bytes));
		ready->count += b[i].count;
	}
	return end_fill(gpu, slot);
}

void *
qs_slot_answers(const qs_cuda *gpu, const qs_slot *slot, const qs_host_batch *b)
{
	return slot->device + second_offset(gpu, b);
}

qb_status
qs_finish_slot(qs_cuda *gpu, qs_slot *slot, const qs_host_batch *piece)
{
	size_t offset = second_offset(gpu, piece);
	void *to = piece->pinned_answer ? piece->answer : slot->host + offset;

	QS_CUDA_TRY(gpu, cudaEventRecord(slot->done, gpu->stream));
	if (!piece->answer)
		return QB_OK;
	QS_CUDA_TRY(gpu, cudaStreamWaitEvent(gpu->out, slot->done, 0));
	QS_CUDA_TRY(gpu, cudaMemcpyAsync(to, slot->device + offset, piece->count * piece->answer_bytes,
									 cudaMemcpyDeviceToHost, gpu->out));
	QS_CUDA_TRY(gpu, cudaEventRecord(slot->left, gpu->out));
	return QB_OK;
}

qb_status
qs_drain_slot(qs_cuda *gpu, qs_slot *slot, qs_host_batch *piece)
{
	if (piece->count == 0 || !piece->answer)
		return QB_OK;
	QS_TRY(qs_wait_event(gpu, slot->left));
	if (!piece->pinned_answer)
		memcpy(piece->answer, slot->host + second_offset(gpu, piece),
			   piece->count * piece->answer_bytes);
	piece->count = 0;
	return QB_OK;
}

/* ---- the bits in which keys differ ---- */

/*
 * OR all keys into bits[0], and AND all keys into bits[1].  SQL: qtop_exact() and qsets_agg() of
 * cached columns.
 */
__global__ void
__launch_bounds__(QS_BLOCK) find_bits(const int64_t *key, uint64_t count, qs_u64 *bits)
{
	uint64_t any = 0, all = ~UINT64_C(0);

	qs_for_each(count, [&](uint64_t i) {
		any |= (uint64_t) key[i];
		all &= (uint64_t) key[i];
	});
	any = (uint64_t) __reduce_or_sync(QS_ALL_LANES, (uint32_t) (any >> 32)) << 32 |
		  __reduce_or_sync(QS_ALL_LANES, (uint32_t) any);
	all = (uint64_t) __reduce_and_sync(QS_ALL_LANES, (uint32_t) (all >> 32)) << 32 |
		  __reduce_and_sync(QS_ALL_LANES, (uint32_t) all);
	if (qs_lane() == 0)
	{
		atomicOr(&bits[0], any);
		atomicAnd(&bits[1], all);
	}
}

qb_status
qs_learn_bits(qs_cuda *gpu, const int64_t *key, uint64_t count, qs_key_bits *bits)
{
	QS_CUDA_TRY(gpu, cudaMemsetAsync(gpu->result, 0, sizeof(uint64_t), gpu->stream));
	QS_CUDA_TRY(gpu, cudaMemsetAsync(gpu->result + 1, 0xff, sizeof(uint64_t), gpu->stream));
	QS_TRY(qs_launch(gpu, find_bits, count, key, count, (qs_u64 *) gpu->result));
	QS_TRY(qs_read_result(gpu, 2));
	bits->any |= gpu->host_result[0];
	bits->all &= gpu->host_result[1];
	return QB_OK;
}
