/*
 * sets_memberships.c
 *		Rows of a collection of sets on an emulated device, which is the CPU.
 *
 * test/modules/qsketch_emulate/sets_memberships.c
 */
#include "emulate.h"

#include "gpu/sets_gpu.h"
#include "sets_cuda.h"

#define FIRST_ROOM 8192

typedef struct Row
{
	int64 id;
	int64 element;
} Row;

struct qset_cuda_memberships
{
	qs_cuda *device;

	/* the rows, before sorting */
	Row *row;
	uint64 room;
	uint64 rows;

	/* the collection, after sorting */
	qset_cuda_sizes sizes;
	int64 *id;
	uint64 *offset;
	uint32 *rank;
	int64 *value;
};

static qb_status
emulated_create(qs_cuda *device, qset_cuda_memberships **memberships)
{
	qset_cuda_memberships *created = calloc(1, sizeof(*created));

	*memberships = created;
	if (created == NULL)
		return QB_NO_MEMORY;
	created->device = device;
	return QB_OK;
}

/* Allocate memory for count + 1 items, so that no array is empty. */
static void *
make_array(qset_cuda_memberships *m, uint64 count, Size bytes)
{
	return m->device->memory.alloc(m->device->memory.context, (count + 1) * bytes);
}

static void
free_array(qset_cuda_memberships *m, void *array)
{
	if (array)
		m->device->memory.release(m->device->memory.context, array);
}

static void
free_collection(qset_cuda_memberships *m)
{
	free_array(m, m->id);
	free_array(m, m->offset);
	free_array(m, m->rank);
	free_array(m, m->value);
	m->id = m->value = NULL;
	m->offset = NULL;
	m->rank = NULL;
}

static void
emulated_destroy(qset_cuda_memberships *m)
{
	free_array(m, m->row);
	free_collection(m);
	free(m);
}

static bool
have_room(qset_cuda_memberships *m, uint64 rows)
{
	uint64 room = Max(rows, Max(FIRST_ROOM, m->room + m->room / 2));
	Row *row;

	if (rows <= m->room)
		return true;
	row = make_array(m, room, sizeof(Row));
	if (row == NULL)
		return false;
	if (m->rows > 0)
		memcpy(row, m->row, m->rows * sizeof(Row));
	free_array(m, m->row);
	m->row = row;
	m->room = room;
	return true;
}

static qb_status
emulated_add(qset_cuda_memberships *m, const int64 *id, const uint64 *element, size_t count)
{
	size_t i;

	if (!have_room(m, m->rows + count))
		return QB_NO_MEMORY;
	for (i = 0; i < count; i++)
		m->row[m->rows++] = (Row){ .id = id[i], .element = (int64) element[i] };
	return QB_OK;
}

static qb_status
emulated_add_device(qset_cuda_memberships *m, qs_cuda *from, const int64 *id, const uint64 *element,
					size_t count)
{
	gpu_emulated_wait();
	return emulated_add(m, id, element, count);
}

static uint64
emulated_rows(const qset_cuda_memberships *m)
{
	return m->rows;
}

static int
compare(int64 x, int64 y)
{
	return (x > y) - (x < y);
}

static int
compare_values(const void *a, const void *b)
{
	return compare(*(const int64 *) a, *(const int64 *) b);
}

static int
compare_rows(const void *a, const void *b)
{
	const Row *x = a;
	const Row *y = b;

	return x->id != y->id ? compare(x->id, y->id) : compare(x->element, y->element);
}

/* List the distinct elements. */
static void
list_values(qset_cuda_memberships *m)
{
	uint64 i;

	m->sizes.universe = 0;
	for (i = 0; i < m->rows; i++)
		m->value[i] = m->row[i].element;
	qsort(m->value, m->rows, sizeof(int64), compare_values);
	for (i = 0; i < m->rows; i++)
		if (i == 0 || m->value[i] != m->value[m->sizes.universe - 1])
			m->value[m->sizes.universe++] = m->value[i];
}

/* Make the sets from the rows, which are sorted by set and by element. */
static void
list_sets(qset_cuda_memberships *m)
{
	uint64 i;

	m->sizes.sets = m->sizes.elements = 0;
	for (i = 0; i < m->rows; i++)
	{
		const Row *row = &m->row[i];
		const int64 *found;

		if (i > 0 && compare_rows(row, row - 1) == 0)
			continue;
		if (i == 0 || row->id != row[-1].id)
		{
			m->id[m->sizes.sets] = row->id;
			m->offset[m->sizes.sets++] = m->sizes.elements;
		}
		found = bsearch(&row->element, m->value, m->sizes.universe, sizeof(int64), compare_values);
		m->rank[m->sizes.elements++] = (uint32) (found - m->value);
	}
	m->offset[m->sizes.sets] = m->sizes.elements;
}

static qb_status
emulated_sort(qset_cuda_memberships *m, qset_cuda_sizes *sizes)
{
	m->id = make_array(m, m->rows, sizeof(int64));
	m->offset = make_array(m, m->rows, sizeof(uint64));
	m->rank = make_array(m, m->rows, sizeof(uint32));
	m->value = make_array(m, m->rows, sizeof(int64));
	if (m->id == NULL || m->offset == NULL || m->rank == NULL || m->value == NULL)
	{
		free_collection(m);
		return QB_NO_MEMORY;
	}
	if (m->rows > 0)
		qsort(m->row, m->rows, sizeof(Row), compare_rows);
	list_values(m);
	list_sets(m);
	free_array(m, m->row);
	m->row = NULL;
	m->room = 0;
	*sizes = m->sizes;
	return QB_OK;
}

/* Copy the ids or the elements of rows. */
static void
get_rows(const qset_cuda_memberships *m, bool ids, uint64 first, size_t count, int64 *to)
{
	size_t i;

	for (i = 0; i < count; i++)
		to[i] = ids ? m->row[first + i].id : m->row[first + i].element;
}

static qb_status
emulated_get(const qset_cuda_memberships *m, qset_cuda_array array, uint64 first, uint64 count,
			 void *to)
{
	const void *const arrays[] = { [QSET_CUDA_IDS] = m->id,
								   [QSET_CUDA_OFFSETS] = m->offset,
								   [QSET_CUDA_RANKS] = m->rank,
								   [QSET_CUDA_VALUES] = m->value };
	Size bytes = GpuMembershipsItemBytes((GpuMembershipsArray) array);

	if (array == QSET_CUDA_ROW_IDS || array == QSET_CUDA_ROW_ELEMENTS)
		get_rows(m, array == QSET_CUDA_ROW_IDS, first, count, to);
	else
		memcpy(to, (const char *) arrays[array] + first * bytes, count * bytes);
	return QB_OK;
}

static uint64
emulated_bytes(const qset_cuda_memberships *m)
{
	if (m->id == NULL)
		return m->room * sizeof(Row);
	return m->rows * (3 * sizeof(uint64) + sizeof(uint32));
}

static qb_status
emulated_make(const qset_cuda_memberships *m, qset_cuda_sets **created)
{
	const qset_cuda_sizes *sizes = &m->sizes;
	const qset_sets_ops *sets = &gpu_emulated_sets;
	qb_status status =
		sets->create(m->device, sizes->sets, sizes->elements, sizes->universe, created);

	if (status == QB_OK)
		status = sets->put_offsets(*created, 0, m->offset, sizes->sets + 1);
	return status == QB_OK ? sets->put_elements(*created, 0, m->rank, sizes->elements) : status;
}

const qset_members_ops gpu_emulated_memberships = {
	.create = emulated_create,
	.destroy = emulated_destroy,
	.add = emulated_add,
	.add_device = emulated_add_device,
	.rows = emulated_rows,
	.sort = emulated_sort,
	.get = emulated_get,
	.bytes = emulated_bytes,
	.make = emulated_make,
};
