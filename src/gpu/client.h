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

/*
 * A large thing that goes through slots in pieces.  The family chooses the unit
 * of sizes and offsets: keys, words or bytes.
 */
typedef struct GpuTransfer
{
	const GpuRef *ref;
	int op;
	uint64 all;  /* size of the whole */
	uint64 most; /* of a piece */

	/* Write the request for a piece; "op" and the handle are there already. */
	void (*ask)(const struct GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size);

	/*
	 * Take the reply.  A value that is gone and a failed piece end the transfer, unless
	 * "all_replies" is set: then this looks at the slot's "gone" and "status" itself.
	 */
	void (*take)(const struct GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size);

	bool all_replies;
	void *context; /* for both functions */
} GpuTransfer;

/* Post all pieces, in order.  Nobody waits for replies, and "take" is not called. */
extern void GpuPostAll(const GpuTransfer *transfer);

/*
 * Ask for all pieces, several at a time, and take the replies in order; false
 * if the value is gone.
 */
extern bool GpuAskAll(const GpuTransfer *transfer);

/* The same question to many values. */
typedef struct GpuEach
{
	const GpuRef *ref; /* serial 0: there is none, and it is not asked */
	uint32 count;
	int op;

	/* Write the request for value i; "op" and the handle are there already.  NULL: that is all. */
	void (*ask)(const struct GpuEach *each, GpuSlot *slot, uint32 i);

	/* Take the reply of value i; it is not called if the value is gone or the request failed. */
	void (*take)(const struct GpuEach *each, const GpuSlot *slot, uint32 i);

	void *context; /* for both functions */
} GpuEach;

/* Ask all of them, several at a time. */
extern void GpuAskEach(const GpuEach *each);

/* Post keys with their weights; weight NULL: 1 each. */
extern void
GpuPostKeys(const GpuRef *ref, int op, const uint64 *key, const int64 *weight, size_t count);

/*
 * Ask for an answer of so many bytes to each key; false if the value is gone.
 */
extern bool GpuAskKeys(const GpuRef *ref, int op, const uint64 *key, size_t count, void *answer,
					   size_t answer_bytes);

/* Ask for something with one reply; QB_NO_MEMORY also if the value is gone. */
extern qb_status GpuAskOne(GpuSlot *slot);

/* The same, and take the reply's shape. */
extern qb_status GpuAskShape(GpuSlot *slot, GpuShape *reply);

/* Ask for the shape of a value that cannot be made anew: an error if it is gone. */
extern qb_status GpuFetchShape(GpuSlot *slot, GpuShape *reply);

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

/* Most slots that a backend holds at a time. */
#define GPU_HELD_MAX 8

extern void GpuRaiseLost(void) __attribute__((noreturn));

#endif
