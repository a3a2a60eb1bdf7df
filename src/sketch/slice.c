/*
 * slice.c
 *		Slices of a dense sketch.
 *
 * The tables of a slice are those of its sketch, from another offset on.  So a structure's
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

qb_status
qs_merge_begin_as(qs_sketch *into, const qs_params *from, int64_t total)
{
	qs_sketch head;

	qs_init(&head, from, NULL);
	head.encoding = QS_DENSE;
	head.total = total;
	return qs_merge_begin(into, &head);
}

/* A slice in place, with all high buckets: it is not known which are its own. */
static qs_sketch
slice_of(const qs_sketch *sk, qs_slice units)
{
	qs_params before = qs_slice_params(&sk->params, units.first);
	qs_sketch slice = *sk;

	slice.params = qs_slice_params(&sk->params, units.count);
	slice.table += qs_table_bytes(&before, sk->wide);
	slice.carries = NULL;
	return slice;
}

/*
 * Have room for the high buckets that a slice can ask for: for each bucket with a counter of
 * 256 or more, and for each that "from" has.  A slice would not get it itself, because it
 * has no more room than buckets.
 */
static qb_status
reserve(qs_sketch *into, qs_slice to, const qs_sketch *from)
{
	uint64_t most = (uint64_t) into->total / 256 + from->extra_used;

	if (!into->ops->reserve)
		return QB_OK;
	return into->ops->reserve(into, (size_t) (to.count < most ? to.count : most));
}

qb_status
qs_merge_slice(qs_sketch *into, qs_slice to, const qs_sketch *from, qs_slice units)
{
	qb_status status = reserve(into, to, from);
	qs_sketch target = slice_of(into, to);
	qs_sketch source = slice_of(from, units);

	if (status != QB_OK)
		return status;
	status = into->ops->accumulate(&target, &source, false);
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
