/*
 * sketch_top.h
 *		Finding the most frequent keys of batches that went into a sketch.
 *
 * src/engine/sketch_top.h
 */
#ifndef QS_ENGINE_TOP_H
#define QS_ENGINE_TOP_H

#include "sketch/top.h"

/*
 * Look through a batch that the sketch, which is not remote, has just counted;
 * weight NULL means 1 each.  New candidates, "fresh" and after, have the row of
 * the batch that has their text; the caller reads it before the next batch and
 * then calls qs_top_batch_done().
 */
extern qb_status qs_top_batch(qs_top *top, const qs_sketch *sk, const uint64_t *fingerprint,
							  const int64_t *weight, size_t count);

QB_INLINE void
qs_top_batch_done(qs_top *top)
{
	top->fresh = top->count;
}

#endif
