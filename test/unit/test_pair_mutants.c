/*
 * test_pair_mutants.c
 *		Pairs of damaged values of all types.
 *
 * See trials.h for the number of pairs.
 *
 * test/unit/test_pair_mutants.c
 */
#include "pair_mutants.h"
#include "top_pair_mutants.h"
#include "trials.h"

/* Number of pairs of each type, unless QSKETCH_MUTANTS is set. */
#define PAIRS 30000

static void
sketches(void **state)
{
	(void) state;
	try_all(try_sketch_pair, PAIRS);
}

static void
filters(void **state)
{
	(void) state;
	try_all(try_filter_pair, PAIRS);
}

static void
collections(void **state)
{
	(void) state;
	try_all(try_collection_pair, PAIRS);
}

static void
lists(void **state)
{
	(void) state;
	try_all(try_list_pair, PAIRS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sketches),
		cmocka_unit_test(filters),
		cmocka_unit_test(collections),
		cmocka_unit_test(lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
