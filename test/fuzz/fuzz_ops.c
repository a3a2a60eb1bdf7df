/*
 * fuzz_ops.c
 *		Operations on sketches, compared with exact counts.
 *
 * The input chooses the operations of the machine in unit/machine.h.
 *
 * test/fuzz/fuzz_ops.c
 */
#define TEST_WITHOUT_CMOCKA
#include "test/unit/machine.h"

#define MOST_STEPS 60

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static machine m;
	choices from = { data, size, test_seeded(0) };
	int i;

	if (!data)
		return 0;
	machine_start(&m, from);
	for (i = 0; i < MOST_STEPS && m.from.left > 0; i++)
		machine_step(&m);
	machine_finish(&m);
	return 0;
}
