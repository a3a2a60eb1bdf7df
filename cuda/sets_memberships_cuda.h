/*
 * sets_memberships_cuda.h
 *		Rows (set id, element) in the memory of NVIDIA GPUs, and the collection that they
 *		make, behind a plain C interface.
 *
 * Rows come in batches, in any order and several times.  In the end they are sorted and
 * made unique: the arrays of src/sets/collection.h.  From these a qset_cuda_sets is made
 * on the device, and they can be fetched.
 *
 * Elements are integers, and ordered as signed numbers.  Statuses and errors are as in
 * qs_cuda.h.
 *
 * cuda/sets_memberships_cuda.h
 */
#ifndef QSET_SETS_MEMBERS_CUDA_H
#define QSET_SETS_MEMBERS_CUDA_H

#include "sets_cuda.h"

#ifdef __cplusplus
extern "C"
{
#endif

	typedef struct qset_cuda_memberships qset_cuda_memberships;

	/* The most rows: sorting is not cut into pieces, and others wait for it meanwhile. */
#define QSET_CUDA_MEMBERS_MAX (UINT64_C(1) << 27)

	extern qb_status
	qset_cuda_memberships_create(qs_cuda *gpu, qset_cuda_memberships **memberships);
	extern void qset_cuda_memberships_destroy(qset_cuda_memberships *memberships);

	/*
	 * Add rows, before they are sorted: from host memory, which may be reused on return,
	 * or from the memory of this or another device.  QB_NO_MEMORY changes nothing.
	 */
	extern qb_status
	qset_cuda_memberships_add(qset_cuda_memberships *memberships, const int64_t *id,
							  const uint64_t *element, uint64_t count);
	extern qb_status
	qset_cuda_memberships_add_device(qset_cuda_memberships *memberships, qs_cuda *from,
									 const int64_t *id, const uint64_t *element, uint64_t count);

	/* How many rows were added. */
	extern uint64_t qset_cuda_memberships_rows(const qset_cuda_memberships *memberships);

	typedef struct qset_cuda_sizes
	{
		uint64_t sets;
		uint64_t elements;
		uint64_t universe;
	} qset_cuda_sizes;

	/* Sort the rows and make them unique.  QB_NO_MEMORY changes nothing. */
	extern qb_status
	qset_cuda_memberships_sort(qset_cuda_memberships *memberships, qset_cuda_sizes *sizes);

	typedef enum qset_cuda_array
	{
		QSET_CUDA_ROW_IDS,      /* rows, before they are sorted: int64 */
		QSET_CUDA_ROW_ELEMENTS, /* uint64 */
		QSET_CUDA_IDS,          /* the collection, after that: int64 */
		QSET_CUDA_OFFSETS,      /* uint64 */
		QSET_CUDA_RANKS,        /* uint32 */
		QSET_CUDA_VALUES        /* uint64 */
	} qset_cuda_array;

	/* Fetch a piece of an array. */
	extern qb_status
	qset_cuda_memberships_get(const qset_cuda_memberships *memberships, qset_cuda_array array,
							  uint64_t first, uint64_t count, void *to);

	/* A collection of the sorted rows, on their device; *to is NULL after an error. */
	extern qb_status
	qset_cuda_sets_make(const qset_cuda_memberships *memberships, qset_cuda_sets **to);

	/* Device memory that the rows or the collection hold. */
	extern uint64_t qset_cuda_memberships_bytes(const qset_cuda_memberships *memberships);

	/* What a device does with rows. */
	typedef struct qset_members_ops
	{
		__typeof__(qset_cuda_memberships_create) *create;
		__typeof__(qset_cuda_memberships_destroy) *destroy;
		__typeof__(qset_cuda_memberships_add) *add;
		__typeof__(qset_cuda_memberships_add_device) *add_device;
		__typeof__(qset_cuda_memberships_rows) *rows;
		__typeof__(qset_cuda_memberships_sort) *sort;
		__typeof__(qset_cuda_memberships_get) *get;
		__typeof__(qset_cuda_memberships_bytes) *bytes;
		__typeof__(qset_cuda_sets_make) *make;
	} qset_members_ops;

#ifdef __cplusplus
}
#endif

#endif
