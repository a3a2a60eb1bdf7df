/*
 * gpu.c
 *		What SQL can see of the GPU: devices and counts.
 *
 * src/pg/gpu.c
 */
#include "postgres.h"
#include "fmgr.h"
#include "pgbase/value.h"

#include "gpu/gpu.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

/* Columns of qsketch_gpu(). */
enum
{
	GPU_STATE,
	GPU_DEVICE,
	GPU_NAME,
	GPU_MEMORY,
	GPU_MEMORY_USED,
	GPU_VALUES_NOW,
	GPU_DRIVER,
	GPU_REASON,
	GPU_COLUMNS
};

static const char *
state_name(void)
{
	static const char *const name[] = { "off", "starting", "ready", "none", "failed" };

	return name[GpuStateNow()];
}

/* The row that is returned when there is no device. */
static void
put_state(FunctionCallInfo fcinfo)
{
	Datum values[GPU_COLUMNS] = { CStringGetTextDatum(state_name()) };
	bool nulls[GPU_COLUMNS];
	const char *reason = gpu_shared == NULL ? "the GPU worker is not configured; it needs "
											  "qsketch in shared_preload_libraries"
											: gpu_shared->reason;

	memset(nulls, true, sizeof(nulls));
	nulls[GPU_STATE] = false;
	SetText(values, nulls, GPU_REASON, reason[0] ? reason : NULL);
	PutRow(fcinfo, values, nulls);
}

static void
put_device(FunctionCallInfo fcinfo, GpuDeviceInfo *info)
{
	Datum values[GPU_COLUMNS];
	bool nulls[GPU_COLUMNS] = { 0 };

	values[GPU_STATE] = CStringGetTextDatum(state_name());
	values[GPU_DEVICE] = Int32GetDatum(info->number);
	values[GPU_NAME] = CStringGetTextDatum(info->name);
	values[GPU_MEMORY] = Int64GetDatum((int64) info->memory_bytes);
	values[GPU_MEMORY_USED] = Int64GetDatum((int64) pg_atomic_read_u64(&info->memory_used));
	values[GPU_VALUES_NOW] = Int64GetDatum((int64) pg_atomic_read_u64(&info->values));
	values[GPU_DRIVER] = CStringGetTextDatum(info->driver);
	nulls[GPU_MEMORY] = info->memory_bytes == 0;
	nulls[GPU_REASON] = true;
	PutRow(fcinfo, values, nulls);
}

/* qsketch_gpu(): a row for each device.  If there is none, one row says why. */
PG_FUNCTION_INFO_V1(qsketch_gpu);
Datum
qsketch_gpu(PG_FUNCTION_ARGS)
{
	int i;

	ReturnRows(fcinfo);
	if (GpuStateNow() != GPU_READY)
		put_state(fcinfo);
	else
		for (i = 0; i < gpu_shared->device_count; i++)
			put_device(fcinfo, &gpu_shared->device[i]);
	PG_RETURN_NULL();
}

/* Columns of qsketch_gpu_counts() before the counters. */
enum
{
	NOW_PID,
	NOW_VALUES,
	NOW_CACHED,
	NOW_CACHED_BYTES,
	NOW_SLOTS,
	NOW_SLOTS_FREE,
	NOW_COLUMNS
};

/* Count the handles that hold a value of any family, and the cached ones among them. */
static void
count_entries(int *held, int *cached)
{
	int i;

	*held = *cached = 0;
	LWLockAcquire(gpu_shared->handles, LW_SHARED);
	for (i = 0; i < GPU_HANDLES; i++)
	{
		*held += gpu_shared->handle[i].state != HANDLE_UNUSED;
		*cached += gpu_shared->handle[i].state == HANDLE_CACHED;
	}
	LWLockRelease(gpu_shared->handles);
}

static void
put_now(Datum *values, bool *nulls)
{
	int held;
	int cached;

	count_entries(&held, &cached);
	values[NOW_PID] = Int32GetDatum(gpu_shared->worker_pid);
	values[NOW_VALUES] = Int32GetDatum(held);
	values[NOW_CACHED] = Int32GetDatum(cached);
	values[NOW_CACHED_BYTES] =
		Int64GetDatum((int64) (pg_atomic_read_u64(&gpu_shared->copies[false].bytes) +
							   pg_atomic_read_u64(&gpu_shared->copies[true].bytes)));
	values[NOW_SLOTS] = Int32GetDatum(gpu_shared->slot_count);
	values[NOW_SLOTS_FREE] = Int32GetDatum(gpu_shared->free_count);
	nulls[NOW_PID] = gpu_shared->worker_pid == 0;
}

/* qsketch_gpu_counts(): one row.  It is all NULL without a worker. */
PG_FUNCTION_INFO_V1(qsketch_gpu_counts);
Datum
qsketch_gpu_counts(PG_FUNCTION_ARGS)
{
	Datum values[NOW_COLUMNS + GPU_COUNTERS + 1] = { 0 };
	bool nulls[NOW_COLUMNS + GPU_COUNTERS + 1] = { 0 };
	int i;

	memset(nulls, gpu_shared == NULL, sizeof(nulls));
	if (gpu_shared)
	{
		put_now(values, nulls);
		for (i = 0; i < GPU_COUNTERS; i++)
			values[NOW_COLUMNS + i] =
				Int64GetDatum((int64) pg_atomic_read_u64(&gpu_shared->counter[i]));
		values[NOW_COLUMNS + GPU_COUNTERS] =
			TimestampTzGetDatum((TimestampTz) pg_atomic_read_u64(&gpu_shared->since));
	}
	return ReturnRow(fcinfo, values, nulls);
}

/* qsketch_stat_gpu_reset(): count anew.  Its privileges say who may call it. */
PG_FUNCTION_INFO_V1(qsketch_stat_gpu_reset);
Datum
qsketch_stat_gpu_reset(PG_FUNCTION_ARGS)
{
	int i;

	if (gpu_shared == NULL)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("the GPU worker is not configured"),
						errhint("It needs qsketch in shared_preload_libraries.")));
	for (i = 0; i < GPU_COUNTERS; i++)
		pg_atomic_write_u64(&gpu_shared->counter[i], 0);
	pg_atomic_write_u64(&gpu_shared->since, (uint64) GetCurrentTimestamp());
	PG_RETURN_VOID();
}
