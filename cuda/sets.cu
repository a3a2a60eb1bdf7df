/*
 * sets.cu
 *		A collection of sets on the device: create, fill, destroy.
 *
 * cuda/sets.cu
 */
#include <new>

#include "sets.cuh"

/* ---- memory ---- */

void
qi_cuda_limit(qs_cuda *gpu, uint64_t bytes)
{
	gpu->limit = bytes;
}

static bool
has_room(const qs_cuda *gpu, uint64_t bytes)
{
	return gpu->limit == 0 ||
		   (gpu->stats.device_bytes <= gpu->limit && bytes <= gpu->limit - gpu->stats.device_bytes);
}

/* May so many bytes be allocated?  Workspace that lies idle does not count. */
static qs_status
ask_room(qs_cuda *gpu, uint64_t bytes)
{
	if (!has_room(gpu, bytes))
		qs_cuda_trim(gpu);
	if (has_room(gpu, bytes))
		return QS_OK;
	gpu->error.status = QS_NO_MEMORY;
	gpu->error.code = cudaErrorMemoryAllocation;
	gpu->error.name = "cudaErrorMemoryAllocation";
	gpu->error.call = "the limit of device memory";
	return QS_NO_MEMORY;
}

qs_status
qi_device_alloc(qs_cuda *gpu, uint64_t *held, uint64_t bytes, void **pointer)
{
	qs_status status;

	*pointer = NULL;
	QS_TRY(ask_room(gpu, bytes));
	status = qs_device_alloc(gpu, bytes, pointer);
	if (status == QS_NO_MEMORY && gpu->work_bytes > 0)
	{
		qs_cuda_trim(gpu);
		status = qs_device_alloc(gpu, bytes, pointer);
	}
	if (status == QS_OK)
		*held += bytes;
	return status;
}

qs_status
qi_workspace(qs_cuda *gpu, uint64_t bytes, uint8_t **pointer)
{
	if (bytes > gpu->work_bytes)
		QS_TRY(ask_room(gpu, bytes));
	return qs_workspace(gpu, bytes, pointer);
}

qs_status
qi_device_room(qs_cuda *gpu, uint64_t *bytes)
{
	size_t free_bytes, total_bytes;
	uint64_t left = gpu->limit;

	QS_CUDA_TRY(gpu, cudaMemGetInfo(&free_bytes, &total_bytes));
	*bytes = free_bytes;
	if (gpu->limit == 0)
		return QS_OK;
	left = gpu->stats.device_bytes < left ? left - gpu->stats.device_bytes : 0;
	if (left < *bytes)
		*bytes = left;
	return QS_OK;
}

void
qi_device_free(qs_cuda *gpu, uint64_t *held, void *pointer, uint64_t bytes)
{
	if (!pointer)
		return;
	qs_device_free(gpu, pointer, bytes);
	*held -= bytes;
}

/* ---- collections ---- */

static qs_status
create_arrays(qi_cuda_sets *s)
{
	qs_cuda *gpu = s->gpu;

	QS_TRY(qs_cuda_enter(gpu));
	QS_TRY(
		qi_device_alloc(gpu, &s->bytes, (s->sets + 1) * sizeof(*s->offset), (void **) &s->offset));
	return qi_device_alloc(gpu, &s->bytes, s->elements * sizeof(*s->element),
						   (void **) &s->element);
}

qs_status
qi_cuda_sets_create(qs_cuda *gpu, uint64_t sets, uint64_t elements, uint64_t universe,
					qi_cuda_sets **to)
{
	qi_cuda_sets *s;
	qs_status status;

	*to = NULL;
	if (sets > QI_MAX_SETS || elements >= UINT32_MAX || universe > QI_MAX_UNIVERSE)
		return QS_TOO_MANY;
	s = new (std::nothrow) qi_cuda_sets();
	if (!s)
		return QS_NO_MEMORY;
	s->gpu = gpu;
	s->sets = sets;
	s->elements = elements;
	s->universe = universe;
	status = create_arrays(s);
	if (status != QS_OK)
	{
		qi_cuda_sets_destroy(s);
		return status;
	}
	*to = s;
	return QS_OK;
}

void
qi_cuda_sets_destroy(qi_cuda_sets *s)
{
	if (!s)
		return;
	cudaSetDevice(s->gpu->device);
	qi_index_free(s);
	qi_device_free(s->gpu, &s->bytes, s->offset, (s->sets + 1) * sizeof(*s->offset));
	qi_device_free(s->gpu, &s->bytes, s->element, s->elements * sizeof(*s->element));
	delete s;
}

uint64_t
qi_cuda_sets_count(const qi_cuda_sets *s)
{
	return s->sets;
}

uint64_t
qi_cuda_sets_bytes(const qi_cuda_sets *s)
{
	return s->bytes;
}

/* The memory may be reused when this returns: what is not pinned is copied at once. */
static qs_status
put(qs_cuda *gpu, void *to, const void *from, size_t bytes)
{
	QS_TRY(qs_cuda_enter(gpu));
	QS_CUDA_TRY(gpu, cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, gpu->stream));
	QS_CUDA_TRY(gpu, cudaStreamSynchronize(gpu->stream));
	gpu->stats.bytes_in += bytes;
	return QS_OK;
}

qs_status
qi_cuda_sets_put_offsets(qi_cuda_sets *s, uint64_t first, const uint64_t *offset, size_t count)
{
	for (size_t i = 0; i < count; i++)
	{
		if (first + i > 0 && offset[i] - s->last > s->largest)
			s->largest = offset[i] - s->last;
		s->last = offset[i];
	}
	return put(s->gpu, s->offset + first, offset, count * sizeof(*offset));
}

qs_status
qi_cuda_sets_put_elements(qi_cuda_sets *s, uint64_t first, const uint32_t *element, size_t count)
{
	return put(s->gpu, s->element + first, element, count * sizeof(*element));
}

qs_status
qi_cuda_sets_load(qs_cuda *gpu, const qi_collection *from, qi_cuda_sets **to)
{
	qs_status status = qi_cuda_sets_create(gpu, from->sets, from->elements, from->universe, to);

	if (status != QS_OK)
		return status;
	status = qi_cuda_sets_put_offsets(*to, 0, from->offset, from->sets + 1);
	if (status == QS_OK && from->elements > 0)
		status = qi_cuda_sets_put_elements(*to, 0, from->rank, from->elements);
	if (status != QS_OK)
	{
		qi_cuda_sets_destroy(*to);
		*to = NULL;
	}
	return status;
}

qs_status
qi_peer_copy(qi_cuda_sets *to, void *at, const qi_cuda_sets *from, const void *pointer,
			 uint64_t bytes)
{
	if (bytes > 0)
		QS_CUDA_TRY(to->gpu, cudaMemcpyPeerAsync(at, to->gpu->device, pointer, from->gpu->device,
												 bytes, to->gpu->stream));
	return QS_OK;
}

/* Once this returns, "from" may go. */
static qs_status
copy_all(qi_cuda_sets *to, const qi_cuda_sets *from)
{
	QS_TRY(qs_cuda_sync(from->gpu));
	QS_TRY(qs_cuda_enter(to->gpu));
	to->largest = from->largest;
	to->last = from->last;
	QS_TRY(
		qi_peer_copy(to, to->offset, from, from->offset, (from->sets + 1) * sizeof(*to->offset)));
	QS_TRY(
		qi_peer_copy(to, to->element, from, from->element, from->elements * sizeof(*to->element)));
	QS_TRY(qi_index_copy(to, from));
	QS_CUDA_TRY(to->gpu, cudaStreamSynchronize(to->gpu->stream));
	return QS_OK;
}

/* Copies go straight from device to device where these can; else by way of the host. */
static void
enable_peer(const qs_cuda *to, const qs_cuda *from)
{
	int possible = 0;

	cudaSetDevice(to->device);
	if (to->device != from->device &&
		cudaDeviceCanAccessPeer(&possible, to->device, from->device) == cudaSuccess && possible)
		cudaDeviceEnablePeerAccess(from->device, 0);
	cudaGetLastError(); /* enabled already */
}

qs_status
qi_cuda_sets_copy(qs_cuda *gpu, const qi_cuda_sets *from, qi_cuda_sets **to)
{
	qs_status status = qi_cuda_sets_create(gpu, from->sets, from->elements, from->universe, to);

	if (status != QS_OK)
		return status;
	enable_peer(gpu, from->gpu);
	status = copy_all(*to, from);
	if (status != QS_OK)
	{
		qi_cuda_sets_destroy(*to);
		*to = NULL;
	}
	return status;
}
