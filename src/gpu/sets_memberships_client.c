/*
 * sets_memberships_client.c
 *		A backend's side of the GPU worker: rows of a collection of sets.
 *
 * Rows that are on the device are nowhere else.  So who needs them raises an error if the
 * worker was lost.
 *
 * src/gpu/sets_memberships_client.c
 */
#include "gpu/client.h"
#include "gpu/column_client.h"
#include "gpu/sets_memberships.h"
#include "gpu/wait.h"

#include "utils/memutils.h"

static void
drop(void *argument)
{
	GpuMemberships *memberships = argument;

	if (memberships->ref.serial != 0)
		GpuDropHandle(&memberships->ref);
	memberships->ref.serial = 0;
}

GpuMemberships *
GpuMembershipsBegin(MemoryContext context)
{
	GpuMemberships *memberships;
	GpuRef ref;

	if (!GpuNewHandle(GPU_FAMILY_MEMBERSHIPS, &ref))
		return NULL;
	if (GpuAskOne(GpuTakeSlot(&ref, MEMBERSHIPS_CREATE, false)) != QB_OK)
	{
		GpuDropHandle(&ref);
		return NULL;
	}
	memberships = MemoryContextAllocZero(context, sizeof(GpuMemberships));
	memberships->ref = ref;
	memberships->callback.func = drop;
	memberships->callback.arg = memberships;
	MemoryContextRegisterResetCallback(context, &memberships->callback);
	GpuAttachHandle(&ref);
	return memberships;
}

void
GpuMembershipsEnd(GpuMemberships *memberships)
{
	drop(memberships);
}

int64
GpuMembershipsAddColumns(GpuMemberships *memberships, const GpuColumnChunk *chunk, int chunks)
{
	int64 added = GpuColumnSend(&memberships->ref, MEMBERSHIPS_COLUMN, chunk, chunks);

	memberships->rows += (uint64) added;
	return added;
}

/* Ask for something with one reply; false: no memory.  An error if the rows are gone. */
static bool
ask(GpuSlot *slot, GpuShape *reply)
{
	qb_status status = GpuFetchShape(slot, reply);

	if (status != QB_OK && status != QB_NO_MEMORY)
		GpuRaiseLost();
	return status == QB_OK;
}

bool
GpuMembershipsAddRows(GpuMemberships *memberships, const int64 *id, const uint64 *element, uint32 count)
{
	GpuSlot *slot = GpuTakeSlot(&memberships->ref, MEMBERSHIPS_ROWS, false);
	uint64 *data = (uint64 *) GpuSlotData(slot);
	GpuShape reply;

	Assert(count <= GPU_SLOT_WEIGHED);
	slot->count = (int) count;
	memcpy(data, id, count * sizeof(int64));
	memcpy(data + count, element, count * sizeof(uint64));
	if (!ask(slot, &reply))
		return false;
	memberships->rows += count;
	return true;
}

bool
GpuMembershipsSort(GpuMemberships *memberships, GpuMembershipsSizes *sizes)
{
	GpuShape reply;
	bool sorted = ask(GpuTakeSlot(&memberships->ref, MEMBERSHIPS_SORT, false), &reply);

	*sizes = *(const GpuMembershipsSizes *) reply.bytes;
	return sorted;
}

/* An array on its way. */
typedef struct Reading
{
	GpuMembershipsArray array;
	uint64 first;
	uint8 *to;
} Reading;

static void
ask_piece(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	const Reading *reading = transfer->context;

	*(GpuMembershipsPiece *) slot->shape.bytes = (GpuMembershipsPiece){ .array = reading->array };
	slot->offset = reading->first + at;
	slot->count = (int) size;
}

static void
take_piece(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	const Reading *reading = transfer->context;
	Size bytes = GpuMembershipsItemBytes(reading->array);

	memcpy(reading->to + at * bytes, GpuSlotData(slot), size * bytes);
}

void
GpuMembershipsRead(GpuMemberships *memberships, GpuMembershipsArray array, uint64 first, uint64 count, void *to)
{
	Reading reading = { .array = array, .first = first, .to = to };
	GpuTransfer transfer = { .ref = &memberships->ref,
							 .op = MEMBERSHIPS_READ,
							 .all = count,
							 .most = GPU_SLOT_BYTES / GpuMembershipsItemBytes(array),
							 .ask = ask_piece,
							 .take = take_piece,
							 .context = &reading };

	if (!GpuAskAll(&transfer))
		GpuRaiseLost();
}
