/*
 * devices.c
 *		Opens and chooses devices, limits pieces of requests, and frees values to get memory.
 *
 * A device is "lost" if it cannot be opened, or has failed while other devices still answer.  A
 * lost device is not used until it is opened again, when the configuration is reloaded.  After a
 * failed kernel, no device of the process answers (docs/engineering/gpu-worker.md), so the worker
 * ends.
 *
 * CUDA's driver starts threads when it is first called.  These threads inherit the signal mask, and
 * must not receive signals for the worker.  So all signals are blocked while devices are opened.
 *
 * src/gpu/worker/devices.c
 */
#include "gpu/worker/coroutine.h"
#include "gpu/gpu.h"
#include "gpu/worker/worker.h"

#include <signal.h>

#include "miscadmin.h"
#include "port/pg_bitutils.h"

/* Bytes of staging memory on the device, and on the host for data outside of page-locked slots. */
#define STAGING_BYTES ((size_t) 8 << 20)

/* Maximum number of values that one call of GpuFreePending() frees. */
#define PENDING_FREES_AT_ONCE 8

#ifdef QSKETCH_CUDA
const qs_device_ops *gpu_device_ops = &qs_cuda_devices;
#else
const qs_device_ops *gpu_device_ops = NULL;
#endif
qs_cuda *gpu_device[GPU_DEVICES_MAX];

void
GpuUseDevices(const qs_device_ops *ops, Size bytes, const char *version)
{
	const char *own = CppAsString2(QSKETCH_VERSION);

	if (!process_shared_preload_libraries_in_progress)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("devices for qsketch can only be given at server start"),
						errhint("Load the module that has them by shared_preload_libraries.")));
	if (bytes != sizeof(*ops) || strncmp(version, own, strlen(own) + 1) != 0)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("devices for qsketch %s cannot be used by qsketch %s", version, own),
						errhint("Build the module that has them anew.")));
	gpu_device_ops = ops;
}

/* Set the memory limit of a device to qsketch.gpu_memory_limit. */
static void
limit_memory(int index)
{
	uint64 bytes = gpu_memory_limit > 0 ? (uint64) gpu_memory_limit << 20 : PG_UINT64_MAX;

	gpu_device_ops->limit(gpu_device[index], bytes);
}

void
GpuLimitMemory(void)
{
	int i;

	for (i = 0; i < gpu_shared->device_count; i++)
		if (gpu_device[i])
			limit_memory(i);
}

/* The meaning of CUDA's errors for an administrator, by their numbers in CUDA's driver_types.h. */
static const struct
{
	int code;
	const char *words;
} meanings[] = {
	{ 35, "no NVIDIA driver, or one too old for this build" },
	{ 222, "the NVIDIA driver is too old for this build" },
	{ 100, "no NVIDIA GPU" },
	{ 3, "the NVIDIA driver could not start" },
	{ 803, "parts of the NVIDIA driver have different versions" },
	{ 802, "a service of the NVIDIA driver does not run" },
	{ 209, "this build has no kernels for this kind of GPU" },
	{ 46, "the GPU is not available, or another process owns it" },
	{ 2, "out of device memory" },
	{ 214, "error of the GPU's memory that could not be corrected" },
	{ 220, "NVLink between GPUs is broken" },
	{ 226, "a GPU, or NVLink between GPUs, is broken" },
	{ 714, "the GPU is broken, or qsketch has a defect" },
	{ 719, "a kernel failed: a defect of qsketch, or of the GPU" },
	{ 700, "illegal address in a kernel: a defect of qsketch, or of the GPU" },
	{ 716, "misaligned address in a kernel: a defect of qsketch" },
	{ 715, "illegal instruction in a kernel: a defect of qsketch" },
	{ 702, "a kernel took longer than the driver allows" },
};

/* Write an error in words, with CUDA's name of the error if it has a name. */
static void
describe_error(const qs_cuda_error *error, char *text)
{
	const char *words = NULL;
	int i;

	for (i = 0; i < lengthof(meanings); i++)
		if (error->code == meanings[i].code)
			words = meanings[i].words;
	snprintf(text, GPU_TEXT_BYTES, "%s%s%s%s%s%s", words ? words : "", words ? " (" : "",
			 error->name ? error->name : "out of memory", error->call ? " in " : "",
			 error->call ? error->call : "", words ? ")" : "");
}

static void
describe_device(const qs_cuda_device *from, GpuDeviceInfo *info)
{
	strlcpy(info->name, from->name, sizeof(info->name));
	if (from->driver > 0)
		snprintf(info->driver, sizeof(info->driver), "CUDA %d.%d", from->driver / 1000,
				 from->driver % 1000 / 10);
	else
		strlcpy(info->driver, "none", sizeof(info->driver));
	info->memory_bytes = from->memory_bytes;
}

/* The error that FAULT_LOST simulates. */
static const qs_cuda_error simulated_loss = { .status = QB_DEVICE_ERROR,
											  .code = 214,
											  .name = "cudaErrorECCUncorrectable",
											  .call = "simulation" };

/* True if a device answers.  Then "properties" is set, otherwise "error" is set. */
static bool
answers(int index, qs_cuda_device *properties, qs_cuda_error *error)
{
	if (gpu_fault == FAULT_LOST && index == GPU_FAULTY_DEVICE)
	{
		*error = simulated_loss;
		return false;
	}
	return gpu_device_ops->get(gpu_shared->device[index].number, properties, error) == QB_OK;
}

/* Open a device.  "alone": no other device is opened, so requests need not pause. */
static bool
open_device(int index, bool alone)
{
	GpuDeviceInfo *info = &gpu_shared->device[index];
	qs_cuda_options options = { .staging_bytes = STAGING_BYTES, .pause = alone ? NULL : GpuPause };
	qs_cuda_error error = { 0 };
	qs_cuda_device properties = { 0 };
	int number = info->number;

	info->peers = 0;
	info->lost = !answers(index, &properties, &error) ||
				 gpu_device_ops->open(number, &options, &gpu_device[index], &error) != QB_OK;
	describe_device(&properties, info);
	pg_atomic_write_u64(&info->memory_used, 0);
	pg_atomic_write_u64(&info->values, 0);
	if (info->lost)
	{
		describe_error(&error, info->reason);
		ereport(LOG, (errmsg("could not use GPU %d: %s", number, info->reason)));
		return false;
	}
	info->reason[0] = '\0';
	limit_memory(index);
	ereport(LOG, (errmsg("qsketch uses GPU %d: %s, %llu MB, driver %s", number, info->name,
						 (unsigned long long) (info->memory_bytes >> 20), info->driver)));
	return true;
}

/* Page-lock the slots' data, so that devices copy from and to slots directly. */
static void
pin_slots(void)
{
	Size bytes;
	uint8 *slots = GpuAllData(&bytes);

	if (gpu_device_ops->pin(gpu_device[GpuChooseDevice(-1)], slots, bytes) != QB_OK)
		ereport(LOG, (errmsg("qsketch copies keys to the GPU without page-locked memory")));
}

/* Let the newly opened devices and all other devices read one another's memory, if possible. */
static void
join_devices(uint32 opened)
{
	uint32 lost = GpuLostDevices();
	int i;
	int j;

	for (i = 0; i < gpu_shared->device_count; i++)
		for (j = 0; j < gpu_shared->device_count; j++)
			if (i != j && ((opened >> i | opened >> j) & 1) && ((lost >> i | lost >> j) & 1) == 0 &&
				gpu_device_ops->join(gpu_device[i], gpu_device[j]))
				gpu_shared->device[i].peers |= 1U << j;
}

/*
 * Open the devices in qsketch.gpu_devices, or all devices if the setting is empty.  Returns the
 * number of opened devices.
 */
static int
open_devices(char *reason)
{
	int number[GPU_DEVICES_MAX];
	int named = GpuDeviceNumbers(number, GPU_DEVICES_MAX);
	qs_cuda_error error = { 0 };
	int there = gpu_device_ops->count(&error);
	int wanted_count = named > 0 ? named : Min(there, GPU_DEVICES_MAX);
	int opened = 0;
	int i;

	if (there == 0)
		describe_error(&error, reason);
	for (i = gpu_shared->device_count = 0; i < wanted_count; i++)
	{
		int wanted = named > 0 ? number[i] : i;
		int index = gpu_shared->device_count;

		if (wanted >= there)
		{
			ereport(LOG, (errmsg("could not use GPU %d: there are %d", wanted, there)));
			continue;
		}
		gpu_shared->device[index].number = wanted;
		opened += open_device(index, wanted_count == 1);
		strlcpy(reason, gpu_shared->device[index].reason, GPU_TEXT_BYTES);
		gpu_shared->device_count++;
	}
	join_devices(~0U);
	if (opened > 0)
		pin_slots();
	if (opened == 0)
		gpu_shared->device_count = 0;
	return opened;
}

/* Evict all cached values and chunks of a device. */
static void
forget_cached(int device)
{
	while (GpuEvict(device, false, InvalidOid, false) || GpuEvict(device, true, InvalidOid, false))
		;
}

/* Open failed devices again, if no values are left on them. */
static int
reopen_devices(char *unused)
{
	int i;

	for (i = 0; i < gpu_shared->device_count; i++)
	{
		GpuDeviceInfo *info = &gpu_shared->device[i];

		if (!info->lost)
			continue;
		forget_cached(i);
		while (GpuFreePending())
			;
		if (pg_atomic_read_u64(&info->values) > 0)
			continue;
		gpu_device_ops->close(gpu_device[i]);
		gpu_device[i] = NULL;
		if (open_device(i, false))
			join_devices(1U << i);
	}
	return gpu_shared->device_count;
}

/* Call a function while all signals are blocked. */
static int
without_signals(int (*open)(char *reason), char *reason)
{
	sigset_t all;
	sigset_t before;
	int count;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	count = open(reason);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return count;
}

bool
GpuOpenDevices(char *reason)
{
	if (gpu_device_ops == NULL)
	{
		strlcpy(reason, "built without CUDA", GPU_TEXT_BYTES);
		return false;
	}
	return without_signals(open_devices, reason) > 0;
}

void
GpuReopenDevices(void)
{
	if (GpuLostDevices() != 0)
		(void) without_signals(reopen_devices, NULL);
}

/*
 * Return device "wanted" if it works.  Otherwise return the working device with the least used
 * memory; -1: all devices have failed.
 */
int
GpuChooseDevice(int wanted)
{
	int best = -1;
	int i;

	if (wanted >= 0 && wanted < gpu_shared->device_count && !gpu_shared->device[wanted].lost)
		return wanted;
	for (i = 0; i < gpu_shared->device_count; i++)
		if (!gpu_shared->device[i].lost && (best < 0 || gpu_device_ops->used(gpu_device[i]) <
															gpu_device_ops->used(gpu_device[best])))
			best = i;
	return best;
}

/* Publish the memory in use on a device to the backends. */
void
GpuShowMemory(int device)
{
	if (gpu_device[device])
		pg_atomic_write_u64(&gpu_shared->device[device].memory_used,
							gpu_device_ops->used(gpu_device[device]));
}

/*
 * The devices that do not answer, and are not marked lost yet (bits: 1 << index).  If "error" has
 * no code, it becomes the error of the first of these devices.
 */
static uint32
silent_devices(qs_cuda_error *error)
{
	qs_cuda_device properties;
	qs_cuda_error found;
	uint32 silent = 0;
	int i;

	for (i = 0; i < gpu_shared->device_count; i++)
	{
		if (gpu_shared->device[i].lost || answers(i, &properties, &found))
			continue;
		silent |= 1U << i;
		if (error->code == 0)
			*error = found;
	}
	return silent;
}

/* The devices that have not failed.  Bits: 1 << index. */
static uint32
devices_left(void)
{
	return (uint32) ((UINT64CONST(1) << gpu_shared->device_count) - 1) & ~GpuLostDevices();
}

/* Mark a device failed, with its reason, and evict its cached values and chunks. */
static void
lose_device(int index, const char *reason)
{
	GpuDeviceInfo *info = &gpu_shared->device[index];

	strlcpy(info->reason, reason, GPU_TEXT_BYTES);
	pg_write_barrier();
	info->lost = true;
	forget_cached(index);
	ereport(LOG, (errmsg("qsketch has lost GPU %d: %s", info->number, reason),
				  errdetail("Queries with data there fail."),
				  devices_left() != 0
					  ? errhint("The GPU is opened again when the configuration is reloaded.")
					  : 0));
}

/*
 * Handle the failure of a device.  All devices that do not answer are marked failed.  If all
 * devices answer, "device" is marked.  "device" may already be marked.  Returns the reason, with
 * the number of the GPU if there are several GPUs.
 */
const char *
GpuLoseDevice(int device)
{
	static char reason[GPU_TEXT_BYTES];
	GpuDeviceInfo *info = gpu_shared->device;
	qs_cuda_error error = { 0 };
	char text[GPU_TEXT_BYTES] = "simulated failure";
	uint32 lost;
	int i;

	if (!info[device].lost)
		error = *gpu_device_ops->error(gpu_device[device]);
	lost = gpu_fault == FAULT_ERROR ? devices_left() : silent_devices(&error);
	if (lost == 0 && !info[device].lost)
		lost = 1U << device;
	if (gpu_fault != FAULT_ERROR)
		describe_error(&error, text);
	for (i = 0; i < gpu_shared->device_count; i++)
		if (lost >> i & 1)
			lose_device(i, text);
	if (gpu_shared->device_count == 1)
		return info->reason;
	if (lost != 0)
		device = pg_rightmost_one_pos32(lost);
	snprintf(reason, sizeof(reason), "GPU %d: %s", info[device].number, info[device].reason);
	return reason;
}

/*
 * Return the number of keys in the next piece of a request, at least one, and add this number to
 * slot->done.  "work" is the work for each key.  "requests" counts each request once, at its first
 * piece.  "keys" counts the keys of each piece.
 */
int
GpuNextPiece(GpuSlot *slot, double work, GpuCounter requests, GpuCounter keys)
{
	int piece = slot->count - slot->done;
	double most = gpu_device_ops->piece_work / Max(work, 1);

	if (most < piece)
		piece = Max(1, (int) most);
	if (slot->done == 0)
		GpuCount(requests, 1);
	GpuCount(keys, piece);
	GpuCount(COUNT_BYTES_IN, piece * (slot->weighted ? 16 : 8));
	slot->done += piece;
	slot->more = slot->done < slot->count;
	return piece;
}

/* ---- pieces of arrays ---- */

bool
GpuPieceIsWithin(const GpuSlot *slot, uint64 bytes)
{
	return slot->bytes <= GPU_SLOT_BYTES && slot->offset <= bytes &&
		   slot->bytes <= bytes - slot->offset;
}

void
GpuPiecesOf(GpuSlot *const *slot, int count, qs_cuda_piece *piece)
{
	int i;

	for (i = 0; i < count; i++)
	{
		piece[i] = (qs_cuda_piece){ slot[i]->offset, slot[i]->bytes, GpuSlotData(slot[i]) };
		GpuCount(COUNT_BYTES_OUT, slot[i]->bytes);
	}
}

qb_status
GpuTakePiece(const GpuSlot *slot, void *array, uint64 bytes)
{
	if (array == NULL || !GpuPieceIsWithin(slot, bytes))
		return QB_NO_MEMORY;
	memcpy((uint8 *) array + slot->offset, GpuSlotData(slot), slot->bytes);
	return QB_OK;
}

qb_status
GpuGivePiece(const GpuSlot *slot, const void *array, uint64 bytes)
{
	if (array == NULL || !GpuPieceIsWithin(slot, bytes))
		return QB_NO_MEMORY;
	memcpy(GpuSlotData(slot), (const uint8 *) array + slot->offset, slot->bytes);
	return QB_OK;
}

/* ---- values on devices: locations, freeing, evicting ---- */

const GpuHandler *const *gpu_handlers;

const GpuHandler *
GpuHandlerOf(GpuFamily family)
{
	return gpu_handlers[family];
}

qb_status
GpuNoteCreated(qb_status status, int device)
{
	if (status == QB_OK)
		pg_atomic_fetch_add_u64(&gpu_shared->device[device].values, 1);
	return status;
}

void
GpuNoteFreed(int device)
{
	pg_atomic_fetch_sub_u64(&gpu_shared->device[device].values, 1);
	GpuShowMemory(device);
}

/* Publish the location of a value to the backends. */
void
GpuShowLocation(int index)
{
	GpuLocation location = GpuHandlerOf(gpu_shared->handle[index].family)->location(index);

	gpu_shared->handle[index].device = location.on_device ? location.device : -1;
	gpu_shared->handle[index].bytes = location.bytes;
	gpu_shared->handle[index].pages = location.pages;
	GpuShowChunk(index, &location.chunk_state);
	GpuShowMemory(location.device);
}

static void
free_value(int index)
{
	const GpuHandler *handler = GpuHandlerOf(gpu_shared->handle[index].family);
	int device = handler->location(index).device;

	handler->drop(index);
	GpuShowMemory(device);
	GpuHandleFreed(index);
}

/*
 * Free up to PENDING_FREES_AT_ONCE values of handles that are pending free and that no request
 * names.  Returns whether a value was freed.  Values on busy devices are not freed, because a
 * request may use values that it does not name.
 */
bool
GpuFreePending(void)
{
	int index[PENDING_FREES_AT_ONCE];
	int count;
	int i;

	if (pg_atomic_read_u32(&gpu_shared->pending_frees) == 0)
		return false;
	count = GpuTakePending(index, PENDING_FREES_AT_ONCE, GpuBusyDevices());
	for (i = 0; i < count; i++)
		free_value(index[i]);
	return count > 0;
}

/* For each coroutine: the values that its request uses without naming them. */
static const GpuRef *used[GPU_DEVICES_MAX];
static uint32 used_count[GPU_DEVICES_MAX];

static void
count_use(int coroutine, int32 more)
{
	uint32 i;

	for (i = 0; i < used_count[coroutine]; i++)
	{
		int index = used[coroutine][i].index;

		if (index >= 0 && index < GPU_HANDLES)
			pg_atomic_fetch_add_u32(&gpu_shared->handle[index].pending, more);
	}
}

void
GpuUse(const GpuRef *ref, uint32 count)
{
	used[GpuCoroutine()] = ref;
	used_count[GpuCoroutine()] = count;
	count_use(GpuCoroutine(), 1);
}

void
GpuEndUse(int coroutine)
{
	count_use(coroutine, -1);
	used_count[coroutine] = 0;
}

/*
 * For each coroutine: the handle of its request.  The handle's role decides what GpuMakeRoom() may
 * evict.
 */
static const GpuHandle *served[GPU_DEVICES_MAX];

void
GpuMakeRoomFor(int index)
{
	served[GpuCoroutine()] = &gpu_shared->handle[index];
}

/*
 * Free memory on a device: free values that are pending free, or evict a cached value, or evict a
 * chunk of a column; false: nothing can be freed.  Only a request for a chunk may evict chunks of
 * other roles.
 */
bool
GpuMakeRoom(int device)
{
	const GpuHandle *wanted = served[GpuCoroutine()];
	bool column = wanted->family == GPU_FAMILY_COLUMN;

	if (GpuFreePending())
		return true;
	if (!GpuEvict(device, false, wanted->role, false) &&
		!GpuEvict(device, true, wanted->role, !column))
		return false;
	while (GpuFreePending())
		;
	return true;
}
