/*
 * copy.cu
 *		Copies between host memory and a device, and between devices.
 *
 * A backend reads a value in pieces of at most 256 kB, the size of a slot in PostgreSQL's shared
 * memory.  If the device is idle and the slots are page-locked, one kernel writes pieces to several
 * slots, so the worker need not queue a copy for each piece.  If other kernels run, this kernel
 * might have to wait for a multiprocessor, so the pieces are copied one by one.  Floor: each byte
 * crosses the bus once.
 *
 * SQL: every query that makes a sketch or a filter on a GPU.
 *
 * cuda/copy.cu
 */
#include "device.cuh"

/*
 * The memory that was page-locked last.  qs_is_pinned() tests this memory first, because a call of
 * CUDA takes longer than the test.
 */
static const uint8_t *registered;
static size_t registered_bytes;

qb_status
qs_cuda_host_register(qs_cuda *gpu, void *pointer, size_t bytes)
{
	QS_TRY(qs_cuda_enter(gpu));
	QS_CUDA_TRY(
		gpu, cudaHostRegister(pointer, bytes, cudaHostRegisterPortable | cudaHostRegisterMapped));
	registered = (const uint8_t *) pointer;
	registered_bytes = bytes;
	return QB_OK;
}

bool
qs_is_pinned(const void *pointer)
{
	cudaPointerAttributes attributes;

	if (!pointer)
		return false;
	if ((uintptr_t) pointer - (uintptr_t) registered < registered_bytes)
		return true;
	if (cudaPointerGetAttributes(&attributes, pointer) != cudaSuccess)
	{
		cudaGetLastError();
		return false;
	}
	return attributes.type == cudaMemoryTypeHost;
}

qb_status
qs_copy(qs_cuda *gpu, void *to, const void *from, uint64_t bytes, cudaMemcpyKind kind)
{
	/*
	 * a copy to memory that is not page-locked blocks the thread until the stream is done, so first
	 * wait with pauses, in which the thread serves other devices
	 */
	if (bytes > 0 && gpu->pause && kind == cudaMemcpyDeviceToHost)
		QS_TRY(qs_wait(gpu, gpu->stream));
	if (bytes > 0)
		QS_CUDA_TRY(gpu, cudaMemcpyAsync(to, from, bytes, kind, gpu->stream));
	return QB_OK;
}

qb_status
qs_copy_now(qs_cuda *gpu, void *to, const void *from, uint64_t bytes, cudaMemcpyKind kind)
{
	QS_TRY(qs_copy(gpu, to, from, bytes, kind));
	return qs_wait(gpu, gpu->stream);
}

qb_status
qs_read_bytes(qs_cuda *gpu, const void *from, uint64_t bytes)
{
	QS_CUDA_TRY(
		gpu, cudaMemcpyAsync(gpu->host_result, from, bytes, cudaMemcpyDeviceToHost, gpu->stream));
	return qs_wait(gpu, gpu->stream);
}

/* ---- copies of pieces of a value to the host ---- */

/* Blocks per span.  With this number a few spans saturate the bus. */
#define SPAN_BLOCKS 8

#define SPANS_MAX 32

/* Bytes that are contiguous in device memory and in host memory. */
struct qs_span
{
	const uint8_t *from;
	uint8_t *to;
	uint64_t bytes;
};

struct qs_spans
{
	qs_span span[SPANS_MAX];
	int count;
};

/* Copy a span in words of this type, and the remaining bytes one by one. */
template <typename Word>
static __device__ void
copy_words(const qs_span &span)
{
	uint64_t words = span.bytes / sizeof(Word), rest = words * sizeof(Word);
	uint64_t thread = blockIdx.x * blockDim.x + threadIdx.x;

	for (uint64_t i = thread; i < words; i += gridDim.x * blockDim.x)
		((Word *) span.to)[i] = ((const Word *) span.from)[i];
	if (thread < span.bytes - rest)
		span.to[rest + thread] = span.from[rest + thread];
}

/* Blocks with blockIdx.y = y copy span y. */
__global__ void
__launch_bounds__(QS_BLOCK) copy_spans(const __grid_constant__ qs_spans all)
{
	const qs_span &span = all.span[blockIdx.y];

	if (((uintptr_t) span.to | (uintptr_t) span.from) % sizeof(uint4) == 0)
		copy_words<uint4>(span);
	else
		copy_words<uint8_t>(span);
}

static bool
are_pinned(const qs_spans *all)
{
	for (int i = 0; i < all->count; i++)
		if (!qs_is_pinned(all->span[i].to))
			return false;
	return true;
}

/* True if all work queued on gpu->stream is done. */
static bool
is_idle(const qs_cuda *gpu)
{
	bool idle = cudaStreamQuery(gpu->stream) == cudaSuccess;

	cudaGetLastError(); /* clear CUDA's last error, which may be cudaErrorNotReady */
	return idle;
}

/* True if a kernel can write page-locked memory at host addresses, and gpu->stream is idle. */
static bool
may_launch(const qs_cuda *gpu)
{
	return gpu->writes_host && is_idle(gpu);
}

/*
 * Queue one copy.  A copy to memory that is not page-locked blocks the thread until the stream is
 * done, so first wait for the stream with pauses.
 */
static qb_status
copy_span(qs_cuda *gpu, const qs_span *span, bool pinned)
{
	if (!pinned)
		QS_TRY(qs_wait(gpu, gpu->out));
	QS_CUDA_TRY(
		gpu, cudaMemcpyAsync(span->to, span->from, span->bytes, cudaMemcpyDeviceToHost, gpu->out));
	return QB_OK;
}

/* Queue the copies of these spans, and empty the list. */
static qb_status
copy_out(qs_cuda *gpu, qs_spans *all)
{
	int count = all->count;
	bool pinned = are_pinned(all);

	all->count = 0;
	if (count > 0 && pinned && may_launch(gpu))
	{
		copy_spans<<<dim3(SPAN_BLOCKS, count), QS_BLOCK, 0, gpu->out>>>(*all);
		return qs_launched(gpu);
	}
	for (int i = 0; i < count; i++)
		QS_TRY(copy_span(gpu, &all->span[i], pinned));
	return QB_OK;
}

static void
add_span(qs_spans *all, const uint8_t *from, uint8_t *to, uint64_t bytes)
{
	if (bytes > 0)
		all->span[all->count++] = { from, to, bytes };
}

/* True if all pieces lie within the value. */
static bool
are_inside(const qs_extent &value, const qs_cuda_piece *piece, int count)
{
	uint64_t all = value.table_bytes + value.extra_bytes;

	for (int i = 0; i < count; i++)
		if (piece[i].offset > all || piece[i].bytes > all - piece[i].offset)
			return false;
	return true;
}

/* Queue the copies of all pieces. */
static qb_status
copy_all(qs_cuda *gpu, const qs_extent &value, const qs_cuda_piece *piece, int count)
{
	uint64_t table = value.table_bytes;
	qs_spans spans = {};

	for (int i = 0; i < count; i++)
	{
		uint64_t offset = piece[i].offset, bytes = piece[i].bytes, low;

		low = offset >= table ? 0 : bytes < table - offset ? bytes : table - offset;
		if (spans.count + 2 > SPANS_MAX)
			QS_TRY(copy_out(gpu, &spans));
		add_span(&spans, value.table + offset, piece[i].to, low);
		add_span(&spans, value.extra + (offset + low - table), piece[i].to + low, bytes - low);
	}
	return copy_out(gpu, &spans);
}

/* Also waits after a failure, so that no copy writes to host memory after the return. */
qb_status
qs_copy_pieces(qs_cuda *gpu, const qs_extent &value, const qs_cuda_piece *piece, int count)
{
	qb_status status, waited;

	if (!are_inside(value, piece, count))
		return QB_NO_MEMORY;
	status = copy_all(gpu, value, piece, count);
	waited = qs_wait(gpu, gpu->out);
	return status == QB_OK ? waited : status;
}

qb_status
qs_follow_stream(qs_cuda *gpu)
{
	if (is_idle(gpu))
		return QB_OK;
	QS_CUDA_TRY(gpu, cudaEventRecord(gpu->reached, gpu->stream));
	QS_CUDA_TRY(gpu, cudaStreamWaitEvent(gpu->out, gpu->reached, 0));
	return QB_OK;
}

/* ---- copies between devices ---- */

qb_status
qs_follow(qs_cuda *gpu, qs_cuda *other)
{
	QS_CUDA_TRY(gpu, cudaSetDevice(other->device));
	QS_CUDA_TRY(gpu, cudaEventRecord(other->reached, other->stream));
	QS_CUDA_TRY(gpu, cudaSetDevice(gpu->device));
	QS_CUDA_TRY(gpu, cudaStreamWaitEvent(gpu->stream, other->reached, 0));
	return QB_OK;
}

qb_status
qs_hold(qs_cuda *gpu, qs_cuda *other)
{
	qb_status status = qs_follow(other, gpu);

	if (status == QB_OK)
		status = qs_cuda_enter(gpu);
	return qs_pass_error(gpu, other, status) == QB_OK ? QB_OK : QB_DEVICE_ERROR;
}

qb_status
qs_transfer(qs_cuda *to, void *at, qs_cuda *from, const void *pointer, uint64_t bytes)
{
	if (bytes == 0 || to == from)
		return qs_copy(to, at, pointer, bytes, cudaMemcpyDeviceToDevice);
	QS_TRY(qs_follow(to, from));
	QS_CUDA_TRY(to, cudaMemcpyPeerAsync(at, to->device, pointer, from->device, bytes, to->stream));
	return qs_hold(to, from);
}

/*
 * Let the current device "gpu" read the memory of "other", including the pool of "other".  Access
 * that is enabled already is no error.
 */
static cudaError_t
enable_peer(const qs_cuda *gpu, const qs_cuda *other)
{
	cudaError_t enabled = cudaDeviceEnablePeerAccess(other->device, 0);
	cudaMemAccessDesc access = {};

	if (enabled != cudaSuccess && enabled != cudaErrorPeerAccessAlreadyEnabled)
		return enabled;
	access.location.type = cudaMemLocationTypeDevice;
	access.location.id = gpu->device;
	access.flags = cudaMemAccessFlagsProtReadWrite;
	return other->pool ? cudaMemPoolSetAccess(other->pool, &access, 1) : cudaSuccess;
}

bool
qs_cuda_join(qs_cuda *gpu, qs_cuda *other)
{
	int possible = 0;
	bool joined = cudaSetDevice(gpu->device) == cudaSuccess &&
				  cudaDeviceCanAccessPeer(&possible, gpu->device, other->device) == cudaSuccess &&
				  possible && enable_peer(gpu, other) == cudaSuccess;

	cudaGetLastError(); /* clear CUDA's last error, also set if access was enabled already */
	gpu->peers &= ~(UINT64_C(1) << other->device);
	gpu->peers |= (uint64_t) joined << other->device;
	return joined;
}
