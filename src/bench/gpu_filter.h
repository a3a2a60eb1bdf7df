/*
 * gpu_filter.h
 *		What the parts of the benchmark of filters on a GPU share.
 *
 *	gpu_filter.cu			what is measured
 *	gpu_filter_bloom.cu		the same of Bloom filters
 *	gpu_filter_kernels.cu	kernels: keys, ceilings, the paper's way
 *	gpu_filter_host.c		the same work on all cores of the host
 *
 * src/bench/gpu_filter.h
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

/* Of all rows. */
#define NONCE 7

	/* ---- gpu_filter_kernels.cu; all on a cudaStream_t, all return a cudaError_t ---- */

	/* Keys number "first" on, so many distinct ones again and again. */
	extern int
	gf_keys(void *stream, uint64_t *key, uint64_t count, uint64_t first, uint64_t distinct);

	/* In turns keys number 0 on, so many distinct ones, and from "first" on. */
	extern int
	gf_keys_half(void *stream, uint64_t *key, uint64_t count, uint64_t first, uint64_t distinct);

	/* So many random accesses past L1. */
	extern int gf_read_random(void *stream, uint32_t *word, uint64_t words, uint64_t count);
	extern int gf_or_random(void *stream, uint32_t *word, uint64_t words, uint64_t count);

	/*
 * The paper's way: a thread for each key and hash, with a coin of its own, and
 * for each key and hash with an atomic for each set position.
 */
	extern int gf_insert_paper(void *stream, const qf_filter *f, uint64_t nonce,
							   const uint64_t *key, uint64_t count, uint32_t *word);
	extern int gf_query_paper(void *stream, const qf_filter *f, const uint64_t *key, uint64_t count,
							  const uint32_t *word, int64_t *set);

	/* ---- gpu_filter_host.c ---- */

	/* Threads that the following use: as many as there are cores, but 16 at most. */
	extern int host_threads(void);

	/* A filter of all rows, a part of them in each thread, then merged; median seconds. */
	extern double
	host_insert(const qf_params *p, const uint64_t *key, uint64_t rows, qf_filter *made);

	/* Set positions of all keys, or with set NULL which of them are there; median seconds. */
	extern double
	host_query(const qf_filter *f, const uint64_t *key, uint64_t keys, uint32_t *set, bool *found);

#ifdef __cplusplus
}
#endif

#endif
