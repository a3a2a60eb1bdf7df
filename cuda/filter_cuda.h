/*
 * filter_cuda.h
 *		Probabilistic Bloom filters in the memory of NVIDIA GPUs, behind a plain C
 *		interface.
 *
 * A qf_cuda_filter holds the bits of a dense filter in a device's memory, in
 * the layout of src/filter.  Rows set the same bits as on the CPU, because
 * positions, draws and numbers of rows follow filter/params.h.
 *
 * The worker inside PostgreSQL creates, puts, sets positions, inserts, looks
 * up, gets and destroys.  Rows in device memory (..._device) are for cached columns.  Filters are
 * merged on the CPU, because that reads fewer bytes than would go over the bus.
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

	/* Device memory of the filter. */
	extern uint64_t qf_cuda_bytes(const qf_cuda_filter *filter);

	/* Copy bytes of the dense encoding to the device, from "offset" on. */
	extern qb_status
	qf_cuda_put(qf_cuda_filter *filter, uint64_t offset, const uint8_t *from, size_t bytes);

	/* Copy pieces of the dense encoding to the host, and wait once for all of them. */
	extern qb_status qf_cuda_get(qf_cuda_filter *filter, const qs_cuda_piece *piece, int count);

	/*
	 * OR these bytes of another filter of the same size, on this or another device, into a filter.
	 * Offset and bytes are multiples of 8.
	 */
	extern qb_status
	qf_cuda_unite(qf_cuda_filter *into, const qf_cuda_filter *from, uint64_t offset, size_t bytes);

	/* Set bits; positions that are not below m are ignored. */
	extern qb_status qf_cuda_set(qf_cuda_filter *filter, const uint32_t *position, size_t count);

	/*
	 * Insert rows from host memory, which may be reused on return.
	 * QB_TOTAL_OVERFLOW leaves the filter unchanged.  So does QB_MISMATCH, which is returned if
	 * rows have both ids and copies.
	 */
	extern qb_status qf_cuda_insert(qf_cuda_filter *filter, const qf_batch *batch);

	/*
	 * Insert rows from device memory, without copies.  The rows must have
	 * arrived there, because kernels run on a stream of their own, and must
	 * not change until qs_cuda_sync().
	 */
	extern qb_status qf_cuda_insert_device(qf_cuda_filter *filter, const qf_batch *batch);

	/* Count how many positions of each key are set; keys and counts are in host memory. */
	extern qb_status
	qf_cuda_query(qf_cuda_filter *filter, const uint64_t *fingerprint, size_t count, int64_t *set);

	/* Tell whether all positions of each key are set; "found" may overlay the keys. */
	extern qb_status qf_cuda_contains(qf_cuda_filter *filter, const uint64_t *fingerprint,
									  size_t count, bool *found);

	/* Count the set bits. */
	extern qb_status qf_cuda_ones(qf_cuda_filter *filter, uint64_t *ones);

	/* What a device does with filters.  Only create and unite can return QB_NO_MEMORY. */
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
