/*
 * qs_cuda.h
 *		Sketches in the memory of NVIDIA GPUs, behind a plain C interface.
 *
 * A qs_cuda is one device with its streams and buffers; a qs_cuda_sketch is
 * one dense sketch in that device's memory, with the table layout of src/sketch.
 * Whatever order or path the keys took, qs_cuda_fetch() gives a sketch that
 * qs_write() turns into the very bytes the CPU engine gives.
 *
 * Device sketches may be larger than the byte format allows (QS_SIZE_MAX), up
 * to 2^32 - 1 buckets.  An sf sketch has its slim table here and its fat table
 * in a qs_sketch on the host; see qs_cuda_sf_insert().
 *
 * All functions that can fail return a qs_status: QS_NO_MEMORY where the
 * device has no memory, QS_DEVICE_ERROR for any other error of CUDA, after
 * which qs_cuda_last_error() tells more.  Errors that CUDA calls sticky
 * (a failed kernel) end the usefulness of the process's context: close
 * everything.  One qs_cuda and its sketches belong to one thread at a time.
 *
 * Without CUDA the same functions come from no_cuda.c, where every device is
 * missing.  cuda/qs_cuda.h
 */
#ifndef QS_CUDA_H
#define QS_CUDA_H

#ifdef __cplusplus
extern "C"
{
#endif

#include "sketch/sketch.h"

	typedef struct qs_cuda qs_cuda;
	typedef struct qs_cuda_sketch qs_cuda_sketch;

	typedef struct qs_cuda_error
	{
		qs_status status;
		int code;         /* the cudaError_t, or 0 */
		const char *name; /* "cudaErrorMemoryAllocation", or what is missing */
		const char *call; /* the call that failed, as in the source */
	} qs_cuda_error;

	typedef struct qs_cuda_device
	{
		char name[256];
		int major, minor;      /* compute capability */
		int multiprocessors;   /* number of them */
		int driver;            /* CUDA version of the driver: 13000 is 13.0 */
		int runtime;           /* CUDA version this library was built with */
		uint64_t memory_bytes; /* in total */
		uint64_t memory_free;  /* now */
		uint64_t l2_bytes;
	} qs_cuda_device;

	/* When a batch of keys is partitioned before it is inserted. */
	typedef enum qs_cuda_bulk
	{
		QS_BULK_AUTO = 0,
		QS_BULK_NEVER, /* each key straight to its counters */
		QS_BULK_ALWAYS /* also where it is slower; for tests */
	} qs_cuda_bulk;

	typedef struct qs_cuda_options
	{
		size_t staging_bytes; /* pinned buffers for host keys; 0: 64 MB */
		qs_cuda_bulk bulk;
	} qs_cuda_options;

	/* Counts since qs_cuda_open(). */
	typedef struct qs_cuda_stats
	{
		uint64_t insert_batches; /* calls; likewise below */
		uint64_t insert_keys;
		uint64_t remove_keys;
		uint64_t query_keys;
		uint64_t bulk_keys;       /* of insert_keys: inserted by partitioning */
		uint64_t hot_keys;        /* of insert_keys: counted before inserting */
		uint64_t bytes_in;        /* copied to the device */
		uint64_t bytes_out;       /* copied from the device */
		uint64_t device_bytes;    /* device memory held now */
		uint64_t workspace_bytes; /* of these: workspace, which qs_cuda_trim() frees */
	} qs_cuda_stats;

	/* Number of usable devices; 0 with a reason in "error" where there is none. */
	extern int qs_cuda_device_count(qs_cuda_error *error);

	extern qs_status qs_cuda_device_get(int device, qs_cuda_device *info, qs_cuda_error *error);

	/* Open a device; options NULL: defaults.  *gpu is NULL after an error. */
	extern qs_status
	qs_cuda_open(int device, const qs_cuda_options *options, qs_cuda **gpu, qs_cuda_error *error);

	/* Close it after its sketches were destroyed; NULL is allowed. */
	extern void qs_cuda_close(qs_cuda *gpu);

	/* The last error of a function of this device or of one of its sketches. */
	extern const qs_cuda_error *qs_cuda_last_error(const qs_cuda *gpu);

	extern void qs_cuda_get_stats(const qs_cuda *gpu, qs_cuda_stats *stats);

	extern void qs_cuda_set_bulk(qs_cuda *gpu, qs_cuda_bulk bulk);

	/* Free the workspace that bulk inserts keep for the next one. */
	extern void qs_cuda_trim(qs_cuda *gpu);

	/* Wait for all work; the place where errors of kernels come to light. */
	extern qs_status qs_cuda_sync(qs_cuda *gpu);

	/* The cudaStream_t all kernels run on, for callers with kernels of their own. */
	extern void *qs_cuda_stream(qs_cuda *gpu);

	/* Page-locked host memory, from which keys are copied without staging. */
	extern qs_status qs_cuda_host_alloc(qs_cuda *gpu, size_t bytes, void **pointer);
	extern void qs_cuda_host_free(qs_cuda *gpu, void *pointer);

	/* Page-lock memory that is there already, for all devices, until the process ends. */
	extern qs_status qs_cuda_host_register(qs_cuda *gpu, void *pointer, size_t bytes);

	/* An empty dense sketch; for sf a device part.  *sketch is NULL after an error. */
	extern qs_status qs_cuda_create(qs_cuda *gpu, const qs_params *p, qs_cuda_sketch **sketch);

	extern void qs_cuda_destroy(qs_cuda_sketch *sketch);

	/*
 * A copy of an owned sketch or a view; explicit ones become dense.  Of a full
 * sf sketch the slim table is loaded; a host part is refused.
 */
	extern qs_status qs_cuda_load(qs_cuda *gpu, const qs_sketch *from, qs_cuda_sketch **sketch);

	/* An owned copy in host memory; "to" is uninitialized, as for qs_copy(). */
	extern qs_status qs_cuda_fetch(qs_cuda_sketch *sketch, qs_sketch *to, const qs_memory *memory);

	/* Empty the sketch again. */
	extern qs_status qs_cuda_reset(qs_cuda_sketch *sketch);

	extern const qs_params *qs_cuda_params(const qs_cuda_sketch *sketch);
	extern int64_t qs_cuda_total(const qs_cuda_sketch *sketch);

	/*
 * Add keys, with weight NULL 1 each, from host memory.  The arrays may be
 * reused on return.  QS_TOTAL_OVERFLOW, QS_READ_ONLY (sf) and QS_NO_MEMORY
 * leave the sketch unchanged.
 */
	extern qs_status qs_cuda_insert(qs_cuda_sketch *sketch, const uint64_t *key,
									const int64_t *weight, size_t count);

	/*
 * Likewise from device memory, where the keys must have arrived: kernels run on
 * a stream of their own.  They must stay as they are until qs_cuda_sync().
 */
	extern qs_status qs_cuda_insert_device(qs_cuda_sketch *sketch, const uint64_t *key,
										   const int64_t *weight, size_t count);

	/* Remove keys; QS_UNDERFLOW leaves the sketch unchanged. */
	extern qs_status qs_cuda_remove(qs_cuda_sketch *sketch, const uint64_t *key,
									const int64_t *weight, size_t count);
	extern qs_status qs_cuda_remove_device(qs_cuda_sketch *sketch, const uint64_t *key,
										   const int64_t *weight, size_t count);

	/* Estimate each key, from and to host memory. */
	extern qs_status
	qs_cuda_query(qs_cuda_sketch *sketch, const uint64_t *key, size_t count, int64_t *estimate);

	/* Likewise from and to device memory, complete after qs_cuda_sync(). */
	extern qs_status qs_cuda_query_device(qs_cuda_sketch *sketch, const uint64_t *key, size_t count,
										  int64_t *estimate);

	/* into += from, folding the one with more buckets; both of one device. */
	extern qs_status qs_cuda_merge(qs_cuda_sketch *into, const qs_cuda_sketch *from);

	/* Fold to n buckets: QS_NO_FOLD unless halving leads there. */
	extern qs_status qs_cuda_fold(qs_cuda_sketch *sketch, uint64_t n);

	/* Make counters 8 bytes; inserts do it by themselves when N needs it. */
	extern qs_status qs_cuda_widen(qs_cuda_sketch *sketch);

	/*
 * Add keys to "full", a dense full sf sketch on the host, with "threads"
 * threads, and bring "slim", its device part, up to date.  After QS_NO_MEMORY,
 * QS_TOTAL_OVERFLOW and QS_MISMATCH nothing has changed; after QS_DEVICE_ERROR
 * "full" is complete and "slim" has to be loaded anew.
 */
	extern qs_status qs_cuda_sf_insert(qs_cuda_sketch *slim, qs_sketch *full, const uint64_t *key,
									   const int64_t *weight, size_t count, int threads);

#ifdef __cplusplus
}
#endif

#endif
