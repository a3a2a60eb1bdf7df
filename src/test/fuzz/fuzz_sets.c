/*
 * fuzz_sets.c
 *		Arbitrary bytes as a serialized collection of sets, and as rows to build one.
 *
 * First the bytes are read as a serialized collection, as they are and with the
 * checksum repaired; whatever is accepted must be written as it was read.  Then they
 * are taken as rows of small numbers, and all methods must agree on the pairs of the
 * collection built from these rows.
 *
 * src/test/fuzz/fuzz_sets.c
 */
#define TEST_WITHOUT_CMOCKA
#include "test/unit/sets_support.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
read_bytes(test_bytes b)
{
	qset_collection c;
	test_bytes again;

	if (qset_read(&c, b.data, b.length, &test_heap, NULL) != QB_OK)
		return;
	again = test_flat(&c);
	REQUIRE(test_equal_bytes(b, again));
	free(again.data);
	qset_collection_free(&c);
}

static void
build_and_pair(const uint8_t *data, size_t size)
{
	qset_collection c;
	qset_builder b;
	size_t i;

	test_builder(&b, data[0] & 1);
	for (i = 4; i + 1 < size && i < 600; i += 2)
		test_add(&b, (int8_t) data[i] / 4, data[i + 1]);
	REQUIRE_OK(qset_builder_finish(&b, &c));
	qset_builder_free(&b);
	test_methods_agree(&c, data);
	qset_collection_free(&c);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	test_bytes b = test_bytes_of(data, size);

	read_bytes(b);
	if (size >= QSET_HEADER_BYTES)
	{
		test_repair_crc(b.data, b.length);
		read_bytes(b);
	}
	free(b.data);
	if (size >= 4)
		build_and_pair(data, size);
	test_no_leak();
	return 0;
}
