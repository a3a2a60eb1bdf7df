/*
 * expanded.c
 *		A sketch as an expanded object: the state of aggregates.
 *
 * The transition type of the aggregates is qsketch itself.  A read-write
 * expanded object that is a child of the aggregate's context is kept by the
 * executor without copying, so a row costs no more than appending a
 * fingerprint to a buffer; a full buffer goes to the engine as one batch.
 * Whoever reads the sketch settles it first: flushes the buffer and has the
 * engine bring the counters here.  That does not change the value.
 *
 * Each object has a memory context of its own, whose first block is sized so
 * that a small group (some ten keys) needs no second one.
 *
 * src/pg/expanded.c
 */
#include "pg/expanded.h"

#include "gpu/gpu.h"
#include "utils/memutils.h"

#define FIRST_BLOCK 1536
#define FIRST_ROOM  16
#define ROOM_GROWTH 4

static Size get_flat_size(ExpandedObjectHeader *header);
static void flatten_into(ExpandedObjectHeader *header, void *result, Size size);

static const ExpandedObjectMethods methods = { get_flat_size, flatten_into };

/* The object without a sketch. */
static ExpandedSketch *
create_object(MemoryContext parent)
{
	MemoryContext context = AllocSetContextCreate(parent, "qsketch", ALLOCSET_SMALL_MINSIZE,
												  FIRST_BLOCK, ALLOCSET_DEFAULT_MAXSIZE);
	ExpandedSketch *expanded = MemoryContextAllocZero(context, sizeof(ExpandedSketch));

	EOH_init_header(&expanded->header, &methods, context);
	expanded->magic = EXPANDED_SKETCH_MAGIC;
	expanded->engine = &qs_engine_cpu;
	SketchMemory(context, &expanded->memory);
	return expanded;
}

/* An empty sketch. */
ExpandedSketch *
ExpandedCreate(MemoryContext parent, const qs_params *params)
{
	ExpandedSketch *expanded = create_object(parent);

	qs_init(&expanded->sketch, params, &expanded->memory);
	return expanded;
}

/* A copy of a sketch. */
ExpandedSketch *
ExpandedCopy(MemoryContext parent, const qs_sketch *sketch)
{
	ExpandedSketch *expanded = create_object(parent);

	SketchCheck(qs_copy(&expanded->sketch, sketch, &expanded->memory));
	return expanded;
}

/* The sketch that a parallel worker has made and left on a device. */
ExpandedSketch *
ExpandedFromTicket(MemoryContext parent, Datum ticket)
{
	ExpandedSketch *expanded = create_object(parent);

	GpuOpenTicket(ticket, &expanded->sketch, &expanded->memory);
	expanded->engine = GpuEngineOf(&expanded->sketch);
	return expanded;
}

/* The expanded sketch that a datum points to, or NULL. */
ExpandedSketch *
SketchExpandedIn(Datum datum)
{
	ExpandedSketch *expanded;

	if (!VARATT_IS_EXTERNAL_EXPANDED(DatumGetPointer(datum)))
		return NULL;
	expanded = (ExpandedSketch *) DatumGetEOHP(datum);
	if (expanded->magic != EXPANDED_SKETCH_MAGIC)
		elog(ERROR, "expanded object is not a sketch");
	return expanded;
}

/*
 * The sketch of a datum for changing: itself if the datum allows that, else a
 * copy under "parent".
 */
ExpandedSketch *
ExpandedForUpdate(MemoryContext parent, Datum datum)
{
	ExpandedSketch *expanded;
	SketchReader reader;

	if (VARATT_IS_EXTERNAL_EXPANDED_RW(DatumGetPointer(datum)))
		return SketchExpandedIn(datum);
	SketchRead(&reader, datum);
	expanded = ExpandedCopy(parent, reader.sketch);
	SketchReadEnd(&reader);
	return expanded;
}

/*
 * Learn the type of the keys that will be added, from an argument of the
 * calling function, and check that it fits the keys already there.
 */
void
ExpandedSetKey(ExpandedSketch *expanded, FmgrInfo *flinfo, int argument, Oid collation)
{
	KeyTypeInit(&expanded->key, KeyTypeOfArgument(flinfo, argument), collation);
	KeyFamilyCheckProbe(&expanded->sketch, &expanded->key);
	expanded->sketch.family = expanded->key.family;
	expanded->sketch.collation = expanded->key.collation;
}

/* Give the whole buffer to the engine. */
void
ExpandedFlush(ExpandedSketch *expanded)
{
	int count = expanded->count;

	if (count == 0)
		return;
	expanded->count = 0;
	SketchCheck(expanded->engine->insert(&expanded->sketch, expanded->fingerprint, expanded->weight,
										 count));
}

/* Flush, and have the counters here, for reading or for changing them. */
void
ExpandedSettle(ExpandedSketch *expanded)
{
	ExpandedFlush(expanded);
	SketchCheck(expanded->engine->settle(&expanded->sketch));
}

/*
 * Make room in a full buffer: flush it, and while it is small take a larger
 * one, so that groups pay for the keys that they have.
 */
void
ExpandedMakeRoom(ExpandedSketch *expanded)
{
	MemoryContext context = expanded->header.eoh_context;
	int most;
	int room;

	ExpandedFlush(expanded);
	most = (int) expanded->engine->batch(&expanded->sketch);
	room = expanded->room == 0 ? FIRST_ROOM
							   : Max(expanded->room, Min(expanded->room * ROOM_GROWTH, most));
	if (room == expanded->room)
		return;
	if (expanded->fingerprint)
		pfree(expanded->fingerprint);
	expanded->fingerprint = MemoryContextAlloc(context, room * sizeof(uint64));
	if (expanded->weight)
	{
		pfree(expanded->weight);
		expanded->weight = MemoryContextAlloc(context, room * sizeof(int64));
	}
	expanded->room = room;
}

/* The first weight that is not 1: from now on weights are kept. */
void
ExpandedWeigh(ExpandedSketch *expanded)
{
	int i;

	expanded->weight =
		MemoryContextAlloc(expanded->header.eoh_context, expanded->room * sizeof(int64));
	for (i = 0; i < expanded->count; i++)
		expanded->weight[i] = 1;
}

/* Is the value a ticket instead, for the leader of this parallel worker? */
static bool
is_ticket(const ExpandedSketch *expanded)
{
	return expanded->partial && expanded->sketch.remote != NULL;
}

static Size
get_flat_size(ExpandedObjectHeader *header)
{
	ExpandedSketch *expanded = (ExpandedSketch *) header;

	ExpandedFlush(expanded);
	if (is_ticket(expanded))
		return GpuTicketSize();
	ExpandedSettle(expanded);
	return SketchFlatSize(&expanded->sketch);
}

static void
flatten_into(ExpandedObjectHeader *header, void *result, Size size)
{
	ExpandedSketch *expanded = (ExpandedSketch *) header;

	if (is_ticket(expanded))
		GpuWriteTicket(&expanded->sketch, result);
	else
		SketchWrite(&expanded->sketch, result, size);
}
