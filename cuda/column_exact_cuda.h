/*
 * column_exact_cuda.h
 *		Exact counts of all keys of columns on NVIDIA GPUs, behind a plain C interface.
 *
 * Keys come in batches.  In the end the distinct keys are ordered by how often they
 * came, and any of them can be fetched.  Statuses and errors are as in qs_cuda.h.
 *
 * cuda/column_exact_cuda.h
 */
#ifndef QS_COLUMN_EXACT_CUDA_H
#define QS_COLUMN_EXACT_CUDA_H

#include "qs_cuda.h"

#ifdef __cplusplus
extern "C"
{
#endif

	typedef struct qs_cuda_exact qs_cuda_exact;

	/* Device memory for each key of the room, and the most room, in keys. */
#define QS_CUDA_EXACT_BYTES 32
#define QS_CUDA_EXACT_MAX   (UINT64_C(1) << 30)

	/*
	 * Counts of no keys.  So many keys are sorted at a time.  If more come, at most half
	 * as many may be distinct.
	 */
	extern qb_status qs_cuda_exact_create(qs_cuda *gpu, uint64_t room, qs_cuda_exact **exact);
	extern void qs_cuda_exact_destroy(qs_cuda_exact *exact);

	/* Its device memory. */
	extern uint64_t qs_cuda_exact_bytes(const qs_cuda_exact *exact);

	/*
	 * Add keys, before any order: from host memory, which may be reused on return, or from
	 * device memory.  QB_NO_MEMORY: more distinct keys than there is room for, and the
	 * counts mean nothing any more.
	 */
	extern qb_status qs_cuda_exact_add(qs_cuda_exact *exact, const uint64_t *key, uint64_t count);
	extern qb_status
	qs_cuda_exact_add_device(qs_cuda_exact *exact, const uint64_t *key, uint64_t count);

	/*
	 * Add what was counted elsewhere, on this or on another device, and leave it as it is.
	 * QB_NO_MEMORY: more distinct keys than there is room for.
	 */
	extern qb_status qs_cuda_exact_merge(qs_cuda_exact *into, qs_cuda_exact *from);

	/*
	 * Order the distinct keys: the most frequent first, and of equally frequent ones the
	 * smallest first, as signed numbers.  *found is how many there are.
	 */
	extern qb_status qs_cuda_exact_order(qs_cuda_exact *exact, uint64_t *found);

	/* Fetch keys of that order, and how often each came. */
	extern qb_status qs_cuda_exact_get(qs_cuda_exact *exact, uint64_t first, uint64_t count,
									   uint64_t *key, int64_t *times);

	/* What a device does for exact counts. */
	typedef struct qs_exact_ops
	{
		__typeof__(qs_cuda_exact_create) *create;
		__typeof__(qs_cuda_exact_destroy) *destroy;
		__typeof__(qs_cuda_exact_add) *add;
		__typeof__(qs_cuda_exact_add_device) *add_device;
		__typeof__(qs_cuda_exact_merge) *merge;
		__typeof__(qs_cuda_exact_order) *order;
		__typeof__(qs_cuda_exact_get) *get;
		__typeof__(qs_cuda_exact_bytes) *bytes;
	} qs_exact_ops;

#ifdef __cplusplus
}
#endif

#endif
