/*
 * fuzz_sets.c
 *		Arbitrary bytes as a collection of sets, and as one to be built.
 *
 * The bytes are read as the format, as they are and with the checksum repaired;
 * what is accepted must be written as it was read.  Then they are taken as rows
 * of small numbers, and all methods must agree on the pairs of their collection.
 *
 * src/test/fuzz/fuzz_sets.c
 */
#define TEST_WITHOUT_CMOCKA
#include "test/unit/sets_support.h"

#define MOST_PAIRS 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
read_bytes(test_bytes b)
{
	qi_collection c;
	test_bytes again;

	if (qi_read(&c, b.data, b.length, &test_heap, NULL) != QS_OK)
		return;
	again = test_flat(&c);
	REQUIRE(test_equal_bytes(b, again));
	free(again.data);
	qi_collection_free(&c);
}

static uint64_t
pairs_of(const qi_collection *c, const uint8_t *choice, int method, qi_pair *out)
{
	qi_request r = { .rows = c, .method = method, .memory = &test_heap };
	qi_preparation p;
	uint64_t count;
	void *block;
	qi_job job;

	REQUIRE_OK(qi_filter_init(&r.filter, choice[0] % 4, choice[1] / 255.0, choice[2] % 3));
	r.variant = choice[3] % 3;
	r.directed = choice[3] & 128;
	REQUIRE_OK(qi_prepare(&p, &r));
	block = calloc(p.plan.bytes, 1);
	REQUIRE(block != NULL);
	REQUIRE_OK(qi_fill(&p, block));
	qi_prepared_free(&p);
	REQUIRE_OK(qi_job_open(&job, block, qi_kernels_now(), &test_heap, NULL));
	qi_job_share(&job, 0, qi_job_rows(&job), 1);
	REQUIRE_OK(qi_job_next(&job, out, MOST_PAIRS, &count));
	qi_job_close(&job);
	free(block);
	return count;
}

static void
build_and_pair(const uint8_t *data, size_t size)
{
	static qi_pair wanted[MOST_PAIRS];
	static qi_pair got[MOST_PAIRS];
	qi_collection c;
	qi_builder b;
	size_t i;
	int method;
	uint64_t count;

	test_builder(&b, data[0] & 1);
	for (i = 4; i + 1 < size && i < 600; i += 2)
		test_add(&b, (int8_t) data[i] / 4, data[i + 1]);
	REQUIRE_OK(qi_builder_finish(&b, &c));
	qi_builder_free(&b);
	count = pairs_of(&c, data, QI_MERGE, wanted);
	for (method = QI_AUTO; method < QI_METHODS; method++)
	{
		REQUIRE(pairs_of(&c, data, method, got) == count);
		REQUIRE(memcmp(wanted, got, count * sizeof(*got)) == 0);
	}
	qi_collection_free(&c);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	test_bytes b = test_bytes_of(data, size);

	read_bytes(b);
	if (size >= QI_HEADER_BYTES)
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
