/*
 * sketch_slices.c
 *		Cuts a sketch into slices that processes merge at the same time.
 *
 * A slice is a sketch of a range of buckets (sketch/merge.h), with tables in shared memory
 * (pgbase/segment.h).  A slice also records the total and the key family of all sketches that were
 * added to the slice.
 *
 * Explicit sketches, sketches of few keys (SketchHasFewKeys()) and sketches on a device are not
 * cut.  A single process merges these sketches.
 *
 * src/pg/sketch_slices.c
 */
#include "pg/sketch_state.h"

/*
 * Return the sketch of a slice with pointers for this process.  Shared memory has the sketch
 * without pointers.
 */
static qs_sketch
open_slice(const SharedSlice *shared, dsa_area *area, const qb_memory *memory)
{
	qs_sketch slice = *(const qs_sketch *) shared->data;

	slice.ops = qs_ops_of(slice.params.structure);
	slice.memory = memory;
	slice.table = SegmentAddress(area, shared->table[0]);
	slice.extra = SegmentAddress(area, shared->table[1]);
	return slice;
}

/*
 * Return the number of units into which a sketch can be cut, and the bytes of its tables in *bytes.
 * 0: the sketch is not cut.
 */
uint64
SketchSliceUnits(const qs_sketch *sketch, Size *bytes)
{
	if (sketch->encoding != QS_DENSE || SketchHasFewKeys(sketch))
		return 0;
	*bytes = qs_tables_bytes(&sketch->params, sketch->wide, sketch->extra_used);
	return qs_slice_units(&sketch->params);
}

/* Add units of a sketch to the slice.  The slice's data begin with a qs_sketch. */
void
SketchSliceAdd(const qs_sketch *sketch, qs_slice units, SharedSlice *shared, dsa_area *area)
{
	qb_memory memory;
	qs_sketch slice = open_slice(shared, area, SegmentMemory(area, &memory));

	SketchCheck(qs_add_slice(&slice, sketch, units));
	shared->table[0] = SegmentPointer(slice.table);
	shared->table[1] = SegmentPointer(slice.extra);
	slice.table = slice.extra = NULL;
	slice.memory = NULL;
	slice.ops = NULL;
	memcpy(shared->data, &slice, sizeof(slice));
}

/*
 * Add a slice to units of a sketch.  The first slice also adds the total of all merged sketches to
 * the sketch's total.
 */
void
SketchSliceTake(qs_sketch *sketch, qs_slice units, const SharedSlice *shared, dsa_area *area)
{
	qs_sketch slice = open_slice(shared, area, NULL);
	qs_sketch head = slice;

	head.params = sketch->params;
	if (units.first == 0)
		SketchCheck(qs_merge_begin(sketch, &head));
	SketchCheck(qs_merge_slice(sketch, units, &slice, (qs_slice){ 0, units.count }));
}

static uint64
sketch_units(KeyedState *state, Size *bytes)
{
	SketchState *expanded = (SketchState *) state;

	SketchFlushAdded(state);
	if (expanded->sketch.remote)
		return 0;
	SketchMaterializeAdded(expanded);
	return SketchSliceUnits(&expanded->sketch, bytes);
}

static void
sketch_add(KeyedState *state, uint64 first, uint64 count, SharedSlice *shared, dsa_area *area)
{
	SketchSliceAdd(&((SketchState *) state)->sketch, (qs_slice){ first, count }, shared, area);
}

static void
sketch_take(KeyedState *state, uint64 first, uint64 count, const SharedSlice *shared,
			dsa_area *area)
{
	SketchState *expanded = (SketchState *) state;

	if (first == 0)
	{
		SketchMaterializeAdded(expanded);
		SketchNewVersion(expanded);
	}
	SketchSliceTake(&expanded->sketch, (qs_slice){ first, count }, shared, area);
}

static void
sketch_clear(KeyedState *state)
{
	qs_sketch *sketch = &((SketchState *) state)->sketch;
	qs_params params = sketch->params;

	StateTypeOf(state)->release(state);
	qs_init(sketch, &params, &state->memory);
}

const StateSlices sketch_slices = {
	.size = sizeof(qs_sketch),
	.units = sketch_units,
	.add = sketch_add,
	.take = sketch_take,
	.clear = sketch_clear,
};
