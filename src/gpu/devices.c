/*
 * devices.c
 *		The devices of the GPU worker: opening them, choosing one, their memory, and how
 *		much work they do at a time.
 *
 * src/gpu/devices.c
 */
#include "gpu/settings.h"
#include "gpu/worker.h"

const GpuDeviceOps *gpu_device_ops;
void *gpu_device[GPU_DEVICES_MAX];

uint64
GpuMemoryLimit(void)
{
	return gpu_memory_limit > 0 ? (uint64) gpu_memory_limit << 20 : PG_UINT64_MAX;
}

/* Open one device as device number "index" of this server. */
static bool
open_device(int number, int index, char *reason)
{
	GpuDeviceInfo *info = &gpu_shared->device[index];

	info->number = number;
	gpu_device[index] = gpu_device_ops->open(number, info, reason);
	if (gpu_device[index] == NULL)
	{
		ereport(LOG, (errmsg("could not use GPU %d: %s", number, reason)));
		return false;
	}
	pg_atomic_write_u64(&info->memory_used, 0);
	pg_atomic_write_u64(&info->values, 0);
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

	if (!gpu_device_ops->pin(gpu_device[0], slots, bytes))
		ereport(LOG, (errmsg("qsketch copies keys to the GPU without page-locked memory")));
}

/* Open the devices that the settings name; returns how many. */
int
GpuOpenDevices(const GpuDeviceOps *ops, char *reason)
{
	int number[GPU_DEVICES_MAX];
	int named = GpuDeviceNumbers(number, GPU_DEVICES_MAX);
	int there = ops->count(reason);
	int opened = 0;
	int i;

	gpu_device_ops = ops;
	for (i = 0; i < (named > 0 ? named : Min(there, GPU_DEVICES_MAX)); i++)
	{
		int wanted = named > 0 ? number[i] : i;

		if (wanted >= there)
			ereport(LOG, (errmsg("could not use GPU %d: there are %d", wanted, there)));
		else if (open_device(wanted, opened, reason))
			opened++;
	}
	if (opened > 0)
		pin_slots();
	return opened;
}

/* The device that is wanted, or if there is none such, the one with the least memory in use. */
int
GpuChooseDevice(int wanted)
{
	int best = 0;
	int i;

	if (wanted >= 0 && wanted < gpu_shared->device_count)
		return wanted;
	for (i = 1; i < gpu_shared->device_count; i++)
		if (gpu_device_ops->memory_used(gpu_device[i]) <
			gpu_device_ops->memory_used(gpu_device[best]))
			best = i;
	return best;
}

/* Tell the backends how much memory is in use on a device. */
void
GpuShowMemory(int device)
{
	pg_atomic_write_u64(&gpu_shared->device[device].memory_used,
						gpu_device_ops->memory_used(gpu_device[device]));
}

/* The last error of a device. */
const char *
GpuDeviceError(int device)
{
	return gpu_fault == FAULT_ERROR ? "simulated failure"
									: gpu_device_ops->error(gpu_device[device]);
}

/*
 * The number of keys in the next piece of a request, at so much work for each key: at
 * least one.  The piece is counted as done, among the requests and keys of two counters.
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
