/*
 * gpu_extra.h
 *		Operations on a device that only tests and benchmarks use.
 *
 * The extension does not call these functions.  Statuses and errors are as in qs_cuda.h.
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

	typedef struct qs_cuda_stats
	{
		uint64_t bulk_keys;       /* number of keys inserted by partitioning since qs_cuda_open() */
		uint64_t device_bytes;    /* bytes of allocated device memory */
		uint64_t workspace_bytes; /* bytes of the workspace, which stays allocated */
	} qs_cuda_stats;

	extern void qs_cuda_get_stats(const qs_cuda *gpu, qs_cuda_stats *stats);

	extern void qs_cuda_set_bulk(qs_cuda *gpu, qs_cuda_bulk bulk);

	/* Free the workspace, which stays allocated between operations. */
	extern void qs_cuda_trim(qs_cuda *gpu);

	/* Return the cudaStream_t of inserts and queries, for callers that launch kernels. */
	extern void *qs_cuda_stream(qs_cuda *gpu);

	/* Allocate page-locked host memory.  Keys in page-locked memory are copied without staging. */
	extern qb_status qs_cuda_host_alloc(qs_cuda *gpu, size_t bytes, void **pointer);
	extern void qs_cuda_host_free(qs_cuda *gpu, void *pointer);

	/* ---- sketches ---- */

	/* Set all counters of a sketch to 0. */
	extern qb_status qs_cuda_reset(qs_cuda_sketch *sketch);

	extern const qs_params *qs_cuda_params(const qs_cuda_sketch *sketch);

	/*
	 * Make counters 8 bytes wide (multilevel: the counters of high buckets).  Inserts widen the
	 * counters automatically before the total weight overflows 4 bytes.
	 */
	extern qb_status qs_cuda_widen(qs_cuda_sketch *sketch);

	/*
	 * Make an owned copy in host memory.  "to" is uninitialized, as for qs_copy().  The tables are
	 * prepared and read as for backends, but the slim table of sf is not prepared.
	 */
	extern qb_status qs_cuda_fetch(qs_cuda_sketch *sketch, qs_sketch *to, const qb_memory *memory);

	/*
	 * Estimate each key.  Keys and estimates are in device memory.  The estimates are complete
	 * after qs_cuda_sync().
	 */
	extern qb_status qs_cuda_query_device(qs_cuda_sketch *sketch, const uint64_t *key, size_t count,
										  int64_t *estimate);

	/*
	 * Add keys with "threads" threads to "full", a dense full sf sketch on the host, and update
	 * "slim", its device part.  QB_NO_MEMORY, QB_TOTAL_OVERFLOW and QB_MISMATCH leave all counts
	 * unchanged.  After QB_DEVICE_ERROR "full" has all keys or none of them, and "slim" must be
	 * loaded again.
	 */
	extern qb_status qs_cuda_sf_insert(qs_cuda_sketch *slim, qs_sketch *full, const uint64_t *key,
									   const int64_t *weight, size_t count, int threads);

	/* ---- filters ---- */

	/* Load an explicit or dense filter, but no compact view.  The filter on the device is dense. */
	extern qb_status qf_cuda_load(qs_cuda *gpu, const qf_filter *from, qf_cuda_filter **filter);

	/*
	 * Make an owned copy in host memory.  "to" is uninitialized, as for qf_copy().  qf_write()
	 * writes the same bytes for the copy as for the CPU's filter of the same rows.
	 */
	extern qb_status qf_cuda_fetch(qf_cuda_filter *filter, qf_filter *to, const qb_memory *memory);

	/* Set all bits of a filter to 0. */
	extern qb_status qf_cuda_reset(qf_cuda_filter *filter);

	/* into |= from.  Both filters are on one device.  QB_MISMATCH: their parameters differ. */
	extern qb_status qf_cuda_merge(qf_cuda_filter *into, const qf_cuda_filter *from);

	/*
	 * Count the set positions of each key, or find whether all positions of each key are set.  Keys
	 * and answers are in device memory.  The answers are complete after qs_cuda_sync().
	 */
	extern qb_status qf_cuda_query_device(qf_cuda_filter *filter, const uint64_t *fingerprint,
										  size_t count, int64_t *set);
	extern qb_status qf_cuda_contains_device(qf_cuda_filter *filter, const uint64_t *fingerprint,
											 size_t count, bool *found);

	/* ---- collections of sets ---- */

	/* Load a whole collection. */
	extern qb_status
	qset_cuda_sets_load(qs_cuda *gpu, const qset_collection *from, qset_cuda_sets **to);

	extern uint64_t qset_cuda_sets_count(const qset_cuda_sets *s);

	/* Call qset_cuda_pairs_wait() with a callback that never ends the wait. */
	extern qb_status qset_cuda_pairs_next(qset_cuda_pairs *pairs, qset_pair *out, uint64_t room,
										  uint64_t *count, bool *over);

	/* Count all remaining pairs. */
	extern qb_status qset_cuda_pairs_count(qset_cuda_pairs *pairs, uint64_t *count);

#ifdef __cplusplus
}
#endif

#endif
