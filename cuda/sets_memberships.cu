/*
 * sets_memberships.cu
 *		Makes a collection of sets from rows (set id, element) on the device, by sorting.
 *
 * First the elements and the ids are sorted separately (CUB), by the bits in which any two values
 * differ.  Duplicates are removed, which results in a list of all elements and a list of all ids.
 * The number of a value is its index in its list.  Then each row becomes one word: the number of
 * its set in the high bits, and the number of its element in the low bits.  These words are sorted,
 * and duplicates are removed.  A set begins where the number of the set changes.
 *
 * Floor: a pass of a sort over 8 bits reads and writes 8 bytes per row.  For 10,000 sets and
 * 100,000 distinct elements, elements, ids and words take 3 + 2 + 4 passes.
 *
 * SQL: qsets_agg() of cached columns.
 *
 * cuda/sets_memberships.cu
 */
#include <new>

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_select.cuh>

#include "device.cuh"
#include "sets.cuh"

/* The least capacity in rows.  A larger capacity has one spare row for each GROWTH rows in use. */
#define LEAST_ROOM 65536
#define GROWTH     2

struct qset_cuda_memberships
{
	qs_cuda *gpu;

	/* the rows, before they are sorted */
	qset_memory row_memory;
	int64_t *row_id;
	int64_t *row_element;
	uint64_t room;
	uint64_t rows;

	/* the collection, after sorting */
	bool sorted;
	qset_memory memory;
	qset_cuda_sizes sizes;
	int64_t *id;
	uint64_t *offset;
	uint32_t *rank;
	int64_t *value;
};

static qb_status
create(qs_cuda *gpu, qset_cuda_memberships **memberships)
{
	qset_cuda_memberships *m = new (std::nothrow) qset_cuda_memberships();

	*memberships = m;
	if (!m)
		return QB_NO_MEMORY;
	m->gpu = m->row_memory.gpu = m->memory.gpu = gpu;
	return QB_OK;
}

static void
destroy(qset_cuda_memberships *m)
{
	if (!m)
		return;
	cudaSetDevice(m->gpu->device); /* qs_cuda_enter() would clear the error of an earlier call */
	qset_free(&m->row_memory);
	qset_free(&m->memory);
	delete m;
}

static uint64_t
bytes_of(const qset_cuda_memberships *m)
{
	return m->row_memory.bytes + m->memory.bytes;
}

static uint64_t
rows_of(const qset_cuda_memberships *m)
{
	return m->rows;
}

/* ---- rows ---- */

/* Copy the rows into new arrays of "room" rows. */
static qb_status
move_rows(qset_cuda_memberships *m, qset_memory *memory, uint64_t room)
{
	uint64_t bytes = m->rows * sizeof(int64_t);
	int64_t *id, *element;

	QS_TRY(qset_alloc(memory, room, &id));
	QS_TRY(qset_alloc(memory, room, &element));
	QS_TRY(qs_copy(m->gpu, id, m->row_id, bytes, cudaMemcpyDeviceToDevice));
	QS_TRY(qs_copy(m->gpu, element, m->row_element, bytes, cudaMemcpyDeviceToDevice));
	m->row_id = id;
	m->row_element = element;
	m->room = room;
	return QB_OK;
}

/* Change the capacity to "room" rows, and free the old arrays. */
static qb_status
resize(qset_cuda_memberships *m, uint64_t room)
{
	qset_memory memory = {};
	qb_status status;

	memory.gpu = m->gpu;
	status = move_rows(m, &memory, room);
	qset_free(status == QB_OK ? &m->row_memory : &memory);
	if (status == QB_OK)
		m->row_memory = memory;
	return status;
}

/* Increase the capacity to at least "rows" rows, with spare rows if there is memory. */
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

/* Add rows from a device, or from the host ("from" is NULL). */
static qb_status
add_rows(qset_cuda_memberships *m, qs_cuda *from, const int64_t *id, const uint64_t *element,
		 uint64_t count)
{
	auto copy = [&](int64_t *to, const void *array) {
		uint64_t bytes = count * sizeof(int64_t);

		return from ? qs_transfer(m->gpu, to + m->rows, from, array, bytes)
					: qs_copy(m->gpu, to + m->rows, array, bytes, cudaMemcpyHostToDevice);
	};

	QS_TRY(qs_cuda_enter(m->gpu));
	if (m->sorted || count > QSET_CUDA_MEMBERS_MAX - m->rows)
		return QB_NO_MEMORY;
	QS_TRY(have_room(m, m->rows + count));
	QS_TRY(copy(m->row_id, id));
	QS_TRY(copy(m->row_element, element));
	m->rows += count;
	return QB_OK;
}

static qb_status
add(qset_cuda_memberships *m, const int64_t *id, const uint64_t *element, uint64_t count)
{
	QS_TRY(add_rows(m, NULL, id, element, count));
	return qs_wait(m->gpu, m->gpu->stream);
}

/* ---- sorting ---- */

/*
 * Two arrays for sorts, and memory for CUB.  They are not in the workspace, because allocating the
 * arrays of the collection may free the workspace.
 */
struct sorter
{
	qs_cuda *gpu;
	int count;
	qset_memory all;
	cub::DoubleBuffer<int64_t> key;
	void *memory;
	size_t bytes;
};

static qb_status
open_sorter(qset_cuda_memberships *m, sorter *s)
{
	qs_cuda *gpu = m->gpu;
	size_t sort_bytes = 0, unique_bytes = 0;
	int64_t *none = NULL, *key, *other;

	s->gpu = s->all.gpu = gpu;
	s->count = (int) m->rows;
	QS_CUDA_TRY(gpu, cub::DeviceRadixSort::SortKeys(NULL, sort_bytes, s->key, s->count, 0, 64,
													gpu->stream));
	QS_CUDA_TRY(gpu, cub::DeviceSelect::Unique(NULL, unique_bytes, none, none, gpu->result,
											   s->count, gpu->stream));
	s->bytes = sort_bytes > unique_bytes ? sort_bytes : unique_bytes;
	QS_TRY(qset_alloc(&s->all, m->rows, &key));
	QS_TRY(qset_alloc(&s->all, m->rows, &other));
	s->key = cub::DoubleBuffer<int64_t>(key, other);
	return qset_alloc_bytes(&s->all, s->bytes, &s->memory);
}

/* Sort the keys, and remove duplicates.  *left is the number of distinct keys. */
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

/* List the distinct values of one column of the rows. */
static qb_status
list_values(qset_cuda_memberships *m, sorter *s, const int64_t *from, int64_t **list,
			uint64_t *count)
{
	qs_key_bits bits;
	uint64_t left;

	QS_TRY(qs_learn_bits(m->gpu, from, m->rows, &bits));
	QS_TRY(qs_copy(m->gpu, s->key.Current(), from, m->rows * sizeof(int64_t),
				   cudaMemcpyDeviceToDevice));
	QS_TRY(sort_unique(s, qs_differing(bits), &left));
	QS_TRY(qset_alloc(&m->memory, left, list));
	*count = left;
	return qs_copy(m->gpu, *list, s->key.Current(), left * sizeof(int64_t),
				   cudaMemcpyDeviceToDevice);
}

/* Return the index of a value in an ascending list, which must have this value. */
__device__ __forceinline__ uint64_t
index_in(const int64_t *list, uint64_t count, int64_t value)
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

/* The lists of the collection, for number_rows and cut_sets. */
struct numbering
{
	const int64_t *id;
	const int64_t *value;
	uint64_t sets;
	uint64_t universe;
	int bits; /* bits of an element's number */
};

__global__ void
__launch_bounds__(QS_BLOCK) number_rows(numbering n, const int64_t *id, const int64_t *element,
										uint64_t rows, int64_t *word)
{
	qs_for_each(rows, [&](uint64_t i) {
		word[i] = (int64_t) (index_in(n.id, n.sets, id[i]) << n.bits |
							 index_in(n.value, n.universe, element[i]));
	});
}

__global__ void
__launch_bounds__(QS_BLOCK)
	cut_sets(numbering n, const int64_t *word, uint64_t count, uint64_t *offset, uint32_t *rank)
{
	qs_for_each(count, [&](uint64_t i) {
		int64_t set = word[i] >> n.bits;

		rank[i] = (uint32_t) (word[i] & ((INT64_C(1) << n.bits) - 1));
		if (i == 0 || word[i - 1] >> n.bits != set)
			offset[set] = i;
		if (i == count - 1)
			offset[n.sets] = count;
	});
}

/* Make the word of each row, sort the words, and compute offsets and ranks. */
static qb_status
make_sets(qset_cuda_memberships *m, sorter *s)
{
	qs_cuda *gpu = m->gpu;
	numbering n = { m->id, m->value, m->sizes.sets, m->sizes.universe,
					qs_bits_of(m->sizes.universe) };
	int end = n.bits + qs_bits_of(n.sets);
	uint64_t elements;

	QS_TRY(qs_launch(gpu, number_rows, m->rows, n, m->row_id, m->row_element, m->rows,
					 s->key.Current()));
	QS_TRY(sort_unique(s, { 0, end > 0 ? end : 1 }, &elements));
	QS_TRY(qset_alloc(&m->memory, n.sets + 1, &m->offset));
	QS_TRY(qset_alloc(&m->memory, elements, &m->rank));
	m->sizes.elements = elements;
	return qs_launch(gpu, cut_sets, elements, n, s->key.Current(), elements, m->offset, m->rank);
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
		return qset_alloc(&m->memory, 1, &m->offset);
	status = make_collection(m, &s);
	qset_free(&s.all);
	return status;
}

static qb_status
sort(qset_cuda_memberships *m, qset_cuda_sizes *sizes)
{
	qb_status status;

	QS_TRY(qs_cuda_enter(m->gpu));
	if (!m->sorted)
	{
		status = sort_rows(m);
		qset_free(status == QB_OK ? &m->row_memory : &m->memory);
		if (status != QB_OK)
		{
			m->sizes = {};
			return status;
		}
		m->row_id = m->row_element = NULL;
		m->sorted = true;
	}
	*sizes = m->sizes;
	return QB_OK;
}

/* ---- the sorted collection ---- */

/* Return the address of item "first" of an array.  *bytes is the size of an item. */
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

static qb_status
get(const qset_cuda_memberships *m, qset_cuda_array array, uint64_t first, uint64_t count, void *to)
{
	size_t bytes;
	const uint8_t *from = item_of(m, array, first, &bytes);

	QS_TRY(qs_cuda_enter(m->gpu));
	return qs_copy_now(m->gpu, to, from, count * bytes, cudaMemcpyDeviceToHost);
}

__global__ void
__launch_bounds__(QS_BLOCK) find_largest(const uint64_t *offset, uint64_t sets, qs_u64 *largest)
{
	qs_for_each(sets,
				[&](uint64_t i) { atomicMax(largest, (qs_u64) (offset[i + 1] - offset[i])); });
}

static qb_status
fill_sets(const qset_cuda_memberships *m, qset_cuda_sets *s)
{
	qs_cuda *gpu = m->gpu;

	QS_TRY(qs_copy(gpu, s->offset, m->offset, (s->sets + 1) * sizeof(*s->offset),
				   cudaMemcpyDeviceToDevice));
	QS_TRY(qs_copy(gpu, s->element, m->rank, s->elements * sizeof(*s->element),
				   cudaMemcpyDeviceToDevice));
	QS_CUDA_TRY(gpu, cudaMemsetAsync(gpu->result, 0, sizeof(uint64_t), gpu->stream));
	QS_TRY(qs_launch(gpu, find_largest, s->sets, s->offset, s->sets, (qs_u64 *) gpu->result));
	QS_TRY(qs_read_result(gpu, 1));
	s->largest = gpu->host_result[0];
	s->last = s->elements;
	return QB_OK;
}

static qb_status
make(const qset_cuda_memberships *m, qset_cuda_sets **to)
{
	*to = NULL;
	if (!m->sorted)
		return QB_NO_MEMORY;
	QS_TRY(qset_cuda_sets_create(m->gpu, m->sizes.sets, m->sizes.elements, m->sizes.universe, to));
	return qs_keep(fill_sets(m, *to), to, qset_cuda_sets_destroy);
}

const qset_members_ops qset_cuda_rows = {
	.create = create,
	.destroy = destroy,
	.add = add,
	.add_device = add_rows,
	.rows = rows_of,
	.sort = sort,
	.get = get,
	.bytes = bytes_of,
	.make = make,
};
