/*
 * structure.h
 *		A sketch in memory, and the operations of a structure on its tables.
 *
 * A qs_sketch is either owned or a view.  The tables of an owned sketch come from the caller's
 * allocator and may change.  The tables of a view are inside serialized bytes and are only read.
 * Queries, serializing, and merging from a sketch work on owned sketches and on views.
 *
 * Explicit encoding: exact counts of few distinct keys.  An owned sketch has a hash table of
 * entries (explicit.c).  A view has entries sorted by fingerprint.  With more than
 * qs_explicit_limit() distinct keys, a sketch becomes dense, and never explicit again.
 *
 * Dense encoding: tables of counters.  The structure's file describes their layout.
 *
 *	structure					table			extra
 *	thread						d rows of n		-
 *	warp, half_warp, sub_warp	n buckets		-
 *	multilevel					n low buckets	high buckets
 *	sf							n slim buckets	n fat buckets
 *
 * Compact encoding: the form in which most dense sketches are stored (compact.h).  Only two kinds
 * of sketches are compact: views, and sketches that qs_compact_from_keys() makes for writing.
 * Estimating, copying, merging, subtracting and walks (pieces.h) read compact sketches.  Functions
 * that read tables need a copy, which is dense.
 *
 * Counters have 4 bytes, or 8 if the total weight N may reach 2^32.  No counter exceeds N, so
 * counters cannot overflow and need no overflow check.  Only the low counters of multilevel have
 * one byte, and overflow into high buckets.
 *
 * src/sketch/structure.h
 */
#ifndef QS_STRUCTURE_H
#define QS_STRUCTURE_H

#include "base/hash.h"
#include "base/status.h"
#include "sketch/params.h"

/* The maximum number of keys that are hashed and added together. */
#define QS_BATCH 4096

/*
 * Loops prefetch a key's counters this many keys ahead, and its high bucket half as many keys
 * ahead.
 */
#define QS_PREFETCH_AHEAD 16

/* Bytes of the header of a stored sketch (format.h). */
#define QS_HEADER_BYTES 60

/* From this total weight on, a sketch has counters of 8 bytes. */
#define QS_WIDE_TOTAL (INT64_C(1) << 32)

typedef enum qs_encoding
{
	QS_EXPLICIT = 1,
	QS_DENSE = 2,
	QS_COMPACT = 3
} qs_encoding;

typedef struct qs_entry
{
	uint64_t fingerprint;
	int64_t count; /* 0: empty slot */
} qs_entry;

struct qs_ops;

typedef struct qs_sketch
{
	qs_params params;
	qb_keys keys;
	int64_t total; /* N: sum of all weights */

	uint8_t encoding; /* qs_encoding */
	bool wide;        /* counters of 8 bytes */
	bool view;        /* tables are inside serialized bytes */
	bool narrow;      /* explicit view: counts of 4 bytes, as in a list of top keys (top.h) */
	bool slice;       /* dense: a range of buckets, with all high buckets of the sketch (merge.h) */

	uint64_t seed_key; /* qb_seed_key(params.seed) */
	const struct qs_ops *ops;
	const qb_memory *memory; /* view: NULL, or only for pauses */
	uint32_t *masks;         /* table of H masks; NULL: each mask is computed when needed */

	uint8_t *entries;    /* explicit: hash table of qs_entry; view: sorted entries */
	uint64_t used;       /* explicit: distinct keys; compact: present blocks */
	uint64_t slots;      /* explicit, owned: slots of "entries", a power of two */
	uint8_t *table;      /* dense */
	uint8_t *extra;      /* dense: multilevel and sf */
	uint64_t extra_used; /* multilevel: high buckets in use */
	uint64_t extra_room; /* multilevel, owned: high buckets allocated */

	const uint8_t *compact; /* compact: the body; NULL if only the header was read */
	uint64_t compact_bytes; /* compact: bytes of the body */

	/*
	 * Set only in an owned sketch, between qs_merge_deferred() and qs_materialize().  At all other
	 * times, they are NULL and 0.
	 */
	uint8_t *carries; /* dense multilevel: number of carries of each counter, a byte each */
	uint32_t carried; /* number of merges counted in "carries"; no byte exceeds this number */
	uint32_t merges;  /* number of merges since qs_materialize() */

	void *remote; /* the engine's data if the tables are on a device, else NULL */
} qs_sketch;

/*
 * The operations of a structure on dense tables.  Arrays of hv have at most QS_BATCH elements.
 * Weights are not negative.  A member may be NULL only if its comment says so.
 */
typedef struct qs_ops
{
	/*
	 * Allocates memory such that add() of "count" keys cannot fail.  NULL: add() needs no memory.
	 */
	qb_status (*reserve)(qs_sketch *sk, size_t count);

	/* Adds keys.  If weight is NULL, all weights are 1. */
	void (*add)(qs_sketch *sk, const uint64_t *hv, const int64_t *weight, size_t count);

	/*
	 * Removes keys, and stops at the first key whose counters are too small, or would contradict
	 * their bucket (qs_tally).  Returns the number of removed keys.
	 */
	size_t (*remove)(qs_sketch *sk, const uint64_t *hv, const int64_t *weight, size_t count);

	void (*query)(const qs_sketch *sk, const uint64_t *hv, size_t count, int64_t *estimate);

	/* Queries one key faster than query() does.  NULL: the structure has no such function. */
	int64_t (*query_one)(const qs_sketch *sk, uint64_t hv);

	/*
	 * into += from, or with "negative" into -= from.  Both sketches have equal parameters, and
	 * "into" is wide enough.  QB_UNDERFLOW: a counter would be negative or contradict its bucket
	 * (qs_tally), and nothing changed.
	 */
	qb_status (*accumulate)(qs_sketch *into, const qs_sketch *from, bool negative);

	/*
	 * defer() prepares a sketch for many merges, which may then defer work to materialize().
	 * Deferred work is done once, which costs less than work in each merge.  Both members are NULL
	 * if a structure defers no work.
	 */
	qb_status (*defer)(qs_sketch *sk);
	qb_status (*materialize)(qs_sketch *sk);

	/*
	 * Copies the 4-byte counters of "from" to the new tables of "to", which have 8-byte counters.
	 */
	void (*widen)(qs_sketch *to, const qs_sketch *from);

	/*
	 * Returns the number of high buckets that serializing writes.  NULL: the structure has no high
	 * buckets.
	 */
	uint64_t (*live_extra)(const qs_sketch *sk);

	/* Writes the dense body, with counters of 8 bytes if "wide", else of 4 bytes. */
	void (*write)(const qs_sketch *sk, bool wide, uint8_t *out);

	/* True if the counters of an opened view obey the structure's invariants. */
	bool (*check)(const qs_sketch *sk);
} qs_ops;

/* Returns the mask of hv in a bucket of m counters. */
QB_INLINE uint32_t
qs_mask_in(const qs_sketch *sk, uint32_t m, uint64_t hv)
{
	uint32_t index = (uint32_t) hv & (qs_mask_count(&sk->params) - 1);
	uint32_t mask =
		sk->masks ? sk->masks[index] : qs_mask(sk->seed_key, m, sk->params.depth, index);

	return qs_mask_rotation(mask, m, hv);
}

static inline uint32_t
qs_mask_of(const qs_sketch *sk, uint64_t hv)
{
	return qs_mask_in(sk, qs_bucket_width(sk->params.structure), hv);
}

#endif
