/*
 * sets_client.c
 *		A backend's side of the GPU worker: collections there, and their pairs.
 *
 * Collections are posted in pieces; that they could not be stored shows when
 * the search is asked for.  Only element numbers go there: what ids and numbers
 * stand for stays here.  Of two collections the numbers are those of all their
 * elements together.
 *
 * Each reply has as many pairs as a slot takes.  While the backend works on
 * them, the worker serves others.
 *
 * src/gpu/sets_client.c
 */
#include "gpu/client.h"
#include "gpu/sets_gpu.h"
#include "gpu/sets_request.h"
#include "gpu/settings.h"
#include "gpu/wait.h"

#include "utils/memutils.h"

struct GpuPairs
{
	GpuRef rows;
	GpuRef columns; /* serial 0: within one collection */
	qi_pair *pair;  /* of the last reply */
	uint64 count;
	uint64 next;
	bool over;
	MemoryContextCallback callback;
};

bool
GpuWantsPairs(uint64 elements)
{
	if (!GpuIsWanted())
		return false;
	return gpu_backend == BACKEND_GPU || elements >= (uint64) gpu_min_elements;
}

/* ---- there ---- */

/* A collection on its way. */
typedef struct Upload
{
	const qi_collection *collection;
	const uint32 *number; /* of its elements; NULL: their ranks */
} Upload;

static void
ask_offsets(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	const Upload *upload = transfer->context;

	slot->offset = at;
	slot->count = (int) size;
	memcpy(GpuSlotData(slot), upload->collection->offset + at, size * sizeof(uint64));
}

static void
ask_elements(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	const Upload *upload = transfer->context;
	const uint32 *rank = upload->collection->rank + at;
	uint32 *data = (uint32 *) GpuSlotData(slot);
	uint64 i;

	slot->offset = at;
	slot->count = (int) size;
	if (upload->number == NULL)
		memcpy(data, rank, size * sizeof(uint32));
	for (i = 0; upload->number && i < size; i++)
		data[i] = upload->number[rank[i]];
}

static bool
upload(const qi_collection *c, const uint32 *number, uint64 universe, GpuRef *ref)
{
	Upload what = { .collection = c, .number = number };
	GpuTransfer offsets = { .ref = ref,
							.op = SETS_OFFSETS,
							.all = c->sets + 1,
							.most = GPU_SLOT_OFFSETS,
							.ask = ask_offsets,
							.context = &what };
	GpuTransfer elements = { .ref = ref,
							 .op = SETS_ELEMENTS,
							 .all = c->elements,
							 .most = GPU_SLOT_ELEMENTS,
							 .ask = ask_elements,
							 .context = &what };
	GpuSlot *slot;

	if (!GpuNewEntry(GPU_FAMILY_SETS, ref))
		return false;
	slot = GpuTakeSlot(ref, SETS_CREATE, false);
	*(GpuSetsShape *) slot->shape.bytes =
		(GpuSetsShape){ .sets = c->sets, .elements = c->elements, .universe = universe };
	if (GpuAskOne(slot) != QS_OK)
		return false;
	GpuPostAll(&offsets);
	GpuPostAll(&elements);
	return true;
}

/* Both of two collections, with common numbers. */
static bool
upload_both(GpuPairs *pairs, const qi_request *r)
{
	const qi_collection *a = r->rows;
	const qi_collection *b = r->columns;
	uint32 *number_a = qi_alloc(r->memory, a->universe, sizeof(uint32));
	uint32 *number_b = qi_alloc(r->memory, b->universe, sizeof(uint32));
	bool done = false;

	if (number_a && number_b)
	{
		uint64 universe = qi_collection_join(a, b, number_a, number_b);

		done = upload(a, number_a, universe, &pairs->rows) &&
			   upload(b, number_b, universe, &pairs->columns);
	}
	qi_release(r->memory, number_a);
	qi_release(r->memory, number_b);
	return done;
}

static bool
search(GpuPairs *pairs, const qi_request *r)
{
	GpuSlot *slot = GpuTakeSlot(&pairs->rows, SETS_SEARCH, false);

	slot->other = pairs->columns;
	*(GpuSetsSearch *) slot->shape.bytes =
		(GpuSetsSearch){ .filter = r->filter, .method = r->method, .directed = r->directed };
	return GpuAskOne(slot) == QS_OK;
}

/* ---- life cycle ---- */

static void
drop(void *argument)
{
	GpuPairs *pairs = argument;

	if (pairs->rows.serial != 0)
		GpuDropEntry(&pairs->rows);
	if (pairs->columns.serial != 0)
		GpuDropEntry(&pairs->columns);
	pairs->rows.serial = pairs->columns.serial = 0;
}

GpuPairs *
GpuPairsOpen(const qi_request *request)
{
	GpuPairs *pairs = palloc0(sizeof(GpuPairs));

	pairs->pair = palloc(GPU_SLOT_BYTES);
	pairs->callback.func = drop;
	pairs->callback.arg = pairs;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &pairs->callback);
	if ((request->columns ? upload_both(pairs, request)
						  : upload(request->rows, NULL, request->rows->universe, &pairs->rows)) &&
		search(pairs, request))
		return pairs;
	drop(pairs);
	GpuCount(COUNT_FALLBACKS, 1);
	return NULL;
}

void
GpuPairsClose(GpuPairs *pairs)
{
	drop(pairs);
}

/* ---- back ---- */

/* The next reply. */
static void
ask_more(GpuPairs *pairs)
{
	GpuSlot *slot = GpuTakeSlot(&pairs->rows, SETS_PAIRS, false);
	qs_status status;
	bool gone;

	slot->other = pairs->columns;
	GpuAsk(slot);
	GpuAwait(slot);
	gone = slot->gone;
	status = slot->status;
	pairs->next = 0;
	pairs->count = gone || status != QS_OK ? 0 : slot->count;
	pairs->over = ((const GpuSetsReply *) slot->shape.bytes)->over;
	memcpy(pairs->pair, GpuSlotData(slot), pairs->count * sizeof(qi_pair));
	GpuDone(slot);
	if (gone)
		GpuRaiseLost();
	if (status != QS_OK)
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY),
						errmsg("the GPU ran out of memory while it looked for pairs of sets"),
						errhint("Set qsketch.backend to cpu, or free memory on the GPU.")));
}

uint64
GpuPairsNext(GpuPairs *pairs, qi_pair *out, uint64 room)
{
	uint64 count;

	while (pairs->next == pairs->count && !pairs->over)
		ask_more(pairs);
	count = Min(pairs->count - pairs->next, room);
	memcpy(out, pairs->pair + pairs->next, count * sizeof(qi_pair));
	pairs->next += count;
	return count;
}
