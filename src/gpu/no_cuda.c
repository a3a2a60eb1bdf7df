/*
 * no_cuda.c
 *		Devices that are GPUs where the module was built without CUDA: there are none.
 *
 * This file stands in for cuda.c and the families' files named *_cuda.c.  The worker
 * asks for the number of devices, learns that it is 0, and asks for nothing else.
 *
 * src/gpu/no_cuda.c
 */
#include "gpu/device.h"

static int
no_devices(char *reason)
{
	strlcpy(reason, "built without CUDA", GPU_TEXT_BYTES);
	return 0;
}

const GpuDeviceOps gpu_cuda_devices = { .count = no_devices };
