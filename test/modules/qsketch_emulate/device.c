/*
 * device.c
 *		Emulated devices, which run on the CPU, to test everything but the kernels on any
 *		machine.
 *
 * A server emulates its GPUs with
 *
 *		shared_preload_libraries = 'qsketch,qsketch_emulate'
 *
 * The number of devices is 1 plus the largest number in qsketch.gpu_devices, or 1 if the list is
 * empty.  qsketch.gpu_memory_limit limits the memory of each device.
 *
 * The module contains the CPU engines, because qsketch does not export them.  The engines use the
 * best instructions of the processor, whatever the value of qsketch.simd.
 *
 * test/modules/qsketch_emulate/device.c
 */
#include "emulate.h"

#include "fmgr.h"
#include "utils/guc.h"

PG_MODULE_MAGIC;

void _PG_init(void);

#define ALIGNMENT 64

/* Random reads in 20 ms: a core makes about 25 million a second outside of its caches. */
#define PIECE_WORK 500000

/* Bytes that one piece of a request merges.  Bytes of another device's sketch are copied first. */
#define MERGE_BYTES (4 << 20)

/* The header of each allocation, in a cache line of its own. */
typedef union Block
{
	struct
	{
		size_t bytes;
		void *start; /* the address that calloc() returned */
	} is;
	char line[ALIGNMENT];
} Block;

static void *
device_alloc(void *context, size_t bytes)
{
	qs_cuda *device = context;
	Block *block;
	void *start;

	if (!device->unlimited && device->used + bytes > device->limit)
		return NULL;
	/* calloc() does not write large blocks: the system clears their pages on first use */
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

	((qs_cuda *) context)->used -= block->is.bytes;
	free(block->is.start);
}

static void (*pause_worker)(void);

void
gpu_emulated_wait(void)
{
	if (pause_worker)
		pause_worker();
}

static int
emulated_count(qs_cuda_error *error)
{
	const char *named = GetConfigOption("qsketch.gpu_devices", false, false);
	long most = 0;

	for (named += strspn(named, " ,"); *named; named += strspn(named, " ,"))
	{
		long number = strtol(named, (char **) &named, 10);

		most = Max(most, number);
	}
	return (int) most + 1;
}

static qb_status
emulated_get(int number, qs_cuda_device *info, qs_cuda_error *error)
{
	*info = (qs_cuda_device){ .name = "emulated" };
	return QB_OK;
}

static qb_status
emulated_open(int number, const qs_cuda_options *options, qs_cuda **device, qs_cuda_error *error)
{
	qs_cuda *opened = calloc(1, sizeof(*opened));

	*device = opened;
	pause_worker = options->pause;
	if (opened == NULL)
		return QB_NO_MEMORY;
	opened->memory = (qb_memory){ device_alloc, device_release, opened };
	opened->limit = PG_UINT64_MAX;
	opened->error.name = "emulated failure";
	return QB_OK;
}

static void
emulated_close(qs_cuda *device)
{
	if (device)
		free(device->gathered);
	free(device);
}

/* Devices are peers, unless qsketch_emulate.peers is off. */
static bool
emulated_join(qs_cuda *device, qs_cuda *other)
{
	const char *peers = GetConfigOption("qsketch_emulate.peers", true, false);

	return peers == NULL || strcmp(peers, "off") != 0;
}

static qb_status
emulated_pin(qs_cuda *device, void *memory, size_t bytes)
{
	return QB_DEVICE_ERROR;
}

static void
emulated_limit(qs_cuda *device, uint64 bytes)
{
	device->limit = bytes;
}

static uint64
emulated_used(const qs_cuda *device)
{
	return device->used;
}

static qb_status
emulated_sync(qs_cuda *device)
{
	return QB_OK;
}

static const qs_cuda_error *
emulated_error(const qs_cuda *device)
{
	return &device->error;
}

static const qs_device_ops emulated_devices = {
	.count = emulated_count,
	.get = emulated_get,
	.open = emulated_open,
	.close = emulated_close,
	.join = emulated_join,
	.pin = emulated_pin,
	.limit = emulated_limit,
	.used = emulated_used,
	.sync = emulated_sync,
	.pace = emulated_sync,
	.error = emulated_error,
	.piece_work = PIECE_WORK,
	.merge_bytes = MERGE_BYTES,
	.rows_together = UINT64_C(1) << 27,
	.sketch = &gpu_emulated_sketches,
	.sets = &gpu_emulated_sets,
	.filter = &gpu_emulated_filters,
	.column = &gpu_emulated_columns,
	.exact = &gpu_emulated_exact,
	.memberships = &gpu_emulated_memberships,
};

void
_PG_init(void)
{
	__typeof__(GpuUseDevices) *use =
		(void *) load_external_function("$libdir/qsketch", "GpuUseDevices", true, NULL);

	use(&emulated_devices, sizeof(emulated_devices), CppAsString2(QSKETCH_VERSION));
}
