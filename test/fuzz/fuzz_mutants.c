/*
 * fuzz_mutants.c
 *		Slightly damaged sketches with a valid checksum.
 *
 * The mutants are those of unit/test_mutants.c.  Their choices come from the input, so
 * that the fuzzer can steer them.
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
