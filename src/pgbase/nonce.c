/*
 * nonce.c
 *		Numbers that no two states share, from which they take their draws.
 *
 * They are random.  With qsketch.filter_nonce, for tests, they are made from
 * the setting, the number of the parallel worker and how many the process has
 * made for the client's statement, so that a statement that is repeated draws
 * the same.  0 is never given: it is that of rows with ids of their own.
 *
 * Worker and count are mixed one after the other, not at once: the second state
 * of one worker is not the first one of the next.
 *
 * src/pgbase/nonce.c
 */
#include "pgbase/nonce.h"

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
		"Developer option: what filters without row ids take their draws from; 0 is random.",
		"Anything else makes tests repeatable. Filters of several statements "
		"then draw alike, and should not be merged.",
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
	/* The leader's number is -1. */
	return qb_mix64(qb_mix64((uint64) setting ^ (uint64) (ParallelWorkerNumber + 1) << 32) ^
					count++);
}

uint64
NonceNew(void)
{
	uint64 nonce = setting ? repeatable_nonce() : random_nonce();

	return nonce ? nonce : 1;
}
