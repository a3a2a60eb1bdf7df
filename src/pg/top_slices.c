/*
 * top_slices.c
 *		Cuts a list of top keys into slices that processes merge at the same time.
 *
 * The slices of a list are the slices of its sketch (pgbase/segment.h).  The first slice also has
 * the candidates: their entries and texts, in one block of shared memory (sketch/top.h).  A process
 * merges these candidates with its own candidates, and writes a new block.  The merge uses only the
 * bounds of the lists, because no process has the sketch that belongs to the block.  When the
 * merged list is finished, its sketch limits all upper bounds.
 *
 * Lists of many candidates are not cut, because each process would hold the lock of the first slice
 * for too long.
 *
 * src/pg/top_slices.c
 */
#include "pg/top_state.h"

/* The data of a slice besides its tables.  Only the first slice has candidates. */
typedef struct TopSlice
{
	qs_sketch sketch; /* written by SketchSliceAdd() */
	qs_top list;      /* view of the candidates in table[LIST_TABLE], without pointers */
} TopSlice;

#define LIST_TABLE 2

/*
 * The maximum number of candidates of a list that is cut.  Merging a few times this number takes
 * milliseconds.
 */
#define MOST_CANDIDATES 8192

static uint64
top_units(KeyedState *state, Size *bytes)
{
	TopState *top = (TopState *) state;
	uint64 units;

	TopFlushAdded(top);
	units = SketchSliceUnits(&top->sketch, bytes);
	if (units == 0 || qs_top_capacity(top->top.n) > MOST_CANDIDATES)
		return 0;
	qs_top_finish(&top->top, &top->sketch);
	*bytes += qs_top_list_size(&top->top);
	return units;
}

/* Merge the candidates of the slice, if any, into a list. */
static void
merge_listed(qs_top *top, const SharedSlice *shared, dsa_area *area)
{
	qs_top view = ((const TopSlice *) shared->data)->list;

	if (!DsaPointerIsValid(shared->table[LIST_TABLE]))
		return;
	qs_top_open_list(&view, SegmentAddress(area, shared->table[LIST_TABLE]));
	SketchCheck(qs_top_merge_list(top, &view));
}

/* Replace the candidates of the slice by the candidates of the list. */
static void
write_listed(const qs_top *top, SharedSlice *shared, dsa_area *area)
{
	qb_memory memory;
	uint8 *block;

	if (DsaPointerIsValid(shared->table[LIST_TABLE]))
		dsa_free(area, shared->table[LIST_TABLE]);
	shared->table[LIST_TABLE] = InvalidDsaPointer;
	block = SegmentMemory(area, &memory)->alloc(area, Max(qs_top_list_size(top), 1));
	SketchCheck(block ? QB_OK : QB_NO_MEMORY);
	shared->table[LIST_TABLE] = SegmentPointer(block);
	((TopSlice *) shared->data)->list = qs_top_write_list(top, block);
}

static void
top_add(KeyedState *state, uint64 first, uint64 count, SharedSlice *shared, dsa_area *area)
{
	TopState *top = (TopState *) state;

	SketchSliceAdd(&top->sketch, (qs_slice){ first, count }, shared, area);
	if (first > 0)
		return;
	merge_listed(&top->top, shared, area);
	write_listed(&top->top, shared, area);
}

static void
top_take(KeyedState *state, uint64 first, uint64 count, const SharedSlice *shared, dsa_area *area)
{
	TopState *top = (TopState *) state;

	if (first == 0)
	{
		TopFlushAdded(top);
		qs_top_finish(&top->top, &top->sketch);
		merge_listed(&top->top, shared, area);
	}
	SketchSliceTake(&top->sketch, (qs_slice){ first, count }, shared, area);
}

static void
top_clear(KeyedState *state)
{
	TopState *top = (TopState *) state;
	qs_params params = top->sketch.params;
	bool texts = top->top.texts;

	StateTypeOf(state)->release(state);
	qs_init(&top->sketch, &params, &state->memory);
	top->top.texts = texts;
}

const StateSlices top_slices = {
	.size = sizeof(TopSlice),
	.units = top_units,
	.add = top_add,
	.take = top_take,
	.clear = top_clear,
};
