/*
 * sets.cu
 *		A collection of sets on the device: create, fill, destroy; its index; the choice of the
 *		method of a search.
 *
 * SQL: qsets_pairs(), qsets_nearest().
 *
 * cuda/sets.cu
 */
#include "sets.cuh"

#include "device.cuh"

#include <new>
#include <cub/device/device_radix_sort.cuh>

/* ---- memory ---- */

/* Return how many bytes of the limit are used neither by values nor by the workspace. */
static uint64_t
left(const qs_cuda *gpu)
{
	uint64_t held = gpu->stats.device_bytes - gpu->base;

	return held < gpu->limit ? gpu->limit - held : 0;
}

/* Check that the limit allows this many more bytes.  Frees the workspace if that is necessary. */
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
qset_alloc_bytes(qset_memory *m, uint64_t bytes, void **pointer)
{
	qs_cuda *gpu = m->gpu;
	qb_status status;

	*pointer = NULL;
	QS_TRY(ask_room(gpu, bytes));
	status = qs_device_alloc(gpu, bytes, pointer);
	if (status == QB_NO_MEMORY && gpu->work_bytes > 0)
	{
		qs_workspace_free(gpu);
		status = qs_device_alloc(gpu, bytes, pointer);
	}
	if (status != QB_OK)
		return status;
	m->array[m->arrays++] = { *pointer, bytes };
	m->bytes += bytes;
	return QB_OK;
}

void
qset_free(qset_memory *m)
{
	for (int i = 0; i < m->arrays; i++)
		qs_device_free(m->gpu, m->array[i].at, m->array[i].bytes);
	m->arrays = 0;
	m->bytes = 0;
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

/* ---- collections ---- */

static qb_status
create_arrays(qset_cuda_sets *s)
{
	QS_TRY(qs_cuda_enter(s->gpu));
	QS_TRY(qset_alloc(&s->memory, s->sets + 1, &s->offset));
	return qset_alloc(&s->memory, s->elements, &s->element);
}

qb_status
qset_cuda_sets_create(qs_cuda *gpu, uint64_t sets, uint64_t elements, uint64_t universe,
					  qset_cuda_sets **to)
{
	qset_cuda_sets *s;

	*to = NULL;
	if (sets > QSET_MAX_SETS || elements >= UINT32_MAX || universe > QSET_MAX_UNIVERSE)
		return QB_TOO_MANY;
	*to = s = new (std::nothrow) qset_cuda_sets();
	if (!s)
		return QB_NO_MEMORY;
	s->gpu = s->memory.gpu = s->index.memory.gpu = gpu;
	s->sets = sets;
	s->elements = elements;
	s->universe = universe;
	return qs_keep(create_arrays(s), to, qset_cuda_sets_destroy);
}

void
qset_cuda_sets_destroy(qset_cuda_sets *s)
{
	if (!s)
		return;
	cudaSetDevice(s->gpu->device);
	qset_index_free(s);
	qset_free(&s->memory);
	delete s;
}

uint64_t
qset_cuda_sets_bytes(const qset_cuda_sets *s)
{
	return s->memory.bytes + s->index.memory.bytes;
}

/* Copy to the device, and wait.  The host memory may be reused on return. */
static qb_status
put(qs_cuda *gpu, void *to, const void *from, size_t bytes)
{
	QS_TRY(qs_cuda_enter(gpu));
	return qs_copy_now(gpu, to, from, bytes, cudaMemcpyHostToDevice);
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
	return qs_transfer(to->gpu, at, from->gpu, pointer, bytes);
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
	return qs_keep(copy_all(*to, from), to, qset_cuda_sets_destroy);
}

/*
 * ---- the inverted index of a collection: each element's list of sets ----
 *
 * A stable radix sort (CUB) sorts the elements of all sets, with their positions, by element.  So
 * each list has its sets in ascending order.  "rest" has, for each element of a set, the index
 * behind the set's entry in the element's list, and the end of this list.  So a search that needs
 * only later sets need not look up the element.  Floor: the sort makes one pass for every 8 bits of
 * the universe, and each pass reads and writes 8 bytes per element.  In addition, writing "rest"
 * costs one random sector of 32 bytes per element.
 *
 * The lengths of the lists give the number of elements of each degree.  These numbers decide which
 * elements become columns of bits.
 */

/* Set owner[i] to the set of element i, a warp per set. */
__global__ void
__launch_bounds__(QS_BLOCK) number_owners(const uint64_t *offset, uint64_t sets, uint32_t *owner)
{
	qs_for_each_of_warps(sets, [&](uint64_t s) {
		for (uint64_t i = offset[s] + qs_lane(); i < offset[s + 1]; i += 32)
			owner[i] = (uint32_t) s;
	});
}

__global__ void
__launch_bounds__(QS_BLOCK) number_all(uint32_t *number, uint64_t count)
{
	qs_for_each(count, [&](uint64_t i) { number[i] = (uint32_t) i; });
}

qb_status
qset_number_all(qs_cuda *gpu, uint32_t *number, uint64_t count)
{
	return qs_launch(gpu, number_all, count, number, count);
}

/* Workspace of the sort: four arrays with an item for each element, and memory of CUB. */
struct scratch
{
	uint32_t *owner, *number, *from, *sorted;
	void *cub;
	size_t cub_bytes;
};

/*
 * Write "list" and "rest" after the sort.  t.from[i] is the position of list entry i before the
 * sort.
 */
template <typename Set>
__global__ void
__launch_bounds__(QS_BLOCK)
	make_lists(const scratch t, const uint32_t *start, uint64_t count, Set *list, uint2 *rest)
{
	qs_for_each(count, [&](uint64_t i) {
		uint32_t f = t.from[i];

		list[i] = (Set) t.owner[f];
		rest[f] = make_uint2((uint32_t) i + 1, start[t.sorted[i] + 1]);
	});
}

/* Find where each element's list begins; an element that no set has gets an empty list. */
__global__ void
__launch_bounds__(QS_BLOCK)
	find_starts(const uint32_t *sorted, uint64_t count, uint32_t *start, uint64_t universe)
{
	qs_for_each(count + 1, [&](uint64_t i) {
		uint64_t after = i > 0 ? (uint64_t) sorted[i - 1] + 1 : 0;
		uint64_t here = i < count ? sorted[i] : universe;

		for (uint64_t e = after; e <= here; e++)
			start[e] = (uint32_t) i;
	});
}

/*
 * Count elements by degree.  Most elements are rare, so each block counts low degrees in shared
 * memory.
 */
__global__ void
__launch_bounds__(QS_BLOCK)
	count_degrees(const uint32_t *start, uint64_t universe, uint64_t bins, qs_u64 *bin)
{
	__shared__ uint32_t rare[QS_BLOCK];

	rare[threadIdx.x] = 0;
	__syncthreads();
	qs_for_each(universe, [&](uint64_t e) {
		uint32_t degree = start[e + 1] - start[e];

		if (degree < QS_BLOCK)
			atomicAdd(&rare[degree], 1);
		else
			atomicAdd(&bin[degree], 1);
	});
	__syncthreads();
	if (threadIdx.x < bins && rare[threadIdx.x] > 0)
		atomicAdd(&bin[threadIdx.x], rare[threadIdx.x]);
}

/* ---- host ---- */

/* Return the number of bits by which elements are sorted. */
static int
bits_of(const qset_cuda_sets *s)
{
	return s->universe > 2 ? qs_bits_of(s->universe) : 1;
}

static qb_status
get_scratch(qset_cuda_sets *s, scratch *t)
{
	uint64_t n = s->elements;
	size_t each = qs_ceil_div(n * sizeof(uint32_t), 256) * 256;
	uint8_t *work;

	QS_CUDA_TRY(s->gpu, cub::DeviceRadixSort::SortPairs(NULL, t->cub_bytes, s->element, t->sorted,
														t->number, t->from, n, 0, bits_of(s),
														s->gpu->stream));
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

	QS_TRY(qs_launch(gpu, number_owners, s->sets * 32, s->offset, s->sets, t->owner));
	QS_TRY(qset_number_all(gpu, t->number, n));
	QS_CUDA_TRY(gpu,
				cub::DeviceRadixSort::SortPairs(t->cub, t->cub_bytes, s->element, t->sorted,
												t->number, t->from, n, 0, bits_of(s), gpu->stream));
	return QB_OK;
}

static qb_status
fill_index(qset_cuda_sets *s, const scratch *t)
{
	qs_cuda *gpu = s->gpu;
	const qset_index *x = &s->index;
	uint64_t n = s->elements;

	QS_TRY(qs_launch(gpu, find_starts, n, t->sorted, n, x->start, s->universe));
	if (qset_short_list(s))
		return qs_launch(gpu, make_lists<uint16_t>, n, *t, x->start, n, (uint16_t *) x->list,
						 x->rest);
	return qs_launch(gpu, make_lists<uint32_t>, n, *t, x->start, n, (uint32_t *) x->list, x->rest);
}

/* Count elements by degree, and copy the counts to the host. */
static qb_status
count_bins(qset_cuda_sets *s)
{
	qs_cuda *gpu = s->gpu;
	size_t bytes = (s->sets + 1) * sizeof(uint64_t);
	uint8_t *bin;

	s->index.bin = new (std::nothrow) uint64_t[s->sets + 1];
	if (!s->index.bin)
		return QB_NO_MEMORY;
	QS_TRY(qset_workspace(
		gpu, bytes, &bin)); /* the sort used the workspace, too, but is earlier in the stream */
	QS_CUDA_TRY(gpu, cudaMemsetAsync(bin, 0, bytes, gpu->stream));
	QS_TRY(qs_launch(gpu, count_degrees, s->universe, s->index.start, s->universe, s->sets + 1,
					 (qs_u64 *) bin));
	return qs_copy_now(gpu, s->index.bin, bin, bytes, cudaMemcpyDeviceToHost);
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

	QS_TRY(qset_alloc(&x->memory, s->universe + 1, &x->start));
	QS_TRY(qset_alloc(&x->memory, s->elements, &x->rest));
	return qset_alloc_bytes(&x->memory, list_bytes(s), &x->list);
}

void
qset_index_free(qset_cuda_sets *s)
{
	qset_free(&s->index.memory);
	delete[] s->index.bin;
	s->index = {};
	s->index.memory.gpu = s->gpu;
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

/* Mark the index as built, or free it after a failure. */
static qb_status
keep_index(qset_cuda_sets *s, qb_status status)
{
	s->index.built = status == QB_OK;
	if (status != QB_OK)
		qset_index_free(s);
	return status;
}

qb_status
qset_index_make(qset_cuda_sets *s)
{
	if (s->index.built)
		return QB_OK;
	return keep_index(s, make_index(s));
}

qb_status
qset_cuda_sets_index(qset_cuda_sets *s)
{
	QS_TRY(qs_cuda_enter(s->gpu));
	return qset_index_make(s);
}

/* Copy the index of "from", which must have an index. */
static qb_status
copy_index(qset_cuda_sets *to, const qset_cuda_sets *from)
{
	qset_index *x = &to->index;

	QS_TRY(alloc_index(to));
	QS_TRY(qset_peer_copy(to, x->start, from, from->index.start,
						  (from->universe + 1) * sizeof(*x->start)));
	QS_TRY(qset_peer_copy(to, x->rest, from, from->index.rest, from->elements * sizeof(*x->rest)));
	QS_TRY(qset_peer_copy(to, x->list, from, from->index.list, list_bytes(from)));
	x->bin = new (std::nothrow) uint64_t[from->sets + 1];
	if (!x->bin)
		return QB_NO_MEMORY;
	memcpy(x->bin, from->index.bin, (from->sets + 1) * sizeof(*x->bin));
	return QB_OK;
}

qb_status
qset_index_copy(qset_cuda_sets *to, const qset_cuda_sets *from)
{
	if (!from->index.built)
		return QB_OK;
	return keep_index(to, copy_index(to, from));
}

/*
 * ---- the choice of the method, and of the elements that become columns of bits ----
 *
 * The constants of the cost model are speeds, measured on an H200 (docs/engineering/sets-gpu.md).
 * Only the ratios of these speeds decide, so the choices are right for any device with the same
 * ratios.
 */

/* Events of lists, bits of products, and bytes of a strip (written and read), all per second. */
#define EVENTS_PER_S 9e11
#define BITS_PER_S   1.9e15
#define BYTES_PER_S  3e12

/*
 * Elements that the paper's methods process per second.  A pair costs the elements of both of its
 * sets.  The number is an estimate, used only for expected times.
 */
#define ELEMENTS_PER_S 1e11

/* A search: all rows with all columns, or with later columns only. */
struct question
{
	const qset_cuda_sets *rows, *columns;
	bool tail;
};

/* Return the number of events of the lists of all elements of one degree. */
static double
events_of(const question &q, uint64_t degree)
{
	double elements = (double) q.columns->index.bin[degree];
	double d = (double) degree;

	if (q.tail)
		return elements * d * (d - 1) / 2;
	/*
	 * the degrees in the rows are unknown, and assumed proportional to the degrees in the columns
	 */
	return elements * d * d * (double) q.rows->elements / (double) q.columns->elements;
}

/*
 * Set *lists and *hybrid to the expected seconds of the methods index and hybrid.  Return the
 * degree at which hybrid costs least, if elements of at least this degree become columns of bits;
 * 0: no element is in two sets.  Every column of bits has the same cost.  So if columns are added
 * in descending order of degree, the total cost first falls and then rises.
 */
static uint64_t
choose_degree(const question &q, double *lists, double *hybrid)
{
	double pairs = (double) q.rows->sets * (double) q.columns->sets / (q.tail ? 2 : 1);
	double events = 0;
	double left, heavy = 0;
	uint64_t best = 0;

	for (uint64_t d = 1; d <= q.columns->sets; d++)
		events += events_of(q, d);
	*lists = *hybrid = events / EVENTS_PER_S;
	left = events;
	for (uint64_t d = q.columns->sets; d >= 2; d--)
	{
		double cost;

		if (q.columns->index.bin[d] == 0)
			continue;
		heavy += (double) q.columns->index.bin[d];
		left -= events_of(q, d);
		cost = left / EVENTS_PER_S + heavy * pairs / BITS_PER_S + pairs * 8 / BYTES_PER_S;
		if (best != 0 && cost > *hybrid)
			break;
		if (best == 0 || cost < *hybrid)
		{
			*hybrid = cost;
			best = d;
		}
	}
	return best;
}

/* Return the seconds of a method that processes all pairs one by one, or multiplies all bits. */
static double
cost_of_pairs(const question &q, int method, bool resident)
{
	double pairs = (double) q.rows->sets * (double) q.columns->sets / (q.tail ? 2 : 1);
	double each =
		(double) q.rows->elements / (double) (q.rows->sets > 0 ? q.rows->sets : 1) +
		(double) q.columns->elements / (double) (q.columns->sets > 0 ? q.columns->sets : 1);

	if (method == QSET_BITMAP && resident)
		return pairs * (double) q.columns->universe / BITS_PER_S;
	return pairs * each / ELEMENTS_PER_S;
}

int
qset_choose_method(const qset_cuda_request *r, bool tail, uint64_t *degree, double *expected_ms)
{
	question q = { r->rows, r->columns ? r->columns : r->rows, tail };
	double lists, hybrid;
	uint64_t best = choose_degree(q, &lists, &hybrid);
	int method = r->method;

	if (method == QSET_AUTO)
		method = best > 0 && hybrid < lists ? QSET_HYBRID : QSET_INDEX;
	if (method == QSET_INDEX)
		*expected_ms = lists * 1e3;
	else if (method == QSET_HYBRID)
		*expected_ms = hybrid * 1e3;
	else
		*expected_ms = cost_of_pairs(q, method, r->variant != QSET_VARIANT_OFF) * 1e3;
	if (r->heavy > 0)
		best = r->heavy;
	*degree = method != QSET_HYBRID ? 0 : best > 0 ? best : UINT64_MAX;
	return method;
}
