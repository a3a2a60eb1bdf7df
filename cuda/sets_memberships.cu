/*
 * sets_memberships.cu
 *		Rows (set id, element) on the device: sorted and made unique, they are a collection.
 *
 * Elements and ids are sorted by themselves first (CUB), each by the bits in which any two
 * differ.  Without duplicates they are the list of all elements and that of all ids, and
 * the index of a value in its list is its number.  Then a row is one word: the number of
 * its set, and below it that of its element.  These words are sorted and made unique.
 * Where the number of the set changes, a set begins.
 *
 * Floor: a pass of a sort over 8 bits reads and writes 8 bytes a row.  For 10,000 sets of
 * 100,000 elements there are 3 + 2 + 4 passes.
 *
 * cuda/sets_memberships.cu
 */
#include <new>

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_select.cuh>

#include "key_bits.cuh"
#include "sets.cuh"
#include "sets_memberships_cuda.h"

/* The least room, and room for more rows than there are: a fraction of these. */
#define LEAST_ROOM 65536
#define GROWTH     2

struct qset_cuda_memberships
{
	qs_cuda *gpu;
	uint64_t bytes; /* of device memory, that these arrays take */

	/* the rows, until they are sorted */
	int64_t *row_id;
	int64_t *row_element;
	uint64_t room;
	uint64_t rows;

	/* the collection, after that */
	bool sorted;
	qset_cuda_sizes sizes;
	int64_t *id;
	uint64_t *offset;
	uint32_t *rank;
	int64_t *value;
};

/* ---- memory ---- */

template <typename Item>
static qb_status
make_array(qset_cuda_memberships *m, Item **array, uint64_t count)
{
	return qset_device_alloc(m->gpu, &m->bytes, count * sizeof(Item), (void **) array);
}

template <typename Item>
static void
free_array(qset_cuda_memberships *m, Item **array, uint64_t count)
{
	qset_device_free(m->gpu, &m->bytes, *array, count * sizeof(Item));
	*array = NULL;
}

static void
free_rows(qset_cuda_memberships *m)
{
	free_array(m, &m->row_id, m->room);
	free_array(m, &m->row_element, m->room);
	m->room = 0;
}

static void
free_collection(qset_cuda_memberships *m)
{
	free_array(m, &m->id, m->sizes.sets);
	free_array(m, &m->offset, m->sizes.sets + 1);
	free_array(m, &m->rank, m->sizes.elements);
	free_array(m, &m->value, m->sizes.universe);
}

qb_status
qset_cuda_memberships_create(qs_cuda *gpu, qset_cuda_memberships **memberships)
{
	*memberships = new (std::nothrow) qset_cuda_memberships();
	if (!*memberships)
		return QB_NO_MEMORY;
	(*memberships)->gpu = gpu;
	return QB_OK;
}

void
qset_cuda_memberships_destroy(qset_cuda_memberships *m)
{
	if (!m)
		return;
	cudaSetDevice(m->gpu->device); /* qs_cuda_enter() would forget why a call failed */
	free_rows(m);
	free_collection(m);
	delete m;
}

uint64_t
qset_cuda_memberships_bytes(const qset_cuda_memberships *m)
{
	return m->bytes;
}

uint64_t
qset_cuda_memberships_rows(const qset_cuda_memberships *m)
{
	return m->rows;
}

/* ---- rows ---- */

static qb_status
copy(qs_cuda *gpu, void *to, const void *from, uint64_t bytes, cudaMemcpyKind kind)
{
	if (bytes > 0)
		QS_CUDA_TRY(gpu, cudaMemcpyAsync(to, from, bytes, kind, gpu->stream));
	return QB_OK;
}

/* Copy the rows to a larger room. */
static qb_status
copy_rows(qset_cuda_memberships *m, int64_t *id, int64_t *element)
{
	uint64_t bytes = m->rows * sizeof(int64_t);

	QS_TRY(copy(m->gpu, id, m->row_id, bytes, cudaMemcpyDeviceToDevice));
	return copy(m->gpu, element, m->row_element, bytes, cudaMemcpyDeviceToDevice);
}

/* Change the room. */
static qb_status
resize(qset_cuda_memberships *m, uint64_t room)
{
	int64_t *id = NULL, *element = NULL;
	qb_status status = make_array(m, &id, room);

	if (status == QB_OK)
		status = make_array(m, &element, room);
	if (status == QB_OK)
		status = copy_rows(m, id, element);
	if (status != QB_OK)
	{
		free_array(m, &id, room);
		free_array(m, &element, room);
		return status;
	}
	free_rows(m);
	m->row_id = id;
	m->row_element = element;
	m->room = room;
	return QB_OK;
}

/* Have room for so many rows, and if there is memory for some that come later. */
static qb_status
have_room(qset_cuda_memberships *m, uint64_t rows)
{
	uint64_t room = rows + rows / GROWTH;
	qb_status status;

	if (rows <= m->room)
		return QB_OK;
	status = resize(m, room > LEAST_ROOM ? room : LEAST_ROOM);
	return status == QB_NO_MEMORY ? resize(m, rows) : status;
}

/* Copy an array of a device, or of the host (NULL). */
static qb_status
copy_in(qset_cuda_memberships *m, int64_t *to, qs_cuda *from, const void *array, uint64_t count)
{
	if (from)
		return qs_carry(m->gpu, to, from, array, count * sizeof(int64_t));
	return copy(m->gpu, to, array, count * sizeof(int64_t), cudaMemcpyHostToDevice);
}

static qb_status
add(qset_cuda_memberships *m, qs_cuda *from, const int64_t *id, const uint64_t *element,
	uint64_t count)
{
	QS_TRY(qs_cuda_enter(m->gpu));
	if (m->sorted || count > QSET_CUDA_MEMBERS_MAX - m->rows)
		return QB_NO_MEMORY;
	QS_TRY(have_room(m, m->rows + count));
	QS_TRY(copy_in(m, m->row_id + m->rows, from, id, count));
	QS_TRY(copy_in(m, m->row_element + m->rows, from, element, count));
	m->rows += count;
	return QB_OK;
}

qb_status
qset_cuda_memberships_add(qset_cuda_memberships *m, const int64_t *id, const uint64_t *element,
						  uint64_t count)
{
	QS_TRY(add(m, NULL, id, element, count));
	QS_TRY(qs_wait(m->gpu, m->gpu->stream));
	m->gpu->stats.bytes_in += 2 * count * sizeof(uint64_t);
	return QB_OK;
}

qb_status
qset_cuda_memberships_add_device(qset_cuda_memberships *m, qs_cuda *from, const int64_t *id,
								 const uint64_t *element, uint64_t count)
{
	return add(m, from, id, element, count);
}

/* ---- sorting ---- */

/*
 * Two arrays that a sort goes back and forth between, and memory for CUB.  They are not in
 * the workspace: making the arrays of the collection may free that.
 */
struct sorter
{
	qs_cuda *gpu;
	int count;
	uint8_t *all; /* the arrays, then the memory for CUB */
	uint64_t all_bytes;
	cub::DoubleBuffer<int64_t> key;
	void *memory;
	size_t bytes;
};

static qb_status
open_sorter(qset_cuda_memberships *m, sorter *s)
{
	qs_cuda *gpu = m->gpu;
	uint64_t key_bytes = m->rows * sizeof(int64_t);
	size_t sort_bytes = 0, unique_bytes = 0;
	int64_t *none = NULL;

	s->gpu = gpu;
	s->count = (int) m->rows;
	QS_CUDA_TRY(gpu, cub::DeviceRadixSort::SortKeys(NULL, sort_bytes, s->key, s->count, 0, 64,
													gpu->stream));
	QS_CUDA_TRY(gpu, cub::DeviceSelect::Unique(NULL, unique_bytes, none, none, gpu->result,
											   s->count, gpu->stream));
	s->bytes = sort_bytes > unique_bytes ? sort_bytes : unique_bytes;
	s->all_bytes = 2 * key_bytes + s->bytes;
	QS_TRY(make_array(m, &s->all, s->all_bytes));
	s->key = cub::DoubleBuffer<int64_t>((int64_t *) s->all, (int64_t *) (s->all + key_bytes));
	s->memory = s->all + 2 * key_bytes;
	return QB_OK;
}

/* Sort the keys that are there, and leave each once. */
static qb_status
sort_unique(sorter *s, qs_bit_range bits, uint64_t *left)
{
	qs_cuda *gpu = s->gpu;

	QS_CUDA_TRY(gpu, cub::DeviceRadixSort::SortKeys(s->memory, s->bytes, s->key, s->count,
													bits.begin, bits.end, gpu->stream));
	QS_CUDA_TRY(gpu,
				cub::DeviceSelect::Unique(s->memory, s->bytes, s->key.Current(), s->key.Alternate(),
										  gpu->result, s->count, gpu->stream));
	QS_TRY(qs_read_result(gpu, 1));
	s->key.selector ^= 1;
	*left = gpu->host_result[0];
	return QB_OK;
}

/* Make the list of distinct values of a column of the rows. */
static qb_status
list_values(qset_cuda_memberships *m, sorter *s, const int64_t *from, int64_t **list,
			uint64_t *count)
{
	qs_key_bits bits;
	uint64_t left;

	QS_TRY(qs_learn_bits(m->gpu, from, m->rows, &bits));
	QS_TRY(
		copy(m->gpu, s->key.Current(), from, m->rows * sizeof(int64_t), cudaMemcpyDeviceToDevice));
	QS_TRY(sort_unique(s, qs_differing(bits), &left));
	QS_TRY(make_array(m, list, left));
	*count = left;
	return copy(m->gpu, *list, s->key.Current(), left * sizeof(int64_t), cudaMemcpyDeviceToDevice);
}

/* The index of a value in an ascending list that has it. */
__device__ __forceinline__ uint64_t
place_in(const int64_t *list, uint64_t count, int64_t value)
{
	uint64_t low = 0;

	while (count > 1)
	{
		uint64_t half = count / 2;

		low += __ldg(&list[low + half]) <= value ? half : 0;
		count -= half;
	}
	return low;
}

/* What the kernels below know of the collection. */
struct numbering
{
	const int64_t *id;
	const int64_t *value;
	uint64_t sets;
	uint64_t universe;
	int bits; /* of the number of an element */
};

__global__ void
__launch_bounds__(QS_BLOCK) number_rows(numbering n, const int64_t *id, const int64_t *element,
										uint64_t rows, int64_t *word)
{
	uint64_t stride = (uint64_t) gridDim.x * blockDim.x;

	for (uint64_t i = (uint64_t) blockIdx.x * blockDim.x + threadIdx.x; i < rows; i += stride)
		word[i] = (int64_t) (place_in(n.id, n.sets, id[i]) << n.bits |
							 place_in(n.value, n.universe, element[i]));
}

__global__ void
__launch_bounds__(QS_BLOCK)
	cut_sets(numbering n, const int64_t *word, uint64_t count, uint64_t *offset, uint32_t *rank)
{
	uint64_t stride = (uint64_t) gridDim.x * blockDim.x;

	for (uint64_t i = (uint64_t) blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride)
	{
		int64_t set = word[i] >> n.bits;

		rank[i] = (uint32_t) (word[i] & ((INT64_C(1) << n.bits) - 1));
		if (i == 0 || word[i - 1] >> n.bits != set)
			offset[set] = i;
		if (i == count - 1)
			offset[n.sets] = count;
	}
}

/* Bits of the numbers below "count". */
static int
bits_of(uint64_t count)
{
	return count <= 1 ? 0 : 64 - __builtin_clzll(count - 1);
}

/* Number the rows, and make offsets and ranks of them. */
static qb_status
make_sets(qset_cuda_memberships *m, sorter *s)
{
	qs_cuda *gpu = m->gpu;
	numbering n = { m->id, m->value, m->sizes.sets, m->sizes.universe, bits_of(m->sizes.universe) };
	int end = n.bits + bits_of(n.sets);
	uint64_t elements;

	QS_TRY(qs_launch(gpu, number_rows, m->rows, n, (const int64_t *) m->row_id,
					 (const int64_t *) m->row_element, m->rows, s->key.Current()));
	QS_TRY(sort_unique(s, { 0, end > 0 ? end : 1 }, &elements));
	QS_TRY(make_array(m, &m->offset, n.sets + 1));
	QS_TRY(make_array(m, &m->rank, elements));
	m->sizes.elements = elements;
	return qs_launch(gpu, cut_sets, elements, n, (const int64_t *) s->key.Current(), elements,
					 m->offset, m->rank);
}

static qb_status
make_collection(qset_cuda_memberships *m, sorter *s)
{
	QS_TRY(open_sorter(m, s));
	QS_TRY(list_values(m, s, m->row_element, &m->value, &m->sizes.universe));
	QS_TRY(list_values(m, s, m->row_id, &m->id, &m->sizes.sets));
	return make_sets(m, s);
}

static qb_status
sort_rows(qset_cuda_memberships *m)
{
	sorter s = {};
	qb_status status;

	if (m->rows == 0)
		return make_array(m, &m->offset, 1);
	status = make_collection(m, &s);
	free_array(m, &s.all, s.all_bytes);
	return status;
}

qb_status
qset_cuda_memberships_sort(qset_cuda_memberships *m, qset_cuda_sizes *sizes)
{
	qb_status status;

	QS_TRY(qs_cuda_enter(m->gpu));
	if (!m->sorted)
	{
		status = sort_rows(m);
		if (status != QB_OK)
		{
			free_collection(m);
			m->sizes = {};
			return status;
		}
		free_rows(m);
		m->sorted = true;
	}
	*sizes = m->sizes;
	return QB_OK;
}

/* ---- what was made ---- */

/* Where an array begins at "first", and the bytes of an item. */
static const uint8_t *
item_of(const qset_cuda_memberships *m, qset_cuda_array array, uint64_t first, size_t *bytes)
{
	*bytes = sizeof(uint64_t);
	switch (array)
	{
		case QSET_CUDA_ROW_IDS:
			return (const uint8_t *) (m->row_id + first);
		case QSET_CUDA_ROW_ELEMENTS:
			return (const uint8_t *) (m->row_element + first);
		case QSET_CUDA_IDS:
			return (const uint8_t *) (m->id + first);
		case QSET_CUDA_OFFSETS:
			return (const uint8_t *) (m->offset + first);
		case QSET_CUDA_RANKS:
			*bytes = sizeof(uint32_t);
			return (const uint8_t *) (m->rank + first);
		default:
			return (const uint8_t *) (m->value + first);
	}
}

qb_status
qset_cuda_memberships_get(const qset_cuda_memberships *m, qset_cuda_array array, uint64_t first,
						  uint64_t count, void *to)
{
	size_t bytes;
	const uint8_t *from = item_of(m, array, first, &bytes);

	QS_TRY(qs_cuda_enter(m->gpu));
	QS_TRY(copy(m->gpu, to, from, count * bytes, cudaMemcpyDeviceToHost));
	QS_TRY(qs_wait(m->gpu, m->gpu->stream));
	m->gpu->stats.bytes_out += count * bytes;
	return QB_OK;
}

__global__ void
__launch_bounds__(QS_BLOCK)
	find_largest(const uint64_t *offset, uint64_t sets, unsigned long long *largest)
{
	uint64_t stride = (uint64_t) gridDim.x * blockDim.x;

	for (uint64_t i = (uint64_t) blockIdx.x * blockDim.x + threadIdx.x; i < sets; i += stride)
		atomicMax(largest, (unsigned long long) (offset[i + 1] - offset[i]));
}

static qb_status
fill_sets(const qset_cuda_memberships *m, qset_cuda_sets *s)
{
	qs_cuda *gpu = m->gpu;

	QS_TRY(copy(gpu, s->offset, m->offset, (s->sets + 1) * sizeof(*s->offset),
				cudaMemcpyDeviceToDevice));
	QS_TRY(copy(gpu, s->element, m->rank, s->elements * sizeof(*s->element),
				cudaMemcpyDeviceToDevice));
	QS_CUDA_TRY(gpu, cudaMemsetAsync(gpu->result, 0, sizeof(uint64_t), gpu->stream));
	QS_TRY(qs_launch(gpu, find_largest, s->sets, (const uint64_t *) s->offset, s->sets,
					 (unsigned long long *) gpu->result));
	QS_TRY(qs_read_result(gpu, 1));
	s->largest = gpu->host_result[0];
	s->last = s->elements;
	return QB_OK;
}

qb_status
qset_cuda_sets_make(const qset_cuda_memberships *m, qset_cuda_sets **to)
{
	qb_status status;

	*to = NULL;
	if (!m->sorted)
		return QB_NO_MEMORY;
	QS_TRY(qset_cuda_sets_create(m->gpu, m->sizes.sets, m->sizes.elements, m->sizes.universe, to));
	status = fill_sets(m, *to);
	if (status != QB_OK)
	{
		qset_cuda_sets_destroy(*to);
		*to = NULL;
	}
	return status;
}

const qset_members_ops qset_cuda_rows = {
	.create = qset_cuda_memberships_create,
	.destroy = qset_cuda_memberships_destroy,
	.add = qset_cuda_memberships_add,
	.add_device = qset_cuda_memberships_add_device,
	.rows = qset_cuda_memberships_rows,
	.sort = qset_cuda_memberships_sort,
	.get = qset_cuda_memberships_get,
	.bytes = qset_cuda_memberships_bytes,
	.make = qset_cuda_sets_make,
};
