/*
 * fuzz_filter_mutants.c
 *		Slightly damaged filters with a valid checksum.
 *
 * Makes mutants as unit/test_mutants.c does; see fuzz_mutants.c.
 *
 * test/fuzz/fuzz_filter_mutants.c
 */
#define TEST_WITHOUT_CMOCKA
#include "test/unit/filter_mutants.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	mutator m = { data, size, test_seeded(0) };

	if (data)
		try_filter_mutant(&m);
	return 0;
}
