/*
 * coroutine.h
 *		Requests in the GPU worker that wait for their devices while others go on.
 *
 * A request is served in a coroutine, which has devices for itself.  Where it waits for one it
 * pauses, and the worker serves requests of other devices meanwhile, all in one thread.  So
 * what a request handler keeps over a call of a device, in memory of the process, must be
 * that of its devices alone.
 *
 * src/gpu/worker/coroutine.h
 */
#ifndef QS_GPU_COROUTINE_H
#define QS_GPU_COROUTINE_H

#include "gpu/shared.h"

/*
 * Call a function in a coroutine until it pauses or ends.  "devices" are the devices that it has
 * for itself until it ends (bits: 1 << device); its number is the least of them.
 */
extern void GpuStartCoroutine(uint32 devices, void (*run)(int number));

/* Go on with one that has paused, if there is one of this number, until it pauses again or ends. */
extern void GpuResumeCoroutine(int number);

/* The number of the coroutine that is at work; 0 outside of them. */
extern int GpuCoroutine(void);

/* The devices that coroutines have, other than the one at work. */
extern uint32 GpuBusyDevices(void);

/* In a coroutine: let others go on.  Elsewhere it does nothing. */
extern void GpuPause(void);

#endif
