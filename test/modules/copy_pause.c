/*
 * copy_pause.c
 *		Stops a scan between the check of a cached column and its use, for tests.
 *
 *	pause_copies(point, lock)	the next scan of this session that reaches this test point
 *								waits for an advisory lock, once; point -1: no scan waits
 *
 * src/scan/cached calls CachedTestPoint() with the number of each test point.
 *
 * test/modules/copy_pause.c
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/fmgrprotos.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(pause_copies);

static int stop_at = -1;
static int64 lock;

static void
stop(int point)
{
	if (point != stop_at)
		return;
	stop_at = -1;
	(void) DirectFunctionCall1(pg_advisory_lock_int8, Int64GetDatum(lock));
	(void) DirectFunctionCall1(pg_advisory_unlock_int8, Int64GetDatum(lock));
}

Datum
pause_copies(PG_FUNCTION_ARGS)
{
	*find_rendezvous_variable("qsketch_copy_checked") = (void *) stop;
	stop_at = PG_GETARG_INT32(0);
	lock = PG_GETARG_INT64(1);
	PG_RETURN_VOID();
}
