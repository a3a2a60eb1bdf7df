/*
 * filter_cuda.h
 *		Probabilistic Bloom filters in the memory of NVIDIA GPUs, behind a plain C
 *		interface.
 *
 * A qf_cuda_filter holds the bits of a dense filter in a device's memory, in
 * the layout of src/filter.  Rows set the same bits as on the CPU, because
 * positions, draws and numbers of rows follow filter/params.h.
 *
 * The worker inside PostgreSQL calls these functions.  Functions named ..._device insert rows of
 * cached columns.  qf_cuda_unite() is for filters that were made on devices.  Stored filters are
 * merged on the CPU, because sending their bits to a device takes longer.
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

	/* Create a filter without set bits; *filter is NULL after an error. */
	extern qb_status qf_cuda_create(qs_cuda *gpu, const qf_params *p, qf_cuda_filter **filter);

	extern void qf_cuda_destroy(qf_cuda_filter *filter);

	/* Return the bytes of device memory of the filter. */
	extern uint64_t qf_cuda_bytes(const qf_cuda_filter *filter);

	/* Copy bytes of the dense bits to the device; "offset" is their offset in the bits. */
	extern qb_status
	qf_cuda_put(qf_cuda_filter *filter, uint64_t offset, const uint8_t *from, size_t bytes);

	/* Copy pieces of the dense bits to the host, and wait for all copies together. */
	extern qb_status qf_cuda_get(qf_cuda_filter *filter, const qs_cuda_piece *piece, int count);

	/*
	 * OR bytes of "from" into "into", from "offset" on.  Both filters have the same size, and may
	 * be on different devices.  "offset" and "bytes" are multiples of 8.
	 */
	extern qb_status
	qf_cuda_unite(qf_cuda_filter *into, const qf_cuda_filter *from, uint64_t offset, size_t bytes);

	/* Set bits; positions that are not below m are ignored. */
	extern qb_status qf_cuda_set(qf_cuda_filter *filter, const uint32_t *position, size_t count);

	/*
	 * Insert rows from host memory, which may be reused on return.  QB_TOTAL_OVERFLOW and
	 * QB_MISMATCH leave the filter unchanged.  QB_MISMATCH: the batch has both row numbers and
	 * copies.
	 */
	extern qb_status qf_cuda_insert(qf_cuda_filter *filter, const qf_batch *batch);

	/*
	 * Insert rows from device memory; QB_MISMATCH if the batch has copies.  Rows that a stream of
	 * the caller writes must be complete before the call, because the kernels do not wait for this
	 * stream.  The rows must not change until qs_cuda_sync().
	 */
	extern qb_status qf_cuda_insert_device(qf_cuda_filter *filter, const qf_batch *batch);

	/* Count how many positions of each key are set; keys and counts are in host memory. */
	extern qb_status
	qf_cuda_query(qf_cuda_filter *filter, const uint64_t *fingerprint, size_t count, int64_t *set);

	/* Set found[i] to whether all positions of key i are set.  "found" may overlay the keys. */
	extern qb_status qf_cuda_contains(qf_cuda_filter *filter, const uint64_t *fingerprint,
									  size_t count, bool *found);

	/* Count the set bits. */
	extern qb_status qf_cuda_ones(qf_cuda_filter *filter, uint64_t *ones);

	/* Operations on filters.  Only create and unite can fail for lack of memory. */
	typedef struct qf_filter_ops
	{
		__typeof__(qf_cuda_create) *create;
		__typeof__(qf_cuda_destroy) *destroy;
		__typeof__(qf_cuda_put) *write;
		__typeof__(qf_cuda_get) *read;
		__typeof__(qf_cuda_unite) *unite;
		__typeof__(qf_cuda_set) *set;
		__typeof__(qf_cuda_insert) *insert;
		__typeof__(qf_cuda_insert_device) *insert_device;
		__typeof__(qf_cuda_query) *query;
		__typeof__(qf_cuda_contains) *contains;
		__typeof__(qf_cuda_ones) *ones;
		__typeof__(qf_cuda_bytes) *bytes;
	} qf_filter_ops;

#ifdef __cplusplus
}
#endif

#endif
