/*
 * sketch_cuda.h
 *		Sketches in the memory of NVIDIA GPUs, behind a plain C interface.
 *
 * A qs_cuda_sketch is one dense sketch in a device's memory, with the table
 * layout of src/sketch.  Whatever order or path the keys took, qs_cuda_fetch()
 * gives a sketch that qs_write() turns into the very bytes the CPU engine gives.
 *
 * Device sketches may be larger than the byte format allows (QS_SIZE_MAX), up
 * to 2^32 - 1 buckets.  An sf sketch has its slim table here alone.
 *
 * The worker inside PostgreSQL creates, loads, inserts, queries, merges, fetches
 * and destroys.  Keys in device memory (..._device) are for columns kept there;
 * removing is for tests alone, in PostgreSQL the CPU does it.  src/bench/gpu_sketch.h
 * has what else tests and benchmarks ask of sketches on a device.
 *
 * Statuses and errors are as in qs_cuda.h.
 *
 * cuda/sketch_cuda.h
 */
#ifndef QS_SKETCH_CUDA_H
#define QS_SKETCH_CUDA_H

#include "qs_cuda.h"

#ifdef __cplusplus
extern "C"
{
#endif

#include "sketch/sketch.h"

	typedef struct qs_cuda_sketch qs_cuda_sketch;

	/* An empty dense sketch; for sf a device part.  *sketch is NULL after an error. */
	extern qb_status qs_cuda_create(qs_cuda *gpu, const qs_params *p, qs_cuda_sketch **sketch);

	extern void qs_cuda_destroy(qs_cuda_sketch *sketch);

	/*
 * A copy of an owned sketch or a view; explicit ones become dense.  Of a full
 * sf sketch the slim table is loaded; a host part is refused.
 */
	extern qb_status qs_cuda_load(qs_cuda *gpu, const qs_sketch *from, qs_cuda_sketch **sketch);

	/* An owned copy in host memory; "to" is uninitialized, as for qs_copy(). */
	extern qb_status qs_cuda_fetch(qs_cuda_sketch *sketch, qs_sketch *to, const qb_memory *memory);

	/*
 * Add keys, with weight NULL 1 each, from host memory.  The arrays may be
 * reused on return.  QB_TOTAL_OVERFLOW, QB_READ_ONLY (sf) and QB_NO_MEMORY
 * leave the sketch unchanged.
 */
	extern qb_status qs_cuda_insert(qs_cuda_sketch *sketch, const uint64_t *key,
									const int64_t *weight, size_t count);

	/*
 * Likewise from device memory, where the keys must have arrived: kernels run on
 * a stream of their own.  They must stay as they are until qs_cuda_sync().
 */
	extern qb_status qs_cuda_insert_device(qs_cuda_sketch *sketch, const uint64_t *key,
										   const int64_t *weight, size_t count);

	/* Remove keys; QB_UNDERFLOW leaves the sketch unchanged. */
	extern qb_status qs_cuda_remove(qs_cuda_sketch *sketch, const uint64_t *key,
									const int64_t *weight, size_t count);
	extern qb_status qs_cuda_remove_device(qs_cuda_sketch *sketch, const uint64_t *key,
										   const int64_t *weight, size_t count);

	/* Estimate each key, from and to host memory. */
	extern qb_status
	qs_cuda_query(qs_cuda_sketch *sketch, const uint64_t *key, size_t count, int64_t *estimate);

	/* Likewise from and to device memory, complete after qs_cuda_sync(). */
	extern qb_status qs_cuda_query_device(qs_cuda_sketch *sketch, const uint64_t *key, size_t count,
										  int64_t *estimate);

	/* into += from, folding the one with more buckets; both of one device. */
	extern qb_status qs_cuda_merge(qs_cuda_sketch *into, const qs_cuda_sketch *from);

#ifdef __cplusplus
}
#endif

#endif
