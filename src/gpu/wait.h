/*
 * wait.h
 *		Waiting for the GPU worker: for a free slot, for a reply.
 *
 * src/gpu/wait.h
 */
#ifndef QS_GPU_WAIT_H
#define QS_GPU_WAIT_H

#include "gpu/shared.h"

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
