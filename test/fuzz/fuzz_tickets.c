/*
 * fuzz_tickets.c
 *		The input as a program: which process makes, hands over and redeems which ticket.
 *
 * The machine is that of unit/test_tickets.c, and runs the server's own code.
 *
 * test/fuzz/fuzz_tickets.c
 */
#define TEST_WITHOUT_CMOCKA
#include "test/unit/tickets.h"

#define MOST_STEPS 300

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static ticket_machine m;
	mutator from = { data, size, test_seeded(0) };
	int i;

	if (data == NULL)
		return 0;
	ticket_machine_start(&m, from);
	for (i = 0; i < MOST_STEPS && m.from.left > 0; i++)
		ticket_machine_step(&m);
	ticket_machine_finish(&m);
	return 0;
}
