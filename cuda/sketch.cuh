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
	uint32_t *high_used;   /* multilevel: high buckets taken */
	uint64_t n;
	uint64_t seed_key;
	uint32_t depth;
	uint32_t mask_count;
	bool wide;
};

struct qs_parted;
struct qs_cuda_frequent;
struct qs_grouped;

/* What a structure does on the device.  All work is queued on gpu->stream. */
struct qs_cuda_ops
{
	/* Add keys; room for high buckets exists already. */
	qb_status (*insert)(qs_cuda *gpu, const qs_view *v, const qs_batch *b);

	qb_status (*query)(qs_cuda *gpu, const qs_view *v, const qs_batch *b, int64_t *estimate);

	/* into += from, which has as many buckets; room exists already. */
	qb_status (*merge)(qs_cuda *gpu, const qs_view *into, const qs_view *from);

	/* Count partitioned keys tile by tile; see sketch_bulk.cuh. */
	qb_status (*bulk)(qs_cuda *gpu, const qs_view *v, const qs_parted *parted);

	/*
	 * Add keys without weights to several sketches with counters of 4 bytes, of which "v" is
	 * one; see sketch_kernels.cuh.  Room for high buckets exists already.
	 */
	qb_status (*groups)(qs_cuda *gpu, const qs_view *v, qs_grouped *grouped);

	/* Counters of a bucket; thread: 1. */
	uint32_t m;

	/* Bytes of a bucket in the table with counters of this width. */
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
	uint64_t high_bound;        /* multilevel: the most high buckets that can be taken */
	uint64_t high_room;         /* multilevel: high buckets allocated */
	uint64_t ever;              /* multilevel: weight that could have raised counters */
	cudaEvent_t settled;        /* the tables are settled; NULL: they never were */
	bool at_rest;               /* gpu->out begins after what changed it last */
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
 * Check for overflow, widen, and make room for "weight" more, which comes with
 * "keys" keys, by bulk or directly (0: with another sketch); see qs_prepare().
 */
extern qb_status qs_cuda_prepare(qs_cuda_sketch *sk, int64_t weight, uint64_t keys, bool bulk);

/*
 * Before each launch that adds up to "keys" keys, by bulk or directly: make sure of room
 * for the high buckets that it may take.
 */
extern qb_status qs_reserve_launch(qs_cuda_sketch *sk, uint64_t keys, bool bulk);

/*
 * The same in two steps, for several sketches at once.  Is there room?  If not, make it,
 * when "high_bound" is the number of high buckets that are taken.
 */
extern bool qs_has_high_room(const qs_cuda_sketch *sk, uint64_t loose);
extern qb_status qs_make_high_room(qs_cuda_sketch *sk, uint64_t loose);

/* An empty sketch with counters of the given width. */
extern qb_status
qs_cuda_create_like(qs_cuda *gpu, const qs_params *p, bool wide, qs_cuda_sketch **sketch);

/* Make counters 8 bytes. */
extern qb_status qs_widen(qs_cuda_sketch *sk);

/* Make a table of "room" high buckets that keeps the first "used" ones. */
extern qb_status qs_grow_high(qs_cuda_sketch *sk, uint64_t used, uint64_t room);

/* ---- sketch_multilevel.cu ---- */

/* Set high indexes to 0 that name none of the "high" high buckets. */
extern qb_status qs_high_sanitize(qs_cuda *gpu, const qs_view *v, uint64_t high);

/*
 * Count the high buckets that are not all zero: the live ones.  "to" not NULL: copy them there,
 * and number them anew, in no order.  The number is in gpu->result; "live" not NULL: wait for it.
 */
extern qb_status qs_high_collect(qs_cuda *gpu, const qs_view *v, uint8_t *to, uint64_t *live);

/* One launch of ops->insert. */
extern qb_status qs_insert_keys(qs_cuda_sketch *sk, const qs_batch *b);

/* ---- sketch_frequent.cu ---- */

/* Free the exact counts, if there are any. */
extern void qs_cuda_frequent_end(qs_cuda_sketch *sk);

/* ---- sketch_skew.cu ---- */

/*
 * Add keys without weights in the fastest way.  A lack of memory is no error:
 * keys are partitioned only if there is workspace enough.
 */
extern qb_status qs_insert_fastest(qs_cuda_sketch *sk, const qs_batch *b);

/* Would it partition so many keys?  If not, then it does not partition fewer either. */
extern bool qs_wants_bulk(const qs_cuda_sketch *sk, uint64_t count);

#endif
