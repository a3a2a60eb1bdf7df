/*
 * qs_cuda.h
 *		NVIDIA GPUs behind a plain C interface: devices, errors, host memory.
 *
 * A qs_cuda is one device with its streams and buffers.  The families keep
 * their data in its memory: sketch_cuda.h, filter_cuda.h, sets_cuda.h, column_cuda.h.
 *
 * The worker inside PostgreSQL uses a device only through a table of operations (qs_device_ops).
 * Each family's header has a table for the family.  The header describes an operation, or gives it
 * the type of the function that does it on GPUs.  Other devices, such as those of tests, have
 * tables and structures of their own.
 *
 * All functions that can fail return a qb_status: QB_NO_MEMORY if the device
 * has too little memory, QB_DEVICE_ERROR for any other error of CUDA.
 * qs_cuda_last_error() then has the details.  After an error that CUDA calls sticky
 * (a failed kernel) the process cannot use any device any more.  One
 * thread at a time may use a qs_cuda and what it holds.
 *
 * cuda/qs_cuda.h
 */
#ifndef QS_CUDA_H
#define QS_CUDA_H

#ifdef __cplusplus
extern "C"
{
#endif

#include "base/port.h"
#include "base/status.h"

	typedef struct qs_cuda qs_cuda;

	typedef struct qs_cuda_error
	{
		qb_status status;
		int code;         /* the cudaError_t, or 0 */
		const char *name; /* "cudaErrorMemoryAllocation", or what is missing */
		const char *call; /* the call that failed, as in the source */
	} qs_cuda_error;

	typedef struct qs_cuda_device
	{
		char name[256];
		int major, minor;      /* compute capability */
		int multiprocessors;   /* number of multiprocessors */
		int driver;            /* CUDA version of the driver: 13000 is 13.0 */
		int runtime;           /* CUDA version this library was built with */
		uint64_t memory_bytes; /* in total */
		uint64_t memory_free;  /* now */
		uint64_t l2_bytes;
	} qs_cuda_device;

	/* When a batch of keys is partitioned before its insertion. */
	typedef enum qs_cuda_bulk
	{
		QS_BULK_AUTO = 0,
		QS_BULK_NEVER, /* each key straight to its counters */
		QS_BULK_ALWAYS /* partition even if that is slower; for tests */
	} qs_cuda_bulk;

	typedef struct qs_cuda_options
	{
		size_t staging_bytes; /* bytes of pinned buffers for host keys; 0: 64 MB */
		qs_cuda_bulk bulk;
		/*
		 * Called repeatedly while a function waits for the device; NULL: the thread blocks.  It may
		 * change the thread's current device, but must not use this device.
		 */
		void (*pause)(void);
	} qs_cuda_options;

	/* Bytes of a value on a device, and their target in host memory. */
	typedef struct qs_cuda_piece
	{
		uint64_t offset;
		uint64_t bytes;
		uint8_t *to;
	} qs_cuda_piece;

	/* Number of usable devices.  If it is 0, "error" has the reason. */
	extern int qs_cuda_device_count(qs_cuda_error *error);

	extern qb_status qs_cuda_device_get(int device, qs_cuda_device *info, qs_cuda_error *error);

	/* Open a device; options NULL: defaults.  *gpu is NULL after an error. */
	extern qb_status
	qs_cuda_open(int device, const qs_cuda_options *options, qs_cuda **gpu, qs_cuda_error *error);

	/* Close a device; what it held must have been destroyed before.  NULL is allowed. */
	extern void qs_cuda_close(qs_cuda *gpu);

	/*
	 * Let a device read the memory of another device; both are open.  Call it for each ordered
	 * pair, and again after one of them was reopened.  False: the devices are not peers, and copies
	 * between them go through the host.
	 */
	extern bool qs_cuda_join(qs_cuda *gpu, qs_cuda *other);

	/* The last error of a function of this device or of what it holds. */
	extern const qs_cuda_error *qs_cuda_last_error(const qs_cuda *gpu);

	/* Wait for all work; errors of kernels come to light here. */
	extern qb_status qs_cuda_sync(qs_cuda *gpu);

	/*
	 * Wait for the work that was queued before the previous call, but not for later work.  A caller
	 * that queues work and calls this now and then never has more queued than the work between
	 * three calls.  It need not wait until the device is idle.
	 */
	extern qb_status qs_cuda_pace(qs_cuda *gpu);

	/*
	 * Page-lock memory, for all devices, until the process ends.  Keys in this memory are copied
	 * without staging.
	 */
	extern qb_status qs_cuda_host_register(qs_cuda *gpu, void *pointer, size_t bytes);

	/* Device memory of all values. */
	extern uint64_t qs_cuda_used(const qs_cuda *gpu);

	/*
	 * Limit the device memory of all values.  A value that would exceed the limit gets
	 * QB_NO_MEMORY.  UINT64_MAX: no limit.
	 */
	extern void qs_cuda_limit(qs_cuda *gpu, uint64_t bytes);

	/* The operations of a kind of device. */
	typedef struct qs_device_ops
	{
		__typeof__(qs_cuda_device_count) *count;
		__typeof__(qs_cuda_device_get) *get;
		__typeof__(qs_cuda_open) *open;
		__typeof__(qs_cuda_close) *close;
		__typeof__(qs_cuda_join) *join;
		__typeof__(qs_cuda_host_register) *pin;
		__typeof__(qs_cuda_limit) *limit;
		__typeof__(qs_cuda_used) *used;
		__typeof__(qs_cuda_sync) *sync;
		__typeof__(qs_cuda_pace) *pace;
		__typeof__(qs_cuda_last_error) *error;

		/*
		 * Work in one piece of a request, as a number of random reads or writes of memory; some 20
		 * ms.
		 */
		double piece_work;

		/* Bytes of tables that are merged in a piece of a request. */
		uint64_t merge_bytes;

		/*
		 * The first rows of a table lie on one device: this many.  The device reads them in some
		 * milliseconds, and combining the answers of several devices takes as long.
		 */
		uint64_t rows_together;

		const struct qs_sketch_ops *sketch;         /* defined in sketch_cuda.h */
		const struct qset_sets_ops *sets;           /* defined in sets_cuda.h */
		const struct qf_filter_ops *filter;         /* defined in filter_cuda.h */
		const struct qs_column_ops *column;         /* defined in column_cuda.h */
		const struct qs_exact_ops *exact;           /* defined in column_cuda.h */
		const struct qset_members_ops *memberships; /* defined in sets_cuda.h */
	} qs_device_ops;

	extern const qs_device_ops qs_cuda_devices;
	extern const struct qs_sketch_ops qs_cuda_sketches;
	extern const struct qset_sets_ops qset_cuda_collections;
	extern const struct qf_filter_ops qf_cuda_filters;
	extern const struct qs_column_ops qs_cuda_columns;
	extern const struct qs_exact_ops qs_cuda_exacts;
	extern const struct qset_members_ops qset_cuda_rows;

#ifdef __cplusplus
}
#endif

#endif
