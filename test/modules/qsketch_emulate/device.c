/*
 * device.c
 *		Devices made of the CPU engines, to test all but the kernels anywhere.
 *
 * A server emulates its GPUs with
 *
 *		shared_preload_libraries = 'qsketch,qsketch_emulate'
 *
 * There are as many devices as qsketch.gpu_devices names, one if it names none.  Their
 * memory is counted and limited by qsketch.gpu_memory_limit.
 *
 * The module has the CPU engines as its own copies, because qsketch does not export them.
 *
 * test/modules/qsketch_emulate/device.c
 */
#include "emulate.h"

#include "fmgr.h"
#include "utils/guc.h"

PG_MODULE_MAGIC;

void _PG_init(void);

#define ALIGNMENT 64

/* A core does some 25 million random reads in a second, if the caches do not help. */
#define PIECE_WORK 500000

/* Bytes that come from another device are copied twice and added once. */
#define MERGE_BYTES (4 << 20)

/* In front of each allocation, in a cache line of its own. */
typedef union Block
{
	struct
	{
		size_t bytes;
		void *start; /* as it was allocated */
	} is;
	char line[ALIGNMENT];
} Block;

static void *
device_alloc(void *context, size_t bytes)
{
	GpuEmulatedDevice *device = context;
	Block *block;
	void *start;

	if (!device->unlimited && device->used + bytes > device->limit)
		return NULL;
	/* the system clears large memory when it is first touched, not here */
	start = calloc(1, bytes + sizeof(Block) + ALIGNMENT);
	if (start == NULL)
		return NULL;
	block = (Block *) TYPEALIGN(ALIGNMENT, start);
	block->is.start = start;
	block->is.bytes = bytes;
	device->used += bytes;
	return block + 1;
}

static void
device_release(void *context, void *pointer)
{
	Block *block = (Block *) pointer - 1;

	((GpuEmulatedDevice *) context)->used -= block->is.bytes;
	free(block->is.start);
}

static int
emulated_count(char *reason)
{
	const char *named = GetConfigOption("qsketch.gpu_devices", false, false);
	long most = 0;

	for (named += strspn(named, " ,"); *named; named += strspn(named, " ,"))
		most = Max(most, strtol(named, (char **) &named, 10));
	return (int) most + 1;
}

static void *
emulated_open(int number, GpuDeviceInfo *info, char *reason)
{
	GpuEmulatedDevice *device = calloc(1, sizeof(GpuEmulatedDevice));

	if (device == NULL)
	{
		strlcpy(reason, "out of memory", GPU_TEXT_BYTES);
		return NULL;
	}
	device->memory.alloc = device_alloc;
	device->memory.release = device_release;
	device->memory.context = device;
	device->limit = PG_UINT64_MAX;
	strlcpy(info->name, "emulated", sizeof(info->name));
	strlcpy(info->driver, "none", sizeof(info->driver));
	info->memory_bytes = 0;
	return device;
}

static bool
emulated_pin(void *device, void *memory, Size bytes)
{
	return false;
}

static void
emulated_limit(void *device, uint64 bytes)
{
	((GpuEmulatedDevice *) device)->limit = bytes;
}

static uint64
emulated_memory_used(const void *device)
{
	return ((const GpuEmulatedDevice *) device)->used;
}

static const char *
emulated_error(void *device)
{
	return "emulated failure";
}

static const GpuDeviceOps emulated_devices = {
	.count = emulated_count,
	.open = emulated_open,
	.pin = emulated_pin,
	.limit = emulated_limit,
	.memory_used = emulated_memory_used,
	.error = emulated_error,
	.piece_work = PIECE_WORK,
	.merge_bytes = MERGE_BYTES,
	.sketch = &gpu_emulated_sketches,
	.sets = &gpu_emulated_sets,
	.filter = &gpu_emulated_filters,
	.column = &gpu_emulated_columns,
	.exact = &gpu_emulated_exact,
	.members = &gpu_emulated_members,
};

void
_PG_init(void)
{
	__typeof__(GpuUseDevices) *use =
		(void *) load_external_function("$libdir/qsketch", "GpuUseDevices", true, NULL);

	use(&emulated_devices, sizeof(emulated_devices), CppAsString2(QSKETCH_VERSION));
}
