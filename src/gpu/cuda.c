/*
 * cuda.c
 *		Devices that are GPUs: the worker's operations on the CUDA engines.
 *
 * In builds without CUDA no_cuda.c stands in for this file.
 *
 * The driver starts threads when it is first called.  They inherit the mask of
 * signals, and must not take signals that are meant for this process.  So all signals
 * are blocked during that call.
 *
 * src/gpu/cuda.c
 */
#include "gpu/cuda.h"

#include <signal.h>

/* Slots are page-locked: the staging buffer is only for data from elsewhere. */
#define STAGING_BYTES ((size_t) 8 << 20)

/* A GPU does 5 to 20 billion random reads or writes in a second. */
#define PIECE_WORK 134217728

/* So many bytes take some milliseconds to the host's memory, and as long to another GPU. */
#define MERGE_BYTES (32 << 20)

static void
describe_error(const qs_cuda_error *error, char *text)
{
	snprintf(text, GPU_TEXT_BYTES, "%s%s%s", error->name ? error->name : "out of memory",
			 error->call ? " in " : "", error->call ? error->call : "");
}

static void
block_signals(sigset_t *before)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, before);
}

static void
restore_signals(const sigset_t *before)
{
	pthread_sigmask(SIG_SETMASK, before, NULL);
}

static int
cuda_count(char *reason)
{
	qs_cuda_error error;
	sigset_t before;
	int count;

	block_signals(&before);
	count = qs_cuda_device_count(&error);
	restore_signals(&before);
	if (count == 0)
		describe_error(&error, reason);
	return count;
}

uint64
GpuCudaHeld(const GpuCudaDevice *device)
{
	qs_cuda_stats stats;

	qs_cuda_get_stats(device->gpu, &stats);
	return stats.device_bytes - stats.workspace_bytes;
}

static void
describe_device(const qs_cuda_device *from, GpuDeviceInfo *info)
{
	strlcpy(info->name, from->name, sizeof(info->name));
	snprintf(info->driver, sizeof(info->driver), "CUDA %d.%d", from->driver / 1000,
			 from->driver % 1000 / 10);
	info->memory_bytes = from->memory_bytes;
}

static void *
cuda_open(int number, GpuDeviceInfo *info, char *reason)
{
	GpuCudaDevice *device = calloc(1, sizeof(GpuCudaDevice));
	qs_cuda_options options = { .staging_bytes = STAGING_BYTES };
	qs_cuda_error error = { 0 };
	qs_cuda_device properties;
	qb_status status;
	sigset_t before;

	if (device == NULL)
	{
		strlcpy(reason, "out of memory", GPU_TEXT_BYTES);
		return NULL;
	}
	block_signals(&before);
	status = qs_cuda_device_get(number, &properties, &error);
	if (status == QB_OK)
		status = qs_cuda_open(number, &options, &device->gpu, &error);
	restore_signals(&before);
	if (status != QB_OK)
	{
		describe_error(&error, reason);
		free(device);
		return NULL;
	}
	device->base = GpuCudaHeld(device);
	device->limit = PG_UINT64_MAX;
	describe_device(&properties, info);
	return device;
}

static bool
cuda_pin(void *device, void *memory, Size bytes)
{
	return qs_cuda_host_register(((GpuCudaDevice *) device)->gpu, memory, bytes) == QB_OK;
}

static void
cuda_limit(void *device, uint64 bytes)
{
	((GpuCudaDevice *) device)->limit = bytes;
}

uint64
GpuCudaLimit(const GpuCudaDevice *device)
{
	return device->limit < PG_UINT64_MAX ? device->base + device->limit : 0;
}

static uint64
cuda_memory_used(const void *device)
{
	const GpuCudaDevice *d = device;

	return GpuCudaHeld(d) - d->base;
}

bool
GpuCudaHasRoom(const GpuCudaDevice *device, uint64 bytes)
{
	return cuda_memory_used(device) + bytes <= device->limit;
}

static const char *
cuda_error(void *device)
{
	GpuCudaDevice *d = device;

	describe_error(qs_cuda_last_error(d->gpu), d->error);
	return d->error;
}

const GpuDeviceOps gpu_cuda_devices = {
	.count = cuda_count,
	.open = cuda_open,
	.pin = cuda_pin,
	.limit = cuda_limit,
	.memory_used = cuda_memory_used,
	.error = cuda_error,
	.piece_work = PIECE_WORK,
	.merge_bytes = MERGE_BYTES,
	.sketch = &gpu_cuda_sketches,
	.sets = &gpu_cuda_sets,
	.filter = &gpu_cuda_filters,
	.column = &gpu_cuda_columns,
	.exact = &gpu_cuda_exact,
	.members = &gpu_cuda_members,
};
