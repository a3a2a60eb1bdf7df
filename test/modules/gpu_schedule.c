/*
 * gpu_schedule.c
 *		How many pieces of requests the GPU worker has served, for tests that count pieces and not time.
 *
 *	gpu_schedule() bigint
 *
 * test/modules/gpu_schedule.c
 */
#include "postgres.h"

#include "fmgr.h"
#include "gpu/shared.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(gpu_schedule);

Datum
gpu_schedule(PG_FUNCTION_ARGS)
{
	GpuShared **shared =
		(GpuShared **) load_external_function("$libdir/qsketch", "gpu_shared", true, NULL);

	PG_RETURN_INT64((int64) pg_atomic_read_u64(&(*shared)->progress));
}
