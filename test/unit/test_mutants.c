/*
 * test_mutants.c
 *		Slightly damaged sketches, filters and collections with a valid checksum.
 *
 * See trials.h for the number of mutants.
 *
 * test/unit/test_mutants.c
 */
#include "filter_mutants.h"
#include "mutants.h"
#include "sets_mutants.h"
#include "trials.h"

/* Number of mutants of each type, unless QSKETCH_MUTANTS is set. */
#define SKETCHES    300000
#define FILTERS     100000
#define COLLECTIONS 100000

static void
sketches(void **state)
{
	(void) state;
	try_all(try_mutant, SKETCHES);
}

static void
filters(void **state)
{
	(void) state;
	try_all(try_filter_mutant, FILTERS);
}

static void
collections(void **state)
{
	(void) state;
	try_all(try_sets_mutant, COLLECTIONS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sketches),
		cmocka_unit_test(filters),
		cmocka_unit_test(collections),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
