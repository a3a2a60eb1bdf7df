/*
 * nonce.c
 *		Numbers that no two states share, as seeds of their draws.
 *
 * They are random.  For tests, qsketch.filter_nonce makes them repeatable: then they
 * come from the setting, the number of the parallel worker, and how many nonces the
 * process has made for the client's statement.  So a repeated statement draws the same.
 * 0 is never returned: it stands for rows with ids of their own.
 *
 * Worker and count are mixed in two steps.  In one step the second state of one worker
 * could get the number of the first state of the next.
 *
 * src/pgbase/nonce.c
 */
#include "pgbase/nonce.h"

#include <limits.h>

#include "access/parallel.h"
#include "access/xact.h"
#include "base/hash.h"
#include "utils/guc.h"

static int setting;

void
NonceInit(void)
{
	DefineCustomIntVariable(
		"qsketch.filter_nonce",
		"Developer option: sets the nonce of filters without row ids; 0 draws one at random.",
		"Any other nonce makes tests repeatable. Filters of several statements "
		"then set the same bits for the same rows, and should not be merged.",
		&setting, 0, 0, INT_MAX, PGC_USERSET, GUC_NOT_IN_SAMPLE, NULL, NULL, NULL);
}

static uint64
random_nonce(void)
{
	uint64 nonce;

	if (!pg_strong_random(&nonce, sizeof(nonce)))
		ereport(ERROR, (errcode(ERRCODE_INTERNAL_ERROR),
						errmsg("could not generate random number for a filter")));
	return nonce;
}

static uint64
repeatable_nonce(void)
{
	static TimestampTz statement;
	static uint64 count;
	TimestampTz now = GetCurrentStatementStartTimestamp();

	if (now != statement)
		count = 0;
	statement = now;
	/* ParallelWorkerNumber is -1 in the leader. */
	return qb_mix64(qb_mix64((uint64) setting ^ (uint64) (ParallelWorkerNumber + 1) << 32) ^
					count++);
}

uint64
NonceNew(void)
{
	uint64 nonce = setting ? repeatable_nonce() : random_nonce();

	return nonce ? nonce : 1;
}
