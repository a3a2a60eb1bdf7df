/*
 * coroutine.h
 *		Requests in the GPU worker that wait for their devices while others go on.
 *
 * A request is served in a coroutine.  Where it waits for a device it pauses, and the worker
 * serves requests of other devices meanwhile, all in one thread.  So what a request handler
 * keeps over a call of a device in memory of the process must be that of its device alone.
 *
 * src/gpu/coroutine.h
 */
#ifndef QS_GPU_COROUTINE_H
#define QS_GPU_COROUTINE_H

#include "gpu/shared.h"

/* Call a function in a coroutine, one of GPU_DEVICES_MAX, until it pauses or ends. */
extern void GpuStartCoroutine(int number, void (*run)(int number));

/* Go on with one that has paused, until it pauses again or ends. */
extern void GpuResumeCoroutine(int number);

/* The number of the coroutine that is at work, or -1. */
extern int GpuCoroutine(void);

/* In a coroutine: let others go on.  Elsewhere it does nothing. */
extern void GpuPause(void);

#endif
