/*
 * choice.c
 *		What qsketch.device = auto chooses: whether the state of an aggregate is made on a
 *		GPU, and whether keys are looked up there.
 *
 * A process that sends its keys to a GPU saves the time of adding them to tables.  The larger
 * the tables, the more of them lie outside of the CPU's caches, and the longer that time is.
 * The time is shared by all processes of a plan, but one GPU serves all of them.  So the size
 * from which on a GPU is faster grows with the number of processes.  Measured with the column
 * scan, a GPU was faster at 256 kB with 8 processes and at 512 kB with 16, and as fast at 256 kB
 * with 16 (docs/engineering/gpu-worker.md).
 *
 * Keys that come row by row from the executor take at least three times as long before they are
 * added.  So a process sends a third of the keys in the same time.
 *
 * Making tables on a device and fetching them takes as long as adding a number of keys on the
 * CPU.  With fewer keys the state stays on the CPU.  The sketches of a parallel plan are
 * merged on the device and fetched once, but filters are fetched by each process and merged
 * by the CPU.  A part of the time is the same for tables of any size.  The groups of a scan
 * together take this part once.
 *
 * src/gpu/choice.c
 */
#include "gpu/gpu.h"
#include "pgbase/value.h"

/* The smallest sketch that goes to a GPU, and the size that each process of the plan adds to it. */
#define SKETCH_BYTES  (256 * 1024)
#define PROCESS_BYTES (32 * 1024)

/* The number of processes with keys from the executor that send as many keys as one column scan. */
#define EXECUTOR_PROCESSES 3

/* The smallest sketch that is kept on a GPU, in which keys are looked up there. */
#define LOOKUP_BYTES (1024 * 1024)

/*
 * The fewest keys for which making a sketch on a GPU and fetching it pays: KEYS_LEAST at all,
 * and a key for each BYTES_OF_KEY bytes of tables.
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
