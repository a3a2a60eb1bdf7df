/*
 * sets_members_client.c
 *		A backend's side of the GPU worker: rows of a collection of sets.
 *
 * Rows that are on the device are nowhere else.  So who needs them raises an error if the
 * worker was lost.
 *
 * src/gpu/sets_members_client.c
 */
#include "gpu/client.h"
#include "gpu/column_client.h"
#include "gpu/sets_members.h"
#include "gpu/wait.h"

#include "utils/memutils.h"

static void
drop(void *argument)
{
	GpuMembers *members = argument;

	if (members->ref.serial != 0)
		GpuDropEntry(&members->ref);
	members->ref.serial = 0;
}

GpuMembers *
GpuMembersBegin(MemoryContext context)
{
	GpuMembers *members;
	GpuRef ref;

	if (!GpuNewEntry(GPU_FAMILY_MEMBERS, &ref))
		return NULL;
	if (GpuAskOne(GpuTakeSlot(&ref, MEMBERS_CREATE, false)) != QB_OK)
	{
		GpuDropEntry(&ref);
		return NULL;
	}
	members = MemoryContextAllocZero(context, sizeof(GpuMembers));
	members->ref = ref;
	members->callback.func = drop;
	members->callback.arg = members;
	MemoryContextRegisterResetCallback(context, &members->callback);
	GpuAttachEntry(&ref);
	return members;
}

void
GpuMembersEnd(GpuMembers *members)
{
	drop(members);
}

int64
GpuMembersAddColumns(GpuMembers *members, const GpuColumnPart *part, int parts)
{
	int64 added = GpuColumnSend(&members->ref, MEMBERS_COLUMN, part, parts);

	members->rows += (uint64) added;
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
GpuMembersAddRows(GpuMembers *members, const int64 *id, const uint64 *element, uint32 count)
{
	GpuSlot *slot = GpuTakeSlot(&members->ref, MEMBERS_ROWS, false);
	uint64 *data = (uint64 *) GpuSlotData(slot);
	GpuShape reply;

	Assert(count <= GPU_SLOT_WEIGHED);
	slot->count = (int) count;
	memcpy(data, id, count * sizeof(int64));
	memcpy(data + count, element, count * sizeof(uint64));
	if (!ask(slot, &reply))
		return false;
	members->rows += count;
	return true;
}

bool
GpuMembersSort(GpuMembers *members, GpuMembersSizes *sizes)
{
	GpuShape reply;
	bool sorted = ask(GpuTakeSlot(&members->ref, MEMBERS_SORT, false), &reply);

	*sizes = *(const GpuMembersSizes *) reply.bytes;
	return sorted;
}

/* An array on its way. */
typedef struct Reading
{
	GpuMembersArray array;
	uint64 first;
	uint8 *to;
} Reading;

static void
ask_piece(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	const Reading *reading = transfer->context;

	*(GpuMembersPiece *) slot->shape.bytes = (GpuMembersPiece){ .array = reading->array };
	slot->offset = reading->first + at;
	slot->count = (int) size;
}

static void
take_piece(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	const Reading *reading = transfer->context;
	Size bytes = GpuMembersItemBytes(reading->array);

	memcpy(reading->to + at * bytes, GpuSlotData(slot), size * bytes);
}

void
GpuMembersRead(GpuMembers *members, GpuMembersArray array, uint64 first, uint64 count, void *to)
{
	Reading reading = { .array = array, .first = first, .to = to };
	GpuTransfer transfer = { .ref = &members->ref,
							 .op = MEMBERS_READ,
							 .all = count,
							 .most = GPU_SLOT_BYTES / GpuMembersItemBytes(array),
							 .ask = ask_piece,
							 .take = take_piece,
							 .context = &reading };

	if (!GpuAskAll(&transfer))
		GpuRaiseLost();
}
