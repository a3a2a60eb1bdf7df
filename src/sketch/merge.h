/*
 * merge.h
 *		Merging, subtracting and folding sketches, and merging them slice by slice.
 *
 * Merging large sketches takes long.  A process that has other work to do at the same time merges
 * them in slices:
 *
 *	qs_merge_begin(into, from)		once: sets the total of "into"
 *	qs_merge_slice(into, ...)		until all slices of "from" are added
 *
 * Between two slices, keys may be added to "into", and "into" may be copied.  The total of "into"
 * already includes both sketches, but the counters of "into" do not.  So "into" must not be used
 * for estimates.
 *
 * A sketch cannot be merged into itself in slices.
 *
 * The unit of a slice is a bucket.  In a thread sketch, the unit is a counter, and all rows form
 * one array.
 *
 * A slice can be copied into a separate sketch, to be sent to another process.  This sketch has the
 * counters of the slice but no total, and nothing is merged into it.
 *
 * A sketch can also be the sum of slices of many sketches (qs_add_slice).  The total of this sum is
 * the total of all these sketches, so that its counters are wide enough.
 *
 * src/sketch/merge.h
 */
#ifndef QS_MERGE_H
#define QS_MERGE_H

#include "sketch/sketch.h"

/* True if a and b have equal parameters, and their keys match (qb_keys_match). */
extern bool qs_mergeable(const qs_sketch *a, const qs_sketch *b);

/*
 * Adds the counts of "from" to "into", which must own its tables.  QB_MISMATCH: the sketches are
 * not mergeable.  Every error but QB_NO_MEMORY leaves "into" unchanged.  If the pause function
 * raises an error in qs_merge(), qs_subtract() or qs_fold(), the sketch that the function changes
 * may only be passed to qs_free().
 */
extern qb_status qs_merge(qs_sketch *into, const qs_sketch *from);

/*
 * Does the work of qs_merge() for one of many merges.  May defer work to qs_materialize().  Before
 * qs_materialize(), "into" must not be read or copied, but may be changed and freed.
 */
extern qb_status qs_merge_deferred(qs_sketch *into, const qs_sketch *from);

/*
 * into -= from, with the rules of qs_merge().  QB_UNDERFLOW leaves the counts of "into" unchanged.
 * QB_READ_ONLY: "into" is a device part of sf.
 */
extern qb_status qs_subtract(qs_sketch *into, const qs_sketch *from);

/* Folds an owned sketch to n buckets.  QB_NO_FOLD: params.n is not n times a power of two. */
extern qb_status qs_fold(qs_sketch *sk, uint64_t n);

typedef struct qs_slice
{
	uint64_t first; /* number of the first unit */
	uint64_t count;
} qs_slice;

/* Returns the number of units of a sketch. */
extern uint64_t qs_slice_units(const qs_params *p);

/* Returns the parameters of a sketch that has "count" units of another sketch. */
extern qs_params qs_slice_params(const qs_params *p, uint64_t count);

/*
 * Does all steps of a merge except adding the tables.  "from" may be a sketch without tables.
 * Returns the statuses of qs_merge().
 */
extern qb_status qs_merge_begin(qs_sketch *into, const qs_sketch *from);

/*
 * Adds the slice "units" of "from" to the slice "to" of "into".  "from" is a dense sketch, or a
 * slice that was copied from a dense sketch.
 */
extern qb_status
qs_merge_slice(qs_sketch *into, qs_slice to, const qs_sketch *from, qs_slice units);

/* Makes "to", which is uninitialized, an owned copy of the slice "units" of a dense sketch. */
extern qb_status
qs_take_slice(qs_sketch *to, const qs_sketch *from, qs_slice units, const qb_memory *memory);

/*
 * Adds the slice "units" of a dense sketch to "slice".  Before the first call, all members of
 * "slice" but "memory" are zero.  Returns the same statuses as qs_merge().
 */
extern qb_status qs_add_slice(qs_sketch *slice, const qs_sketch *from, qs_slice units);

#endif
