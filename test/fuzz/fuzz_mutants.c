/*
 * fuzz_mutants.c
 *		Slightly damaged sketches with a valid checksum.
 *
 * Makes mutants as unit/test_mutants.c does.  The input chooses the damage, so that the
 * fuzzer can steer the damage.
 *
 * test/fuzz/fuzz_mutants.c
 */
#define TEST_WITHOUT_CMOCKA
#include "test/unit/mutants.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	mutator m = { data, size, test_seeded(0) };

	if (data)
		try_mutant(&m);
	return 0;
}
