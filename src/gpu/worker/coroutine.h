/*
 * coroutine.h
 *		Requests in the GPU worker that wait for their devices while others go on.
 *
 * A request is served in a coroutine, which has some devices for itself.  While it waits for
 * a device it pauses, and the worker serves requests of other devices, all in one thread.  So
 * data that a request handler keeps in memory of the process, over a call of a device, must
 * belong to its own devices.
 *
 * src/gpu/worker/coroutine.h
 */
#ifndef QS_GPU_COROUTINE_H
#define QS_GPU_COROUTINE_H

#include "gpu/shared.h"

/*
 * Run a function in a coroutine until it pauses or ends.  "devices" are the devices that it
 * has for itself until it ends (bits: 1 << device).  The coroutine's number is the lowest of
 * them.
 */
extern void GpuStartCoroutine(uint32 devices, void (*run)(int number));

/* Continue the coroutine of this number, if it has paused, until it pauses again or ends. */
extern void GpuResumeCoroutine(int number);

/* The number of the running coroutine; 0 outside of coroutines. */
extern int GpuCoroutine(void);

/* The devices of all coroutines except the running one. */
extern uint32 GpuBusyDevices(void);

/* Pause the running coroutine, so that others can run.  Outside of coroutines it does nothing. */
extern void GpuPause(void);

#endif
