/*
 * pieces.h
 *		Reads the bucket of one key from pieces of a stored sketch, and walks over the nonzero
 *		buckets of a sketch.
 *
 * An estimate from a sketch of a megabyte needs only a few hundred bytes.  If pieces of a stored
 * sketch can be read separately, only these bytes are read.  These bytes make a sketch of one
 * bucket (thread: of one counter in each row), which gives the key the same estimate as the whole
 * sketch.
 *
 *		qs_open(&view, header, length);		the header's bytes are enough
 *		estimate = qs_estimate_stored(&view, hv, &source);
 *
 * A dense sketch is read at one offset, or at two if the bucket has a high bucket, or at d for
 * thread.  Of a compact sketch, two pieces are read for each group with blocks of the key (thread:
 * for each row).  The first piece has the start and the end of the group's data.  The second piece
 * is the group's data, up to the key's blocks, in reads of at most 1 kB.
 *
 * src/sketch/pieces.h
 */
#ifndef QS_PIECES_H
#define QS_PIECES_H

#include "sketch/compact.h"

/* Reads pieces of serialized bytes.  "read" may jump out of the calling function. */
typedef struct qs_source
{
	void (*read)(void *context, uint64_t offset, uint32_t bytes, uint8_t *out);
	void *context;
} qs_source;

/*
 * Returns the estimate of a key in a dense or compact sketch.  qs_open() needs only the bytes of
 * the header for "view".
 */
extern int64_t qs_estimate_stored(const qs_sketch *view, uint64_t hv, const qs_source *source);

/* Returns the estimate of a key in a compact view that has all its bytes in memory. */
extern int64_t qs_estimate_compact(const qs_sketch *view, uint64_t hv);

/*
 * ---- the counters of one bucket as numbers, for any structure ----
 *
 * A bucket of sf is read from the slim table (8 counters) or from the fat table (8 sub-buckets of z
 * cells, one after another).  For thread, which has no buckets, bucket i is counter i of all rows.
 */

/* The maximum number of counters in a bucket, which a fat bucket with the largest z has. */
#define QS_BUCKET_MAX (QS_SF_WIDTH * QS_Z_MAX)

/* Chooses the table of an sf sketch.  For other structures, both values have the same meaning. */
typedef enum qs_side
{
	QS_SIDE_ESTIMATE, /* the table from which estimates are made */
	QS_SIDE_BEST      /* the fat table, if the sketch has one */
} qs_side;

/* True if the fat table of an sf sketch is read. */
extern bool qs_bucket_is_fat(const qs_sketch *sk, qs_side side);

/* Returns the number of counters in a bucket, at most QS_BUCKET_MAX. */
extern uint32_t qs_bucket_counters(const qs_sketch *sk, qs_side side);

/* Reads the counters of a dense sketch's bucket, in their order. */
extern void qs_bucket_read(const qs_sketch *sk, qs_side side, uint64_t bucket, uint64_t *value);

/*
 * ---- walking over the buckets of a sketch that are not all zero ----
 *
 * A walk visits only nonzero buckets: buckets that have a nonzero counter.  In a sketch of few
 * keys, most buckets are zero.  In tables, a walk skips up to 64 zero buckets in one step.  In
 * compact encoding, zero buckets take no step, so the time grows with the compact bytes, not with
 * the size of the sketch.
 *
 * In thread, each counter is a bucket of the walk, row after row.
 *
 * A walk can visit a sketch as if it were folded to fewer buckets.  A bucket's number is the high
 * part of hv * n.  So bucket i of n/2 buckets has exactly the keys of buckets 2i and 2i + 1 of n
 * buckets.  The walk adds the counters of these two buckets.
 */

typedef struct qs_walk
{
	bool more;       /* false at the end of the walk */
	uint64_t bucket; /* number of the current bucket */
	uint64_t value
		[QS_BUCKET_MAX]; /* counters of the current bucket; sf: of the fat table if there is one */

	const qs_sketch *sk;
	const qb_memory *memory;
	uint32_t counters;
	uint64_t steps; /* steps since the last pause */

	/*
	 * dense: the current block of up to 64 buckets, and the number of the next block's first bucket
	 */
	uint32_t shift; /* 2^shift buckets of the sketch make one bucket of the walk */
	uint64_t buckets;
	uint64_t next;
	uint64_t first;
	uint64_t bits;

	/* compact: the next block, if "ahead" is true */
	uint64_t blocks; /* number of blocks that make one bucket of the walk */
	bool ahead;
	qs_groups groups;
	qs_block_reader reader;
	qs_block block;
} qs_walk;

/*
 * Starts a walk over a dense or compact sketch, as if it were folded to n, and moves to the first
 * nonzero bucket.  The walk pauses by "memory".
 */
extern void qs_walk_begin(qs_walk *walk, const qs_sketch *sk, uint64_t n, const qb_memory *memory);

/* Moves to the next nonzero bucket. */
extern void qs_walk_next(qs_walk *walk);

#endif
