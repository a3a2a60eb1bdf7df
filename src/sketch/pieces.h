/*
 * pieces.h
 *		Reading a few buckets of a sketch: those of a key, from pieces of a stored sketch; or those
 *		that hold something.
 *
 * An estimate from a sketch of a megabyte takes some hundred bytes.  If pieces of a stored sketch
 * can be read alone, these bytes suffice.  The bucket of a key is a sketch of one bucket (thread:
 * of one counter in each row), which gives the key the estimate of the whole sketch.
 *
 *		qs_open(&view, header, length);		the header's bytes are enough
 *		estimate = qs_estimate_stored(&view, hv, &source);
 *
 * A dense sketch is read at one offset, at two if the key has a high bucket, and for thread at d.
 * A compact sketch is read at two offsets.  The first has the begin and the end of the data of a
 * group of blocks.  The second has these data, in which the blocks before the wanted one must be
 * passed.
 *
 * src/sketch/pieces.h
 */
#ifndef QS_PIECES_H
#define QS_PIECES_H

#include "sketch/compact.h"

/* Reads pieces of serialized bytes.  "read" may jump out. */
typedef struct qs_source
{
	void (*read)(void *context, uint64_t offset, uint32_t bytes, uint8_t *out);
	void *context;
} qs_source;

/* Estimate of a dense or compact sketch of which only the header was opened. */
extern int64_t qs_estimate_stored(const qs_sketch *view, uint64_t hv, const qs_source *source);

/* Estimate of a compact view that has all its bytes. */
extern int64_t qs_estimate_compact(const qs_sketch *view, uint64_t hv);

/*
 * ---- the counters of one bucket as numbers, whatever the structure ----
 *
 * A bucket of sf is read from the slim table (8 counters) or from the fat table (8 sub-buckets
 * of z cells, one after another).  thread has no buckets; position i of all rows takes
 * their place.
 */

/* The most counters of a bucket: those of a fat bucket with the largest z. */
#define QS_BUCKET_MAX (QS_SF_WIDTH * QS_Z_MAX)

/* The table of an sf sketch that is read.  Every other structure has only one table. */
typedef enum qs_side
{
	QS_SIDE_ESTIMATE, /* the table that estimates come from */
	QS_SIDE_BEST      /* the fat table if there is one */
} qs_side;

/* True if the fat table of an sf sketch is read. */
extern bool qs_bucket_is_fat(const qs_sketch *sk, qs_side side);

/* Number of counters, at most QS_BUCKET_MAX. */
extern uint32_t qs_bucket_counters(const qs_sketch *sk, qs_side side);

/* Read the counters of a dense sketch's bucket, in their order. */
extern void qs_bucket_read(const qs_sketch *sk, qs_side side, uint64_t bucket, uint64_t *value);

/*
 * ---- the buckets of a sketch that hold something, one after another ----
 *
 * Most buckets of a sketch of few keys are empty, and their contribution to a result is known
 * beforehand.  A walk skips them.  In tables it skips 64 at a time.  In compact encoding they take
 * no step, so the time grows with the bytes of the value and not with the size of the sketch.
 *
 * Where there are rows instead of buckets, each counter is walked over as a bucket of its own,
 * row after row.
 *
 * A sketch can be walked over as if it were folded to fewer buckets.  Bucket i of a sketch of n/2
 * buckets has exactly the keys of buckets 2i and 2i + 1 of a sketch of n buckets, because a bucket
 * is the high part of hv * n.  So the counters of buckets that become one are added.
 */

typedef struct qs_walk
{
	bool more;                     /* false at the end of the walk */
	uint64_t bucket;               /* number of the current bucket */
	uint64_t value[QS_BUCKET_MAX]; /* its counters; of sf, those of the fat table if there is one */

	const qs_sketch *sk;
	const qb_memory *memory;
	uint32_t counters;
	uint64_t steps; /* steps since the last pause */

	/* dense: the rest of a block of buckets, and where the next block begins */
	uint32_t shift; /* 2^shift buckets make one */
	uint64_t buckets;
	uint64_t next;
	uint64_t first;
	uint64_t bits;

	/* compact: the next block, if there is one */
	uint64_t blocks; /* number of blocks that make a bucket */
	bool ahead;
	qs_groups groups;
	qs_block_reader reader;
	qs_block block;
} qs_walk;

/*
 * Go to the first bucket of a dense or compact sketch that holds something.  The sketch is walked
 * over as if it were folded to n.  The walk pauses by "memory".
 */
extern void qs_walk_begin(qs_walk *walk, const qs_sketch *sk, uint64_t n, const qb_memory *memory);

/* Go to the next bucket that holds something. */
extern void qs_walk_next(qs_walk *walk);

#endif
