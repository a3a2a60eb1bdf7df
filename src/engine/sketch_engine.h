/*
 * sketch_engine.h
 *		Engines that change sketches in batches, behind one table.
 *
 * The layers above change a sketch only through its engine.  They look at which engine it is only
 * to show it to the user.  All engines give byte-identical sketches.  An engine works on a
 * qs_sketch in place; keys come as fingerprints, in batches of any size.
 *
 * An engine may keep the tables of a dense sketch elsewhere, on a device: the sketch
 * is then "remote" and has no tables.  Only insert() and merge() of the same engine
 * work on a remote sketch, until materialize() has brought its tables back.  On the CPU,
 * materialize() finishes what deferred merges have left.  After materialize() a sketch has its
 * tables, so reading needs no engine.
 *
 * src/engine/sketch_engine.h
 */
#ifndef QS_ENGINE_H
#define QS_ENGINE_H

#include "base/isa.h"
#include "sketch/kernels.h"
#include "sketch/merge.h"
#include "sketch/top.h"

typedef struct qs_engine
{
	/*
	 * Add keys; weight NULL means 1 each, otherwise weights are >= 0.
	 * QB_TOTAL_OVERFLOW and QB_READ_ONLY leave the sketch unchanged.
	 */
	qb_status (*insert)(qs_sketch *sk, const uint64_t *fingerprint, const int64_t *weight,
						size_t count);

	/* Remove keys, with weights as for insert().  QB_UNDERFLOW leaves the sketch unchanged. */
	qb_status (*remove)(qs_sketch *sk, const uint64_t *fingerprint, const int64_t *weight,
						size_t count);

	/* Does what qs_merge() or qs_merge_deferred() does. */
	qb_status (*merge)(qs_sketch *into, const qs_sketch *from);

	/* Bring the tables back and up to date.  Afterwards the sketch is not remote. */
	qb_status (*materialize)(qs_sketch *sk);

	/* The number of keys to collect before an insert into this sketch. */
	size_t (*batch)(const qs_sketch *sk);
} qs_engine;

/* The engine that is always available. */
extern const qs_engine qs_engine_cpu;

/* The inner loops in use; qb_isa_use() changes them. */
extern const qs_kernels *qs_kernels_now(void);

/* Add a batch of hv to dense tables, with the loops in use. */
extern void qs_kernels_add(qs_sketch *sk, const uint64_t *hv, const int64_t *weight, size_t count);

/* Selected keys of a batch: all keys whose estimates are at least "least", and perhaps others. */
typedef struct qs_selection
{
	int64_t least;
	size_t count;
	uint32_t found[QS_BATCH]; /* their numbers, ascending */
} qs_selection;

/* Select among at most QS_BATCH keys.  Without a fast loop all keys are selected. */
extern void qs_kernels_select(const qs_sketch *sk, const uint64_t *fingerprint, size_t count,
							  qs_selection *selection);

/*
 * Insert at most QS_BATCH keys by the CPU's engine, and select among them by their estimates
 * afterwards.
 */
extern qb_status qs_insert_select(qs_sketch *sk, const uint64_t *fingerprint, const int64_t *weight,
								  size_t count, qs_selection *selection);

/* Estimate each key of a sketch that is not remote; works on views. */
extern void
qs_query(const qs_sketch *sk, const uint64_t *fingerprint, size_t count, int64_t *estimate);

/* ---- finding the most frequent keys of batches that went into a sketch ---- */

/*
 * Insert at most QS_BATCH keys into the sketch, as qs_engine_cpu.insert() does, and find candidates
 * among them; weight NULL means 1 each.  New candidates begin at index top->fresh, and each names
 * the row of the batch that has its text.  The caller sets these texts before the next batch, and
 * then calls qs_top_batch_done().
 */
extern qb_status qs_top_insert(qs_top *top, qs_sketch *sk, const uint64_t *fingerprint,
							   const int64_t *weight, size_t count);

QB_INLINE void
qs_top_batch_done(qs_top *top)
{
	top->fresh = top->count;
}

/*
 * ---- the compact encoding of keys that no table has counted ----
 *
 * Many sketches are filled once and then stored or sent.  Tables for them would be mostly zeros,
 * and would only be searched for counters that are not zero.  Sorting some thousand keys by their
 * bucket takes a fraction of this time and memory.
 */

/*
 * Make "made" the compact sketch of an owned explicit sketch and of the keys (weight NULL:
 * 1 each).  Written, it has the bytes that counting the keys in tables would give.  Its body comes
 * from "memory", and the caller releases it.  The explicit sketch may get its table of masks, and
 * does not change otherwise.
 *
 * False: the sketch would not be compact, or this function cannot know it.  Reasons are few
 * distinct keys, more keys than buckets, a structure whose keys have counters in several buckets, a
 * total out of range, or no memory.
 */
extern bool qs_compact_from_keys(qs_sketch *made, const qb_memory *memory, qs_sketch *sk,
								 const uint64_t *fingerprint, const int64_t *weight, size_t count);

#endif
