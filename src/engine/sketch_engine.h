/*
 * sketch_engine.h
 *		The interface of engines, which change sketches in batches.
 *
 * An engine changes a qs_sketch in place.  Keys are fingerprints, in batches of any size.  All
 * engines give byte-identical sketches.
 *
 * A dense sketch whose tables are on a device is "remote".  Only the engine that moved the tables
 * to the device accepts a remote sketch.  materialize() copies the tables back.  On the CPU,
 * materialize() finishes deferred merges.  After materialize() a sketch has its tables in memory,
 * so reading needs no engine.
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
	 * Add keys.  "weight" is NULL if all weights are 1.  Weights are not negative.
	 * QB_TOTAL_OVERFLOW and QB_READ_ONLY leave the sketch unchanged.
	 */
	qb_status (*insert)(qs_sketch *sk, const uint64_t *fingerprint, const int64_t *weight,
						size_t count);

	/* Remove keys, with weights as for insert().  QB_UNDERFLOW leaves the sketch unchanged. */
	qb_status (*remove)(qs_sketch *sk, const uint64_t *fingerprint, const int64_t *weight,
						size_t count);

	/* Merge as qs_merge() or qs_merge_deferred() does. */
	qb_status (*merge)(qs_sketch *into, const qs_sketch *from);

	/*
	 * Copy the tables back from a device, or finish deferred merges.  The sketch is then not
	 * remote.
	 */
	qb_status (*materialize)(qs_sketch *sk);

	/* The number of keys to collect before an insert into this sketch. */
	size_t (*batch)(const qs_sketch *sk);
} qs_engine;

/* The engine that is always available. */
extern const qs_engine qs_engine_cpu;

/* Returns the inner loops in use, which qb_isa_use() chooses. */
extern const qs_kernels *qs_kernels_now(void);

/* Add a batch of hv to dense tables, with the loops in use. */
extern void qs_kernels_add(qs_sketch *sk, const uint64_t *hv, const int64_t *weight, size_t count);

/*
 * Selected keys of a batch: all keys whose estimates are at least "least", and possibly keys with
 * smaller estimates.
 */
typedef struct qs_selection
{
	int64_t least;
	size_t count;
	uint32_t found[QS_BATCH]; /* indexes of the selected keys, ascending */
} qs_selection;

/* Select keys of a batch of at most QS_BATCH keys.  Without a fast loop, all keys are selected. */
extern void qs_kernels_select(const qs_sketch *sk, const uint64_t *fingerprint, size_t count,
							  qs_selection *selection);

/*
 * Insert at most QS_BATCH keys by the CPU's engine.  Then select keys by their estimates after the
 * insertion.
 */
extern qb_status qs_insert_select(qs_sketch *sk, const uint64_t *fingerprint, const int64_t *weight,
								  size_t count, qs_selection *selection);

/* Estimate each key.  The sketch is not remote, has no deferred merges, and may be a view. */
extern void
qs_query(const qs_sketch *sk, const uint64_t *fingerprint, size_t count, int64_t *estimate);

/* ---- finding the most frequent keys of inserted batches ---- */

/*
 * Insert at most QS_BATCH keys into the sketch, as qs_engine_cpu.insert() does, and make candidates
 * of frequent keys.  "weight" is NULL if all weights are 1.  Candidates from index top->fresh on
 * may be new.  If keys have texts, each new candidate names the row of the batch that has its text.
 * The caller sets these texts before the next batch, and then calls qs_top_batch_done().
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
 * Many sketches have few keys, and are filled once and then stored or sent.  The tables of these
 * sketches would be mostly zeros, and writing would search them for nonzero counters.  Sorting some
 * thousand keys by their bucket takes a fraction of the time and memory that tables take.
 */

/*
 * Make "made" the compact sketch of an owned explicit sketch and of the keys.  "weight" is NULL if
 * all weights are 1.  Serializing "made" gives the same bytes as counting the keys in tables.  The
 * body of "made" comes from "memory", and the caller releases it.  The function may allocate the
 * explicit sketch's table of masks, and changes nothing else of that sketch.
 *
 * False: the result would not be compact, or this function cannot know whether the result would be
 * compact.  Reasons are few distinct keys, more keys than buckets, a body that is too large, a
 * sketch that is not explicit, a structure whose keys have counters in several blocks (compact.h),
 * a total out of range, or no memory.
 */
extern bool qs_compact_from_keys(qs_sketch *made, const qb_memory *memory, qs_sketch *sk,
								 const uint64_t *fingerprint, const int64_t *weight, size_t count);

#endif
