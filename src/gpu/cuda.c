/*
 * cuda.c
 *		Devices that are GPUs: the worker's operations on the CUDA engine.
 *
 * Built without CUDA the same calls end in stubs, and there is no device.  The
 * driver starts threads when it is first called; they inherit the mask of
 * signals, and must not take those that are meant for this process, so all
 * signals are blocked meanwhile.
 *
 * src/gpu/cuda.c
 */
#include "gpu/device.h"

#include <signal.h>

#include "qs_cuda.h"

/* Slots are page-locked, so that staging is only for what comes otherwise. */
#define STAGING_BYTES ((size_t) 8 << 20)

typedef struct Device
{
	qs_cuda *gpu;
	uint64 base; /* device memory that is not for sketches */
	char error[GPU_TEXT_BYTES];
} Device;

typedef struct Sketch
{
	Device *device;
	qs_cuda_sketch *sketch;
	uint64 bytes;
} Sketch;

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

static uint64
held_bytes(const Device *device)
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
	Device *device = calloc(1, sizeof(Device));
	qs_cuda_options options = { .staging_bytes = STAGING_BYTES };
	qs_cuda_error error = { 0 };
	qs_cuda_device properties;
	qs_status status;
	sigset_t before;

	if (device == NULL)
	{
		strlcpy(reason, "out of memory", GPU_TEXT_BYTES);
		return NULL;
	}
	block_signals(&before);
	status = qs_cuda_device_get(number, &properties, &error);
	if (status == QS_OK)
		status = qs_cuda_open(number, &options, &device->gpu, &error);
	restore_signals(&before);
	if (status != QS_OK)
	{
		describe_error(&error, reason);
		free(device);
		return NULL;
	}
	device->base = held_bytes(device);
	describe_device(&properties, info);
	return device;
}

static void
cuda_close(void *device)
{
	qs_cuda_close(((Device *) device)->gpu);
	free(device);
}

static bool
cuda_pin(void *device, void *memory, Size bytes)
{
	return qs_cuda_host_register(((Device *) device)->gpu, memory, bytes) == QS_OK;
}

static uint64
cuda_memory_used(const void *device)
{
	const Device *d = device;

	return held_bytes(d) - d->base;
}

/* Is there room for a sketch, by the limit that the settings give? */
static bool
is_within_limit(const Device *device, const qs_params *params, bool wide)
{
	return cuda_memory_used(device) + qs_dense_size(params, wide) <= GpuMemoryLimit();
}

/* Make a sketch, empty or a copy of "from". */
static qs_status
make_sketch(Device *device, const qs_params *params, const qs_sketch *from, void **sketch)
{
	uint64 before = held_bytes(device);
	Sketch *made;
	qs_status status;

	*sketch = NULL;
	if (!is_within_limit(device, params, from && from->wide))
		return QS_NO_MEMORY;
	made = calloc(1, sizeof(Sketch));
	if (made == NULL)
		return QS_NO_MEMORY;
	made->device = device;
	status = from ? qs_cuda_load(device->gpu, from, &made->sketch)
				  : qs_cuda_create(device->gpu, params, &made->sketch);
	if (status != QS_OK)
	{
		free(made);
		return status;
	}
	made->bytes = held_bytes(device) - before;
	*sketch = made;
	return QS_OK;
}

static qs_status
cuda_create(void *device, const qs_params *params, void **sketch)
{
	return make_sketch(device, params, NULL, sketch);
}

static qs_status
cuda_load(void *device, const qs_sketch *from, void **sketch)
{
	return make_sketch(device, &from->params, from, sketch);
}

static void
cuda_destroy(void *sketch)
{
	qs_cuda_destroy(((Sketch *) sketch)->sketch);
	free(sketch);
}

/* After an operation by which a sketch may have grown. */
static qs_status
count_growth(Sketch *sketch, uint64 before, qs_status status)
{
	sketch->bytes += held_bytes(sketch->device) - before;
	return status;
}

static qs_status
cuda_insert(void *sketch, const uint64 *key, const int64 *weight, size_t count)
{
	Sketch *s = sketch;
	uint64 before = held_bytes(s->device);

	return count_growth(s, before, qs_cuda_insert(s->sketch, key, weight, count));
}

static qs_status
cuda_query(void *sketch, const uint64 *key, size_t count, int64 *estimate)
{
	return qs_cuda_query(((Sketch *) sketch)->sketch, key, count, estimate);
}

static qs_status
cuda_merge(void *sketch, const void *from)
{
	Sketch *s = sketch;
	uint64 before = held_bytes(s->device);

	return count_growth(s, before, qs_cuda_merge(s->sketch, ((const Sketch *) from)->sketch));
}

static qs_status
cuda_fetch(void *sketch, qs_sketch *to, const qs_memory *memory)
{
	Sketch *s = sketch;
	uint64 before = held_bytes(s->device);

	return count_growth(s, before, qs_cuda_fetch(s->sketch, to, memory));
}

static uint64
cuda_bytes(const void *sketch)
{
	return ((const Sketch *) sketch)->bytes;
}

static const char *
cuda_error(void *device)
{
	Device *d = device;

	describe_error(qs_cuda_last_error(d->gpu), d->error);
	return d->error;
}

const GpuDeviceOps gpu_cuda_devices = {
	.name = "cuda",
	.count = cuda_count,
	.open = cuda_open,
	.close = cuda_close,
	.pin = cuda_pin,
	.create = cuda_create,
	.load = cuda_load,
	.destroy = cuda_destroy,
	.insert = cuda_insert,
	.query = cuda_query,
	.merge = cuda_merge,
	.fetch = cuda_fetch,
	.bytes = cuda_bytes,
	.memory_used = cuda_memory_used,
	.error = cuda_error,
};
