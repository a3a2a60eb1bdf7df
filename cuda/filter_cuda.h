/*
 * filter_cuda.h
 *		Probabilistic Bloom filters in the memory of NVIDIA GPUs, behind a plain C
 *		interface.
 *
 * A qf_cuda_filter is the bits of a dense filter in a device's memory, as they
 * are in src/filter.  Rows set there what they set on the CPU: positions, draws
 * and numbers of rows are those of filter/draws.h, so that qf_cuda_fetch() gives
 * a filter that qf_write() turns into the very bytes that the CPU engine gives,
 * whatever the batches.
 *
 * The worker inside PostgreSQL creates, puts, inserts, looks up, gets and
 * destroys.  The rest is for tests and benchmarks alone: rows in device memory
 * (..._device), whole filters (load, fetch), merging.  In PostgreSQL the CPU
 * merges: what would go over the bus is more than it has to read.
 *
 * Statuses and errors are as in qs_cuda.h.
 *
 * cuda/filter_cuda.h
 */
#ifndef QF_FILTER_CUDA_H
#define QF_FILTER_CUDA_H

#include "qs_cuda.h"

#ifdef __cplusplus
extern "C"
{
#endif

#include "engine/filter_engine.h"

	typedef struct qf_cuda_filter qf_cuda_filter;

	/* A filter without bits; *filter is NULL after an error. */
	extern qb_status qf_cuda_create(qs_cuda *gpu, const qf_params *p, qf_cuda_filter **filter);

	extern void qf_cuda_destroy(qf_cuda_filter *filter);

	/* A copy of an owned filter or a view; explicit ones become dense. */
	extern qb_status qf_cuda_load(qs_cuda *gpu, const qf_filter *from, qf_cuda_filter **filter);

	/* An owned copy in host memory; "to" is uninitialized, as for qf_copy(). */
	extern qb_status qf_cuda_fetch(qf_cuda_filter *filter, qf_filter *to, const qb_memory *memory);

	/* Empty the filter again. */
	extern qb_status qf_cuda_reset(qf_cuda_filter *filter);

	/* So many bytes of the dense form, from "offset" on. */
	extern qb_status
	qf_cuda_put(qf_cuda_filter *filter, uint64_t offset, const uint8_t *from, size_t bytes);
	extern qb_status
	qf_cuda_get(qf_cuda_filter *filter, uint64_t offset, uint8_t *to, size_t bytes);

	/* Set bits; positions that are not below m are left out. */
	extern qb_status qf_cuda_set(qf_cuda_filter *filter, const uint32_t *position, size_t count);

	/*
 * Insert rows from host memory, which may be reused on return.
 * QB_TOTAL_OVERFLOW leaves the filter unchanged; so does QB_MISMATCH, for rows
 * that have ids and copies both.
 */
	extern qb_status qf_cuda_insert(qf_cuda_filter *filter, const qf_batch *batch);

	/*
 * Likewise from device memory, without copies, where the rows must have
 * arrived: kernels run on a stream of their own.  They must stay as they are
 * until qs_cuda_sync().
 */
	extern qb_status qf_cuda_insert_device(qf_cuda_filter *filter, const qf_batch *batch);

	/* How many positions of each key are set, from and to host memory. */
	extern qb_status
	qf_cuda_query(qf_cuda_filter *filter, const uint64_t *fingerprint, size_t count, int64_t *set);

	/* Whether all positions of each key are set; "found" may lie where the keys do. */
	extern qb_status qf_cuda_contains(qf_cuda_filter *filter, const uint64_t *fingerprint,
									  size_t count, bool *found);

	/* Both from and to device memory, complete after qs_cuda_sync(). */
	extern qb_status qf_cuda_query_device(qf_cuda_filter *filter, const uint64_t *fingerprint,
										  size_t count, int64_t *set);
	extern qb_status qf_cuda_contains_device(qf_cuda_filter *filter, const uint64_t *fingerprint,
											 size_t count, bool *found);

	/* into |= from: both of one device, with the same parameters, else QB_MISMATCH. */
	extern qb_status qf_cuda_merge(qf_cuda_filter *into, const qf_cuda_filter *from);

	/* Count the set bits. */
	extern qb_status qf_cuda_ones(qf_cuda_filter *filter, uint64_t *ones);

#ifdef __cplusplus
}
#endif

#endif
