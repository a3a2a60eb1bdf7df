/*
 * gpu.h
 *		The GPU as the rest of the module sees it.  sketch_gpu.h, filter_gpu.h and
 *		sets_gpu.h have what each family needs.
 *
 * src/gpu/gpu.h
 */
#ifndef QS_GPU_GPU_H
#define QS_GPU_GPU_H

#include "gpu/shared.h"

/* Settings, shared memory and worker: from _PG_init. */
extern void GpuInit(void);

/*
 * Is the GPU to be used where it pays?  An error if it has to be used and is
 * not there.
 */
extern bool GpuIsWanted(void);

/* Why there is none, where there is none. */
extern const char *GpuMissingReason(void);

/* Wait while the worker starts, for qsketch.gpu_timeout at most; is it there then? */
extern bool GpuAwaitStart(void);

/*
 * Is a value large enough for the GPU to pay, if a batch touches so many bytes of
 * it?  With qsketch.device = gpu any value is.
 */
extern bool GpuIsLarge(uint64 bytes);

/*
 * Why does a value of so many bytes not go to a GPU, however much it gets?  NULL: it
 * does.  "small" is the reason of a value that is not large.
 */
extern const char *GpuReason(uint64 bytes, const char *small);

#endif
