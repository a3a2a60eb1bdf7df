/*
 * fuzz_format.c
 *		Arbitrary bytes as a serialized sketch.
 *
 * The input is tried as it is, and again with the checksum repaired.  Bytes that qs_open()
 * accepts must be safe, and bytes that qs_validate() accepts must work; see
 * unit/exercise.h.
 *
 * test/fuzz/fuzz_format.c
 */
#define TEST_WITHOUT_CMOCKA
#include "test/unit/exercise.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
try(test_bytes b)
{
	qs_sketch view;
	qb_status opened = qs_open(&view, b.data, b.length);
	qb_status valid = qs_validate(b.data, b.length);

	REQUIRE(opened == QB_OK || valid == opened);
	if (opened == QB_OK)
		exercise_opened(b);
	if (valid == QB_OK)
		exercise_valid(b);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	test_bytes b = test_bytes_of(data, size);

	try(b);
	if (size >= QS_HEADER_BYTES)
	{
		test_repair_crc(b.data, b.length);
		try(b);
	}
	free(b.data);
	return 0;
}
