/*
 * sets_members_serve.c
 *		What the GPU worker does with rows of a collection of sets: the servant of their
 *		requests.
 *
 * Rows are on the device of the first copy that they come from.  Those of copies on other
 * devices come there through the worker's memory.  Sorting is not done in pieces, so a device
 * takes a limited number of rows.
 *
 * src/gpu/sets_members_serve.c
 */
#include "gpu/column_worker.h"
#include "gpu/sets_members.h"
#include "gpu/settings.h"
#include "gpu/worker.h"

#include "sets_members_cuda.h"

StaticAssertDecl((int) MEMBERS_VALUES == QSET_CUDA_VALUES, "arrays have the same numbers");

typedef struct Holding
{
	qset_cuda_members *members; /* NULL: no rows have come */
	int device;
	bool sorted;
	GpuMembersSizes sizes; /* if they are sorted */
} Holding;

static Holding holding[GPU_ENTRIES];

static const qset_members_ops *
device_ops(void)
{
	return gpu_device_ops->members;
}

static void
drop_members(int index)
{
	Holding *h = &holding[index];

	if (h->members)
	{
		device_ops()->destroy(h->members);
		pg_atomic_fetch_sub_u64(&gpu_shared->device[h->device].values, 1);
	}
	memset(h, 0, sizeof(*h));
}

static qb_status
serve_create(GpuSlot *slot)
{
	drop_members(slot->entry.index);
	return gpu_fault == FAULT_MEMORY ? QB_NO_MEMORY : QB_OK;
}

/* Have room for so many more rows: on this device, unless there are rows on one already. */
static qb_status
be_somewhere(Holding *h, int device, uint64 count)
{
	qb_status status;

	if (gpu_fault == FAULT_MEMORY)
		return QB_NO_MEMORY;
	if (h->members)
		return count <= QSET_CUDA_MEMBERS_MAX - device_ops()->rows(h->members) ? QB_OK
																			   : QB_NO_MEMORY;
	status = device_ops()->create(gpu_device[device], &h->members);
	if (status != QB_OK)
		return status;
	h->device = device;
	pg_atomic_fetch_add_u64(&gpu_shared->device[device].values, 1);
	GpuCount(COUNT_CREATED, 1);
	return QB_OK;
}

/* Add picked elements of sets with these ids, all or none. */
static qb_status
add_picked(Holding *h, const GpuPicked *picked, const uint64 *id)
{
	qb_status status = be_somewhere(h, picked->device, picked->count);
	uint64 *element;
	uint64 *its_id = NULL;

	if (status != QB_OK || picked->count == 0)
		return status;
	if (h->device == picked->device)
		return device_ops()->add_device(h->members, (const int64 *) id, picked->key, picked->count);
	element = GpuColumnFetch(picked, picked->key, &status);
	if (status == QB_OK)
		its_id = GpuColumnFetch(picked, id, &status);
	if (status == QB_OK)
		status = device_ops()->add(h->members, (const int64 *) its_id, element, picked->count);
	free(element);
	free(its_id);
	return status;
}

/* Add rows of copies, of as many pages as fit in a piece of the work. */
static qb_status
serve_column(Holding *h, GpuSlot *slot)
{
	GpuWanted wanted;
	GpuPicked picked;
	const uint64 *id;
	qb_status status;

	memcpy(&wanted, GpuSlotData(slot), sizeof(wanted));
	status = GpuColumnPickPairs(slot->other.index, &wanted, (uint32) slot->offset,
								(uint64) gpu_device_ops->piece_work, &picked, &id);
	if (status == QB_OK)
		status = add_picked(h, &picked, id);
	if (status != QB_OK)
		return status;
	slot->done += (int) picked.count;
	slot->offset = picked.end;
	slot->more = picked.end < GPU_RANGE_PAGES;
	GpuCount(COUNT_COLUMN_KEYS, picked.count);
	return QB_OK;
}

static qb_status
serve_rows(Holding *h, GpuSlot *slot)
{
	const uint64 *data = (const uint64 *) GpuSlotData(slot);
	qb_status status;

	if (slot->count < 0 || slot->count > GPU_SLOT_WEIGHED)
		return QB_NO_MEMORY;
	status = be_somewhere(h, 0, slot->count);
	if (status == QB_OK)
		GPU_WITH_ROOM(
			status, h->device,
			device_ops()->add(h->members, (const int64 *) data, data + slot->count, slot->count));
	GpuCount(COUNT_BYTES_IN, 2 * slot->count * sizeof(uint64));
	return status;
}

/* Copies may be freed to make room: their rows are here. */
static qb_status
serve_sort(Holding *h, GpuSlot *slot)
{
	qset_cuda_sizes sizes = { 0 };
	qb_status status = QB_OK;

	if (gpu_fault == FAULT_SPILL)
		return QB_NO_MEMORY;
	if (h->members && !h->sorted)
		GPU_WITH_ROOM(status, h->device, device_ops()->sort(h->members, &sizes));
	if (status != QB_OK)
		return status;
	if (!h->sorted)
		h->sizes = (GpuMembersSizes){ sizes.sets, sizes.elements, sizes.universe };
	h->sorted = h->members != NULL;
	*(GpuMembersSizes *) slot->shape.bytes = h->sizes;
	return QB_OK;
}

/* The length of an array; 0: it is not there. */
static uint64
length_of(const Holding *h, GpuMembersArray array)
{
	bool of_rows = array == MEMBERS_ROW_IDS || array == MEMBERS_ROW_ELEMENTS;

	if (h->members == NULL || h->sorted == of_rows)
		return 0;
	switch (array)
	{
		case MEMBERS_ROW_IDS:
		case MEMBERS_ROW_ELEMENTS:
			return device_ops()->rows(h->members);
		case MEMBERS_IDS:
			return h->sizes.sets;
		case MEMBERS_OFFSETS:
			return h->sizes.sets + 1;
		case MEMBERS_RANKS:
			return h->sizes.elements;
		case MEMBERS_VALUES:
			return h->sizes.universe;
	}
	return 0;
}

static qb_status
serve_read(Holding *h, GpuSlot *slot)
{
	GpuMembersArray array = ((const GpuMembersPiece *) slot->shape.bytes)->array;
	uint64 length = length_of(h, array);
	Size bytes = GpuMembersItemBytes(array);

	if (slot->count < 0 || slot->count > GPU_SLOT_BYTES / bytes || slot->offset > length ||
		slot->count > length - slot->offset)
		return QB_NO_MEMORY;
	GpuCount(COUNT_BYTES_OUT, slot->count * bytes);
	return device_ops()->get(h->members, (qset_cuda_array) array, slot->offset, slot->count,
							 GpuSlotData(slot));
}

static qb_status
serve_members(GpuSlot *slot)
{
	Holding *h = &holding[slot->entry.index];

	if (gpu_fault == FAULT_ERROR)
		return QB_DEVICE_ERROR;
	switch ((GpuMembersOp) slot->op)
	{
		case MEMBERS_CREATE:
			return serve_create(slot);
		case MEMBERS_COLUMN:
			return h->sorted ? QB_NO_MEMORY : serve_column(h, slot);
		case MEMBERS_ROWS:
			return h->sorted ? QB_NO_MEMORY : serve_rows(h, slot);
		case MEMBERS_SORT:
			return serve_sort(h, slot);
		case MEMBERS_READ:
			return serve_read(h, slot);
	}
	return QB_DEVICE_ERROR;
}

qset_cuda_members *
GpuMembersSorted(int index, GpuMembersSizes *sizes, int *device)
{
	const Holding *h = &holding[index];

	if (!h->sorted)
		return NULL;
	*sizes = h->sizes;
	*device = h->device;
	return h->members;
}

static GpuPlace
place_of_members(int index)
{
	const Holding *h = &holding[index];
	GpuPlace place = { .device = h->device, .on_device = h->members != NULL };

	if (place.on_device)
		place.bytes = device_ops()->bytes(h->members);
	return place;
}

const GpuServant gpu_members_servant = {
	.serve = serve_members,
	.reads = 1 << MEMBERS_READ,
	.reads_other = 1 << MEMBERS_COLUMN,
	.drop = drop_members,
	.place = place_of_members,
};
