/*
 * sketch.cuh
 *		What the files of the CUDA engine for sketches share on the host side.
 *
 * cuda/sketch.cuh
 */
#ifndef QS_SKETCH_CUH
#define QS_SKETCH_CUH

#include "sketch_cuda.h"
#include "device.cuh"

extern "C"
{
#include "sketch/format.h"
#include "sketch/multilevel.h"
}

/* What a kernel needs to know about a sketch; passed by value. */
struct qs_view
{
	uint8_t *table;
	uint8_t *extra;        /* multilevel: high buckets */
	const uint32_t *masks; /* mask_count masks; thread: NULL */
	uint32_t *high_used;   /* multilevel: number of high buckets taken */
	uint64_t n;
	uint64_t seed_key;
	uint32_t depth;
	uint32_t mask_count;
	bool wide;
};

struct qs_partitioned;
struct qs_cuda_frequent;
struct qs_grouped;

/* What a structure does on the device.  All work is queued on gpu->stream. */
struct qs_cuda_ops
{
	/* Add keys; room for high buckets exists already. */
	qb_status (*insert)(qs_cuda *gpu, const qs_view *v, const qs_batch *b);

	qb_status (*query)(qs_cuda *gpu, const qs_view *v, const qs_batch *b, int64_t *estimate);

	/*
	 * into += from, which has the number of buckets of "into".  Room for high buckets exists
	 * already.
	 */
	qb_status (*merge)(qs_cuda *gpu, const qs_view *into, const qs_view *from);

	/* Count partitioned keys tile by tile; see sketch_bulk.cuh. */
	qb_status (*bulk)(qs_cuda *gpu, const qs_view *v, const qs_partitioned *partitioned);

	/*
	 * Add keys without weights to several sketches with counters of 4 bytes, one of which is "v";
	 * see sketch_kernels.cuh.  Room for high buckets exists already.
	 */
	qb_status (*groups)(qs_cuda *gpu, const qs_view *v, qs_grouped *grouped);

	/* Counters of a bucket; 1 for thread. */
	uint32_t m;

	/* Bytes of a bucket in a table with counters of this width. */
	uint32_t (*bucket_bytes)(bool wide);
};

struct qs_cuda_sketch
{
	qs_cuda *gpu;
	const qs_cuda_ops *ops;
	qs_params params;
	qb_keys keys;
	int64_t total;
	qs_view view;
	size_t table_bytes;
	size_t extra_bytes;
	uint64_t high_bound;        /* multilevel: the most high buckets that can have been taken */
	uint64_t high_room;         /* multilevel: number of high buckets allocated */
	uint64_t ever;              /* multilevel: weight that could have raised counters */
	cudaEvent_t read_ready;     /* reached when the tables can be read; NULL: never prepared */
	bool at_rest;               /* true if gpu->out already waits for the last change */
	qs_cuda_frequent *frequent; /* exact counts of frequent keys; NULL: there are none */
};

extern const qs_cuda_ops qs_sub_warp_cuda, qs_half_warp_cuda, qs_warp_cuda;
extern const qs_cuda_ops qs_thread_cuda, qs_multilevel_cuda;

static inline bool
qs_is_multilevel(const qs_cuda_sketch *sk)
{
	return qs_has_high(sk->params.structure);
}

static inline size_t
qs_high_bytes(bool wide)
{
	return QS_HIGH_COUNTERS * (wide ? 8 : 4);
}

/* ---- sketch.cu ---- */

/*
 * Check for overflow, widen, and make room for "weight" more; see qs_prepare().  The weight comes
 * with "keys" keys, by bulk or directly, or with another sketch if "keys" is 0.
 */
extern qb_status qs_cuda_prepare(qs_cuda_sketch *sk, int64_t weight, uint64_t keys, bool bulk);

/*
 * Call this before each launch that adds up to "keys" keys, by bulk or directly.  Makes sure of
 * room for the high buckets that the launch may take.
 */
extern qb_status qs_reserve_launch(qs_cuda_sketch *sk, uint64_t keys, bool bulk);

/*
 * qs_reserve_launch() in two steps, for several sketches at once.  The first function says whether
 * there is room.  If not, the second makes room, after the caller has set "high_bound" to the
 * number of high buckets taken.
 */
extern bool qs_has_high_room(const qs_cuda_sketch *sk, uint64_t loose);
extern qb_status qs_make_high_room(qs_cuda_sketch *sk, uint64_t loose);

/* An empty sketch with counters of the given width. */
extern qb_status
qs_cuda_create_like(qs_cuda *gpu, const qs_params *p, bool wide, qs_cuda_sketch **sketch);

/* Change the counters to 8 bytes. */
extern qb_status qs_widen(qs_cuda_sketch *sk);

/* Make a table of "room" high buckets that keeps the first "used" ones. */
extern qb_status qs_grow_high(qs_cuda_sketch *sk, uint64_t used, uint64_t room);

/* ---- sketch_multilevel.cu ---- */

/* Set high indexes to 0 that do not name one of the "high" high buckets. */
extern qb_status qs_high_sanitize(qs_cuda *gpu, const qs_view *v, uint64_t high);

/*
 * Count the live high buckets, which are those that are not all zero.  If "to" is not NULL, copy
 * the live ones there, and number them anew, in no order.  The number goes to gpu->result.  If
 * "live" is not NULL, wait for the number.
 */
extern qb_status qs_high_collect(qs_cuda *gpu, const qs_view *v, uint8_t *to, uint64_t *live);

/* One launch of ops->insert. */
extern qb_status qs_insert_keys(qs_cuda_sketch *sk, const qs_batch *b);

/* ---- sketch_frequent.cu ---- */

/* Free the exact counts, if there are any. */
extern void qs_cuda_frequent_end(qs_cuda_sketch *sk);

/* ---- sketch_skew.cu ---- */

/*
 * Add keys without weights in the fastest way.  Keys are partitioned only if there is enough
 * workspace, so a lack of memory is no error.
 */
extern qb_status qs_insert_fastest(qs_cuda_sketch *sk, const qs_batch *b);

/*
 * True if qs_insert_fastest() would partition this many keys.  If it would not, it does not
 * partition fewer keys either.
 */
extern bool qs_wants_bulk(const qs_cuda_sketch *sk, uint64_t count);

#endif
