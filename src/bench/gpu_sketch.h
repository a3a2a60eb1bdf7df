/*
 * gpu_sketch.h
 *		Operations of sketches on a device that only tests and benchmarks need.
 *
 * In PostgreSQL the CPU does this work.  Statuses and errors are as in
 * qs_cuda.h.
 *
 * src/bench/gpu_sketch.h
 */
#ifndef QS_BENCH_GPU_SKETCH_H
#define QS_BENCH_GPU_SKETCH_H

#include "sketch_cuda.h"

#ifdef __cplusplus
extern "C"
{
#endif

	/* Empty the sketch again. */
	extern qb_status qs_cuda_reset(qs_cuda_sketch *sketch);

	extern const qs_params *qs_cuda_params(const qs_cuda_sketch *sketch);
	extern int64_t qs_cuda_total(const qs_cuda_sketch *sketch);

	/* Fold to n buckets; QB_NO_FOLD unless halving leads to n. */
	extern qb_status qs_cuda_fold(qs_cuda_sketch *sketch, uint64_t n);

	/* Make counters 8 bytes; inserts do so by themselves when N needs it. */
	extern qb_status qs_cuda_widen(qs_cuda_sketch *sketch);

	/*
	 * Add keys with "threads" threads to "full", a dense full sf sketch on the
	 * host, and bring "slim", its device part, up to date.  After
	 * QB_NO_MEMORY, QB_TOTAL_OVERFLOW and QB_MISMATCH nothing has changed.
	 * After QB_DEVICE_ERROR "full" is complete, and "slim" must be loaded
	 * anew.
	 */
	extern qb_status qs_cuda_sf_insert(qs_cuda_sketch *slim, qs_sketch *full, const uint64_t *key,
									   const int64_t *weight, size_t count, int threads);

#ifdef __cplusplus
}
#endif

#endif
