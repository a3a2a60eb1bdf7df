/*
 * client.h
 *		A backend's calls to the GPU worker: one request, or many in a row.
 *
 * The functions here may wait.  A wait serves interrupts, is bounded, and ends with
 * an error if the worker has failed or does not answer.  Only the clients of families know
 * what requests mean: *_client.c.
 *
 * src/gpu/client.h
 */
#ifndef QS_GPU_CLIENT_H
#define QS_GPU_CLIENT_H

#include "gpu/shared.h"

#include "utils/palloc.h"

/*
 * Something that goes through slots in pieces, or the same question to many values.  The
 * family chooses the unit of sizes and offsets: keys, words or bytes.
 */
typedef struct GpuTransfer
{
	const GpuRef *ref;
	bool
		each; /* pieces are of size 1, and piece i is for ref[i]; serial 0: there is none, nor a piece */
	int op;
	uint64 all;  /* size of the whole */
	uint64 most; /* of a piece */

	/* Write the request for a piece; "op" and the handle are there already.  NULL: that is all. */
	void (*ask)(const struct GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size);

	/*
	 * Take the reply.  A value that is gone and a failed piece end the transfer, unless
	 * "all_replies" is set: then this looks at GpuIsAnswer() itself.
	 */
	void (*take)(const struct GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size);

	bool all_replies;
	bool chunks;   /* pieces are for chunks, perhaps of several devices: more are on their way */
	void *context; /* for both functions */
} GpuTransfer;

/* Was a request served, and its value there? */
static inline bool
GpuIsAnswer(const GpuSlot *slot)
{
	return !slot->gone && slot->status == QB_OK;
}

/* Post all pieces, in order.  Nobody waits for replies, and "take" is not called. */
extern void GpuPostAll(const GpuTransfer *transfer);

/*
 * Ask for all pieces, several at a time, and take the replies in order; false
 * if the value is gone.
 */
extern bool GpuAskAll(const GpuTransfer *transfer);

/*
 * Post an array of a value, or fetch one from byte "first" on; false if the value is gone.  A
 * slot has "bytes" bytes of it, from byte "offset" on, and its number in "count" if the value
 * has several.
 */
extern void GpuPostArray(const GpuRef *ref, int op, const void *array, uint64 bytes);
extern bool
GpuFetchArray(const GpuRef *ref, int op, int number, uint64 first, void *to, uint64 bytes);

/* Post keys with their weights; weight NULL: 1 each. */
extern void
GpuPostKeys(const GpuRef *ref, int op, const uint64 *key, const int64 *weight, size_t count);

/*
 * Ask for something with one reply, and take so many bytes of its shape; QB_NO_MEMORY also if
 * the value is gone.
 */
extern qb_status GpuAskOne(GpuSlot *slot, void *reply, Size bytes);

/* The same of a value that cannot be made anew: an error if it is gone. */
extern qb_status GpuFetchOne(GpuSlot *slot, void *reply, Size bytes);

/*
 * Make a value by a request with this "count" and shape; false if there is no handle or no memory
 * for it.
 */
extern bool
GpuMake(GpuFamily family, int op, int count, const void *shape, Size bytes, GpuRef *ref);

/* A handle that is dropped when memory goes, or before. */
typedef struct GpuOwned
{
	GpuRef ref;                          /* serial 0: none */
	void (*end)(struct GpuOwned *owned); /* is called before; or NULL */
	MemoryContextCallback callback;
} GpuOwned;

/* Have a handle dropped when the memory of "owned" goes, which is in this context. */
extern void GpuOwn(GpuOwned *owned, const GpuRef *ref, MemoryContext context);
extern void GpuDropOwned(GpuOwned *owned);

/* ---- waiting for the GPU worker: for a free slot, for a reply ---- */

/* A free slot, made ready for a request; NULL at once if "try" and there is none. */
extern GpuSlot *GpuTakeSlot(const GpuRef *ref, int op, bool try);

/* Submit a request whose reply nobody waits for. */
extern void GpuPost(GpuSlot *slot);

/* Submit one whose reply this backend will wait for, and wait. */
extern void GpuAsk(GpuSlot *slot);
extern void GpuAwait(GpuSlot *slot);

/* Done with a reply. */
extern void GpuDone(GpuSlot *slot);

/* Leave the slots whose replies a failed call still waits for. */
extern void GpuLeaveSlots(void);

/* The most slots that a backend holds at a time: for one device, and for chunks of all devices. */
#define GPU_HELD     32
#define GPU_HELD_MAX (GPU_TOGETHER * GPU_DEVICES_MAX)

extern void GpuRaiseLost(void) __attribute__((noreturn));

#endif
