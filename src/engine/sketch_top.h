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
 * Insert at most QS_BATCH keys into the sketch, as qs_engine_cpu.insert() does, and find
 * candidates among them; weight NULL means 1 each.  New candidates are those from
 * top->fresh on; each names the row of the batch that has its text.  The caller sets these
 * texts before the next batch, and then calls qs_top_batch_done().
 */
extern qb_status qs_top_insert(qs_top *top, qs_sketch *sk, const uint64_t *fingerprint,
							   const int64_t *weight, size_t count);

QB_INLINE void
qs_top_batch_done(qs_top *top)
{
	top->fresh = top->count;
}

#endif
