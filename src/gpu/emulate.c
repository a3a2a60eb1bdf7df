/*
 * emulate.c
 *		Devices made of the CPU engine, to test all but the kernels anywhere.
 *
 * As many devices as qsketch.gpu_devices names, one if it names none.  Their
 * memory is counted and limited by qsketch.gpu_memory_limit.
 *
 * src/gpu/emulate.c
 */
#include "gpu/device.h"
#include "gpu/settings.h"

#include "engine/sketch_engine.h"

#define ALIGNMENT 64

typedef struct Device
{
	qs_memory memory; /* context: this device */
	uint64 used;
	bool unlimited; /* for the moment */
} Device;

typedef struct Sketch
{
	Device *device;
	qs_sketch sketch;
} Sketch;

/* In front of each allocation, in a cache line of its own. */
typedef union Block
{
	size_t bytes;
	char line[ALIGNMENT];
} Block;

static void *
device_alloc(void *context, size_t bytes)
{
	Device *device = context;
	Block *block;

	if (!device->unlimited && device->used + bytes > GpuMemoryLimit())
		return NULL;
	block = aligned_alloc(ALIGNMENT, TYPEALIGN(ALIGNMENT, bytes + sizeof(Block)));
	if (block == NULL)
		return NULL;
	memset(block, 0, bytes + sizeof(Block));
	block->bytes = bytes;
	device->used += bytes;
	return block + 1;
}

static void
device_release(void *context, void *pointer)
{
	Block *block = (Block *) pointer - 1;

	((Device *) context)->used -= block->bytes;
	free(block);
}

static int
emulated_count(char *reason)
{
	int number[GPU_DEVICES_MAX];
	int count = GpuDeviceNumbers(number, GPU_DEVICES_MAX);

	return count > 0 ? number[count - 1] + 1 : 1;
}

static void *
emulated_open(int number, GpuDeviceInfo *info, char *reason)
{
	Device *device = calloc(1, sizeof(Device));

	if (device == NULL)
	{
		strlcpy(reason, "out of memory", GPU_TEXT_BYTES);
		return NULL;
	}
	device->memory.alloc = device_alloc;
	device->memory.release = device_release;
	device->memory.context = device;
	strlcpy(info->name, "emulated", sizeof(info->name));
	strlcpy(info->driver, "none", sizeof(info->driver));
	info->memory_bytes = 0;
	return device;
}

static void
emulated_close(void *device)
{
	free(device);
}

static bool
emulated_pin(void *device, void *memory, Size bytes)
{
	return false;
}

/* The result of making a sketch: "made" if status is QS_OK. */
static qs_status
keep(qs_status status, Sketch *made, void **sketch)
{
	*sketch = status == QS_OK ? made : NULL;
	if (status != QS_OK)
		free(made);
	return status;
}

static qs_status
emulated_create(void *device, const qs_params *params, void **sketch)
{
	Sketch *made = calloc(1, sizeof(Sketch));
	qs_status status = QS_NO_MEMORY;

	if (made)
	{
		made->device = device;
		qs_init(&made->sketch, params, &made->device->memory);
		status = qs_make_dense(&made->sketch);
		if (status != QS_OK)
			qs_free(&made->sketch);
	}
	return keep(status, made, sketch);
}

static qs_status
emulated_load(void *device, const qs_sketch *from, void **sketch)
{
	Sketch *made = calloc(1, sizeof(Sketch));
	qs_status status = QS_NO_MEMORY;

	if (made)
	{
		made->device = device;
		status = qs_copy(&made->sketch, from, &made->device->memory);
	}
	return keep(status, made, sketch);
}

static void
emulated_destroy(void *sketch)
{
	qs_free(&((Sketch *) sketch)->sketch);
	free(sketch);
}

/* What could fail comes first, so that a failure changes nothing. */
static qs_status
emulated_insert(void *sketch, const uint64 *key, const int64 *weight, size_t count)
{
	qs_sketch *sk = &((Sketch *) sketch)->sketch;
	qs_status status = sk->ops->reserve ? sk->ops->reserve(sk, count) : QS_OK;

	return status == QS_OK ? qs_engine_cpu.insert(sk, key, weight, count) : status;
}

static qs_status
emulated_query(void *sketch, const uint64 *key, size_t count, int64 *estimate)
{
	qs_engine_cpu.query(&((Sketch *) sketch)->sketch, key, count, estimate);
	return QS_OK;
}

/* A merge that runs out of memory half way could not be undone. */
static qs_status
emulated_merge(void *sketch, const void *from)
{
	Sketch *into = sketch;
	qs_status status;

	into->device->unlimited = true;
	status = qs_merge(&into->sketch, &((const Sketch *) from)->sketch);
	into->device->unlimited = false;
	return status == QS_NO_MEMORY ? QS_DEVICE_ERROR : status;
}

static qs_status
emulated_fetch(void *sketch, qs_sketch *to, const qs_memory *memory)
{
	return qs_copy(to, &((Sketch *) sketch)->sketch, memory);
}

static uint64
emulated_bytes(const void *sketch)
{
	const qs_sketch *sk = &((const Sketch *) sketch)->sketch;
	uint64 extra = sk->ops->extra_bytes(&sk->params, sk->wide);

	return sk->ops->table_bytes(&sk->params, sk->wide) +
		   (sk->ops->live_extra ? extra * sk->extra_room : extra);
}

static uint64
emulated_memory_used(const void *device)
{
	return ((const Device *) device)->used;
}

static const char *
emulated_error(void *device)
{
	return "emulated failure";
}

const GpuDeviceOps gpu_emulated_devices = {
	.name = "emulate",
	.count = emulated_count,
	.open = emulated_open,
	.close = emulated_close,
	.pin = emulated_pin,
	.create = emulated_create,
	.load = emulated_load,
	.destroy = emulated_destroy,
	.insert = emulated_insert,
	.query = emulated_query,
	.merge = emulated_merge,
	.fetch = emulated_fetch,
	.bytes = emulated_bytes,
	.memory_used = emulated_memory_used,
	.error = emulated_error,
};
