/*
 * cancel_after.c
 *		Cancels the query of its session after a given time, for tests.
 *
 * statement_timeout is measured from the start of a statement.  With these functions, the time
 * starts in the middle of a statement, when the arguments of a call are in memory.  So
 * after_cancel() measures only how long the cancelled call continues.
 *
 *	cancel_after(ms)		sends SIGINT to this process after this time; 0: never
 *	after_cancel()			CPU time since the signal, in ms; NULL: no signal was sent
 *	receive(bytea, type)	reads a value in binary, as a client sends it
 *
 * test/modules/cancel_after.c
 */
#include "postgres.h"

#include <signal.h>
#include <sys/resource.h>

#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/timeout.h"
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(cancel_after);
PG_FUNCTION_INFO_V1(after_cancel);
PG_FUNCTION_INFO_V1(receive);

/* CPU time of this process when it was cancelled; negative: it was not cancelled. */
static double cancelled_at = -1;

/* CPU time of this process, in ms.  Unlike elapsed time, it does not depend on other processes. */
static double
cpu_ms(void)
{
	struct rusage use;

	getrusage(RUSAGE_SELF, &use);
	return (use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1000.0 +
		   (use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1000.0;
}

static void
cancel(void)
{
	cancelled_at = cpu_ms();
	kill(MyProcPid, SIGINT);
}

Datum
cancel_after(PG_FUNCTION_ARGS)
{
	static TimeoutId id;
	static bool registered = false;

	if (!registered)
	{
		id = RegisterTimeout(USER_TIMEOUT, cancel);
		registered = true;
	}
	disable_timeout(id, false);
	cancelled_at = -1;
	if (PG_GETARG_INT32(0) > 0)
		enable_timeout_after(id, PG_GETARG_INT32(0));
	PG_RETURN_VOID();
}

Datum
after_cancel(PG_FUNCTION_ARGS)
{
	if (cancelled_at < 0)
		PG_RETURN_NULL();
	PG_RETURN_FLOAT8(cpu_ms() - cancelled_at);
}

Datum
receive(PG_FUNCTION_ARGS)
{
	bytea *bytes = PG_GETARG_BYTEA_PP(0);
	StringInfoData message;
	Oid function, parameter;

	getTypeBinaryInputInfo(PG_GETARG_OID(1), &function, &parameter);
	initStringInfo(&message);
	enlargeStringInfo(&message, (int) VARSIZE_ANY_EXHDR(bytes));
	appendBinaryStringInfo(&message, VARDATA_ANY(bytes), (int) VARSIZE_ANY_EXHDR(bytes));
	OidReceiveFunctionCall(function, &message, parameter, -1);
	PG_RETURN_VOID();
}
