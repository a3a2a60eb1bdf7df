/*
 * filter.cuh
 *		What the files of the CUDA engine for filters share on the host side.
 *
 * cuda/filter.cuh
 */
#ifndef QF_FILTER_CUH
#define QF_FILTER_CUH

#include "device.cuh"
#include "filter_cuda.h"

extern "C"
{
#include "filter/format.h"
}

/* What a kernel needs to know about a filter; passed by value. */
struct qf_view
{
	uint32_t *word;      /* the bits: position i is bit i % 32 of word i / 32 */
	const qf_gaps *gaps; /* NULL: a Bloom filter, which has no gaps */
	uint64_t idle;       /* a row whose first draw is less than "idle" sets no bits */
	uint64_t m;
	uint64_t q;
	uint64_t seed_key;
	uint32_t words;
	uint32_t k;
	uint32_t lines; /* blocked filter: number of lines of 512 bits; else 0 */
};

struct qf_cuda_filter
{
	qs_cuda *gpu;
	qf_filter state; /* parameters, types of keys, number of rows; "view" has the bits */
	qf_view view;
};

static inline size_t
qf_bits_bytes(const qf_cuda_filter *f)
{
	return qf_words(&f->state.params) * 8;
}

/* Rows in device memory; see qf_batch. */
struct qf_rows
{
	const uint64_t *fingerprint;
	const uint64_t *row;
	const int64_t *copies;
	uint64_t first_row;
	uint64_t nonce_key;
	uint64_t count;
};

/* ---- filter.cu ---- */

/*
 * Queue a lookup of keys in device memory.  qf_launch_query() counts each key's set positions;
 * qf_launch_contains() tests whether all are set.
 */
extern qb_status
qf_launch_query(const qf_cuda_filter *f, const uint64_t *key, uint64_t count, void *answer);
extern qb_status
qf_launch_contains(const qf_cuda_filter *f, const uint64_t *key, uint64_t count, void *answer);

/* ---- filter_insert.cu ---- */

/* Queue the insertion of rows. */
extern qb_status qf_insert_rows(const qf_cuda_filter *f, const qf_rows *rows);

/* ---- filter_blocked.cu ---- */

/*
 * Insert rows into a blocked filter, and look keys up.  All positions of a key are in one line, so
 * the kernels process them together.
 */
extern qb_status qf_insert_blocked(const qf_cuda_filter *f, const qf_rows *rows);
extern qb_status
qf_contains_blocked(const qf_cuda_filter *f, const uint64_t *key, uint64_t count, bool *found);

/* Threads of a block that has a filter, or a copy of the filter, in shared memory. */
#define QF_LARGE_BLOCK 1024

/* Return the shape of a launch with the filter in shared memory and one thread per item. */
static inline qs_shape
qf_shape(const qf_cuda_filter *f, uint64_t items)
{
	return { qs_ceil_div(items, QF_LARGE_BLOCK), QF_LARGE_BLOCK, qf_bits_bytes(f) };
}

/*
 * Set *fits to whether the filter and the kernel's static variables fit into a block's shared
 * memory.  With QS_BULK_NEVER *fits is false.
 */
template <typename Kernel>
static qb_status
qf_fits_shared(const qf_cuda_filter *f, Kernel kernel, bool *fits)
{
	qs_cuda *gpu = f->gpu;
	size_t bytes = qf_bits_bytes(f);
	cudaFuncAttributes attributes;

	*fits = false;
	if (bytes >= gpu->shared_max || gpu->bulk == QS_BULK_NEVER)
		return QB_OK;
	QS_CUDA_TRY(gpu, cudaFuncGetAttributes(&attributes, kernel));
	if (bytes + attributes.sharedSizeBytes > gpu->shared_max)
		return QB_OK;
	*fits = true;
	return QB_OK;
}

/*
 * Filling or copying a filter in each block takes as long as inserting or looking up this many keys
 * per byte of the filter.
 */
#define QF_KEYS_PER_BYTE 4

/*
 * Set *shared to whether a Bloom filter in each block's shared memory is possible, and pays for
 * this many keys.
 */
template <typename Kernel>
static qb_status
qf_wants_shared(const qf_cuda_filter *f, Kernel kernel, uint64_t count, bool *shared)
{
	*shared = false;
	if (f->gpu->bulk != QS_BULK_ALWAYS && count / QF_KEYS_PER_BYTE < qf_bits_bytes(f))
		return QB_OK;
	return qf_fits_shared(f, kernel, shared);
}

#endif
