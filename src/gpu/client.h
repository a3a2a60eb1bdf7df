/*
 * client.h
 *		A backend's calls to the GPU worker: one request, or many in a row.
 *
 * These functions may wait.  A wait serves interrupts and is bounded.  It ends with an error if the
 * worker has failed or makes no progress.  Only the files of families, such as *_client.c and
 * *_engine.c, know what requests mean.
 *
 * src/gpu/client.h
 */
#ifndef QS_GPU_CLIENT_H
#define QS_GPU_CLIENT_H

#include "gpu/shared.h"

#include "utils/palloc.h"

/*
 * A transfer of pieces through slots, or one request for each of many values.  The family chooses
 * the unit of sizes and offsets: keys, words or bytes.
 */
typedef struct GpuTransfer
{
	const GpuRef *ref;
	bool each; /* piece i, of size 1, is for ref[i]; no request if the serial is 0 */
	int op;
	uint64 all;  /* size of all pieces together */
	uint64 most; /* maximum size of a piece */

	/*
	 * Writes the request for a piece.  "op" and the handle are already set.  NULL, which only
	 * GpuAskAll() accepts: the request has no other data.
	 */
	void (*ask)(const struct GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size);

	/*
	 * Reads a reply.  The transfer ends if the value is gone or a piece failed.  With
	 * "all_replies", the transfer goes on, and this function checks GpuIsAnswer().
	 */
	void (*take)(const struct GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size);

	bool all_replies;
	bool chunks;   /* pieces are for chunks, up to GPU_HELD_MAX at a time */
	void *context; /* argument for "ask" and "take" */
} GpuTransfer;

/* True if the request was served successfully, and its value existed. */
static inline bool
GpuIsAnswer(const GpuSlot *slot)
{
	return !slot->gone && slot->status == QB_OK;
}

/* Post all pieces, in order.  "take" is not called, since no reply is awaited. */
extern void GpuPostAll(const GpuTransfer *transfer);

/*
 * Request all pieces, several at a time, and take the replies in order; false: the value is gone,
 * or a piece failed.
 */
extern bool GpuAskAll(const GpuTransfer *transfer);

/*
 * GpuPostArray() posts an array of a value.  GpuFetchArray() fetches "bytes" bytes of an array,
 * beginning with byte "first"; false: the value is gone, or a piece failed.  A slot carries
 * slot->bytes bytes of the array, beginning with byte slot->offset.  If the value has several
 * arrays, slot->count is the number of the array.
 */
extern void GpuPostArray(const GpuRef *ref, int op, const void *array, uint64 bytes);
extern bool
GpuFetchArray(const GpuRef *ref, int op, int number, uint64 first, void *to, uint64 bytes);

/* Post keys with their weights.  weight NULL: each key has weight 1. */
extern void
GpuPostKeys(const GpuRef *ref, int op, const uint64 *key, const int64 *weight, size_t count);

/*
 * Send a request, wait for the reply, and copy "bytes" bytes of the reply's shape.  Returns
 * QB_NO_MEMORY also if the value is gone.
 */
extern qb_status GpuAskOne(GpuSlot *slot, void *reply, Size bytes);

/* Like GpuAskOne(), but raises an error if the value is gone. */
extern qb_status GpuFetchOne(GpuSlot *slot, void *reply, Size bytes);

/*
 * Make a value by a request with this "count" and shape; false: this process may take no handle
 * now, or the request failed, for example because the worker has no memory.
 */
extern bool
GpuMake(GpuFamily family, int op, int count, const void *shape, Size bytes, GpuRef *ref);

/* A handle that is dropped at the latest when its memory context is reset. */
typedef struct GpuScopedHandle
{
	GpuRef ref;                                  /* serial 0: none */
	void (*end)(struct GpuScopedHandle *handle); /* called before the handle is dropped; or NULL */
	MemoryContextCallback callback;
} GpuScopedHandle;

/*
 * Have the handle dropped when "context" is reset.  The struct "handle" must be allocated in
 * "context".
 */
extern void GpuScopeHandle(GpuScopedHandle *handle, const GpuRef *ref, MemoryContext context);
extern void GpuDropScopedHandle(GpuScopedHandle *handle);

/* ---- waiting for the GPU worker: for a free slot, for a reply ---- */

/*
 * Take a free slot, and prepare it for a request.  If no slot is free, wait for a slot; if "try"
 * is set, return NULL instead.
 */
extern GpuSlot *GpuTakeSlot(const GpuRef *ref, int op, bool try);

/* Submit a request without waiting for a reply. */
extern void GpuPost(GpuSlot *slot);

/* GpuAsk() submits a request with a reply.  GpuAwait() waits for the reply. */
extern void GpuAsk(GpuSlot *slot);
extern void GpuAwait(GpuSlot *slot);

/* Free a slot whose reply was read. */
extern void GpuDone(GpuSlot *slot);

/* Abandon all slots of this process with awaited replies. */
extern void GpuLeaveSlots(void);

/* Maximum number of slots that a backend holds at a time: GPU_HELD, or GPU_HELD_MAX for chunks. */
#define GPU_HELD     32
#define GPU_HELD_MAX (GPU_TOGETHER * GPU_DEVICES_MAX)

extern void GpuRaiseFailure(void) __attribute__((noreturn));

#endif
