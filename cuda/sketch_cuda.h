/*
 * sketch_cuda.h
 *		Sketches in the memory of NVIDIA GPUs, behind a plain C interface.
 *
 * A qs_cuda_sketch is one dense sketch in a device's memory, with the table layout of src/sketch.
 * qs_cuda_read() copies the tables, and qs_write() converts them to the bytes that the CPU would
 * write, whatever the order of the keys.
 *
 * Sketches on a device may be larger than the byte format allows (QS_SIZE_MAX), up to 2^32 - 1
 * buckets.  Only the slim table of an sf sketch is on a device.
 *
 * The worker inside PostgreSQL calls these functions.  qs_cuda_insert_device(),
 * qs_cuda_insert_groups() and the functions for frequent keys read keys of cached columns.  Keys
 * are removed only on the CPU.
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

#include "sketch/frequent.h"
#include "sketch/merge.h"

	typedef struct qs_cuda_sketch qs_cuda_sketch;

	/*
	 * Create an empty dense sketch, or for sf an empty device part (QS_PART_DEVICE).  *sketch is
	 * NULL after an error.
	 */
	extern qb_status qs_cuda_create(qs_cuda *gpu, const qs_params *p, qs_cuda_sketch **sketch);

	extern void qs_cuda_destroy(qs_cuda_sketch *sketch);

	/* Return the bytes of device memory of the sketch. */
	extern uint64_t qs_cuda_bytes(const qs_cuda_sketch *sketch);

	/*
	 * Copy an owned sketch or a view to the device.  An explicit sketch becomes dense.  Only the
	 * slim table of a full sf sketch is copied.  QB_WRONG_PART: an sf sketch is explicit, or has no
	 * slim table.
	 */
	extern qb_status qs_cuda_load(qs_cuda *gpu, const qs_sketch *from, qs_cuda_sketch **sketch);

	/*
	 * Prepare the tables for qs_cuda_read().  They stay prepared until the sketch changes.  The
	 * device prepares the tables after all earlier queued work.  The call waits for the device only
	 * if a multilevel sketch is large or memory is short.  QB_READ_ONLY: the sketch is sf.
	 */
	extern qb_status qs_cuda_prepare_read(qs_cuda_sketch *sketch);

	/*
	 * False while the work of qs_cuda_prepare_read() is queued or runs.  qs_cuda_freeze() or
	 * qs_cuda_read() would then wait for this work, and for earlier work of other requests.
	 */
	extern bool qs_cuda_read_is_ready(qs_cuda_sketch *sketch);

	/*
	 * Describe prepared tables.  The sketch must not have changed since qs_cuda_prepare_read().
	 * "head" becomes a dense sketch whose tables are in device memory.  QB_MISMATCH: the tables
	 * were never prepared.
	 */
	extern qb_status qs_cuda_freeze(qs_cuda_sketch *sketch, qs_sketch *head);

	/* Return the weight of all keys that were added. */
	extern int64_t qs_cuda_total(const qs_cuda_sketch *sketch);

	/*
	 * Copy pieces of the table, and of the high buckets behind the table, to host memory, and wait
	 * for all copies together.  If host memory is not page-locked, wait for each copy.
	 */
	extern qb_status qs_cuda_read(qs_cuda_sketch *sketch, const qs_cuda_piece *piece, int count);

	/*
	 * Add keys from host memory.  With weight NULL each weight is 1.  The arrays may be reused on
	 * return.  QB_TOTAL_OVERFLOW, QB_READ_ONLY (sf) and QB_NO_MEMORY leave the sketch unchanged.
	 */
	extern qb_status qs_cuda_insert(qs_cuda_sketch *sketch, const uint64_t *key,
									const int64_t *weight, size_t count);

	/* Keys in host memory; weight NULL: all weights are 1. */
	typedef struct qs_cuda_keys
	{
		const uint64_t *key;
		const int64_t *weight;
		size_t count;
	} qs_cuda_keys;

	/* Largest number of arrays in one call of qs_cuda_insert_all(). */
#define QS_CUDA_TOGETHER 16

	/*
	 * Add several arrays of keys from host memory as one batch.  Either all arrays have weights or
	 * no array has weights.  The errors are as for qs_cuda_insert().  QB_NO_MEMORY also means
	 * that the arrays do not fit into a staging slot together.
	 */
	extern qb_status qs_cuda_insert_all(qs_cuda_sketch *sketch, const qs_cuda_keys *run, int runs);

	/*
	 * Add keys from device memory, each with weight 1.  The keys must be complete in device memory
	 * before the call, because the kernels do not wait for other streams.  The keys must not change
	 * until qs_cuda_sync().
	 */
	extern qb_status
	qs_cuda_insert_device(qs_cuda_sketch *sketch, const uint64_t *key, size_t count);

	/* The largest number of sketches in one call of qs_cuda_insert_groups(). */
#define QS_CUDA_GROUPS_MAX 512

	/*
	 * Add keys from device memory to several sketches by one launch.  The keys are ordered by
	 * sketch; sketch i receives count[i] keys.  The rules of qs_cuda_insert_device() apply.
	 * QB_NO_MEMORY also means that the sketches' devices or parameters differ, that the structure
	 * is sf, that a sketch has or needs counters of 8 bytes, or that partitioning the keys of a
	 * sketch is faster.
	 */
	extern qb_status qs_cuda_insert_groups(qs_cuda_sketch *const *sketch, const uint64_t *count,
										   uint32_t sketches, const uint64_t *key);

	/*
	 * True if one call of qs_cuda_insert_device() for the keys of several chunks is faster than a
	 * call per chunk, even if the keys must be copied for this.
	 */
	extern bool qs_cuda_gains_together(const qs_cuda_sketch *sketch);

	/* Estimate each key.  Keys and estimates are in host memory. */
	extern qb_status
	qs_cuda_query(qs_cuda_sketch *sketch, const uint64_t *key, size_t count, int64_t *estimate);

	/*
	 * into += from, in slices (sketch/merge.h).  qs_cuda_merge_begin() prepares "into" for a sketch
	 * with the given parameters and total.  qs_cuda_merge_slice() adds units of "from", which is
	 * the sketch to be merged, or a slice of this sketch.  Units on a peer (qs_cuda_join()) are
	 * read in place.  Units on any other device are copied into a slice on the device of "from",
	 * and then to the device of "into", so both devices need memory for the units.  A call that
	 * returns QB_NO_MEMORY has not changed "into".
	 */
	extern qb_status
	qs_cuda_merge_begin(qs_cuda_sketch *into, const qs_params *from, int64_t total);
	extern qb_status qs_cuda_merge_slice(qs_cuda_sketch *into, qs_slice to,
										 const qs_cuda_sketch *from, qs_slice units);

	/*
	 * Exact counts of the keys whose estimates by a sketch are high (sketch/frequent.h).  "wanted"
	 * is the approximate number of keys to find, and "slots" the number of slots of the table.
	 * First call "begin".  Call "sample" for batches of keys; the samples set the threshold.  Then
	 * call "count" for all batches.  Then call "collect", for the most frequent keys or for "all"
	 * counted keys, and "read" for one piece after another.  Keys are in device memory, as for
	 * qs_cuda_insert_device().  The sketch must not change between these calls.  After QB_NO_MEMORY
	 * the sketch and its counts are unchanged, but "begin" has dropped earlier counts.
	 */
	extern qb_status
	qs_cuda_frequent_begin(qs_cuda_sketch *sketch, uint64_t wanted, uint64_t slots);
	extern qb_status
	qs_cuda_frequent_sample(qs_cuda_sketch *sketch, const uint64_t *key, size_t count);
	extern qb_status
	qs_cuda_frequent_count(qs_cuda_sketch *sketch, const uint64_t *key, size_t count);
	extern qb_status qs_cuda_frequent_collect(qs_cuda_sketch *sketch, bool all, qs_frequent *head);
	extern qb_status
	qs_cuda_frequent_read(qs_cuda_sketch *sketch, uint64_t offset, uint64_t bytes, void *to);

	/* Operations on sketches. */
	typedef struct qs_sketch_ops
	{
		__typeof__(qs_cuda_create) *create;
		__typeof__(qs_cuda_load) *load;
		__typeof__(qs_cuda_destroy) *destroy;
		__typeof__(qs_cuda_insert) *insert;
		__typeof__(qs_cuda_insert_all) *insert_all;
		__typeof__(qs_cuda_insert_device) *insert_device;
		__typeof__(qs_cuda_insert_groups) *insert_groups;
		__typeof__(qs_cuda_gains_together) *gains_together;
		__typeof__(qs_cuda_query) *query;
		__typeof__(qs_cuda_merge_begin) *merge_begin;
		__typeof__(qs_cuda_merge_slice) *merge_slice;
		__typeof__(qs_cuda_prepare_read) *prepare_read;
		__typeof__(qs_cuda_read_is_ready) *read_is_ready;
		__typeof__(qs_cuda_freeze) *freeze;
		__typeof__(qs_cuda_read) *read;
		__typeof__(qs_cuda_frequent_begin) *frequent_begin;
		__typeof__(qs_cuda_frequent_sample) *frequent_sample;
		__typeof__(qs_cuda_frequent_count) *frequent_count;
		__typeof__(qs_cuda_frequent_collect) *frequent_collect;
		__typeof__(qs_cuda_frequent_read) *frequent_read;
		__typeof__(qs_cuda_bytes) *bytes;
		__typeof__(qs_cuda_total) *total;
	} qs_sketch_ops;

#ifdef __cplusplus
}
#endif

#endif
