/*
 * client.h
 *		A backend's calls to the GPU worker: one request, or many in a row.
 *
 * The functions here may wait.  A wait serves interrupts, is bounded, and ends with an error
 * if the worker has failed or does not answer.  Only the clients of families (*_client.c)
 * know what requests mean.
 *
 * src/gpu/client.h
 */
#ifndef QS_GPU_CLIENT_H
#define QS_GPU_CLIENT_H

#include "gpu/shared.h"

#include "utils/palloc.h"

/*
 * A transfer of pieces through slots, or one question to many values.  The family chooses the
 * unit of sizes and offsets: keys, words or bytes.
 */
typedef struct GpuTransfer
{
	const GpuRef *ref;
	bool each; /* piece i, of size 1, is for ref[i]; with serial 0 it is left out */
	int op;
	uint64 all;  /* size of all pieces */
	uint64 most; /* size of a piece */

	/*
	 * Writes the request for a piece.  "op" and the handle are set already.  NULL: nothing
	 * else is needed.
	 */
	void (*ask)(const struct GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size);

	/*
	 * Takes a reply.  The transfer ends if the value is gone or a piece failed.  With
	 * "all_replies" it does not end, and this function checks GpuIsAnswer() itself.
	 */
	void (*take)(const struct GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size);

	bool all_replies;
	bool chunks;   /* pieces are for chunks: more are requested at a time */
	void *context; /* argument of both functions */
} GpuTransfer;

/* True if the request was served, and its value existed. */
static inline bool
GpuIsAnswer(const GpuSlot *slot)
{
	return !slot->gone && slot->status == QB_OK;
}

/* Post all pieces, in order.  "take" is not called, since no reply is awaited. */
extern void GpuPostAll(const GpuTransfer *transfer);

/*
 * Request all pieces, several at a time, and take the replies in order; false: the value is
 * gone.
 */
extern bool GpuAskAll(const GpuTransfer *transfer);

/*
 * Post an array of a value, or fetch one from byte "first" on; false: the value is gone.  A
 * slot has "bytes" bytes of the array, from byte "offset" on.  If the value has several
 * arrays, "count" is the number of the array.
 */
extern void GpuPostArray(const GpuRef *ref, int op, const void *array, uint64 bytes);
extern bool
GpuFetchArray(const GpuRef *ref, int op, int number, uint64 first, void *to, uint64 bytes);

/* Post keys with their weights.  weight NULL: each key has weight 1. */
extern void
GpuPostKeys(const GpuRef *ref, int op, const uint64 *key, const int64 *weight, size_t count);

/*
 * Send a request with one reply, and copy "bytes" bytes of the reply's shape.  Returns
 * QB_NO_MEMORY also if the value is gone.
 */
extern qb_status GpuAskOne(GpuSlot *slot, void *reply, Size bytes);

/* GpuAskOne() for a value that cannot be made anew.  Raises an error if the value is gone. */
extern qb_status GpuFetchOne(GpuSlot *slot, void *reply, Size bytes);

/*
 * Make a value by a request with this "count" and shape; false: there is no handle or no
 * memory for it.
 */
extern bool
GpuMake(GpuFamily family, int op, int count, const void *shape, Size bytes, GpuRef *ref);

/* A handle that is dropped when its memory context is reset, or before. */
typedef struct GpuScopedHandle
{
	GpuRef ref;                                  /* serial 0: none */
	void (*end)(struct GpuScopedHandle *handle); /* called before the handle is dropped; or NULL */
	MemoryContextCallback callback;
} GpuScopedHandle;

/* Have a handle dropped when "context", which has the memory of "handle", is reset. */
extern void GpuScopeHandle(GpuScopedHandle *handle, const GpuRef *ref, MemoryContext context);
extern void GpuDropScopedHandle(GpuScopedHandle *handle);

/* ---- waiting for the GPU worker: for a free slot, for a reply ---- */

/*
 * Take a free slot, and prepare it for a request.  With "try" it returns NULL if no slot is
 * free; otherwise it waits.
 */
extern GpuSlot *GpuTakeSlot(const GpuRef *ref, int op, bool try);

/* Submit a request whose reply is not awaited. */
extern void GpuPost(GpuSlot *slot);

/* Submit a request whose reply this backend will await; await it. */
extern void GpuAsk(GpuSlot *slot);
extern void GpuAwait(GpuSlot *slot);

/* Give back a slot whose reply was read. */
extern void GpuDone(GpuSlot *slot);

/* Give up the slots whose replies a failed call still awaits. */
extern void GpuLeaveSlots(void);

/* The most slots that a backend holds at a time: for one device, and for chunks on all devices. */
#define GPU_HELD     32
#define GPU_HELD_MAX (GPU_TOGETHER * GPU_DEVICES_MAX)

extern void GpuRaiseFailure(void) __attribute__((noreturn));

#endif
