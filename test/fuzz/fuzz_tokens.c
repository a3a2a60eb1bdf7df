/*
 * fuzz_tokens.c
 *		Random making, handing over and redeeming of tokens.
 *
 * The input chooses the steps of the machine in unit/tokens.h, which runs the server's
 * code.
 *
 * test/fuzz/fuzz_tokens.c
 */
#define TEST_WITHOUT_CMOCKA
#include "test/unit/tokens.h"

#define MOST_STEPS 300

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static token_machine m;
	mutator from = { data, size, test_seeded(0) };
	int i;

	if (data == NULL)
		return 0;
	token_machine_start(&m, from);
	for (i = 0; i < MOST_STEPS && m.from.left > 0; i++)
		token_machine_step(&m);
	token_machine_finish(&m);
	return 0;
}
