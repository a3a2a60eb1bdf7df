/*
 * qs_cuda.h
 *		NVIDIA GPUs behind a plain C interface: devices, errors, host memory.
 *
 * A qs_cuda is one device with its streams and buffers.  Each family has a header for its data in
 * device memory: sketch_cuda.h, filter_cuda.h, sets_cuda.h, column_cuda.h.
 *
 * The worker inside PostgreSQL calls a device only through a table of operations (qs_device_ops).
 * Each family's header declares the table of the family.  A comment in the table describes an
 * operation.  An operation without a comment has the type of a function, and does what the comment
 * of this function says.  Emulated devices of tests have tables and a struct qs_cuda of their own.
 *
 * Functions that can fail return a qb_status: QB_NO_MEMORY if the device has too little memory,
 * QB_DEVICE_ERROR for any other error of CUDA.  After a failure qs_cuda_last_error() has the
 * details.  A failed kernel is what CUDA calls a sticky error: the process cannot use any device
 * any more.  Only one thread at a time may use a qs_cuda and the objects on its device.
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
		const char *name; /* name of the error, such as "cudaErrorMemoryAllocation" */
		const char *call; /* source text of the call that failed */
	} qs_cuda_error;

	typedef struct qs_cuda_device
	{
		char name[256];
		int major, minor;      /* compute capability */
		int multiprocessors;   /* number of multiprocessors */
		int driver;            /* CUDA version of the driver: 13000 is 13.0 */
		int runtime;           /* CUDA version this library was built with */
		uint64_t memory_bytes; /* total bytes of device memory */
		uint64_t memory_free;  /* free bytes of device memory */
		uint64_t l2_bytes;
	} qs_cuda_device;

	/* Whether a batch of keys is partitioned before its insertion. */
	typedef enum qs_cuda_bulk
	{
		QS_BULK_AUTO = 0,
		QS_BULK_NEVER, /* insert each key directly */
		QS_BULK_ALWAYS /* partition even if direct insertion is faster; for tests */
	} qs_cuda_bulk;

	typedef struct qs_cuda_options
	{
		size_t staging_bytes; /* bytes of pinned buffers for host keys; 0: 64 MB */
		qs_cuda_bulk bulk;
		/*
		 * A function calls "pause" repeatedly while it waits for the device; NULL: the thread
		 * blocks.  The pause may change the thread's current device, but must not use this device.
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

	/* Return the number of usable devices.  If the number is 0, "error" has the reason. */
	extern int qs_cuda_device_count(qs_cuda_error *error);

	extern qb_status qs_cuda_device_get(int device, qs_cuda_device *info, qs_cuda_error *error);

	/* Open a device; options NULL: defaults.  *gpu is NULL after an error. */
	extern qb_status
	qs_cuda_open(int device, const qs_cuda_options *options, qs_cuda **gpu, qs_cuda_error *error);

	/* Close a device whose objects have all been destroyed.  "gpu" may be NULL. */
	extern void qs_cuda_close(qs_cuda *gpu);

	/*
	 * Let "gpu" read the memory of "other".  Call this for each ordered pair of open devices, and
	 * again after a device was reopened.  False: the two devices are not peers, so the driver
	 * copies between them through host memory.
	 */
	extern bool qs_cuda_join(qs_cuda *gpu, qs_cuda *other);

	/* Return the last error of a function of this device or of an object on the device. */
	extern const qs_cuda_error *qs_cuda_last_error(const qs_cuda *gpu);

	/* Wait for all queued work.  Also returns errors of kernels. */
	extern qb_status qs_cuda_sync(qs_cuda *gpu);

	/*
	 * Wait for the work that was queued before the previous call of qs_cuda_pace(), but not for
	 * later work.  A caller that calls qs_cuda_pace() after each batch has at most two batches
	 * queued.
	 */
	extern qb_status qs_cuda_pace(qs_cuda *gpu);

	/*
	 * Page-lock host memory, for all devices, until the process ends.  Keys in this memory are
	 * copied without staging.
	 */
	extern qb_status qs_cuda_host_register(qs_cuda *gpu, void *pointer, size_t bytes);

	/* Return the bytes of device memory of all values. */
	extern uint64_t qs_cuda_used(const qs_cuda *gpu);

	/*
	 * Limit the bytes of device memory of all values.  The creation of a value beyond the limit
	 * returns QB_NO_MEMORY.  UINT64_MAX: no limit.
	 */
	extern void qs_cuda_limit(qs_cuda *gpu, uint64_t bytes);

	/* Operations on devices, which are GPUs or the emulated devices of tests. */
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
		 * Work of one piece of a request: a number of random reads or writes of memory, which take
		 * about 20 ms.
		 */
		double piece_work;

		/* Bytes of tables that one piece of a request merges. */
		uint64_t merge_bytes;

		/*
		 * Number of rows at the beginning of a table that are all cached on one device.  The device
		 * reads these rows in some milliseconds.  Combining the answers of several devices also
		 * takes some milliseconds.
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
