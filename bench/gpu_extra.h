/*
 * gpu_extra.h
 *		What only tests and benchmarks ask of a device.
 *
 * In PostgreSQL the CPU does this work.  Statuses and errors are as in
 * qs_cuda.h.
 *
 * bench/gpu_extra.h
 */
#ifndef QS_BENCH_GPU_EXTRA_H
#define QS_BENCH_GPU_EXTRA_H

#include "filter_cuda.h"
#include "sets_cuda.h"
#include "sketch_cuda.h"

#ifdef __cplusplus
extern "C"
{
#endif

	/* ---- devices ---- */

	extern void qs_cuda_set_bulk(qs_cuda *gpu, qs_cuda_bulk bulk);

	/* Free the workspace, which bulk inserts keep for the next one. */
	extern void qs_cuda_trim(qs_cuda *gpu);

	/* The cudaStream_t of all kernels, for callers with kernels of their own. */
	extern void *qs_cuda_stream(qs_cuda *gpu);

	/* Page-locked host memory; keys in it are copied without staging. */
	extern qb_status qs_cuda_host_alloc(qs_cuda *gpu, size_t bytes, void **pointer);
	extern void qs_cuda_host_free(qs_cuda *gpu, void *pointer);

	/* ---- sketches ---- */

	/* Empty the sketch again. */
	extern qb_status qs_cuda_reset(qs_cuda_sketch *sketch);

	extern const qs_params *qs_cuda_params(const qs_cuda_sketch *sketch);

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

	/* ---- filters ---- */

	/* Load a filter, of which an explicit one becomes dense.  A compact view must be copied first. */
	extern qb_status qf_cuda_load(qs_cuda *gpu, const qf_filter *from, qf_cuda_filter **filter);

	/*
	 * Make an owned copy in host memory; "to" is uninitialized, as for qf_copy().
	 * qf_write() turns it into the same bytes as on the CPU, whatever the batches.
	 */
	extern qb_status qf_cuda_fetch(qf_cuda_filter *filter, qf_filter *to, const qb_memory *memory);

	/* Empty the filter again. */
	extern qb_status qf_cuda_reset(qf_cuda_filter *filter);

	/* into |= from.  Both are on one device and have the same parameters, else QB_MISMATCH. */
	extern qb_status qf_cuda_merge(qf_cuda_filter *into, const qf_cuda_filter *from);

	/* ---- collections of sets ---- */

	/* Load a whole collection. */
	extern qb_status
	qset_cuda_sets_load(qs_cuda *gpu, const qset_collection *from, qset_cuda_sets **to);

	extern uint64_t qset_cuda_sets_count(const qset_cuda_sets *s);

#ifdef __cplusplus
}
#endif

#endif
