/*
 * secret.c
 *		The secret of this process (base/slot.h).
 *
 * It is random, and drawn when the library is loaded.  Where the postmaster loads the
 * library, each of its children draws another one before it does anything else.
 *
 * src/pgbase/secret.c
 */
#include "pgbase/secret.h"

#include <pthread.h>

#include "base/slot.h"
#include "miscadmin.h"

static bool
draw(void)
{
	uint64 random[QB_SECRET_WORDS];
	bool drawn = pg_strong_random(random, sizeof(random));

	if (drawn)
		qb_set_secret(random);
	return drawn;
}

/* A child that cannot draw keeps the postmaster's secret, which is random, too. */
static void
draw_in_child(void)
{
	(void) draw();
}

/* Called once, when the library is loaded. */
void
SecretInit(void)
{
	if (!draw())
		ereport(ERROR, (errcode(ERRCODE_INTERNAL_ERROR),
						errmsg("could not generate random number for hash tables")));
	if (process_shared_preload_libraries_in_progress)
		pthread_atfork(NULL, NULL, draw_in_child);
}
