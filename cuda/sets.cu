/*
 * sets.cu
 *		A collection of sets on the device: create, fill, destroy.
 *
 * cuda/sets.cu
 */
#include "sets.cuh"

#include "kernels.cuh"

#include <new>
#include <cub/device/device_radix_sort.cuh>

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
	QS_TRY(qs_wait(gpu, gpu->stream));
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
	return qs_carry(to->gpu, at, from->gpu, pointer, bytes);
}

/* Copy all arrays; "from" may be destroyed on return. */
static qb_status
copy_all(qset_cuda_sets *to, const qset_cuda_sets *from)
{
	to->largest = from->largest;
	to->last = from->last;
	QS_TRY(
		qset_peer_copy(to, to->offset, from, from->offset, (from->sets + 1) * sizeof(*to->offset)));
	QS_TRY(qset_peer_copy(to, to->element, from, from->element,
						  from->elements * sizeof(*to->element)));
	return qset_index_copy(to, from);
}

qb_status
qset_cuda_sets_copy(qs_cuda *gpu, const qset_cuda_sets *from, qset_cuda_sets **to)
{
	qb_status status = qset_cuda_sets_create(gpu, from->sets, from->elements, from->universe, to);

	if (status != QB_OK)
		return status;
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

/*
 * ---- the inverted index of a collection: for each element the sets that have it ----
 *
 * One radix sort (CUB) sorts pairs (element, set) of 4 bytes each by element,
 * stably, so a list has its sets in ascending order.  "rest" is the inverse of
 * the sort's permutation: for an element of a set it gives the index in the element's
 * list at which the sets behind this set begin, and the list's end.  A search that
 * needs only these sets does not look up the element.  Floor: the passes of the sort,
 * each of which reads and writes 16 bytes an element, one for every 8 bits of the
 * universe; and a sector of 32 written where each element's 8 bytes of "rest" belong.
 *
 * The lists also give the number of elements of each degree.  From these numbers
 * sets_search.cu decides which elements become columns of bits.
 */

/* Write each set's number beside each of its elements; a warp takes a set. */
__global__ void
__launch_bounds__(QS_BLOCK) number_owners(const uint64_t *offset, uint64_t sets, uint32_t *owner)
{
	uint64_t warps = (uint64_t) gridDim.x * blockDim.x / 32;

	for (uint64_t s = ((uint64_t) blockIdx.x * blockDim.x + threadIdx.x) / 32; s < sets; s += warps)
		for (uint64_t i = offset[s] + qs_lane(); i < offset[s + 1]; i += 32)
			owner[i] = (uint32_t) s;
}

__global__ void
__launch_bounds__(QS_BLOCK) number_all(uint32_t *number, uint64_t count)
{
	uint64_t stride = (uint64_t) gridDim.x * blockDim.x;

	for (uint64_t i = (uint64_t) blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride)
		number[i] = (uint32_t) i;
}

/* Make "rest" after the sort: "from" says where each entry of the lists stood before. */
template <typename Set>
__global__ void
__launch_bounds__(QS_BLOCK)
	make_lists(const uint32_t *from, const uint32_t *owner, const uint32_t *sorted,
			   const uint32_t *start, uint64_t count, Set *list, uint2 *rest)
{
	uint64_t stride = (uint64_t) gridDim.x * blockDim.x;

	for (uint64_t i = (uint64_t) blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride)
	{
		uint32_t f = from[i];

		list[i] = (Set) owner[f];
		rest[f] = make_uint2((uint32_t) i + 1, start[sorted[i] + 1]);
	}
}

/* Find where each element's list begins; an element that no set has gets an empty list. */
__global__ void
__launch_bounds__(QS_BLOCK)
	find_starts(const uint32_t *sorted, uint64_t count, uint32_t *start, uint64_t universe)
{
	uint64_t stride = (uint64_t) gridDim.x * blockDim.x;

	for (uint64_t i = (uint64_t) blockIdx.x * blockDim.x + threadIdx.x; i <= count; i += stride)
	{
		uint64_t after = i > 0 ? (uint64_t) sorted[i - 1] + 1 : 0;
		uint64_t here = i < count ? sorted[i] : universe;

		for (uint64_t e = after; e <= here; e++)
			start[e] = (uint32_t) i;
	}
}

/* Count elements by degree.  Most elements are rare, so each block counts the first bins itself. */
__global__ void
__launch_bounds__(QS_BLOCK)
	count_degrees(const uint32_t *start, uint64_t universe, uint64_t bins, qs_u64 *bin)
{
	__shared__ uint32_t rare[QS_BLOCK];
	uint64_t stride = (uint64_t) gridDim.x * blockDim.x;

	rare[threadIdx.x] = 0;
	__syncthreads();
	for (uint64_t e = (uint64_t) blockIdx.x * blockDim.x + threadIdx.x; e < universe; e += stride)
	{
		uint32_t degree = start[e + 1] - start[e];

		if (degree < QS_BLOCK)
			atomicAdd(&rare[degree], 1);
		else
			atomicAdd(&bin[degree], 1);
	}
	__syncthreads();
	if (threadIdx.x < bins && rare[threadIdx.x] > 0)
		atomicAdd(&bin[threadIdx.x], rare[threadIdx.x]);
}

/* ---- host ---- */

static int
bits_of(uint64_t universe)
{
	int bits = 1;

	while (bits < 32 && (universe - (universe > 0)) >> bits != 0)
		bits++;
	return bits;
}

/* Memory of the sort: four arrays with an item for each element, and CUB's own. */
struct scratch
{
	uint32_t *owner, *number, *from, *sorted;
	void *cub;
	size_t cub_bytes;
};

static qb_status
get_scratch(qset_cuda_sets *s, scratch *t)
{
	uint64_t n = s->elements;
	size_t each = qs_ceil_div(n * sizeof(uint32_t), 256) * 256;
	uint8_t *work;

	QS_CUDA_TRY(s->gpu, cub::DeviceRadixSort::SortPairs(NULL, t->cub_bytes, s->element, t->sorted,
														t->number, t->from, n, 0,
														bits_of(s->universe), s->gpu->stream));
	QS_TRY(qset_workspace(s->gpu, 4 * each + t->cub_bytes + 1, &work));
	t->owner = (uint32_t *) work;
	t->number = (uint32_t *) (work + each);
	t->from = (uint32_t *) (work + 2 * each);
	t->sorted = (uint32_t *) (work + 3 * each);
	t->cub = work + 4 * each;
	return QB_OK;
}

static qb_status
sort_elements(qset_cuda_sets *s, scratch *t)
{
	qs_cuda *gpu = s->gpu;
	uint64_t n = s->elements;
	int grid;

	QS_TRY(qs_grid(gpu, number_owners, QS_BLOCK, 0, qs_ceil_div(s->sets * 32, QS_BLOCK), &grid));
	number_owners<<<grid, QS_BLOCK, 0, gpu->stream>>>(s->offset, s->sets, t->owner);
	QS_CUDA_LAUNCHED(gpu);
	QS_TRY(qs_grid(gpu, number_all, QS_BLOCK, 0, qs_ceil_div(n, QS_BLOCK), &grid));
	number_all<<<grid, QS_BLOCK, 0, gpu->stream>>>(t->number, n);
	QS_CUDA_LAUNCHED(gpu);
	QS_CUDA_TRY(gpu, cub::DeviceRadixSort::SortPairs(t->cub, t->cub_bytes, s->element, t->sorted,
													 t->number, t->from, n, 0, bits_of(s->universe),
													 gpu->stream));
	return QB_OK;
}

static qb_status
fill_index(qset_cuda_sets *s, const scratch *t)
{
	qs_cuda *gpu = s->gpu;
	const qset_index *x = &s->index;
	uint64_t n = s->elements;
	int grid;

	QS_TRY(qs_grid(gpu, make_lists<uint32_t>, QS_BLOCK, 0, qs_ceil_div(n, QS_BLOCK), &grid));
	find_starts<<<grid, QS_BLOCK, 0, gpu->stream>>>(t->sorted, n, x->start, s->universe);
	QS_CUDA_LAUNCHED(gpu);
	if (qset_short_list(s))
		make_lists<<<grid, QS_BLOCK, 0, gpu->stream>>>(t->from, t->owner, t->sorted, x->start, n,
													   (uint16_t *) x->list, x->rest);
	else
		make_lists<<<grid, QS_BLOCK, 0, gpu->stream>>>(t->from, t->owner, t->sorted, x->start, n,
													   (uint32_t *) x->list, x->rest);
	QS_CUDA_LAUNCHED(gpu);
	return QB_OK;
}

/* Count elements by degree, and copy the counts to the host. */
static qb_status
count_bins(qset_cuda_sets *s)
{
	qs_cuda *gpu = s->gpu;
	size_t bytes = (s->sets + 1) * sizeof(uint64_t);
	uint8_t *bin;
	int grid;

	s->bin = new (std::nothrow) uint64_t[s->sets + 1];
	if (!s->bin)
		return QB_NO_MEMORY;
	QS_TRY(qset_workspace(gpu, bytes, &bin)); /* in order with the kernels: the sort is done */
	QS_CUDA_TRY(gpu, cudaMemsetAsync(bin, 0, bytes, gpu->stream));
	QS_TRY(qs_grid(gpu, count_degrees, QS_BLOCK, 0, qs_ceil_div(s->universe, QS_BLOCK), &grid));
	count_degrees<<<grid, QS_BLOCK, 0, gpu->stream>>>(s->index.start, s->universe, s->sets + 1,
													  (qs_u64 *) bin);
	QS_CUDA_LAUNCHED(gpu);
	QS_CUDA_TRY(gpu, cudaMemcpyAsync(s->bin, bin, bytes, cudaMemcpyDeviceToHost, gpu->stream));
	QS_TRY(qs_wait(gpu, gpu->stream));
	gpu->stats.bytes_out += bytes;
	return QB_OK;
}

static uint64_t
list_bytes(const qset_cuda_sets *s)
{
	return s->elements * (qset_short_list(s) ? sizeof(uint16_t) : sizeof(uint32_t));
}

static qb_status
alloc_index(qset_cuda_sets *s)
{
	qset_index *x = &s->index;

	QS_TRY(qset_device_alloc(s->gpu, &s->bytes, (s->universe + 1) * sizeof(*x->start),
							 (void **) &x->start));
	QS_TRY(
		qset_device_alloc(s->gpu, &s->bytes, s->elements * sizeof(*x->rest), (void **) &x->rest));
	return qset_device_alloc(s->gpu, &s->bytes, list_bytes(s), &x->list);
}

static qb_status
make_index(qset_cuda_sets *s)
{
	scratch t = {};

	QS_TRY(alloc_index(s));
	if (s->elements > 0)
	{
		QS_TRY(get_scratch(s, &t));
		QS_TRY(sort_elements(s, &t));
		QS_TRY(fill_index(s, &t));
	}
	return count_bins(s);
}

qb_status
qset_index_make(qset_cuda_sets *s)
{
	qb_status status;

	if (s->index.made)
		return QB_OK;
	status = make_index(s);
	if (status != QB_OK)
		qset_index_free(s);
	else
		s->index.made = true;
	return status;
}

qb_status
qset_cuda_sets_index(qset_cuda_sets *s)
{
	QS_TRY(qs_cuda_enter(s->gpu));
	return qset_index_make(s);
}

/* Copy an index that exists. */
static qb_status
copy_index(qset_cuda_sets *to, const qset_cuda_sets *from)
{
	qset_index *x = &to->index;

	QS_TRY(alloc_index(to));
	QS_TRY(qset_peer_copy(to, x->start, from, from->index.start,
						  (from->universe + 1) * sizeof(*x->start)));
	QS_TRY(qset_peer_copy(to, x->rest, from, from->index.rest, from->elements * sizeof(*x->rest)));
	QS_TRY(qset_peer_copy(to, x->list, from, from->index.list, list_bytes(from)));
	to->bin = new (std::nothrow) uint64_t[from->sets + 1];
	if (!to->bin)
		return QB_NO_MEMORY;
	memcpy(to->bin, from->bin, (from->sets + 1) * sizeof(*to->bin));
	return QB_OK;
}

qb_status
qset_index_copy(qset_cuda_sets *to, const qset_cuda_sets *from)
{
	qb_status status;

	if (!from->index.made)
		return QB_OK;
	status = copy_index(to, from);
	if (status != QB_OK)
		qset_index_free(to);
	else
		to->index.made = true;
	return status;
}

void
qset_index_free(qset_cuda_sets *s)
{
	qset_index *x = &s->index;

	qset_device_free(s->gpu, &s->bytes, x->start, (s->universe + 1) * sizeof(*x->start));
	qset_device_free(s->gpu, &s->bytes, x->rest, s->elements * sizeof(*x->rest));
	qset_device_free(s->gpu, &s->bytes, x->list, list_bytes(s));
	delete[] s->bin;
	*x = {};
	s->bin = NULL;
}
