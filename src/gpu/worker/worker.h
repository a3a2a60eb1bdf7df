/*
 * worker.h
 *		Inside the GPU worker: its devices, room on them, request handlers of families.
 *
 *	worker.c	start, loop, end; a piece of a request: is its value still there, what did it
 *				come to?  The table of request handlers, and what ends of transactions do
 *	*_serve.c	the handlers; keyed_serve.c: what those of sketches and filters have in common;
 *				column_gather.c: keys of cached columns for them
 *	schedule.c	which request is next
 *	devices.c	the devices, and how much they do at a time; values that nobody wants any
 *				more, and room for others
 *	coroutine.c	requests that wait for their devices while others go on
 *
 * Each file calls only files below it in this list.
 *
 * src/gpu/worker/worker.h
 */
#ifndef QS_GPU_WORKER_H
#define QS_GPU_WORKER_H

#include "gpu/shared.h"

#include "qs_cuda.h"

/* The location of a handle's value. */
typedef struct GpuLocation
{
	int device; /* the device that it is on, was on, or will be on */
	bool on_device;
	uint32 replicas; /* other devices that have parts of it (bits: 1 << index) */
	uint64 bytes;    /* device memory */
	uint32 pages;    /* chunk of a column: pages that count as copied */
	GpuChunkState chunk_state;
} GpuLocation;

/*
 * The functions of a family in the worker.  The family itself keeps its values, by the
 * numbers of their handles.
 */
typedef struct GpuHandler
{
	/*
	 * Serves a request whose handles exist, or a piece of it.  If it sets "more", it is
	 * called again for the next piece, after other requests were served.  After
	 * QB_DEVICE_ERROR the device is lost, or the worker ends.  After any other error of a
	 * request for which nobody waits, the value becomes LOST.
	 */
	qb_status (*serve)(GpuSlot *slot);

	/*
	 * Serves several requests of one kind for one handle, each completely.  "together" has
	 * the kinds for which this is possible (bits: 1 << op).  QB_OK: the first *count requests
	 * were served.  Any other status except QB_DEVICE_ERROR: no request was served, and the
	 * worker serves them one by one.
	 */
	qb_status (*serve_all)(GpuSlot *const *slot, int *count);
	uint32 together;

	/*
	 * "reads": requests that do not change their own handle, or change only what one device
	 * has of it.  "reads_other": requests that do not change the other handle.  Bits: 1 <<
	 * op.
	 */
	uint32 reads;
	uint32 reads_other;

	/*
	 * Requests that add keys of the other handle, a chunk, on the chunk's device.  They may
	 * be served in any order, and on several devices at the same time.
	 */
	uint32 adds;

	/* Requests that need no device. */
	uint32 on_host;

	/*
	 * Requests for one device, which "choose" chooses and notes.  They make the value of
	 * their handle, or concern what one device has of it.
	 */
	uint32 chooses;
	int (*choose)(GpuSlot *slot);

	/*
	 * True if the device has finished what the last piece of the request started.  If it has
	 * not, other requests are served first.  NULL: no request starts work that takes long.
	 */
	bool (*is_ready)(const GpuSlot *slot);

	/* Requests that fail with FAULT_ERROR.  Bits: 1 << op. */
	uint32 faulty;

	/* Frees the value, if there is one. */
	void (*drop)(int index);

	GpuLocation (*location)(int index);

	/* For families whose values get keys: keyed_worker.h. */
	const struct GpuKeyedOps *keyed;
} GpuHandler;

/*
 * sketch_serve.c, sets_serve.c, filter_serve.c, column_serve.c, column_exact.c,
 * sets_memberships.c; the table of request handlers is in worker.c.
 */
extern const GpuHandler gpu_sketch_handler;
extern const GpuHandler gpu_sets_handler;
extern const GpuHandler gpu_filter_handler;
extern const GpuHandler gpu_column_handler;
extern const GpuHandler gpu_exact_handler;
extern const GpuHandler gpu_memberships_handler;

extern PGDLLEXPORT void GpuWorkerMain(Datum argument);

/* schedule.c */
extern void GpuStartScheduling(void);
extern GpuSlot *GpuNextScheduled(uint32 busy, uint32 *devices);
extern void GpuBeginScheduled(const GpuSlot *slot);
extern void GpuLeaveScheduled(const GpuSlot *slot);
extern int GpuTogether(GpuSlot **slot, int most);
extern void GpuEndScheduled(GpuSlot *slot, uint64 us);
extern bool GpuIsAlone(void);
extern bool GpuHasRequests(void);
extern bool GpuIsMoot(const GpuSlot *slot);

/*
 * devices.c.  Only the worker calls the operations, after it was forked.  Neither the
 * postmaster nor a backend uses a GPU.
 */
extern const qs_device_ops *gpu_device_ops;
extern qs_cuda *gpu_device[GPU_DEVICES_MAX];

/*
 * Use other devices than GPUs, for test modules that the server loads at its start.  They
 * pass the size of the table and the version for which they were built.
 */
extern PGDLLEXPORT void GpuUseDevices(const qs_device_ops *ops, Size bytes, const char *version);
extern bool GpuOpenDevices(char *reason);
extern void GpuReopenDevices(void);
extern void GpuLimitMemory(void);
extern int GpuChooseDevice(int wanted);
extern void GpuShowMemory(int device);
extern const char *GpuLoseDevice(int device);
extern int GpuNextPiece(GpuSlot *slot, double work, GpuCounter requests, GpuCounter keys);

/* The handlers of requests, by family, set when the worker starts; and the handler of a family. */
extern const GpuHandler *const *gpu_handlers;
extern const GpuHandler *GpuHandlerOf(GpuFamily family);

/*
 * A request names a piece of an array by "offset" and "bytes".  GpuPieceIsWithin() checks
 * that it lies within "bytes" bytes.  The next functions copy it to an array in the worker's
 * memory, or from there (NULL: there is no array), and list the pieces that requests want
 * copied from a device to their slots.
 */
extern bool GpuPieceIsWithin(const GpuSlot *slot, uint64 bytes);
extern qb_status GpuTakePiece(const GpuSlot *slot, void *array, uint64 bytes);
extern qb_status GpuGivePiece(const GpuSlot *slot, const void *array, uint64 bytes);
extern void GpuPiecesOf(GpuSlot *const *slot, int count, qs_cuda_piece *piece);

/* Note that a value was created on a device, if "status" says so, or was freed. */
extern qb_status GpuNoteCreated(qb_status status, int device);
extern void GpuNoteFreed(int device);

/*
 * Keep values in use that a request does not name.  Otherwise values that are not needed any
 * more could be freed while room is made, or while the request waits for its device.  "ref"
 * must stay valid until the use ends for the coroutine.
 */
extern void GpuUse(const GpuRef *ref, uint32 count);
extern void GpuEndUse(int coroutine);

/* Values on devices. */
extern void GpuShowLocation(int index);
extern bool GpuFreePending(void);
extern void GpuMakeRoomFor(int index);
extern bool GpuMakeRoom(int device);

/* Do an operation, and repeat it while the device has no memory and room can be made there. */
#define GPU_WITH_ROOM(status, device, operation) \
	do                                           \
		(status) = (operation);                  \
	while ((status) == QB_NO_MEMORY && GpuMakeRoom(device))

#endif
