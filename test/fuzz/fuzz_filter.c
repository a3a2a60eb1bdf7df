/*
 * fuzz_filter.c
 *		Arbitrary bytes as a serialized filter.
 *
 * The bytes are tried as they are, then with the checksum repaired, and then also with the
 * number of set bits repaired.  unit/filter_support.h has the checks.
 *
 * test/fuzz/fuzz_filter.c
 */
#define TEST_WITHOUT_CMOCKA
#include "test/unit/filter_support.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
try(test_bytes b)
{
	qf_filter view;
	qb_status opened = qf_open(&view, b.data, b.length);
	qb_status valid = qf_validate(b.data, b.length, NULL);

	REQUIRE(opened == QB_OK || valid == opened);
	if (opened == QB_OK)
		filter_exercise(b);
	if (valid == QB_OK)
		filter_exercise_valid(b);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	test_bytes b = test_bytes_of(data, size);

	try(b);
	if (size >= QF_HEADER_BYTES)
	{
		test_repair_crc(b.data, b.length);
		try(b);
		filter_repair_ones(b);
		test_repair_crc(b.data, b.length);
		try(b);
	}
	free(b.data);
	test_no_leak();
	return 0;
}
