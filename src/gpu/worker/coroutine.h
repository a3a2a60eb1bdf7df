/*
 * coroutine.h
 *		Lets requests in the GPU worker wait for their devices while other requests are served.
 *
 * A coroutine serves one request, or several requests together.  No other coroutine uses the
 * devices of these requests.  While a coroutine waits for a device, it pauses, and the worker
 * serves requests for other devices.  All coroutines run in one thread.  While a handler waits for
 * a device, other handlers may change static data, except the data of this handler's devices.
 *
 * src/gpu/worker/coroutine.h
 */
#ifndef QS_GPU_COROUTINE_H
#define QS_GPU_COROUTINE_H

#include "gpu/shared.h"

/*
 * Run a function in a coroutine until it pauses or ends.  "devices" are the devices that belong to
 * the coroutine until it ends (bits: 1 << device).  The lowest device is the coroutine's number.
 * If the worker has only one device, the function runs outside of coroutines, and never pauses.
 */
extern void GpuStartCoroutine(uint32 devices, void (*run)(int number));

/*
 * Continue the coroutine of this number until it pauses again or ends.  If it has ended, nothing is
 * done.
 */
extern void GpuResumeCoroutine(int number);

/* The number of the running coroutine; 0 outside of coroutines. */
extern int GpuCoroutine(void);

/* The devices of all coroutines except the running one. */
extern uint32 GpuBusyDevices(void);

/*
 * Pause the running coroutine, so that other coroutines can run.  Outside of coroutines, nothing
 * is done.
 */
extern void GpuPause(void);

#endif
