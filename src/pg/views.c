/*
 * views.c
 *		Functions behind the views of running commands, of GPUs, and of counters.
 *
 * Details of a command are visible to users who may see the command in pg_stat_activity.  Other
 * users see only the pid, the leader's pid and the database.
 *
 * src/pg/views.c
 */
#include "pgbase/activity.h"
#include "pgbase/value.h"

#include "catalog/pg_authid.h"
#include "fmgr.h"
#include "gpu/gpu.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "storage/proc.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

/* The maximum number of attempts to read a slot while its process is changing the slot. */
#define ATTEMPTS 100

static void
no_memory(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("qsketch has no shared memory for what backends do"),
#if PG_VERSION_NUM >= 170000
			 errhint("Provide more dynamic shared memory, or load qsketch at server start, by "
					 "shared_preload_libraries.")));
#else
			 errhint("Load qsketch at server start, by shared_preload_libraries, or use "
					 "PostgreSQL 17 or later.")));
#endif
}

/* ---- commands that are running ---- */

/* A consistent copy of one slot. */
typedef struct Seen
{
	ActivityCommand command;
	int pid;
	int leader;
	Oid database;
	Oid role;
	Oid relation;
	uint64 id;
	uint64 value[ACTIVITY_VALUES];
} Seen;

static void
copy(const Activity *activity, Seen *seen)
{
	int i;

	seen->command = activity->command;
	seen->pid = activity->pid;
	seen->leader = activity->leader;
	seen->database = activity->database;
	seen->role = activity->role;
	seen->relation = activity->relation;
	seen->id = activity->id;
	for (i = 0; i < ACTIVITY_VALUES; i++)
		seen->value[i] = pg_atomic_read_u64((pg_atomic_uint64 *) &activity->value[i]);
}

/*
 * Read a slot.  False: the slot is free, its process has ended, or the slot changed during each
 * attempt.
 */
static bool
see(Activity *activity, int process, Seen *seen)
{
	int i;

	for (i = 0; i < ATTEMPTS; i++)
	{
		uint32 before = pg_atomic_read_u32(&activity->version);

		pg_read_barrier();
		copy(activity, seen);
		pg_read_barrier();
		if (before % 2 == 0 && pg_atomic_read_u32(&activity->version) == before)
			return seen->command != ACTIVITY_NONE && GetPGProcByNumber(process)->pid == seen->pid;
		pg_usleep(10);
	}
	return false;
}

/* Columns of qsketch_progress_of_processes(). */
enum
{
	COLUMN_PID,
	COLUMN_LEADER,
	COLUMN_DATABASE,
	COLUMN_ID,
	COLUMN_RELATION,
	COLUMN_COMMAND,
	COLUMN_PHASE,
	COLUMN_DEVICE,
	COLUMN_WORKERS,
	COLUMN_PAGES,
	COLUMN_PAGES_DONE,
	COLUMN_KEYS,
	COLUMN_SETS,
	COLUMN_SETS_DONE,
	COLUMN_PAIRS,
	COLUMNS
};

typedef struct Row
{
	Datum value[COLUMNS];
	bool null[COLUMNS];
} Row;

static void
put(Row *row, int column, Datum value)
{
	row->value[column] = value;
	row->null[column] = false;
}

static void
put_text(Row *row, int column, const char *text)
{
	put(row, column, CStringGetTextDatum(text));
}

static void
put_number(Row *row, int column, uint64 number)
{
	put(row, column, Int64GetDatum((int64) number));
}

static bool
may_see(const Seen *seen)
{
	return has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS) ||
		   has_privs_of_role(GetUserId(), seen->role);
}

static void
put_details(Row *row, const Seen *seen)
{
	static const char *const phase_of_scan[] = { "starting", "scanning", "merging", "finished" };
	static const char *const phase_of_pairs[] = { "preparing", "searching", "merging", "finished" };
	static const char *const command[] = { "", "column scan", "qsets_pairs", "qsketch_gpu_load" };
	bool scan = seen->command != ACTIVITY_PAIRS;
	uint64 phase = Min(seen->value[ACTIVITY_PHASE], PHASE_FINISHED);

	put_number(row, COLUMN_ID, seen->id);
	put_text(row, COLUMN_COMMAND, command[seen->command]);
	put_text(row, COLUMN_PHASE, scan ? phase_of_scan[phase] : phase_of_pairs[phase]);
	put_text(row, COLUMN_DEVICE, seen->value[ACTIVITY_ON_GPU] ? "gpu" : "cpu");
	put_number(row, COLUMN_WORKERS, seen->value[ACTIVITY_WORKERS]);
	if (scan)
		put(row, COLUMN_RELATION, ObjectIdGetDatum(seen->relation));
	if (seen->value[ACTIVITY_TOTAL] > 0)
	{
		put_number(row, scan ? COLUMN_PAGES : COLUMN_SETS, seen->value[ACTIVITY_TOTAL]);
		put_number(row, scan ? COLUMN_PAGES_DONE : COLUMN_SETS_DONE,
				   Min(seen->value[ACTIVITY_DONE], seen->value[ACTIVITY_TOTAL]));
	}
	put_number(row, scan ? COLUMN_KEYS : COLUMN_PAIRS, seen->value[ACTIVITY_FOUND]);
}

/* qsketch_progress_of_processes(): one row for each process of each running command. */
PG_FUNCTION_INFO_V1(qsketch_progress_of_processes);
Datum
qsketch_progress_of_processes(PG_FUNCTION_ARGS)
{
	ActivityShared *shared = ActivityMemory();
	int i;

	if (shared == NULL)
		no_memory();
	ReturnRows(fcinfo);
	for (i = 0; i < shared->processes * ACTIVITY_DEPTH; i++)
	{
		Seen seen;
		Row row;

		if (!see(&shared->activity[i], i / ACTIVITY_DEPTH, &seen))
			continue;
		memset(row.null, true, sizeof(row.null));
		put(&row, COLUMN_PID, Int32GetDatum(seen.pid));
		put(&row, COLUMN_DATABASE, ObjectIdGetDatum(seen.database));
		if (seen.leader != 0)
			put(&row, COLUMN_LEADER, Int32GetDatum(seen.leader));
		if (may_see(&seen))
			put_details(&row, &seen);
		PutRow(fcinfo, row.value, row.null);
	}
	return (Datum) 0;
}

/* ---- counters ---- */

/* qsketch_stat_counts(): one row with the counters, and the time when they were set to zero. */
PG_FUNCTION_INFO_V1(qsketch_stat_counts);
Datum
qsketch_stat_counts(PG_FUNCTION_ARGS)
{
	Stats stats;
	Datum values[STAT_COUNTERS + 1];
	int i;

	if (!StatRead(&stats))
		no_memory();
	for (i = 0; i < STAT_COUNTERS; i++)
		values[i] = Int64GetDatum((int64) stats.counter[i]);
	values[STAT_COUNTERS] = TimestampTzGetDatum(stats.since);
	return ReturnRow(fcinfo, values, NULL);
}

/* qsketch_stat_reset(): sets the counters to zero.  Calls need a privilege. */
PG_FUNCTION_INFO_V1(qsketch_stat_reset);
Datum
qsketch_stat_reset(PG_FUNCTION_ARGS)
{
	if (!StatReset())
		no_memory();
	PG_RETURN_VOID();
}

/* ---- GPUs ---- */

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
	GPU_PEERS,
	GPU_COLUMNS
};

static const char *
state_name(void)
{
	static const char *const name[] = { "off", "starting", "ready", "none", "failed" };

	return name[GpuStateNow()];
}

/* Return the row that explains why no device is ready. */
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
	bool lost = info->lost;

	values[GPU_STATE] = CStringGetTextDatum(lost ? "lost" : state_name());
	values[GPU_DEVICE] = Int32GetDatum(info->number);
	SetText(values, nulls, GPU_NAME, info->name[0] ? info->name : NULL);
	values[GPU_MEMORY] = Int64GetDatum((int64) info->memory_bytes);
	values[GPU_MEMORY_USED] = Int64GetDatum((int64) pg_atomic_read_u64(&info->memory_used));
	values[GPU_VALUES_NOW] = Int64GetDatum((int64) pg_atomic_read_u64(&info->values));
	values[GPU_DRIVER] = CStringGetTextDatum(info->driver);
	nulls[GPU_MEMORY] = info->memory_bytes == 0;
	SetText(values, nulls, GPU_REASON, lost ? info->reason : NULL);
	values[GPU_PEERS] = Int32GetDatum(lost ? 0 : pg_popcount32(info->peers & ~GpuLostDevices()));
	PutRow(fcinfo, values, nulls);
}

/* qsketch_gpu(): one row for each device.  If no device is ready, one row says why. */
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

/* Columns of qsketch_gpu_counts() that precede the counters. */
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

/* Count the handles in use, and the handles of cached values. */
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
		Int64GetDatum((int64) (pg_atomic_read_u64(&gpu_shared->cache_usage[false].bytes) +
							   pg_atomic_read_u64(&gpu_shared->cache_usage[true].bytes)));
	values[NOW_SLOTS] = Int32GetDatum(gpu_shared->slot_count);
	values[NOW_SLOTS_FREE] = Int32GetDatum(gpu_shared->free_count);
	nulls[NOW_PID] = gpu_shared->worker_pid == 0;
}

/* qsketch_gpu_counts(): one row.  All columns are NULL if no GPU worker is configured. */
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

/* qsketch_stat_gpu_reset(): sets the GPU worker's counters to zero.  Calls need a privilege. */
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
