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

/* Where the value of a handle is. */
typedef struct GpuLocation
{
	int device; /* that the value is on, was on, or will be on */
	bool on_device;
	uint32 replicas; /* devices that have some of it, too; bits: 1 << index */
	uint64 bytes;    /* of device memory */
	uint32 pages;    /* chunk of a column: how many count as copied */
	GpuChunkShown shown;
} GpuLocation;

/*
 * What a family does in the worker.  The handler keeps the family's values itself, by
 * the numbers of their handles.
 */
typedef struct GpuHandler
{
	/*
	 * Answer a request whose handles are there, or a piece of it.  A handler that
	 * sets "more" is called again for the next piece, after others were served.
	 * After QB_DEVICE_ERROR the device is lost, or the worker ends.  Any other failure of a request
	 * that nobody waits for makes the value LOST.
	 */
	qb_status (*serve)(GpuSlot *slot);

	/*
	 * Serve several requests of one kind for one handle, each as a whole.  "together" has
	 * the kinds that can be served so (bits: 1 << op).  QB_OK: the first *count requests
	 * were served.  Any other status but QB_DEVICE_ERROR: no request was served, and the
	 * worker serves them one by one.
	 */
	qb_status (*serve_all)(GpuSlot *const *slot, int *count);
	uint32 together;

	/*
	 * Requests that do not change their own handle, or only what one device has of it; the other
	 * handle.  Bits: 1 << op.
	 */
	uint32 reads;
	uint32 reads_other;

	/*
	 * Requests that add keys of the other handle, a chunk, on the device of the chunk: in any
	 * order, and on several devices at the same time.
	 */
	uint32 adds;

	/* Requests that need no device. */
	uint32 on_host;

	/*
	 * Requests for one device, which this chooses and notes: those that make the value of their
	 * handle, and those about what a device has of it.
	 */
	uint32 chooses;
	int (*choose)(GpuSlot *slot);

	/*
	 * Has the device done what the last piece of this request asked of it?  If not, others are served
	 * first.  NULL: no request asks for anything that takes long.
	 */
	bool (*is_ready)(const GpuSlot *slot);

	/* Requests that fail with FAULT_ERROR.  Bits: 1 << op. */
	uint32 faulty;

	/* Free the value, if there is one. */
	void (*drop)(int index);

	GpuLocation (*location)(int index);

	/* Of families whose values get keys: keyed_worker.h. */
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
 * devices.c.  The operations are called by the worker alone, after it was forked: no GPU is
 * touched by the postmaster or by a backend.
 */
extern const qs_device_ops *gpu_device_ops;
extern qs_cuda *gpu_device[GPU_DEVICES_MAX];

/*
 * Use other devices than GPUs: for modules of tests, which the server loads at its start.
 * They were built with a table of so many bytes, for this version.
 */
extern PGDLLEXPORT void GpuUseDevices(const qs_device_ops *ops, Size bytes, const char *version);
extern bool GpuOpenDevices(char *reason);
extern void GpuReopenDevices(void);
extern void GpuLimitMemory(void);
extern int GpuChooseDevice(int wanted);
extern void GpuShowMemory(int device);
extern const char *GpuLoseDevice(int device);
extern int GpuNextPiece(GpuSlot *slot, double work, GpuCounter requests, GpuCounter keys);

/* The handlers of requests, by family: set when the worker starts; that of a family. */
extern const GpuHandler *const *gpu_handlers;
extern const GpuHandler *GpuHandlerOf(GpuFamily family);

/*
 * A piece of an array that a request names by "offset" and "bytes": does it lie within so many
 * bytes?  Copy it to an array in the worker's memory, or from there; NULL: there is none.  List the
 * pieces that requests want copied from a device to their slots.
 */
extern bool GpuPieceIsWithin(const GpuSlot *slot, uint64 bytes);
extern qb_status GpuTakePiece(const GpuSlot *slot, void *array, uint64 bytes);
extern qb_status GpuGivePiece(const GpuSlot *slot, const void *array, uint64 bytes);
extern void GpuPiecesOf(GpuSlot *const *slot, int count, qs_cuda_piece *piece);

/* A value was made on a device, if that is the status, or is freed. */
extern qb_status GpuMade(qb_status status, int device);
extern void GpuUnmade(int device);

/*
 * Values that a request does not name are kept in use: those that nobody needs any more are freed where
 * room is made, and while the request waits for its device.  Until that ends for a coroutine, "ref" stays
 * where it is.
 */
extern void GpuUse(const GpuRef *ref, uint32 count);
extern void GpuEndUse(int coroutine);

/* Values on devices. */
extern void GpuShowLocation(int index);
extern bool GpuFreePending(void);
extern void GpuMakeRoomFor(int index);
extern bool GpuMakeRoom(int device);

/* Do it, again and again while the device has no memory and room can be made there. */
#define GPU_WITH_ROOM(status, device, operation) \
	do                                           \
		(status) = (operation);                  \
	while ((status) == QB_NO_MEMORY && GpuMakeRoom(device))

#endif
