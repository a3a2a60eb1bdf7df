/*
 * device.cuh
 *		What the files of the CUDA engine share on the host side.
 *
 * One stream runs all kernels of a device in order, two more carry copies in
 * and out.  Device memory comes from qs_device_alloc(), which counts it, so
 * that a leak shows in the statistics.
 *
 * Errors: each CUDA call goes through QS_CUDA_TRY, which notes the error in
 * the qs_cuda and returns from the caller.  Launches are followed by
 * QS_CUDA_LAUNCHED.
 *
 * cuda/device.cuh
 */
#ifndef QS_DEVICE_CUH
#define QS_DEVICE_CUH

#include <cuda_runtime.h>

#include "qs_cuda.h"

extern "C"
{
#include "sketch/multilevel.h"
}

/* Threads of a block, where nothing speaks for another number. */
#define QS_BLOCK 256

/* What a kernel needs to know of a sketch; passed by value. */
struct qs_view
{
	uint8_t *table;
	uint8_t *extra;        /* multilevel: high buckets */
	const uint32_t *masks; /* mask_count of them; thread: NULL */
	uint32_t *high_used;   /* multilevel: high buckets taken */
	uint32_t *flags;       /* QS_FLAG_... */
	uint64_t n;
	uint64_t seed_key;
	uint32_t depth;
	uint32_t mask_count;
	bool wide;
};

/* A counter would have fallen below zero. */
#define QS_FLAG_UNDERFLOW 1u

/* Keys in device memory; weight NULL: 1 each. */
struct qs_batch
{
	const uint64_t *key;
	const int64_t *weight;
	uint64_t count;
};

enum qs_change
{
	QS_CHANGE_ADD,
	QS_CHANGE_REMOVE, /* sets QS_FLAG_UNDERFLOW */
	QS_CHANGE_UNDO    /* adds back all of a removal that failed */
};

/* Hash table of the keys of a batch that occur often; see sketch_skew.cu. */
struct qs_hot
{
	uint64_t *key;
	uint64_t *weight;
};

#define QS_HOT_SLOTS 2048

/* Number of staging slots: one is filled while another is worked on. */
#define QS_SLOTS 2

/* One half of the staging memory: what host keys pass through. */
struct qs_slot
{
	uint8_t *host;       /* pinned */
	uint8_t *device;     /* of the same size */
	cudaEvent_t arrived; /* the copy in is complete */
	cudaEvent_t done;    /* the kernel is complete */
	cudaEvent_t left;    /* the copy out is complete */
};

struct qs_cuda
{
	int device;
	int multiprocessors;
	int threads; /* of one multiprocessor, at most */
	size_t l2_bytes;
	size_t shared_max; /* shared memory that one block may ask for */
	cudaStream_t stream, in, out;
	qs_slot slot[QS_SLOTS];
	size_t slot_bytes;
	uint64_t *result;      /* a few words on the device ... */
	uint64_t *host_result; /* ... and where they are copied to, pinned */
	qs_hot hot;
	uint8_t *work; /* workspace; grows, freed by qs_cuda_trim() */
	size_t work_bytes;
	qs_cuda_bulk bulk;
	qs_cuda_error error;
	qs_cuda_stats stats;
};

/* Words of qs_cuda.result. */
#define QS_RESULT_WORDS 8

struct qs_parted;

/* What a structure does on the device.  All work is queued on gpu->stream. */
struct qs_cuda_ops
{
	/* Apply a change; room for high buckets has been made. */
	qs_status (*change)(qs_cuda *gpu, const qs_view *v, const qs_batch *b, qs_change change);

	qs_status (*query)(qs_cuda *gpu, const qs_view *v, const qs_batch *b, int64_t *estimate);

	/* into += from, which has a power of two more buckets; room was made. */
	qs_status (*merge)(qs_cuda *gpu, const qs_view *into, const qs_view *from);

	/*
	 * After a removal: set QS_FLAG_UNDERFLOW if the counters of a bucket cannot
	 * be what keys leave, see qs_tally in sketch/cells.h.
	 */
	qs_status (*check)(qs_cuda *gpu, const qs_view *v);

	/* Count partitioned keys tile by tile; see sketch_bulk.cuh. */
	qs_status (*bulk)(qs_cuda *gpu, const qs_view *v, const qs_parted *parted);

	/* Counters of a bucket; 1 for thread. */
	uint32_t m;

	/* Bytes of a bucket in the table with counters of this width. */
	uint32_t (*bucket_bytes)(bool wide);
};

/* Small words that the kernels of one sketch write, in one allocation. */
struct qs_words
{
	uint32_t high_used;
	uint32_t flags;
};

struct qs_cuda_sketch
{
	qs_cuda *gpu;
	const qs_cuda_ops *ops;
	qs_params params;
	uint32_t family, collation;
	int64_t total;
	qs_view view;
	size_t table_bytes;
	size_t extra_bytes;
	uint64_t high_bound; /* multilevel: high buckets taken at most */
	uint64_t high_room;  /* multilevel: high buckets allocated */
	uint64_t ever;       /* multilevel: weight that could have raised counters */
};

extern const qs_cuda_ops qs_sub_warp_cuda, qs_half_warp_cuda, qs_warp_cuda;
extern const qs_cuda_ops qs_thread_cuda, qs_multilevel_cuda;

static inline bool
qs_is_multilevel(const qs_cuda_sketch *sk)
{
	return sk->params.structure == QS_MULTILEVEL;
}

static inline size_t
qs_high_bytes(bool wide)
{
	return QS_HIGH_COUNTERS * (wide ? 8 : 4);
}

/* ---- device.cu ---- */

/* Note an error; QS_OK for cudaSuccess. */
extern qs_status qs_cuda_note(qs_cuda_error *error, cudaError_t code, const char *call);

#ifdef QS_CUDA_FAULTS
/* Test builds: is this the call that shall fail? */
extern "C" bool qs_cuda_fault(void);
#else
static inline bool
qs_cuda_fault(void)
{
	return false;
}
#endif

#define QS_CUDA_TRY_NOTED(error, call)                                                          \
	do                                                                                          \
	{                                                                                           \
		qs_status try_status_ =                                                                 \
			qs_cuda_note((error), qs_cuda_fault() ? cudaErrorMemoryAllocation : (call), #call); \
		if (try_status_ != QS_OK)                                                               \
			return try_status_;                                                                 \
	}                                                                                           \
	while (0)

#define QS_CUDA_TRY(gpu, call) QS_CUDA_TRY_NOTED(&(gpu)->error, call)

/* After a launch: did it start? */
#define QS_CUDA_LAUNCHED(gpu) QS_CUDA_TRY(gpu, cudaGetLastError())

#define QS_TRY(expression)                    \
	do                                        \
	{                                         \
		qs_status try_status_ = (expression); \
		if (try_status_ != QS_OK)             \
			return try_status_;               \
	}                                         \
	while (0)

/* Make the device current for this host thread. */
extern qs_status qs_cuda_enter(qs_cuda *gpu);

/* Zeroed device memory of at least 1 byte, aligned to 256. */
extern qs_status qs_device_alloc(qs_cuda *gpu, size_t bytes, void **pointer);
extern void qs_device_free(qs_cuda *gpu, void *pointer, size_t bytes);

/* The workspace, at least this large; what it held is lost. */
extern qs_status qs_workspace(qs_cuda *gpu, size_t bytes, uint8_t **pointer);

/* Copy the first words of gpu->result to gpu->host_result and wait. */
extern qs_status qs_read_result(qs_cuda *gpu, int words);

/* Blocks that fill the device, but no more than "wanted". */
template <typename Kernel>
static qs_status
qs_grid(qs_cuda *gpu, Kernel kernel, int block, size_t shared, uint64_t wanted, int *grid)
{
	int each = 0;
	uint64_t most;

	QS_CUDA_TRY(gpu, cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, block, shared));
	most = (uint64_t) (each > 0 ? each : 1) * gpu->multiprocessors;
	*grid = (int) (wanted < most ? (wanted > 0 ? wanted : 1) : most);
	return QS_OK;
}

static inline uint64_t
qs_ceil_div(uint64_t a, uint64_t b)
{
	return (a + b - 1) / b;
}

/* ---- sketch.cu ---- */

/*
 * Overflow check, widening and room for "weight" more, which comes with "keys"
 * keys (none: with another sketch); see qs_prepare().
 */
extern qs_status qs_cuda_prepare(qs_cuda_sketch *sk, int64_t weight, uint64_t keys);

/*
 * Before each launch that adds up to "keys" keys: is there still room for the
 * high buckets it may take?
 */
extern qs_status qs_reserve_launch(qs_cuda_sketch *sk, uint64_t keys);

/* An empty sketch with counters of the given width. */
extern qs_status
qs_cuda_create_like(qs_cuda *gpu, const qs_params *p, bool wide, qs_cuda_sketch **sketch);

/* A table of "room" high buckets; the first "used" are kept. */
extern qs_status qs_grow_high(qs_cuda_sketch *sk, uint64_t used, uint64_t room);

/* High buckets taken so far. */
extern qs_status qs_read_high_used(const qs_cuda_sketch *sk, uint64_t *used);

/* ---- sketch_high.cu ---- */

/* into += from; see qs_cuda_ops.merge. */
extern qs_status qs_high_merge(qs_cuda *gpu, const qs_view *into, const qs_view *from);

/* Make high indexes that name none of "high" high buckets 0. */
extern qs_status qs_high_sanitize(qs_cuda *gpu, const qs_view *v, uint64_t high);

/* How many high buckets are not all zero? */
extern qs_status qs_high_live(qs_cuda *gpu, const qs_view *v, uint64_t *live);

/* Copy those into "to", numbering them anew, in no order. */
extern qs_status qs_high_compact(qs_cuda *gpu, const qs_view *v, uint8_t *to);

/* 4-byte high counters to 8-byte ones. */
extern qs_status qs_high_widen(qs_cuda *gpu, uint8_t *to, const uint8_t *from, uint64_t high);

/* See qs_cuda_ops.check. */
extern qs_status qs_high_check(qs_cuda *gpu, const qs_view *v);

/* ---- sketch_tables.cu ---- */

/* into += from: counters of "width" = 2^log2_width, "more" buckets for one. */
extern qs_status qs_counters_merge(qs_cuda *gpu, const qs_view *into, const qs_view *from,
								   uint64_t buckets, uint32_t log2_width);

/* See qs_cuda_ops.check. */
extern qs_status qs_counters_check(qs_cuda *gpu, const qs_view *v, uint32_t log2_width);

/* 4-byte counters to 8-byte ones. */
extern qs_status
qs_counters_widen(qs_cuda *gpu, uint8_t *to, const uint8_t *from, uint64_t counters);

/* Sum of weights in device memory, or -1 if it or a weight is out of range. */
extern qs_status qs_weights_sum(qs_cuda *gpu, const int64_t *weight, uint64_t count, int64_t *sum);

/* ---- sketch_batch.cu ---- */

/* Sum of weights in host memory, NULL for 1 each, or -1 if it is out of range. */
extern int64_t qs_host_weights_sum(const int64_t *weight, uint64_t count);

/* One launch of ops->change. */
extern qs_status qs_change_keys(qs_cuda_sketch *sk, const qs_batch *b, qs_change change);

/* ---- sketch_skew.cu ---- */

/*
 * Add keys without weights by the fastest way.  Does not fail for want of
 * memory: ways that need workspace are taken only if there is some.
 */
extern qs_status qs_insert_fastest(qs_cuda_sketch *sk, const qs_batch *b);

#endif
