/*
 * test_property.c
 *		Random histories of sketches, compared with exact counts.
 *
 * machine.h lists the operations and the checks.  A failure prints the seed of its
 * history.  "test_property SEED" runs only this history.
 *
 * test/unit/test_property.c
 */
#include "machine.h"

#define HISTORIES 2500
#define STEPS     24

static void
run(uint64_t seed)
{
	static machine m;
	choices from = { NULL, 0, test_seeded(seed) };
	int i;

	machine_start(&m, from);
	for (i = 0; i < STEPS; i++)
	{
		WHERE("seed %d, step %d, %s, n %d, depth %d", (int) seed, i,
			  qs_structure_name(m.params.structure), (int) m.params.n, m.params.depth);
		machine_step(&m);
	}
	machine_finish(&m);
}

static void
histories_agree_with_exact_counts(void **state)
{
	uint64_t seed;

	(void) state;
	for (seed = 1; seed <= HISTORIES; seed++)
		run(seed);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(histories_agree_with_exact_counts),
	};

	if (argc > 1)
	{
		run(strtoull(argv[1], NULL, 10));
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
