/*
 * fuzz_sets_mutants.c
 *		Slightly damaged collections of sets with a valid checksum.
 *
 * Makes mutants as unit/test_mutants.c does; see fuzz_mutants.c.
 *
 * test/fuzz/fuzz_sets_mutants.c
 */
#define TEST_WITHOUT_CMOCKA
#include "test/unit/sets_mutants.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	mutator m = { data, size, test_seeded(0) };

	if (data)
		try_sets_mutant(&m);
	return 0;
}
