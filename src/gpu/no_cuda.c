/*
 * no_cuda.c
 *		Devices that are GPUs where the module was built without CUDA: there are none.
 *
 * It stands in for cuda.c and the families' files named *_cuda.c.  Where there
 * is no device nothing is opened, so nothing but the number is ever asked for.
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
