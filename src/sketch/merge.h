/*
 * merge.h
 *		Merging, subtracting and folding sketches, and merging them slice by slice.
 *
 * Merging large sketches takes long.  A process that has other work meanwhile merges
 * them in slices:
 *
 *	qs_merge_begin(into, from)		once: "into" gets the total of the result
 *	qs_merge_slice(into, ...)		until all slices of "from" are added
 *
 * Between two slices "into" may get keys, and may be copied.  Its total already includes both
 * sketches, but its counters do not.  So it must not be used for estimates.
 *
 * A sketch cannot be merged into itself in slices.
 *
 * The unit of a slice is a bucket.  In a thread sketch it is a counter, and the rows are one array,
 * beginning with the first row.
 *
 * A slice can also be copied into a sketch of its own, to be sent elsewhere.  Such a
 * sketch has the counters of the slice but no total, and nothing is merged into it.
 *
 * A slice can also be a sketch to which slices of many sketches are added (qs_add_slice).  Its
 * total is the total of all these sketches, so that its counters are wide enough.
 *
 * src/sketch/merge.h
 */
#ifndef QS_MERGE_H
#define QS_MERGE_H

#include "sketch/sketch.h"

/* True if both have equal parameters, and keys of one kind.  One of them may have no keys yet. */
extern bool qs_mergeable(const qs_sketch *a, const qs_sketch *b);

/*
 * Add the counts of "from" to "into", which must own its tables.  QB_MISMATCH if the two are not
 * mergeable.  Every error but QB_NO_MEMORY leaves "into" unchanged.  If a pause jumps out of a merge, a subtraction or a fold, only qs_free()
 * may be called for "into".
 */
extern qb_status qs_merge(qs_sketch *into, const qs_sketch *from);

/*
 * into += from, as one of many merges.  May leave work to qs_materialize().  Until that is called,
 * "into" must not be read or copied, but may be changed and freed.
 */
extern qb_status qs_merge_deferred(qs_sketch *into, const qs_sketch *from);

/*
 * into -= from, with the rules of qs_merge().  QB_UNDERFLOW leaves the counts of "into" unchanged.
 */
extern qb_status qs_subtract(qs_sketch *into, const qs_sketch *from);

/* Fold an owned sketch to n buckets: params.n must be n times a power of two. */
extern qb_status qs_fold(qs_sketch *sk, uint64_t n);

typedef struct qs_slice
{
	uint64_t first; /* number of the first unit */
	uint64_t count;
} qs_slice;

/* The number of units of a sketch. */
extern uint64_t qs_slice_units(const qs_params *p);

/* The parameters of a sketch that has "count" units of another sketch. */
extern qs_params qs_slice_params(const qs_params *p, uint64_t count);

/*
 * Do all of a merge except adding the tables, so "from" may be a sketch without tables.  Returns
 * the statuses of qs_merge().
 */
extern qb_status qs_merge_begin(qs_sketch *into, const qs_sketch *from);

/*
 * Add units of a dense sketch, or of a slice that was copied from one, to the units "to" of "into".
 */
extern qb_status
qs_merge_slice(qs_sketch *into, qs_slice to, const qs_sketch *from, qs_slice units);

/* Copy units of a dense sketch into an owned sketch "to", which is uninitialized. */
extern qb_status
qs_take_slice(qs_sketch *to, const qs_sketch *from, qs_slice units, const qb_memory *memory);

/*
 * Add units of a dense sketch to a slice, which was all zero at first except for its memory.
 * Returns the statuses of qs_merge().
 */
extern qb_status qs_add_slice(qs_sketch *slice, const qs_sketch *from, qs_slice units);

#endif
