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

/* Operations of a structure on the device.  All work is queued on gpu->stream. */
struct qs_cuda_ops
{
	/* Add keys.  The caller has allocated enough high buckets. */
	qb_status (*insert)(qs_cuda *gpu, const qs_view *v, const qs_batch *b);

	qb_status (*query)(qs_cuda *gpu, const qs_view *v, const qs_batch *b, int64_t *estimate);

	/*
	 * into += from; both have the same number of buckets.  The caller has allocated enough high
	 * buckets.
	 */
	qb_status (*merge)(qs_cuda *gpu, const qs_view *into, const qs_view *from);

	/* Add partitioned keys tile by tile; see sketch_bulk.cuh. */
	qb_status (*bulk)(qs_cuda *gpu, const qs_view *v, const qs_partitioned *partitioned);

	/*
	 * Add keys without weights to several sketches with counters of 4 bytes; see
	 * sketch_kernels.cuh.  "v" is the view of one of these sketches.  The caller has allocated
	 * enough high buckets.
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
	uint64_t high_bound;        /* multilevel: a number of high buckets, see qs_has_high_room() */
	uint64_t high_room;         /* multilevel: number of high buckets allocated */
	uint64_t ever;              /* multilevel: weight of all keys that may have been added */
	cudaEvent_t read_ready;     /* event: the tables can be read; NULL: never prepared */
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
 * Prepare a sketch for more weight: check for overflow, widen counters, and allocate high buckets;
 * see qs_prepare().  "weight" is the weight of "keys" keys, which are added in pieces of at most
 * "piece" keys.  All launches for these keys together have enough high buckets, so no launch runs
 * out of memory after an earlier launch has added some of the keys.  If "keys" is 0, "weight" is
 * the total of a sketch to be merged.
 */
extern qb_status qs_cuda_prepare(qs_cuda_sketch *sk, int64_t weight, uint64_t keys, uint64_t piece);

/*
 * Allocate the high buckets that a launch may take.  Call this before each launch that adds up to
 * "keys" keys, by bulk or directly.
 */
extern qb_status qs_reserve_launch(qs_cuda_sketch *sk, uint64_t keys, bool bulk);

/*
 * The two steps of qs_reserve_launch(), for launches that add keys to several sketches.
 * qs_has_high_room() tests whether enough high buckets are allocated.  If not, the caller sets
 * "high_bound" to the number of high buckets taken, and qs_make_high_room() allocates more high
 * buckets.
 */
extern bool qs_has_high_room(const qs_cuda_sketch *sk, uint64_t loose);
extern qb_status qs_make_high_room(qs_cuda_sketch *sk, uint64_t loose);

/* Create an empty sketch with counters of the given width. */
extern qb_status
qs_cuda_create_like(qs_cuda *gpu, const qs_params *p, bool wide, qs_cuda_sketch **sketch);

/* Change the counters to 8 bytes. */
extern qb_status qs_widen(qs_cuda_sketch *sk);

/* Allocate a new table of "room" high buckets, and keep the first "used" high buckets. */
extern qb_status qs_grow_high(qs_cuda_sketch *sk, uint64_t used, uint64_t room);

/* ---- sketch_multilevel.cu ---- */

/* Set to 0 each high index that names none of the first "high" high buckets. */
extern qb_status qs_high_sanitize(qs_cuda *gpu, const qs_view *v, uint64_t high);

/*
 * Count the live high buckets into gpu->result.  A high bucket is live if it has a counter that is
 * not 0.  "to" not NULL: copy the live high buckets to "to", in any order, and update the high
 * indexes.  "live" not NULL: wait for the number of live high buckets, and store it in *live.
 */
extern qb_status qs_high_collect(qs_cuda *gpu, const qs_view *v, uint8_t *to, uint64_t *live);

/* Add keys by one launch of ops->insert (sketch.cu). */
extern qb_status qs_insert_keys(qs_cuda_sketch *sk, const qs_batch *b);

/* ---- sketch_frequent.cu ---- */

/* Free the exact counts, if there are any. */
extern void qs_cuda_frequent_end(qs_cuda_sketch *sk);

/* ---- sketch_skew.cu ---- */

/*
 * Add keys without weights in the fastest way.  If there is too little workspace to partition the
 * keys, they are added directly.
 */
extern qb_status qs_insert_fastest(qs_cuda_sketch *sk, const qs_batch *b);

/*
 * True if qs_insert_fastest() would partition this many keys.  If the result is false for a number
 * of keys, it is false for all smaller numbers.
 */
extern bool qs_wants_bulk(const qs_cuda_sketch *sk, uint64_t count);

/*
 * Return the largest number of launches by which qs_insert_fastest() adds this many keys to a
 * multilevel sketch.
 */
extern uint64_t qs_fastest_launches(const qs_cuda_sketch *sk, uint64_t count);

#endif
