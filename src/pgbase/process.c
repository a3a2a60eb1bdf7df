/*
 * process.c
 *		Processes: their numbers, ends of transactions, waits, secrets and nonces.
 *
 * The secret is a random number that is drawn when the library is loaded.  If the postmaster loads
 * the library, each child process draws a new secret when it is forked.
 *
 * src/pgbase/process.c
 */
#include "pgbase/process.h"

#include <limits.h>
#include <pthread.h>

#include "access/parallel.h"
#include "base/hash.h"
#include "base/slot.h"
#include "miscadmin.h"
#include "portability/instr_time.h"
#include "storage/latch.h"
#include "storage/spin.h"
#include "utils/guc.h"

/*
 * Microseconds for which a latch is polled before a wait, and the number of polls between two reads
 * of the clock.
 */
#define POLL_US 100
#define POLLS   64

static bool
draw(void)
{
	uint64 random[QB_SECRET_WORDS];
	bool drawn = pg_strong_random(random, sizeof(random));

	if (drawn)
		qb_set_secret(random);
	return drawn;
}

/*
 * Draw the secret of a child of the postmaster.  If drawing fails, the child keeps the postmaster's
 * secret, which is also random.
 */
static void
draw_in_child(void)
{
	(void) draw();
}

/* Called when the library is loaded. */
void
SecretInit(void)
{
	if (!draw())
		ereport(ERROR, (errcode(ERRCODE_INTERNAL_ERROR),
						errmsg("could not generate random number for hash tables")));
	if (process_shared_preload_libraries_in_progress)
		pthread_atfork(NULL, NULL, draw_in_child);
}

/*
 * ---- nonces: a different seed of random choices for each state ----
 *
 * Nonces are random.  For tests, qsketch.filter_nonce makes nonces repeatable.  A nonce is then
 * computed from the setting, the number of the parallel worker, and the number of nonces that the
 * process has made for the client's statement.  So a repeated statement gets equal nonces.  0 is
 * never returned, because the nonce 0 stands for rows with ids.
 *
 * The worker's number and the number of nonces are hashed in two steps.  If only the sum of the two
 * numbers were hashed, the second state of a worker would get the nonce of the next worker's first
 * state.
 */

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

/* ---- waits ---- */

static bool
is_soon_set(const volatile Latch *latch)
{
	instr_time start;
	instr_time now;
	int i;

	INSTR_TIME_SET_CURRENT(start);
	do
	{
		for (i = 0; i < POLLS; i++)
		{
			if (latch->is_set)
				return true;
			SPIN_DELAY();
		}
		INSTR_TIME_SET_CURRENT(now);
		INSTR_TIME_SUBTRACT(now, start);
	}
	while (INSTR_TIME_GET_MICROSEC(now) < POLL_US);
	return false;
}

void
PollLatch(long timeout, uint32 event)
{
	int events = WL_LATCH_SET | WL_EXIT_ON_PM_DEATH | (timeout >= 0 ? WL_TIMEOUT : 0);

	if (!is_soon_set(MyLatch))
		(void) WaitLatch(MyLatch, events, timeout, event);
}
