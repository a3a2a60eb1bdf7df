/*
 * sketch_slices.c
 *		How a sketch is cut into slices, so that all processes of a parallel scan merge their
 *		sketches at the same time (pgbase/segment.h).
 *
 * A slice is a sketch of some buckets (sketch/merge.h), whose tables are in shared memory.  A slice
 * has the total of all sketches that were added, and their kind of keys.
 *
 * A sketch is not cut if it is explicit, if it has few keys, so that it is written in compact
 * encoding, or if its counters are on a device.  Such sketches are merged by one process.
 *
 * src/pg/sketch_slices.c
 */
#include "pg/sketch_state.h"

/* The sketch of a slice, which the shared memory holds without pointers. */
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

/* The number of units into which a sketch can be cut, and its bytes; 0: it is not cut. */
uint64
SketchSliceUnits(const qs_sketch *sketch, Size *bytes)
{
	if (sketch->encoding != QS_DENSE || SketchHasFewKeys(sketch))
		return 0;
	*bytes = qs_tables_bytes(&sketch->params, sketch->wide, sketch->extra_used);
	return qs_slice_units(&sketch->params);
}

/* Add units of a sketch to the slice, whose own data begin with a qs_sketch. */
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

/* Add a slice to units of a sketch.  The first slice has the total of all sketches. */
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
