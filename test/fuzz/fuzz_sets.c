/*
 * fuzz_sets.c
 *		Arbitrary bytes as a serialized collection of sets, and as rows of a collection.
 *
 * The bytes are read as a collection, as they are and with the checksum repaired.  An
 * accepted collection must be written with the same bytes.  Then the bytes are used as
 * rows of small numbers.  All methods must find the same pairs in the collection of these
 * rows.  For one set of each collection, searches with and without postings must find the
 * same most similar sets.
 *
 * test/fuzz/fuzz_sets.c
 */
#define TEST_WITHOUT_CMOCKA
#include "test/unit/sets_support.h"

#include "sets/pairs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Compares the answers of the collection and of its postings for one set.  Frees the collection. */
static void
ask_for_similar(qset_collection *c, uint8_t choice)
{
	qset_question q = { .most = UINT32_MAX };
	qset_postings p;
	qset_best plain;
	qset_best fast;

	REQUIRE_OK(qset_postings_make(&p, c));
	if (p.collection.sets > 0)
	{
		REQUIRE_OK(qset_filter_init(&q.filter, choice % 3, choice % 5 / 8.0, choice % 4));
		q.filter.order = (qset_order) (choice / 16 % QSET_ORDERS);
		qset_question_of_set(&q, &p.collection, choice % p.collection.sets);
		REQUIRE_OK(qset_collection_answer(&p.collection, &q, &plain, &test_heap));
		REQUIRE_OK(qset_postings_answer(&p, &q, qset_kernels_now(), &fast, &test_heap));
		REQUIRE(plain.count == fast.count);
		REQUIRE(memcmp(plain.pair, fast.pair, plain.count * sizeof(qset_pair)) == 0);
		qset_release(&test_heap, plain.pair);
		qset_release(&test_heap, fast.pair);
	}
	qset_postings_free(&p);
}

static void
read_bytes(test_bytes b)
{
	qset_collection c;
	test_bytes again;

	if (qset_read(&c, b.data, b.length, &test_heap) != QB_OK)
		return;
	again = test_flat(&c);
	REQUIRE(test_equal_bytes(b, again));
	free(again.data);
	ask_for_similar(&c, (uint8_t) b.length);
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
	ask_for_similar(&c, data[1]);
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
