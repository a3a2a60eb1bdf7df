/*
 * gpu_schedule.c
 *		Counters of the GPU worker, for tests that count and do not measure time.
 *
 *	gpu_schedule() bigint	number of pieces of requests that the worker has served
 *	gpu_asked() bigint		number of tables with cached columns that pending requests name
 *	gpu_adding() bigint		largest number of pending requests that name one live value
 *
 * test/modules/gpu_schedule.c
 */
#include "postgres.h"

#include "fmgr.h"
#include "gpu/column_gpu.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(gpu_schedule);
PG_FUNCTION_INFO_V1(gpu_asked);
PG_FUNCTION_INFO_V1(gpu_adding);

static GpuShared *
shared_state(void)
{
	return *(GpuShared **) load_external_function("$libdir/qsketch", "gpu_shared", true, NULL);
}

Datum
gpu_schedule(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64((int64) pg_atomic_read_u64(&shared_state()->progress));
}

/* Returns how many pending requests name the value; 0 if the value is not in this state. */
static uint32
requests_for(GpuHandle *handle, GpuHandleState state)
{
	return handle->state == state ? pg_atomic_read_u32(&handle->pending) : 0;
}

Datum
gpu_asked(PG_FUNCTION_ARGS)
{
	GpuShared *shared = shared_state();
	List *tables = NIL;
	int i;

	LWLockAcquire(shared->handles, LW_SHARED);
	for (i = 0; i < GPU_HANDLES; i++)
	{
		GpuHandle *handle = &shared->handle[i];
		GpuColumn column;

		memcpy(&column, handle->key.header, sizeof(column));
		if (handle->family == GPU_FAMILY_COLUMN && requests_for(handle, HANDLE_CACHED) > 0)
			tables = list_append_unique_oid(tables, column.relation);
	}
	LWLockRelease(shared->handles);
	PG_RETURN_INT64(list_length(tables));
}

Datum
gpu_adding(PG_FUNCTION_ARGS)
{
	GpuShared *shared = shared_state();
	uint32 most = 0;
	int i;

	LWLockAcquire(shared->handles, LW_SHARED);
	for (i = 0; i < GPU_HANDLES; i++)
		most = Max(most, requests_for(&shared->handle[i], HANDLE_LIVE));
	LWLockRelease(shared->handles);
	PG_RETURN_INT64(most);
}
