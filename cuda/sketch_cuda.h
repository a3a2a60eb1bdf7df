/*
 * sketch_cuda.h
 *		Sketches in the memory of NVIDIA GPUs, behind a plain C interface.
 *
 * A qs_cuda_sketch is one dense sketch in a device's memory, with the table
 * layout of src/sketch.  qs_cuda_read() copies the tables, and qs_write() turns them into the bytes
 * that the CPU would make, whatever order or path the keys took.
 *
 * Device sketches may be larger than the byte format allows (QS_SIZE_MAX), up
 * to 2^32 - 1 buckets.  An sf sketch has only its slim table here.
 *
 * The worker inside PostgreSQL creates, loads, inserts, queries, merges in slices,
 * reads and destroys.  Keys in device memory (..._device) are for cached columns.  Only the CPU
 * removes keys.
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
	 * Create an empty dense sketch; an sf sketch is a device part.  *sketch is
	 * NULL after an error.
	 */
	extern qb_status qs_cuda_create(qs_cuda *gpu, const qs_params *p, qs_cuda_sketch **sketch);

	extern void qs_cuda_destroy(qs_cuda_sketch *sketch);

	/* Device memory of the sketch. */
	extern uint64_t qs_cuda_bytes(const qs_cuda_sketch *sketch);

	/*
	 * Load an owned sketch or a view.  An explicit sketch becomes dense.  A full sf sketch gives
	 * its slim table.  A host part is refused.
	 */
	extern qb_status qs_cuda_load(qs_cuda *gpu, const qs_sketch *from, qs_cuda_sketch **sketch);

	/*
	 * Get the tables ready for qs_cuda_read(), until the sketch changes.  The device does this
	 * after all work queued before.  The call waits for the device if a multilevel sketch is large,
	 * or if there is little memory.  An sf sketch is refused (QB_READ_ONLY).
	 */
	extern qb_status qs_cuda_prepare_read(qs_cuda_sketch *sketch);

	/*
	 * True if the device has prepared the tables.  Then qs_cuda_freeze() does not wait for work of
	 * other requests.
	 */
	extern bool qs_cuda_read_is_ready(qs_cuda_sketch *sketch);

	/*
	 * Describe prepared tables that have not changed since.  "head" becomes a dense sketch whose
	 * tables are in device memory.  QB_MISMATCH: the tables never were prepared.
	 */
	extern qb_status qs_cuda_freeze(qs_cuda_sketch *sketch, qs_sketch *head);

	/* The weight of all keys that were added. */
	extern int64_t qs_cuda_total(const qs_cuda_sketch *sketch);

	/*
	 * Copy pieces of the table, and of the high buckets behind it, to host memory, and wait once.
	 * If host memory is not page-locked, wait for each copy.
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

	/* The most arrays that are added together. */
#define QS_CUDA_TOGETHER 16

	/*
	 * Add several arrays of keys from host memory by one launch.  Either all arrays have weights or
	 * none.  Errors are those of qs_cuda_insert(), and QB_NO_MEMORY also means that the arrays do
	 * not fit into half of the staging memory.
	 */
	extern qb_status qs_cuda_insert_all(qs_cuda_sketch *sketch, const qs_cuda_keys *run, int runs);

	/*
	 * Add keys from device memory, each with weight 1.  The keys must have arrived there, because
	 * kernels run on a stream of their own, and must not change until qs_cuda_sync().
	 */
	extern qb_status
	qs_cuda_insert_device(qs_cuda_sketch *sketch, const uint64_t *key, size_t count);

	/* The most sketches that get keys together. */
#define QS_CUDA_GROUPS_MAX 512

	/*
	 * Add keys from device memory to several sketches by one launch.  The keys lie side by side,
	 * count[i] keys for the i-th sketch.  The rules are those of qs_cuda_insert_device().
	 * QB_NO_MEMORY also means that the sketches' parameters differ, that one has or needs counters
	 * of 8 bytes, or that one has so many keys that another way is faster.
	 */
	extern qb_status qs_cuda_insert_groups(qs_cuda_sketch *const *sketch, const uint64_t *count,
										   uint32_t sketches, const uint64_t *key);

	/*
	 * True if the sketch gets the keys of several chunks of a column sooner by one call of
	 * qs_cuda_insert_device(), even if the keys must be copied for that.
	 */
	extern bool qs_cuda_gains_together(const qs_cuda_sketch *sketch);

	/* Estimate each key.  Keys and estimates are in host memory. */
	extern qb_status
	qs_cuda_query(qs_cuda_sketch *sketch, const uint64_t *key, size_t count, int64_t *estimate);

	/*
	 * into += from, in slices (sketch/merge.h).  qs_cuda_merge_begin() prepares "into" for a
	 * sketch, given by its parameters and its total.  Then add units of that sketch, or of slices
	 * of it.  Units on a peer (qs_cuda_join()) are read in place.  Units on another device are cut
	 * out there and copied, so both devices need memory for them.  QB_NO_MEMORY changes nothing.
	 */
	extern qb_status
	qs_cuda_merge_begin(qs_cuda_sketch *into, const qs_params *from, int64_t total);
	extern qb_status qs_cuda_merge_slice(qs_cuda_sketch *into, qs_slice to,
										 const qs_cuda_sketch *from, qs_slice units);

	/*
	 * Exact counts of the keys that a sketch takes for frequent (sketch/frequent.h).  About
	 * "wanted" keys are wanted, and the table has "slots" slots.  First set the threshold by
	 * samples of batches.  Then count all batches.  Then collect keys, either the most frequent
	 * ones or "all" that were counted, and read them in pieces, in order.  Keys are in device memory,
	 * as for qs_cuda_insert_device().  The sketch must not change meanwhile.  QB_NO_MEMORY changes
	 * nothing.
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

	/* What a device does with sketches. */
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
