/*
 * sets.cu
 *		A collection of sets on the device: create, fill, destroy.
 *
 * cuda/sets.cu
 */
#include <new>

#include "sets.cuh"

/* ---- memory ---- */

/* Bytes that the limit leaves beside values and workspace. */
static uint64_t
left(const qs_cuda *gpu)
{
	uint64_t held = gpu->stats.device_bytes - gpu->base;

	return held < gpu->limit ? gpu->limit - held : 0;
}

/* Is there room for so many bytes?  Idle workspace can be freed and does not count. */
static qb_status
ask_room(qs_cuda *gpu, uint64_t bytes)
{
	if (bytes > left(gpu))
		qs_workspace_free(gpu);
	if (bytes <= left(gpu))
		return QB_OK;
	gpu->error.status = QB_NO_MEMORY;
	gpu->error.code = cudaErrorMemoryAllocation;
	gpu->error.name = "cudaErrorMemoryAllocation";
	gpu->error.call = "the limit of device memory";
	return QB_NO_MEMORY;
}

qb_status
qset_device_alloc(qs_cuda *gpu, uint64_t *held, uint64_t bytes, void **pointer)
{
	qb_status status;

	*pointer = NULL;
	QS_TRY(ask_room(gpu, bytes));
	status = qs_device_alloc(gpu, bytes, pointer);
	if (status == QB_NO_MEMORY && gpu->work_bytes > 0)
	{
		qs_workspace_free(gpu);
		status = qs_device_alloc(gpu, bytes, pointer);
	}
	if (status == QB_OK)
		*held += bytes;
	return status;
}

qb_status
qset_workspace(qs_cuda *gpu, uint64_t bytes, uint8_t **pointer)
{
	if (bytes > gpu->work_bytes)
		QS_TRY(ask_room(gpu, bytes));
	return qs_workspace(gpu, bytes, pointer);
}

qb_status
qset_device_room(qs_cuda *gpu, uint64_t *bytes)
{
	size_t free_bytes, total_bytes;

	QS_CUDA_TRY(gpu, cudaMemGetInfo(&free_bytes, &total_bytes));
	*bytes = free_bytes < left(gpu) ? free_bytes : left(gpu);
	return QB_OK;
}

void
qset_device_free(qs_cuda *gpu, uint64_t *held, void *pointer, uint64_t bytes)
{
	if (!pointer)
		return;
	qs_device_free(gpu, pointer, bytes);
	*held -= bytes;
}

/* ---- collections ---- */

static qb_status
create_arrays(qset_cuda_sets *s)
{
	qs_cuda *gpu = s->gpu;

	QS_TRY(qs_cuda_enter(gpu));
	QS_TRY(qset_device_alloc(gpu, &s->bytes, (s->sets + 1) * sizeof(*s->offset),
							 (void **) &s->offset));
	return qset_device_alloc(gpu, &s->bytes, s->elements * sizeof(*s->element),
							 (void **) &s->element);
}

qb_status
qset_cuda_sets_create(qs_cuda *gpu, uint64_t sets, uint64_t elements, uint64_t universe,
					  qset_cuda_sets **to)
{
	qset_cuda_sets *s;
	qb_status status;

	*to = NULL;
	if (sets > QSET_MAX_SETS || elements >= UINT32_MAX || universe > QSET_MAX_UNIVERSE)
		return QB_TOO_MANY;
	s = new (std::nothrow) qset_cuda_sets();
	if (!s)
		return QB_NO_MEMORY;
	s->gpu = gpu;
	s->sets = sets;
	s->elements = elements;
	s->universe = universe;
	status = create_arrays(s);
	if (status != QB_OK)
	{
		qset_cuda_sets_destroy(s);
		return status;
	}
	*to = s;
	return QB_OK;
}

void
qset_cuda_sets_destroy(qset_cuda_sets *s)
{
	if (!s)
		return;
	cudaSetDevice(s->gpu->device);
	qset_index_free(s);
	qset_device_free(s->gpu, &s->bytes, s->offset, (s->sets + 1) * sizeof(*s->offset));
	qset_device_free(s->gpu, &s->bytes, s->element, s->elements * sizeof(*s->element));
	delete s;
}

uint64_t
qset_cuda_sets_bytes(const qset_cuda_sets *s)
{
	return s->bytes;
}

/* Copy to the device.  The memory may be reused on return: CUDA copies unpinned memory at once. */
static qb_status
put(qs_cuda *gpu, void *to, const void *from, size_t bytes)
{
	QS_TRY(qs_cuda_enter(gpu));
	QS_CUDA_TRY(gpu, cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, gpu->stream));
	QS_CUDA_TRY(gpu, cudaStreamSynchronize(gpu->stream));
	gpu->stats.bytes_in += bytes;
	return QB_OK;
}

qb_status
qset_cuda_sets_put_offsets(qset_cuda_sets *s, uint64_t first, const uint64_t *offset, size_t count)
{
	for (size_t i = 0; i < count; i++)
	{
		if (first + i > 0 && offset[i] - s->last > s->largest)
			s->largest = offset[i] - s->last;
		s->last = offset[i];
	}
	return put(s->gpu, s->offset + first, offset, count * sizeof(*offset));
}

qb_status
qset_cuda_sets_put_elements(qset_cuda_sets *s, uint64_t first, const uint32_t *element,
							size_t count)
{
	return put(s->gpu, s->element + first, element, count * sizeof(*element));
}

qb_status
qset_peer_copy(qset_cuda_sets *to, void *at, const qset_cuda_sets *from, const void *pointer,
			   uint64_t bytes)
{
	if (bytes > 0)
		QS_CUDA_TRY(to->gpu, cudaMemcpyPeerAsync(at, to->gpu->device, pointer, from->gpu->device,
												 bytes, to->gpu->stream));
	return QB_OK;
}

/* Copy all arrays; "from" may be destroyed on return. */
static qb_status
copy_all(qset_cuda_sets *to, const qset_cuda_sets *from)
{
	QS_TRY(qs_cuda_sync(from->gpu));
	QS_TRY(qs_cuda_enter(to->gpu));
	to->largest = from->largest;
	to->last = from->last;
	QS_TRY(
		qset_peer_copy(to, to->offset, from, from->offset, (from->sets + 1) * sizeof(*to->offset)));
	QS_TRY(qset_peer_copy(to, to->element, from, from->element,
						  from->elements * sizeof(*to->element)));
	QS_TRY(qset_index_copy(to, from));
	QS_CUDA_TRY(to->gpu, cudaStreamSynchronize(to->gpu->stream));
	return QB_OK;
}

/*
 * Let copies go straight from device to device, if both allow it; otherwise
 * they go by way of the host.
 */
static void
enable_peer(const qs_cuda *to, const qs_cuda *from)
{
	int possible = 0;

	cudaSetDevice(to->device);
	if (to->device != from->device &&
		cudaDeviceCanAccessPeer(&possible, to->device, from->device) == cudaSuccess && possible)
		cudaDeviceEnablePeerAccess(from->device, 0);
	cudaGetLastError(); /* the error of an access that was enabled already */
}

qb_status
qset_cuda_sets_copy(qs_cuda *gpu, const qset_cuda_sets *from, qset_cuda_sets **to)
{
	qb_status status = qset_cuda_sets_create(gpu, from->sets, from->elements, from->universe, to);

	if (status != QB_OK)
		return status;
	enable_peer(gpu, from->gpu);
	status = copy_all(*to, from);
	if (status != QB_OK)
	{
		qset_cuda_sets_destroy(*to);
		*to = NULL;
	}
	return status;
}

const qset_sets_ops qset_cuda_collections = {
	.create = qset_cuda_sets_create,
	.copy = qset_cuda_sets_copy,
	.destroy = qset_cuda_sets_destroy,
	.put_offsets = qset_cuda_sets_put_offsets,
	.put_elements = qset_cuda_sets_put_elements,
	.index = qset_cuda_sets_index,
	.bytes = qset_cuda_sets_bytes,
	.search = qset_cuda_pairs_open,
	.end = qset_cuda_pairs_close,
	.search_bytes = qset_cuda_pairs_bytes,
	.report = qset_cuda_pairs_report,
	.begin = qset_cuda_pairs_begin,
	.next = qset_cuda_pairs_wait,
};
