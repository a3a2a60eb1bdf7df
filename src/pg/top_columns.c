/*
 * top_columns.c
 *		Makes lists of top keys from cached columns.
 *
 * The GPU first makes only the sketch.  An explicit sketch has all keys with exact counts.  For a
 * dense sketch, the GPU counts the most frequent keys a second time, exactly (gpu/sketch_gpu.h).
 * So all candidates have exact counts.  A dense sketch may stay on the device until its list is
 * read.  Then the sketch and the candidates are merged into the list, like a list of another
 * process.  Rows of pages that are not cached are added later.
 *
 * If the keys cannot be counted again, no key of the cached column is added to the state, and the
 * scan reads the pages.
 *
 * src/pg/top_columns.c
 */
#include "pg/top_state.h"

#include "gpu/sketch_gpu.h"
#include "miscadmin.h"
#include "sketch/explicit.h"

/* True if keys of cached columns may be added to a state. */
bool
TopMayTakeColumns(const TopState *top, const StateWork *work)
{
	return !top->top.texts && !GpuSketchOnlyOnCpu(&top->sketch.params) &&
		   GpuSketchEngine(&top->sketch.params, work) != &qs_engine_cpu;
}

/* Create a sketch for the keys of a list, in the list's memory context. */
SketchState *
TopSketchFor(const TopState *top)
{
	SketchState *sketch = SketchCreate(top->keyed.header.eoh_context, &top->sketch.params);

	sketch->sketch.keys = top->sketch.keys;
	return sketch;
}

/* Copy the tables of a sketch of TopSketchFor() to this process. */
void
TopFetchSketch(SketchState *sketch)
{
	sketch->engine = GpuSketchEngineOf(&sketch->sketch);
	SketchMaterialize(sketch);
}

/*
 * Count the frequent keys of dense sketches a second time, to find exact counts.  Unless
 * GpuSketchIsWith() is true for all sketches, the sketches are first copied to this process.  A
 * server with one device does not copy the sketches of several groups, because together they may
 * exceed the memory of this process.  False: the sketches were not copied, or some keys were not
 * counted.
 */
static bool
recount(SketchState *const *sketch, uint32 count, const qb_groups *groups, uint32 n,
		const GpuColumnChunk *chunk, int chunks, GpuRecounted *counted)
{
	const qs_sketch **tables = palloc(count * sizeof(qs_sketch *));
	bool with = true;
	bool done;
	uint32 i;

	for (i = 0; i < count; i++)
	{
		tables[i] = &sketch[i]->sketch;
		with &= GpuSketchIsWith(tables[i], chunk, chunks);
	}
	if (!with && count > 1 && gpu_shared->device_count == 1)
		return false;
	for (i = 0; i < count && !with; i++)
	{
		CHECK_FOR_INTERRUPTS();
		TopFetchSketch(sketch[i]);
	}
	done = GpuSketchRecount(tables, count, groups, qs_top_capacity(n), chunk, chunks, counted);
	pfree(tables);
	return done;
}

/* List the keys of an explicit sketch. */
static GpuRecounted
explicit_keys(const qs_sketch *sketch)
{
	GpuRecounted all = { .key = palloc(Max(sketch->used, 1) * sizeof(qs_frequent_key)),
						 .least = 1 };
	uint64_t position = 0;
	qs_entry e;

	while (qs_explicit_next(sketch, &position, &e))
		all.key[all.count++] = (qs_frequent_key){ e.fingerprint, (uint64) e.count };
	return all;
}

/*
 * Add a sketch and its counted keys to the list.  The list takes over the sketch, and the keys are
 * freed.
 */
static void
add_counted(TopState *top, SketchState *sketch, GpuRecounted *counted)
{
	TopAddCounted(top, sketch, counted);
	if (counted->key)
		pfree(counted->key);
}

/*
 * List the chunks with counted pages.  "before" has the chunks' page sets from before counting, and
 * is reduced to the counted pages.  "taken" receives each listed chunk with its counted pages.
 * Returns the number of listed chunks.
 */
static int
list_taken(const GpuColumnChunk *chunk, int chunks, GpuPages *before, GpuColumnChunk *taken)
{
	int count = 0;
	int i;

	for (i = 0; i < chunks; i++)
	{
		GpuPagesTakeOff(&before[i], chunk[i].pages);
		if (GpuPagesAreNone(&before[i]))
			continue;
		taken[count] = chunk[i];
		taken[count++].pages = &before[i];
	}
	return count;
}

/* Add the counted pages to the chunks' page sets again. */
static void
give_back(const GpuColumnChunk *chunk, int chunks, const GpuPages *taken)
{
	int i;
	int j;

	for (i = 0; i < chunks; i++)
		for (j = 0; j < (int) lengthof(taken->word); j++)
			chunk[i].pages->word[j] |= taken[i].word[j];
}

/*
 * Add a sketch of the keys on the chunks' pages to the list, which takes over the sketch.  False:
 * the sketch was freed, and nothing was added.
 */
static bool
take_sketch(TopState *top, SketchState *sketch, const GpuColumnChunk *chunk, int chunks)
{
	GpuRecounted counted;

	if (sketch->sketch.encoding == QS_EXPLICIT)
		counted = explicit_keys(&sketch->sketch);
	else if (!recount(&sketch, 1, NULL, top->top.n, chunk, chunks, &counted))
	{
		SketchFree(sketch);
		return false;
	}
	add_counted(top, sketch, &counted);
	return true;
}

/*
 * Count the keys of a cached column on the chunks' pages.  Counted pages are removed from the
 * chunks' page sets.
 */
void
TopAddColumn(TopState *top, const GpuColumnChunk *chunk, int chunks)
{
	SketchState *sketch = TopSketchFor(top);
	GpuPages *pages = palloc_extended(Max(chunks, 1) * sizeof(GpuPages), MCXT_ALLOC_HUGE);
	GpuColumnChunk *taken =
		palloc_extended(Max(chunks, 1) * sizeof(GpuColumnChunk), MCXT_ALLOC_HUGE);
	int count;
	int i;

	for (i = 0; i < chunks; i++)
		pages[i] = *chunk[i].pages;
	SketchAddColumn(sketch, chunk, chunks);
	count = list_taken(chunk, chunks, pages, taken);
	if (!take_sketch(top, sketch, taken, count))
		give_back(chunk, chunks, pages);
	pfree(taken);
	pfree(pages);
}

/*
 * Add the sketches of groups to the groups' lists, which take over the sketches.  The sketches are
 * on a device, and have the keys on the chunks' pages.  False: the keys could not be counted again,
 * and the caller can no longer use the lists.
 */
bool
TopAddGroups(TopState *const *top, SketchState *const *sketch, const qb_groups *groups,
			 const GpuColumnChunk *chunk, int chunks)
{
	GpuRecounted *counted = palloc(groups->count * sizeof(GpuRecounted));
	bool done = recount(sketch, groups->count, groups, top[0]->top.n, chunk, chunks, counted);
	uint32 i;

	for (i = 0; i < groups->count && done; i++)
	{
		CHECK_FOR_INTERRUPTS();
		add_counted(top[i], sketch[i], &counted[i]);
	}
	pfree(counted);
	return done;
}
