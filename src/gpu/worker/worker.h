/*
 * worker.h
 *		Inside the GPU worker: devices and their memory, scheduling, request handlers of families.
 *
 *	worker.c	start, loop, end; serving a piece of a request; the table of request
 *				handlers; ends of transactions
 *	*_serve.c	the handlers, except for two in gpu/column_exact.c and gpu/sets_memberships.c;
 *				keyed_serve.c: the common part for sketches and filters;
 *				column_gather.c: keys of cached columns
 *	schedule.c	the choice of the next request
 *	devices.c	devices, sizes of pieces, freeing and evicting values
 *	coroutine.c	requests that wait for their devices while other requests are served
 *
 * Each file calls only files of its own or of lower entries, except through function pointers.
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
	int device; /* the value's present, last or next device */
	bool on_device;
	uint32 replicas; /* other devices with data of the value (bits: 1 << index) */
	uint64 bytes;    /* device memory */
	uint32 pages;    /* chunk: number of pages that count as cached */
	GpuChunkState chunk_state;
} GpuLocation;

/*
 * The functions of a family in the worker.  Each family stores its values in arrays, indexed by
 * handle.
 */
typedef struct GpuHandler
{
	/*
	 * Serves a request whose handles exist, or a piece of the request.  If the function sets
	 * "more", the worker serves other requests, and then calls the function for the next piece.
	 * After QB_DEVICE_ERROR, the device counts as failed.  After any other error of a request for
	 * which no backend waits, the value becomes LOST.
	 */
	qb_status (*serve)(GpuSlot *slot);

	/*
	 * Serves several requests with the same "op" and handle, each completely.  "together" has the
	 * requests for which this is possible (bits: 1 << op).  QB_OK: the first *count requests were
	 * served.  Any other status except QB_DEVICE_ERROR: no request was served, and the worker
	 * serves them one by one.
	 */
	qb_status (*serve_all)(GpuSlot *const *slot, int *count);
	uint32 together;

	/*
	 * "reads": requests that do not change their own handle, or change only the handle's data on
	 * one device.  "reads_other": requests that do not change handle "other".  Bits: 1 << op.
	 */
	uint32 reads;
	uint32 reads_other;

	/*
	 * Requests that add keys of chunk "other", on the chunk's device.  They may be served in any
	 * order, and on several devices at the same time.
	 */
	uint32 adds;

	/* Requests that need no device. */
	uint32 on_host;

	/*
	 * Requests for one device, which "choose" returns and stores in the slot.  These requests make
	 * the value of their handle, or concern only the value's data on one device.
	 */
	uint32 chooses;
	int (*choose)(GpuSlot *slot);

	/*
	 * True if the device has finished the work that the last piece of the request started.  If not,
	 * other requests are served first.  NULL: no request starts long work.
	 */
	bool (*is_ready)(const GpuSlot *slot);

	/* Requests that fail with FAULT_ERROR.  Bits: 1 << op. */
	uint32 faulty;

	/* Frees the value, if it exists. */
	void (*drop)(int index);

	GpuLocation (*location)(int index);

	/* For sketches and filters: keyed_worker.h. */
	const struct GpuKeyedOps *keyed;
} GpuHandler;

/* The handler of each family.  The table of all handlers is in worker.c. */
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
 * devices.c.  Only the worker calls the operations of gpu_device_ops, after it was forked.  Neither
 * the postmaster nor a backend uses a GPU.
 */
extern const qs_device_ops *gpu_device_ops;
extern qs_cuda *gpu_device[GPU_DEVICES_MAX];

/*
 * Use other devices than GPUs.  A test module calls this function when the server starts, with the
 * size of *ops, and the version of qsketch for which the module was built.
 */
extern PGDLLEXPORT void GpuUseDevices(const qs_device_ops *ops, Size bytes, const char *version);
extern bool GpuOpenDevices(char *reason);
extern void GpuReopenDevices(void);
extern void GpuLimitMemory(void);
extern int GpuChooseDevice(int wanted);
extern void GpuShowMemory(int device);
extern const char *GpuLoseDevice(int device);
extern int GpuNextPiece(GpuSlot *slot, double work, GpuCounter requests, GpuCounter keys);

/* The handlers of all families, set when the worker starts; and the handler of one family. */
extern const GpuHandler *const *gpu_handlers;
extern const GpuHandler *GpuHandlerOf(GpuFamily family);

/*
 * A request names a piece of an array by "offset" and "bytes".  GpuPieceIsWithin() checks that the
 * piece is within "bytes" bytes.  GpuTakePiece() copies the piece from the slot to an array in the
 * worker's memory.  GpuGivePiece() copies the piece from the array to the slot.  GpuTakePiece() and
 * GpuGivePiece() return QB_NO_MEMORY if the array is NULL, or the piece is not within the array.
 * GpuPiecesOf() lists the pieces that a device will copy to slots.
 */
extern bool GpuPieceIsWithin(const GpuSlot *slot, uint64 bytes);
extern qb_status GpuTakePiece(const GpuSlot *slot, void *array, uint64 bytes);
extern qb_status GpuGivePiece(const GpuSlot *slot, const void *array, uint64 bytes);
extern void GpuPiecesOf(GpuSlot *const *slot, int count, qs_cuda_piece *piece);

/*
 * Count the values on a device.  GpuNoteCreated() adds a value if "status" is QB_OK, and returns
 * "status".
 */
extern qb_status GpuNoteCreated(qb_status status, int device);
extern void GpuNoteFreed(int device);

/*
 * Mark values in use that a request does not name.  Without this mark, a value could be freed
 * while the request waits for its device.  "ref" must stay valid until GpuEndUse().
 */
extern void GpuUse(const GpuRef *ref, uint32 count);
extern void GpuEndUse(int coroutine);

/* Values on devices. */
extern void GpuShowLocation(int index);
extern bool GpuFreePending(void);
extern void GpuMakeRoomFor(int index);
extern bool GpuMakeRoom(int device);

/* Repeat an operation while it fails for lack of device memory and GpuMakeRoom() frees memory. */
#define GPU_WITH_ROOM(status, device, operation) \
	do                                           \
		(status) = (operation);                  \
	while ((status) == QB_NO_MEMORY && GpuMakeRoom(device))

#endif
