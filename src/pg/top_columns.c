/*
 * top_columns.c
 *		Lists of top keys that are made of cached columns.
 *
 * First the GPU makes only the sketch.  An explicit sketch has all keys with their counts.  If the
 * sketch is dense, the GPU counts its frequent keys once more, exactly (gpu/sketch_gpu.h).  So the
 * candidates have exact counts, and the bound of all other keys is below the threshold.  A dense
 * sketch stays on the device until its list is read.  Then sketch and candidates are merged into
 * the list like those of another process.  Rows of pages that are not cached are added later.
 *
 * If the keys cannot be counted once more, the state gets no key of the cached column, and the
 * pages are read.
 *
 * src/pg/top_columns.c
 */
#include "pg/top_state.h"

#include "gpu/sketch_gpu.h"
#include "miscadmin.h"
#include "sketch/explicit.h"

/* True if a state may get keys of cached columns. */
bool
TopMayTakeColumns(const TopState *top, const StateWork *work)
{
	return !top->top.texts && !GpuSketchOnlyOnCpu(&top->sketch.params) &&
		   GpuSketchEngine(&top->sketch.params, work) != &qs_engine_cpu;
}

/* A sketch for the keys of a list, in memory of the list's context. */
SketchState *
TopSketchFor(const TopState *top)
{
	SketchState *sketch = SketchCreate(top->keyed.header.eoh_context, &top->sketch.params);

	sketch->sketch.keys = top->sketch.keys;
	return sketch;
}

/* Bring the tables of a sketch that TopSketchFor() made to this process. */
void
TopFetchSketch(SketchState *sketch)
{
	sketch->engine = GpuSketchEngineOf(&sketch->sketch);
	SketchMaterialize(sketch);
}

/*
 * Count the frequent keys of dense sketches once more.  If the chunks are on several devices, first
 * bring the sketches to this process.  False: some keys could not be counted.  With one device this is
 * so if a sketch of a group has left it, because the sketches of all groups may be too large for this
 * process.
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

/* Add a sketch and its counted keys to the list, which frees the sketch. */
static void
add_counted(TopState *top, SketchState *sketch, GpuRecounted *counted)
{
	TopAddCounted(top, sketch, counted);
	if (counted->key)
		pfree(counted->key);
}

/*
 * List the chunks from whose sets pages were taken.  "before" has the sets from before; "taken"
 * gets each such chunk with the pages that were taken.  Returns the number of such chunks.
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

/* Put the pages that were taken back into the chunks' sets. */
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
 * Add a sketch, which has the keys on these pages of chunks, to the list, which frees the sketch.
 * False: nothing was added.
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
 * Count the keys of a cached column on the pages in the chunks' sets.  Pages that were not done
 * stay in the sets.
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
 * Add to the lists of groups their sketches, which are on a device and have the keys on the chunks'
 * pages.  The lists free the sketches.  False: the keys could not be counted once more, and the
 * lists can no longer be used.
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
