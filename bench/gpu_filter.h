/*
 * gpu_filter.h
 *		What the parts of the benchmark of filters on a GPU share.
 *
 *	gpu_filter.cu			what is measured
 *	gpu_filter_bloom.cu	what is measured of Bloom filters
 *	gpu_filter_kernels.cu	kernels: keys, ceilings, the paper's way
 *	gpu_filter_host.c		the same work on all cores of the host
 *
 * bench/gpu_filter.h
 */
#ifndef QF_GPU_FILTER_H
#define QF_GPU_FILTER_H

#ifdef __cplusplus
#include <cuda_runtime.h>

extern "C"
{
#endif

#include "engine/filter_engine.h"
#include "test/gpu/support.h"

/* The nonce of all rows. */
#define NONCE 7

	/* ---- gpu_filter_kernels.cu; all on a cudaStream_t, all return a cudaError_t ---- */

	/* Make keys from number "first" on, with "distinct" distinct keys again and again. */
	extern int
	gf_keys(void *stream, uint64_t *key, uint64_t count, uint64_t first, uint64_t distinct);

	/* Make keys in turns: one of "distinct" keys from number 0 on, one from number "first" on. */
	extern int
	gf_keys_half(void *stream, uint64_t *key, uint64_t count, uint64_t first, uint64_t distinct);

	/* Make "count" random accesses past L1. */
	extern int gf_read_random(void *stream, uint32_t *word, uint64_t words, uint64_t count);
	extern int gf_or_random(void *stream, uint32_t *word, uint64_t words, uint64_t count);

	/*
	 * The paper's way.  Insertion: a thread for each key and hash, with a coin
	 * of its own.  Query: a thread for each key and hash, with an atomic for
	 * each set position.
	 */
	extern int gf_insert_paper(void *stream, const qf_filter *f, uint64_t nonce,
							   const uint64_t *key, uint64_t count, uint32_t *word);
	extern int gf_query_paper(void *stream, const qf_filter *f, const uint64_t *key, uint64_t count,
							  const uint32_t *word, int64_t *set);

	/* ---- gpu_filter_host.c ---- */

	/* Threads that the next functions use: one for each core, but 16 at most. */
	extern int host_threads(void);

	/*
	 * Make a filter of all rows: each thread inserts a part, then the parts
	 * are merged.  Median seconds.
	 */
	extern double
	host_insert(const qf_params *p, const uint64_t *key, uint64_t rows, qf_filter *made);

	/*
	 * Count the set positions of all keys, or with set NULL tell which keys
	 * are present.  Median seconds.
	 */
	extern double
	host_query(const qf_filter *f, const uint64_t *key, uint64_t keys, uint32_t *set, bool *found);

#ifdef __cplusplus
}
#endif

#endif
