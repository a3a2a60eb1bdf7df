/*
 * choice.c
 *		Chooses for qsketch.device = auto whether a GPU makes a state or looks keys up.
 *
 * A process that sends its keys to a GPU saves the time of adding them to tables.  This time is
 * longer for large tables, because most of their bytes are outside of the CPU's caches.  On the
 * CPU, all processes of a plan divide the work, but a single GPU serves all processes.  So the
 * smallest size for which a GPU is faster grows with the number of processes.  In measurements with
 * the column scan, a GPU was faster than the CPU at 256 kB with 8 processes, and at 512 kB with 16
 * processes.  At 256 kB with 16 processes the GPU and the CPU were equally fast
 * (docs/engineering/gpu-worker.md).
 *
 * The executor passes keys row by row, and then a process needs at least three times as long for a
 * key as with the column scan.  So in the same time, such a process sends at most a third of the
 * keys.
 *
 * Making tables on a device and fetching them takes time.  If adding the keys on the CPU takes less
 * time, the state stays on the CPU.  Sketches of a parallel plan are merged on the device and
 * fetched once.  Filters are fetched by each process and merged by the CPU.  Part of the time for
 * making and fetching does not depend on the size of the tables.  The groups of a scan need this
 * part only once.
 *
 * src/gpu/choice.c
 */
#include "gpu/gpu.h"
#include "pgbase/value.h"

/*
 * The smallest sketch for which a GPU is used if qsketch.gpu_min_size is -1: SKETCH_BYTES, but at
 * least PROCESS_BYTES for each process of a column scan.
 */
#define SKETCH_BYTES  (256 * 1024)
#define PROCESS_BYTES (32 * 1024)

/*
 * The number of processes that together send keys from the executor as fast as one process with the
 * column scan sends keys.
 */
#define EXECUTOR_PROCESSES 3

/* The result of GpuLookupBytes() (gpu/gpu.h) if qsketch.gpu_min_size is -1. */
#define LOOKUP_BYTES (1024 * 1024)

/*
 * Minimum number of keys of a sketch for which a GPU pays: KEYS_LEAST, or one key for each
 * BYTES_OF_KEY bytes of tables if this number is larger.
 */
#define KEYS_LEAST   262144
#define BYTES_OF_KEY 96

uint64
GpuLookupBytes(void)
{
	return gpu_min_size < 0 ? LOOKUP_BYTES : (uint64) gpu_min_size * 1024;
}

bool
GpuIsLarge(uint64 bytes)
{
	return device_setting == DEVICE_GPU || bytes >= GpuLookupBytes();
}

bool
GpuFillsFaster(uint64 bytes, const StateWork *work)
{
	uint64 process_bytes = (uint64) Max(work->processes, 1) * PROCESS_BYTES;

	if (gpu_min_size >= 0 || device_setting == DEVICE_GPU)
		return GpuIsLarge(bytes);
	return bytes >= Max(SKETCH_BYTES,
						work->by_executor ? process_bytes / EXECUTOR_PROCESSES : process_bytes);
}

double
GpuKeysLeast(uint64 bytes)
{
	return Max(KEYS_LEAST, (double) bytes / BYTES_OF_KEY);
}

bool
GpuHasKeys(uint64 bytes, const StateWork *work)
{
	double keys = work->rows * work->processes;

	return keys * Max(1, work->together) >= KEYS_LEAST &&
		   keys >= (double) bytes / work->processes / BYTES_OF_KEY;
}

bool
GpuPaysForFetching(double accesses, uint64 bytes)
{
	return accesses >= (double) bytes / BYTES_OF_KEY;
}

/* ---- reasons ---- */

/* A size as text, in whole kilobytes or larger units. */
static const char *
size_text(uint64 bytes)
{
	return TextOfSize(TYPEALIGN64(1024, bytes));
}

const char *
GpuSmallReason(const char *value, uint64 bytes, const StateWork *work)
{
	if (gpu_min_size >= 0)
		return psprintf("the %s is smaller than qsketch.gpu_min_size allows", value);
	if (work->processes <= 1)
		return psprintf("one process fills a %s of %s faster than a GPU", value, size_text(bytes));
	return psprintf("%d processes fill a %s of %s faster than a GPU", work->processes, value,
					size_text(bytes));
}

const char *
GpuFewReason(const char *value, uint64 bytes, const StateWork *work)
{
	return psprintf("a GPU does not pay for the expected %.0f rows in a %s of %s",
					work->rows * Max(work->processes, 1), value, size_text(bytes));
}
