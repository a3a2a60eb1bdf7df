/*
 * structure.h
 *		A sketch in memory, and the operations of a structure on its tables.
 *
 * A qs_sketch is either owned (its tables come from the caller's allocator and
 * may change) or a view (its tables lie inside serialized bytes, read only).
 * Queries, merging from and serializing work on both.
 *
 * Explicit encoding: few distinct keys, kept exactly.  An owned sketch has an
 * open-addressing hash table of entries, with slots by a secret of the process.  A view
 * has entries sorted by fingerprint.  Beyond qs_explicit_limit() distinct keys the
 * sketch becomes dense and stays so.
 *
 * Dense encoding: tables of counters, whose layout the structure's file describes.
 *
 *	structure		table			extra
 *	thread			d rows of n		-
 *	warp and kin	n buckets		-
 *	multilevel		n low buckets	high buckets
 *	sf				n slim buckets	n fat buckets
 *
 * Compact encoding: the form in which most dense sketches are stored (compact.h).  Only views have
 * it, and sketches that qs_compact_from_keys() makes to be written.  A compact sketch can give
 * estimates, and can be copied, merged and subtracted.  All other functions need a copy, which is
 * dense.
 *
 * Counters have 4 bytes, or 8 once the total weight N could reach 2^32.  No counter
 * exceeds N, so counters cannot wrap and need no check of their own.
 *
 * src/sketch/structure.h
 */
#ifndef QS_STRUCTURE_H
#define QS_STRUCTURE_H

#include "base/hash.h"
#include "base/status.h"
#include "sketch/params.h"

/* Keys are hashed and added in batches of at most this many. */
#define QS_BATCH 4096

/* Loops fetch cache lines this many keys before they change the counters. */
#define QS_PREFETCH_AHEAD 16

/* Bytes before the body of a stored sketch (format.h). */
#define QS_HEADER_BYTES 60

/* Counters have 8 bytes once the total weight of a sketch has reached this. */
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
	bool slice;       /* dense: some buckets of a sketch, with all its high buckets (merge.h) */

	uint64_t seed_key; /* qb_seed_key(params.seed) */
	const struct qs_ops *ops;
	const qb_memory *memory; /* NULL for a view */
	uint32_t *masks;         /* table of H masks; NULL: each mask is computed when needed */

	uint8_t *entries;    /* explicit: hash table of qs_entry; in a view sorted entries */
	uint64_t used;       /* explicit: distinct keys; compact: present blocks */
	uint64_t slots;      /* explicit, owned: slots of "entries", a power of two */
	uint8_t *table;      /* dense */
	uint8_t *extra;      /* dense: multilevel and sf */
	uint64_t extra_used; /* multilevel: high buckets in use */
	uint64_t extra_room; /* multilevel, owned: high buckets allocated */

	const uint8_t *compact; /* compact: the body; NULL if only the header was read */
	uint64_t compact_bytes; /* compact: bytes of the body */

	/*
	 * Only for an owned dense sketch, between qs_merge_deferred() and qs_materialize(); else NULL
	 * and 0.
	 */
	uint8_t *carries; /* multilevel: a byte for each counter, not yet added to the high counter */
	uint32_t carried; /* number of merges in "carries"; no byte is larger than this */
	uint32_t merges;  /* number of merges */

	void *remote; /* the engine's own data, if the tables are elsewhere; NULL: they are here */
} qs_sketch;

/*
 * The operations of a structure on dense tables.  Arrays of hv have at most QS_BATCH elements.
 * Weights are positive.  Every member is set unless its comment says otherwise.
 */
typedef struct qs_ops
{
	/* Make room so that add() of "count" keys cannot fail.  NULL: no room is needed. */
	qb_status (*reserve)(qs_sketch *sk, size_t count);

	/* Add keys; weight NULL means 1 each. */
	void (*add)(qs_sketch *sk, const uint64_t *hv, const int64_t *weight, size_t count);

	/*
	 * Remove keys up to the first one whose counters are too small.  Returns the number of keys
	 * removed.
	 */
	size_t (*remove)(qs_sketch *sk, const uint64_t *hv, const int64_t *weight, size_t count);

	void (*query)(const qs_sketch *sk, const uint64_t *hv, size_t count, int64_t *estimate);

	/* Query one key, if the structure has a faster way for that; else NULL. */
	int64_t (*query_one)(const qs_sketch *sk, uint64_t hv);

	/*
	 * into += from.  Both have equal parameters, and "into" is wide enough.  With "negative" into
	 * -= from.  This fails with QB_UNDERFLOW if a counter would be negative, and then changes
	 * nothing.
	 */
	qb_status (*accumulate)(qs_sketch *into, const qs_sketch *from, bool negative);

	/*
	 * Get ready for many merges.  From then on merges may leave work to materialize(), which costs
	 * less if it is done once.  Both members are NULL if the structure has no such work.
	 */
	qb_status (*defer)(qs_sketch *sk);
	qb_status (*materialize)(qs_sketch *sk);

	/* Copy 4-byte counters to the new tables of "to", which have 8-byte counters. */
	void (*widen)(qs_sketch *to, const qs_sketch *from);

	/* The number of high buckets that serializing will write.  NULL: none. */
	uint64_t (*live_extra)(const qs_sketch *sk);

	/* Write the dense body, with counters of 8 bytes if "wide", else of 4 bytes. */
	void (*write)(const qs_sketch *sk, bool wide, uint8_t *out);

	/* True if the counters of an opened view obey the structure's invariants. */
	bool (*check)(const qs_sketch *sk);
} qs_ops;

/* The mask of hv in a bucket of m counters. */
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
