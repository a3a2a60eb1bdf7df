/*
 * test_tokens.c
 *		Random requests for handles and tokens, compared with a model of ownership.
 *
 * test/unit/test_tokens.c
 */
#include "tokens.h"

#define RUNS  400
#define STEPS 500

static void
tokens_are_good_once(void **state)
{
	static token_machine m;
	int redeemed = 0;
	int run;
	int i;

	(void) state;
	for (run = 0; run < RUNS; run++)
	{
		mutator from = { .rng = test_seeded((uint64) run) };

		WHERE("run %d", run);
		token_machine_start(&m, from);
		for (i = 0; i < STEPS; i++)
			token_machine_step(&m);
		redeemed += m.redeemed;
		token_machine_finish(&m);
	}
	REQUIRE(redeemed > RUNS * 5);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tokens_are_good_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
