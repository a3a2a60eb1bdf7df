/*
 * slice.c
 *		Slices of a dense sketch.
 *
 * The tables of a slice are those of its sketch, from another place on.  So a structure's
 * accumulate() works on slices as on sketches.
 *
 * src/sketch/slice.c
 */
#include "sketch/slice.h"

uint64_t
qs_slice_units(const qs_params *p)
{
	return qs_has_rows(p->structure) ? p->n * p->depth : p->n;
}

/* No keys are added to a slice, so it needs no more than one mask. */
qs_params
qs_slice_params(const qs_params *p, uint64_t count)
{
	qs_params slice = *p;

	slice.n = count;
	slice.log2_masks = 0;
	if (qs_has_rows(p->structure))
		slice.depth = 1;
	return slice;
}

/* A slice in place, with all high buckets: it is not known which are its own. */
static qs_sketch
slice_of(const qs_sketch *sk, qs_slice units)
{
	qs_params before = qs_slice_params(&sk->params, units.first);
	qs_sketch slice = *sk;

	slice.params = qs_slice_params(&sk->params, units.count);
	slice.table += sk->ops->table_bytes(&before, sk->wide);
	slice.carries = NULL;
	return slice;
}

qb_status
qs_merge_slice(qs_sketch *into, qs_slice to, const qs_sketch *from, qs_slice units)
{
	qs_sketch target = slice_of(into, to);
	qs_sketch source = slice_of(from, units);
	qb_status status = into->ops->accumulate(&target, &source, false);

	into->extra = target.extra;
	into->extra_used = target.extra_used;
	into->extra_room = target.extra_room;
	return status;
}

qb_status
qs_take_slice(qs_sketch *to, const qs_sketch *from, qs_slice units, const qb_memory *memory)
{
	qs_params params = qs_slice_params(&from->params, units.count);
	qb_status status;

	qs_init(to, &params, memory);
	status = qs_start_dense(to, from->wide);
	if (status == QB_OK)
		status = qs_merge_slice(to, (qs_slice){ 0, units.count }, from, units);
	if (status != QB_OK)
		qs_free(to);
	return status;
}
