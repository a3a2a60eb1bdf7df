/*
 * gpu_extra.h
 *		Operations on a device that only tests and benchmarks use.
 *
 * In PostgreSQL the CPU does this work.  Statuses and errors are as in qs_cuda.h.
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
		uint64_t bulk_keys;       /* keys inserted by partitioning since qs_cuda_open() */
		uint64_t device_bytes;    /* device memory held now */
		uint64_t workspace_bytes; /* part of device_bytes that is kept for the next batch */
	} qs_cuda_stats;

	extern void qs_cuda_get_stats(const qs_cuda *gpu, qs_cuda_stats *stats);

	extern void qs_cuda_set_bulk(qs_cuda *gpu, qs_cuda_bulk bulk);

	/* Free the workspace, which bulk inserts keep for the next batch. */
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

	/* Make counters 8 bytes wide.  Inserts do this by themselves if N needs it. */
	extern qb_status qs_cuda_widen(qs_cuda_sketch *sketch);

	/*
	 * Make an owned copy in host memory.  "to" is uninitialized, as for qs_copy().  The tables are
	 * prepared and read, as backends do it, except for the slim table of sf, which is only read.
	 */
	extern qb_status qs_cuda_fetch(qs_cuda_sketch *sketch, qs_sketch *to, const qb_memory *memory);

	/* Estimate each key.  Keys and estimates are in device memory.  Complete after qs_cuda_sync(). */
	extern qb_status qs_cuda_query_device(qs_cuda_sketch *sketch, const uint64_t *key, size_t count,
										  int64_t *estimate);

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

	/* Load a filter.  An explicit filter becomes dense.  A compact view must be copied first. */
	extern qb_status qf_cuda_load(qs_cuda *gpu, const qf_filter *from, qf_cuda_filter **filter);

	/*
	 * Make an owned copy in host memory.  "to" is uninitialized, as for qf_copy().  qf_write() turns
	 * the copy into the same bytes as on the CPU, whatever the batches were.
	 */
	extern qb_status qf_cuda_fetch(qf_cuda_filter *filter, qf_filter *to, const qb_memory *memory);

	/* Empty the filter again. */
	extern qb_status qf_cuda_reset(qf_cuda_filter *filter);

	/* into |= from.  Both are on one device and have the same parameters, else QB_MISMATCH. */
	extern qb_status qf_cuda_merge(qf_cuda_filter *into, const qf_cuda_filter *from);

	/*
	 * Count how many positions of each key are set, or tell whether all of them are.  Keys and
	 * answers are in device memory.  Complete after qs_cuda_sync().
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

	/* qset_cuda_pairs_wait() that never stops waiting. */
	extern qb_status qset_cuda_pairs_next(qset_cuda_pairs *pairs, qset_pair *out, uint64_t room,
										  uint64_t *count, bool *over);

	/* Count all remaining pairs. */
	extern qb_status qset_cuda_pairs_count(qset_cuda_pairs *pairs, uint64_t *count);

#ifdef __cplusplus
}
#endif

#endif
