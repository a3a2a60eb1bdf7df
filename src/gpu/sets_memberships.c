/*
 * sets_memberships.c
 *		Rows of a collection of sets on a device: a backend's calls, and the worker's handler.
 *
 * The worker has the only copy of the rows.  So calls that need the rows raise an error if the
 * worker failed.
 *
 * src/gpu/sets_memberships.c
 */
#include "gpu/sets_gpu.h"

#include "gpu/worker/column_worker.h"
#include "gpu/gpu.h"

#include "utils/memutils.h"
#include "sets_cuda.h"

GpuMemberships *
GpuMembershipsBegin(MemoryContext context)
{
	GpuMemberships *memberships;
	GpuRef ref;

	if (!GpuMake(GPU_FAMILY_MEMBERSHIPS, MEMBERSHIPS_CREATE, 0, NULL, 0, &ref))
		return NULL;
	memberships = MemoryContextAllocZero(context, sizeof(GpuMemberships));
	GpuScopeHandle(&memberships->handle, &ref, context);
	return memberships;
}

int64
GpuMembershipsAddColumns(GpuMemberships *memberships, const GpuColumnChunk *chunk, int chunks)
{
	int64 added;

	(void) GpuColumnSend(&memberships->handle.ref, MEMBERSHIPS_COLUMN, chunk, chunks, &added);
	memberships->rows += (uint64) added;
	return added;
}

/* Send a request and wait; false: no memory.  Raises an error if the rows are gone. */
static bool
ask(GpuSlot *slot, void *reply, Size bytes)
{
	qb_status status = GpuFetchOne(slot, reply, bytes);

	if (status != QB_OK && status != QB_NO_MEMORY)
		GpuRaiseFailure();
	return status == QB_OK;
}

bool
GpuMembershipsAddRows(GpuMemberships *memberships, const int64 *id, const uint64 *element,
					  uint32 count)
{
	GpuSlot *slot = GpuTakeSlot(&memberships->handle.ref, MEMBERSHIPS_ROWS, false);
	uint64 *data = (uint64 *) GpuSlotData(slot);

	Assert(count <= GPU_SLOT_WEIGHED);
	slot->count = (int) count;
	memcpy(data, id, count * sizeof(int64));
	memcpy(data + count, element, count * sizeof(uint64));
	if (!ask(slot, NULL, 0))
		return false;
	memberships->rows += count;
	return true;
}

bool
GpuMembershipsSort(GpuMemberships *memberships, GpuMembershipsSizes *sizes)
{
	return ask(GpuTakeSlot(&memberships->handle.ref, MEMBERSHIPS_SORT, false), sizes,
			   sizeof(*sizes));
}

void
GpuMembershipsRead(GpuMemberships *memberships, GpuMembershipsArray array, uint64 first,
				   uint64 count, void *to)
{
	Size bytes = GpuMembershipsItemBytes(array);

	if (!GpuFetchArray(&memberships->handle.ref, MEMBERSHIPS_READ, array, first * bytes, to,
					   count * bytes))
		GpuRaiseFailure();
}

/*
 * ---- the worker's request handler for rows of a collection of sets ----
 *
 * All rows are on the device of the first rows.  Rows of chunks on other devices are copied to this
 * device.  Sorting is not divided into pieces.  The number of rows is limited to keep the sort
 * short.
 */

StaticAssertDecl((int) MEMBERSHIPS_VALUES == QSET_CUDA_VALUES, "arrays have the same numbers");

typedef struct MembershipsValue
{
	qset_cuda_memberships *memberships; /* NULL: no rows have arrived */
	int device;
	bool sorted;
	GpuMembershipsSizes sizes; /* set when the rows are sorted */
} MembershipsValue;

static MembershipsValue memberships_value[GPU_HANDLES];

static const qset_members_ops *
device_ops(void)
{
	return gpu_device_ops->memberships;
}

static void
drop_memberships(int index)
{
	MembershipsValue *h = &memberships_value[index];

	if (h->memberships)
	{
		device_ops()->destroy(h->memberships);
		GpuNoteFreed(h->device);
	}
	memset(h, 0, sizeof(*h));
}

static qb_status
serve_create(GpuSlot *slot)
{
	drop_memberships(slot->handle.index);
	return gpu_fault == FAULT_MEMORY ? QB_NO_MEMORY : QB_OK;
}

/* Check that "count" more rows are allowed.  The first call creates the value on "device". */
static qb_status
be_somewhere(MembershipsValue *h, int device, uint64 count)
{
	qb_status status;

	if (gpu_fault == FAULT_MEMORY)
		return QB_NO_MEMORY;
	if (h->memberships)
		return count <= QSET_CUDA_MEMBERS_MAX - device_ops()->rows(h->memberships) ? QB_OK
																				   : QB_NO_MEMORY;
	status = device_ops()->create(gpu_device[device], &h->memberships);
	h->device = device;
	GpuCount(COUNT_CREATED, status == QB_OK);
	return GpuNoteCreated(status, device);
}

/* Add gathered elements with the ids of their sets.  Adds all rows or none. */
static qb_status
add_gathered(GpuSlot *slot, const GpuGathered *gathered)
{
	MembershipsValue *h = &memberships_value[slot->handle.index];
	const uint64 *id = gathered->pair;
	qb_status status = id ? be_somewhere(h, gathered->device, gathered->count) : QB_NO_MEMORY;

	if (status != QB_OK)
		return status;
	return device_ops()->add_device(h->memberships, gpu_device[gathered->device],
									(const int64 *) id, gathered->key, gathered->count);
}

static qb_status
serve_rows(MembershipsValue *h, GpuSlot *slot)
{
	const uint64 *data = (const uint64 *) GpuSlotData(slot);
	qb_status status;

	if (slot->count < 0 || slot->count > GPU_SLOT_WEIGHED)
		return QB_NO_MEMORY;
	status = be_somewhere(h, GpuChooseDevice(0), slot->count);
	if (status == QB_OK)
		GPU_WITH_ROOM(status, h->device,
					  device_ops()->add(h->memberships, (const int64 *) data, data + slot->count,
										slot->count));
	GpuCount(COUNT_BYTES_IN, 2 * slot->count * sizeof(uint64));
	return status;
}

/* Sort the rows.  Chunks may be freed to get memory, because the rows have been copied. */
static qb_status
serve_sort(MembershipsValue *h, GpuSlot *slot)
{
	qset_cuda_sizes sizes = { 0 };
	qb_status status = QB_OK;

	if (gpu_fault == FAULT_SPILL)
		return QB_NO_MEMORY;
	if (h->memberships && !h->sorted)
		GPU_WITH_ROOM(status, h->device, device_ops()->sort(h->memberships, &sizes));
	if (status != QB_OK)
		return status;
	if (!h->sorted)
		h->sizes = (GpuMembershipsSizes){ sizes.sets, sizes.elements, sizes.universe };
	h->sorted = h->memberships != NULL;
	*(GpuMembershipsSizes *) slot->shape.bytes = h->sizes;
	return QB_OK;
}

/* The length of an array; 0: the array does not exist. */
static uint64
length_of(const MembershipsValue *h, GpuMembershipsArray array)
{
	bool of_rows = array == MEMBERSHIPS_ROW_IDS || array == MEMBERSHIPS_ROW_ELEMENTS;

	if (h->memberships == NULL || h->sorted == of_rows)
		return 0;
	switch (array)
	{
		case MEMBERSHIPS_ROW_IDS:
		case MEMBERSHIPS_ROW_ELEMENTS:
			return device_ops()->rows(h->memberships);
		case MEMBERSHIPS_IDS:
			return h->sizes.sets;
		case MEMBERSHIPS_OFFSETS:
			return h->sizes.sets + 1;
		case MEMBERSHIPS_RANKS:
			return h->sizes.elements;
		case MEMBERSHIPS_VALUES:
			return h->sizes.universe;
	}
	return 0;
}

static qb_status
serve_read(MembershipsValue *h, GpuSlot *slot)
{
	GpuMembershipsArray array = slot->count;
	Size item = GpuMembershipsItemBytes(array);

	if (!GpuPieceIsWithin(slot, length_of(h, array) * item))
		return QB_NO_MEMORY;
	GpuCount(COUNT_BYTES_OUT, slot->bytes);
	return device_ops()->get(h->memberships, (qset_cuda_array) array, slot->offset / item,
							 slot->bytes / item, GpuSlotData(slot));
}

static qb_status
serve_memberships(GpuSlot *slot)
{
	MembershipsValue *h = &memberships_value[slot->handle.index];

	switch ((GpuMembershipsOp) slot->op)
	{
		case MEMBERSHIPS_CREATE:
			return serve_create(slot);
		case MEMBERSHIPS_COLUMN:
			return h->sorted ? QB_NO_MEMORY : GpuColumnServeOne(slot, add_gathered);
		case MEMBERSHIPS_ROWS:
			return h->sorted ? QB_NO_MEMORY : serve_rows(h, slot);
		case MEMBERSHIPS_SORT:
			return serve_sort(h, slot);
		case MEMBERSHIPS_READ:
			return serve_read(h, slot);
	}
	return QB_DEVICE_ERROR;
}

qset_cuda_memberships *
GpuMembershipsSorted(int index, GpuMembershipsSizes *sizes, int *device)
{
	const MembershipsValue *h = &memberships_value[index];

	if (!h->sorted)
		return NULL;
	*sizes = h->sizes;
	*device = h->device;
	return h->memberships;
}

static GpuLocation
location_of_memberships(int index)
{
	const MembershipsValue *h = &memberships_value[index];

	return (GpuLocation){ .device = h->device,
						  .on_device = h->memberships != NULL,
						  .bytes = h->memberships ? device_ops()->bytes(h->memberships) : 0 };
}

const GpuHandler gpu_memberships_handler = {
	.serve = serve_memberships,
	.reads = 1 << MEMBERSHIPS_READ,
	.reads_other = 1 << MEMBERSHIPS_COLUMN,
	.faulty = ~0u,
	.drop = drop_memberships,
	.location = location_of_memberships,
};
