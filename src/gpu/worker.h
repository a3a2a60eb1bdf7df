/*
 * worker.h
 *		Inside the GPU worker: devices, sketches, requests.
 *
 * src/gpu/worker.h
 */
#ifndef QS_GPU_WORKER_H
#define QS_GPU_WORKER_H

#include "gpu/device.h"

/* worker.c */
extern void GpuRegisterWorker(void);
extern PGDLLEXPORT void GpuWorkerMain(Datum argument);
extern void GpuWorkerFails(const char *reason) __attribute__((noreturn));

/* serve.c */
extern int GpuOpenDevices(const GpuDeviceOps *ops, char *reason);
extern void GpuServe(GpuSlot *slot);
extern void GpuFreeDoomed(void);
extern void GpuTrimCache(void);

#endif
