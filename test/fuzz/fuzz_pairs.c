/*
 * fuzz_pairs.c
 *		Pairs of damaged values that need not match each other.
 *
 * Makes pairs as unit/test_pair_mutants.c does; see fuzz_mutants.c.
 *
 * test/fuzz/fuzz_pairs.c
 */
#define TEST_WITHOUT_CMOCKA
#include "test/unit/pair_mutants.h"
#include "test/unit/top_pair_mutants.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool (*const try[])(mutator * m) = { try_sketch_pair, try_filter_pair,
												try_collection_pair, try_list_pair };
	mutator m = { data, size, test_seeded(0) };

	if (data)
		(void) try[choose(&m, ALL_OF(try))](&m);
	return 0;
}
