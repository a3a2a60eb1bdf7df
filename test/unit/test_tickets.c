/*
 * test_tickets.c
 *		Random requests for entries and tickets, against a model of who owns what.
 *
 * test/unit/test_tickets.c
 */
#include "tickets.h"

#define RUNS  400
#define STEPS 500

static void
tickets_are_good_once(void **state)
{
	static ticket_machine m;
	int redeemed = 0;
	int run;
	int i;

	(void) state;
	for (run = 0; run < RUNS; run++)
	{
		mutator from = { .rng = test_seeded((uint64) run) };

		WHERE("run %d", run);
		ticket_machine_start(&m, from);
		for (i = 0; i < STEPS; i++)
			ticket_machine_step(&m);
		redeemed += m.redeemed;
		ticket_machine_finish(&m);
	}
	REQUIRE(redeemed > RUNS * 5);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tickets_are_good_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
