/*
 * gpu_filter.h
 *		Common definitions of the benchmark of filters on a GPU.
 *
 *	gpu_filter.cu			sections of frequency filters
 *	gpu_filter_bloom.cu	sections of Bloom filters
 *	gpu_filter_kernels.cu	kernels that make keys, kernels of ceilings, and the paper's kernels
 *	gpu_filter_host.c		inserts and lookups on up to 16 cores of the host
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

/* The nonce of all rows, except rows that the paper's kernel inserts (NONCE + 1). */
#define NONCE 7

	/*
	 * ---- gpu_filter_kernels.cu; "stream" is a cudaStream_t, and the results are cudaError_t ----
	 */

	/* Make "count" keys from "distinct" distinct keys, whose numbers begin with "first". */
	extern int
	gf_keys(void *stream, uint64_t *key, uint64_t count, uint64_t first, uint64_t distinct);

	/*
	 * Make keys alternately from two ranges: "distinct" keys from number 0 on, and keys from number
	 * "first" on.
	 */
	extern int
	gf_keys_half(void *stream, uint64_t *key, uint64_t count, uint64_t first, uint64_t distinct);

	/* Make "count" random accesses, past L1. */
	extern int gf_read_random(void *stream, uint32_t *word, uint64_t words, uint64_t count);
	extern int gf_or_random(void *stream, uint32_t *word, uint64_t words, uint64_t count);

	/*
	 * The paper's kernels, which process each pair of a key and a hash separately.  An insertion
	 * draws a random number for each pair.  A query does an atomic for each set position.
	 */
	extern int gf_insert_paper(void *stream, const qf_filter *f, uint64_t nonce,
							   const uint64_t *key, uint64_t count, uint32_t *word);
	extern int gf_query_paper(void *stream, const qf_filter *f, const uint64_t *key, uint64_t count,
							  const uint32_t *word, int64_t *set);

	/* ---- gpu_filter_host.c ---- */

	/*
	 * Return the number of threads of the following functions: one for each core, but at most 16.
	 */
	extern int host_threads(void);

	/*
	 * Make a filter of all rows.  Each thread inserts a slice of the rows into its own filter, and
	 * the filters are merged.  Returns the median seconds.
	 */
	extern double
	host_insert(const qf_params *p, const uint64_t *key, uint64_t rows, qf_filter *made);

	/*
	 * Count the set positions of all keys or, if "set" is NULL, find out which keys are present.
	 * Returns the median seconds.
	 */
	extern double
	host_query(const qf_filter *f, const uint64_t *key, uint64_t keys, uint32_t *set, bool *found);

#ifdef __cplusplus
}
#endif

#endif
