/*
 * top_columns.c
 *		Lists of top keys that are made of cached columns.
 *
 * First the GPU makes the sketch alone.  An explicit sketch has all keys with their counts.  Of another one
 * the GPU counts the frequent keys once more, exactly (gpu/sketch_gpu.h).  So the candidates have
 * exact counts, and the bound of all other keys is below the threshold.  Sketch and candidates are merged
 * into the state as those of another process are, and rows of other pages follow.
 *
 * If the keys cannot be counted once more, the state gets none of them, and their pages are read.
 *
 * src/pg/top_columns.c
 */
#include "pg/top_state.h"

#include "gpu/sketch_gpu.h"
#include "miscadmin.h"
#include "sketch/explicit.h"

/* May a state get keys of cached columns? */
bool
TopMayTakeColumns(const TopState *top, const StateWork *work)
{
	return !top->top.texts && !GpuSketchOnlyOnCpu(&top->sketch.params) &&
		   GpuSketchEngine(&top->sketch.params, work) != &qs_engine_cpu;
}

/* A sketch for keys of a list, in memory of the list's context. */
SketchState *
TopSketchFor(const TopState *top)
{
	SketchState *sketch = SketchCreate(top->keyed.header.eoh_context, &top->sketch.params);

	sketch->sketch.keys = top->sketch.keys;
	return sketch;
}

/* Bring the tables of sketches here. */
static void
bring_here(SketchState *const *sketch, uint32 count)
{
	uint32 i;

	for (i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		sketch[i]->engine = GpuSketchEngineOf(&sketch[i]->sketch);
		SketchMaterialize(sketch[i]);
	}
}

/*
 * Count the frequent keys of dense sketches once more, on their device if they are on that of all chunks,
 * and bring the sketches here.  False: not all keys could be counted.
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
	if (!with)
		bring_here(sketch, count);
	done = GpuSketchRecount(tables, count, groups, qs_top_capacity(n), chunk, chunks, counted);
	bring_here(sketch, count);
	pfree(tables);
	return done;
}

/* Add an explicit sketch, which goes. */
static void
take_explicit(TopState *top, SketchState *sketch)
{
	qs_frequent_key *key = palloc(Max(sketch->sketch.used, 1) * sizeof(qs_frequent_key));
	uint64_t position = 0;
	uint64 count = 0;
	qs_entry e;

	while (qs_explicit_next(&sketch->sketch, &position, &e))
		key[count++] = (qs_frequent_key){ e.fingerprint, (uint64) e.count };
	TopTakeCounted(top, sketch, key, count, 0);
	pfree(key);
}

/* Add a dense sketch, which goes, with what was counted once more. */
static void
take_recounted(TopState *top, SketchState *sketch, GpuRecounted *counted)
{
	GpuRecountedFinish(counted, &sketch->sketch);
	TopTakeCounted(top, sketch, counted->key, counted->count,
				   Max(counted->least - 1, counted->left_out));
	if (counted->key)
		pfree(counted->key);
}

/* The pages that were taken off the chunks' sets, of the chunks that have any; returns how many have. */
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

/* Put pages that were taken back into the chunks' sets. */
static void
give_back(const GpuColumnChunk *chunk, int chunks, const GpuPages *taken)
{
	int i;
	int j;

	for (i = 0; i < chunks; i++)
		for (j = 0; j < (int) lengthof(taken->word); j++)
			chunk[i].pages->word[j] |= taken[i].word[j];
}

/* Add a sketch, which goes, with the keys on these pages of chunks; false: nothing was added. */
static bool
take_sketch(TopState *top, SketchState *sketch, const GpuColumnChunk *chunk, int chunks)
{
	GpuRecounted counted;

	if (sketch->sketch.encoding == QS_EXPLICIT)
		take_explicit(top, sketch);
	else if (recount(&sketch, 1, NULL, top->top.n, chunk, chunks, &counted))
		take_recounted(top, sketch, &counted);
	else
	{
		SketchFree(sketch);
		return false;
	}
	return true;
}

/*
 * Count the keys of a cached column on the pages that the chunks' sets have.  Pages that were not
 * done stay in the sets.
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
 * Add to the lists of groups their sketches, which have the keys on the chunks' pages and are on a
 * device; the sketches go.  False: the keys could not be counted once more, and the lists are of no use.
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
		take_recounted(top[i], sketch[i], &counted[i]);
	}
	pfree(counted);
	return done;
}
