/*
 * sets_errors.c
 *		Errors about collections of sets, and interrupts.
 *
 * src/pg/sets_errors.c
 */
#include "pg/sets_value.h"

#include "miscadmin.h"
#include "pgbase/errors.h"
#include "sets/format.h"

const ValueFormat sets_format = { "collection of sets", QSET_FORMAT_VERSION, QSET_HEADER_BYTES };
const KeyHolder sets_key_holder = { "collection of sets", "collections of sets", "qsets_agg" };

/* Check for interrupts.  Cancelling the query raises an error here. */
static bool
stop(void *context)
{
	(void) context;
	CHECK_FOR_INTERRUPTS();
	return false;
}

const qset_interrupt sets_interrupt = { stop, NULL };

/* Raise the error of a status unless it is QB_OK. */
void
SetsCheck(qb_status status)
{
	if (likely(status == QB_OK))
		return;
	if (status == QB_TOO_MANY)
		ereport(
			ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("too many sets or elements for one collection"),
			 errdetail("A collection has at most %llu sets, %llu distinct elements and %llu in "
					   "all.",
					   (unsigned long long) QSET_MAX_SETS, (unsigned long long) QSET_MAX_UNIVERSE,
					   (unsigned long long) QSET_MAX_ELEMENTS),
			 errhint("Split it by ranges of set ids, and find the pairs between the parts.")));
	StatusRaise(status, sets_format.noun, NULL);
}

/* Raise the error that there is no memory for more pairs than are kept. */
void
SetsTooManyPairs(uint64 kept)
{
	ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					errmsg("more than %llu pairs of sets would have to be kept in memory",
						   (unsigned long long) kept),
					errhint("Set top lower, or min_count or min_jaccard higher.")));
	pg_unreachable();
}
