/*
 * fuzz_top.c
 *		Arbitrary bytes as a list of top keys, and damaged lists.
 *
 * The bytes are tried as they are, and again with both checksums repaired.  Then the bytes
 * damage a valid list: the first byte chooses the list, and each group of three further
 * bytes is a 2-byte offset and the bits to flip.  unit/top_support.h has the checks.
 *
 * test/fuzz/fuzz_top.c
 */
#define TEST_WITHOUT_CMOCKA
#include "test/unit/top_support.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
try(test_bytes b)
{
	qs_sketch sketch;
	qs_top view;
	qb_status opened = qs_top_open(&view, &sketch, b.data, b.length);
	qb_status valid = qs_top_validate(b.data, b.length);

	REQUIRE(opened == QB_OK || valid == opened);
	top_use(b.data, b.length);
}

static void
try_damaged(int kind, const uint8_t *data, size_t size)
{
	static test_bytes made[TOP_SAMPLES];
	test_bytes b;

	if (made[kind].data == NULL)
		made[kind] = top_sample(kind);
	b = test_bytes_of(made[kind].data, made[kind].length);
	for (; size >= 3; data += 3, size -= 3)
		b.data[(data[0] << 8 | data[1]) % b.length] ^= data[2];
	top_repair(b.data, b.length);
	try(b);
	free(b.data);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	test_bytes b = test_bytes_of(data, size);

	try(b);
	top_repair(b.data, b.length);
	try(b);
	free(b.data);
	if (size > 0)
		try_damaged(data[0] % TOP_SAMPLES, data + 1, size - 1);
	test_no_leak();
	return 0;
}
