/*
 * sets_part.c
 *		A backend's side of the GPU worker, for sets: collections on a device, and
 *		a search in them.
 *
 * src/gpu/sets_part.c
 */
#include "gpu/client.h"
#include "gpu/sets_client.h"
#include "gpu/wait.h"

/* The device with the least on it. */
static int
choose_device(void)
{
	int best = 0;
	int i;

	for (i = 1; i < gpu_shared->device_count; i++)
		if (pg_atomic_read_u64(&gpu_shared->device[i].memory_used) <
			pg_atomic_read_u64(&gpu_shared->device[best].memory_used))
			best = i;
	return best;
}

/* Both of two collections, with common numbers. */
static bool
upload_both(GpuPart *part, const qset_request *r, double *index_ms)
{
	GpuSketchUpload a = { .collection = r->rows };
	GpuSketchUpload b = { .collection = r->columns, .index = true };
	uint32 *number_a = qset_alloc(r->memory, r->rows->universe, sizeof(uint32));
	uint32 *number_b = qset_alloc(r->memory, r->columns->universe, sizeof(uint32));
	bool done = false;

	if (number_a && number_b)
	{
		a.universe = b.universe = qset_collection_join(r->rows, r->columns, number_a, number_b);
		a.number = number_a;
		b.number = number_b;
		done = GpuSetsUpload(&a, part->device, &part->rows, index_ms) &&
			   GpuSetsUpload(&b, part->device, &part->columns, index_ms);
	}
	qset_release(r->memory, number_a);
	qset_release(r->memory, number_b);
	return done;
}

bool
GpuPartPlace(GpuPart *part, const qset_request *r, bool ids, double *index_ms)
{
	GpuSketchUpload rows = {
		.collection = r->rows, .universe = r->rows->universe, .ids = ids, .index = true
	};

	part->device = choose_device();
	return r->columns ? upload_both(part, r, index_ms)
					  : GpuSetsUpload(&rows, part->device, &part->rows, index_ms);
}

bool
GpuPartCopy(GpuPart *part, const GpuPart *from, const StoredName *name)
{
	if (name && GpuSetsFind(name, part->device, &part->rows))
		return true;
	return GpuSetsCopy(&from->rows, part->device, &part->rows) &&
		   (from->columns.serial == 0 || GpuSetsCopy(&from->columns, part->device, &part->columns));
}

bool
GpuPartSearch(GpuPart *part, const qset_request *r, GpuSetsReply *reply)
{
	GpuSlot *slot;
	qb_status status;

	if (!GpuNewEntry(GPU_FAMILY_SETS, &part->search))
		return false;
	slot = GpuTakeSlot(&part->search, SETS_SEARCH, false);
	slot->other = part->rows;
	*(GpuSetsSearch *) slot->shape.bytes =
		(GpuSetsSearch){ .filter = r->filter, .method = r->method, .directed = r->directed };
	if (GpuAskOne(slot) != QB_OK)
		return false;
	if (part->columns.serial != 0)
	{
		slot = GpuTakeSlot(&part->search, SETS_AGAINST, false);
		slot->other = part->columns;
		if (GpuAskOne(slot) != QB_OK)
			return false;
	}
	slot = GpuTakeSlot(&part->search, SETS_OPEN, false);
	GpuAsk(slot);
	GpuAwait(slot);
	status = slot->gone ? QB_NO_MEMORY : slot->status;
	*reply = *(const GpuSetsReply *) slot->shape.bytes;
	GpuDone(slot);
	return status == QB_OK;
}

static void
drop_entry(GpuRef *ref)
{
	if (ref->serial != 0)
		GpuDropEntry(ref);
	ref->serial = 0;
}

void
GpuPartDrop(GpuPart *part)
{
	drop_entry(&part->search);
	drop_entry(&part->rows);
	drop_entry(&part->columns);
}
