/*
 * test_sets_format.c
 *		Collections of sets: the byte format, and hostile bytes.
 *
 * test/unit/test_sets_format.c
 */
#include "sets_support.h"

enum
{
	AT_SETS = 24,
	AT_ELEMENTS = 32,
	AT_UNIVERSE = 40,
	AT_BODY = 48
};

#define SEEDS 1500
/* ---- bytes ---- */

static void
round_trips(void **state)
{
	uint64_t seed;

	(void) state;
	for (seed = 0; seed < SEEDS; seed++)
	{
		qset_collection c;
		qset_collection again;
		test_bytes b;

		WHERE("seed %d", (int) seed);
		test_collection(&c, seed, seed % 2);
		b = test_flat(&c);
		REQUIRE_OK(qset_read(&again, b.data, b.length, &test_heap));
		REQUIRE(test_same_collection(&c, &again));
		free(b.data);
		qset_collection_free(&c);
		qset_collection_free(&again);
	}
	test_no_leak();
}

/* Ids and elements are at both ends of their ranges. */
static void
extreme_values(void **state)
{
	const int64_t ends[] = { INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX - 1, INT64_MAX };
	qset_builder b;
	qset_collection c;
	qset_collection again;
	test_bytes bytes;
	size_t i;
	size_t j;

	(void) state;
	test_builder(&b, false);
	for (i = 0; i < ALL_OF(ends); i++)
		for (j = 0; j <= i; j++)
			test_add(&b, ends[i], (uint64_t) ends[j]);
	REQUIRE_OK(qset_builder_finish(&b, &c));
	test_require_collection(&c);
	REQUIRE(c.id[0] == INT64_MIN && c.id[6] == INT64_MAX);
	REQUIRE((int64_t) c.low[0] == INT64_MIN && (int64_t) c.low[6] == INT64_MAX);
	bytes = test_flat(&c);
	REQUIRE_OK(qset_read(&again, bytes.data, bytes.length, &test_heap));
	REQUIRE(test_same_collection(&c, &again));
	free(bytes.data);
	qset_collection_free(&again);
	qset_collection_free(&c);
	qset_builder_free(&b);
	test_no_leak();
}

/* A stored collection of two sets.  These bytes must never change. */
static void
known_bytes(void **state)
{
	static const uint8_t body[] = {
		0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, /* first element: -2 */
		6,                                              /* 5 = -2 + 6 + 1 */
		0xAC, 0x02,                                     /* 306 = 5 + 300 + 1 */
		7,    0,    0,    0,    0,    0,    0,    0,    /* first set: 7 */
		1,    0,    1,                                  /* two elements: ranks 0 and 2 */
		2,    0,    1                                   /* set 10, one element: rank 1 */
	};
	uint8_t wanted[QSET_HEADER_BYTES + sizeof(body)] = { 'Q', 'S', 'S', 1, 1 };
	test_bytes expected = { wanted, sizeof(wanted) };
	qset_builder b;
	qset_collection c;
	test_bytes bytes;

	(void) state;
	qb_store32(wanted + 16, TEST_QI_FAMILY);
	qb_store64(wanted + AT_SETS, 2);
	qb_store64(wanted + AT_ELEMENTS, 3);
	qb_store64(wanted + AT_UNIVERSE, 3);
	qb_store64(wanted + AT_BODY, sizeof(body));
	memcpy(wanted + QSET_HEADER_BYTES, body, sizeof(body));
	test_repair_crc(expected.data, expected.length);
	test_builder(&b, false);
	test_add(&b, 10, 5);
	test_add(&b, 7, 306);
	test_add(&b, 7, (uint64_t) -2);
	REQUIRE_OK(qset_builder_finish(&b, &c));
	bytes = test_flat(&c);
	REQUIRE(test_equal_bytes(bytes, expected));
	free(bytes.data);
	qset_collection_free(&c);
	qset_builder_free(&b);
}

static qb_status
try(test_bytes b)
{
	qset_collection c;
	qb_status status = qset_read(&c, b.data, b.length, &test_heap);

	if (status == QB_OK)
	{
		/* accepted bytes are canonical: writing the collection gives the same bytes */
		test_bytes again = test_flat(&c);

		test_require_collection(&c);
		REQUIRE(test_equal_bytes(b, again));
		free(again.data);
		qset_collection_free(&c);
	}
	test_no_leak();
	return status;
}

static test_bytes
example(bool wide, uint64_t seed)
{
	qset_collection c;
	test_bytes b;

	do
		test_collection(&c, seed++, wide);
	while (c.elements < 5 && (qset_collection_free(&c), true));
	b = test_flat(&c);
	qset_collection_free(&c);
	return b;
}

static void
every_bit_counts(void **state)
{
	uint64_t seed;
	uint64_t bit;

	(void) state;
	for (seed = 0; seed < 6; seed++)
	{
		test_bytes b = example(seed % 2, seed * 10);

		for (bit = 0; bit < b.length * 8; bit++)
		{
			b.data[bit / 8] ^= (uint8_t) (1 << bit % 8);
			REQUIRE(try(b) != QB_OK);
			b.data[bit / 8] ^= (uint8_t) (1 << bit % 8);
		}
		REQUIRE(try(b) == QB_OK);
		free(b.data);
	}
}

/* With the checksum repaired, a changed value is refused or is another canonical value. */
static void
rules_hold_beyond_the_checksum(void **state)
{
	uint64_t seed;
	uint64_t refused = 0;
	uint64_t tried = 0;

	(void) state;
	for (seed = 0; seed < 60; seed++)
	{
		test_bytes b = example(seed % 2, seed * 10);
		test_rng rng = test_seeded(seed);
		uint64_t i;

		for (i = 0; i < 500; i++)
		{
			test_bytes changed = test_bytes_of(b.data, b.length);
			uint64_t changes = 1 + test_below(&rng, 3);

			for (; changes > 0; changes--)
				changed.data[test_below(&rng, b.length)] ^= (uint8_t) (1 << test_below(&rng, 8));
			test_repair_crc(changed.data, changed.length);
			refused += try(changed) != QB_OK;
			tried++;
			free(changed.data);
		}
		free(b.data);
	}
	REQUIRE(refused > tried / 4);
}

static void
every_length_is_checked(void **state)
{
	test_bytes b = example(false, 77);
	uint64_t length;

	(void) state;
	for (length = 0; length < b.length; length++)
	{
		test_bytes shorter = test_bytes_of(b.data, length);

		REQUIRE(try(shorter) != QB_OK);
		if (length >= QSET_HEADER_BYTES)
		{
			qb_store64(shorter.data + AT_BODY, length - QSET_HEADER_BYTES);
			test_repair_crc(shorter.data, shorter.length);
			REQUIRE(try(shorter) != QB_OK);
		}
		free(shorter.data);
	}
	free(b.data);
}

/* Bodies with their counts, and the expected status.  Only the first body is valid. */
static const struct
{
	uint64_t sets, elements, universe;
	uint8_t length;
	uint8_t body[28];
	qb_status status;
} wrong[] = {
	{ 1, 1, 1, 18, { 0 }, QB_OK },
	/* the id of the second set is out of range */
	{ 2,
	  2,
	  1,
	  21,
	  { [8] = 255,
		[9] = 255,
		[10] = 255,
		[11] = 255,
		[12] = 255,
		[13] = 255,
		[14] = 255,
		[15] = 127 },
	  QB_FORMAT_ENTRIES },
	/* a rank is beyond the universe: the first rank of the set, or a later rank */
	{ 1, 1, 1, 18, { [17] = 1 }, QB_FORMAT_ENTRIES },
	{ 1, 2, 2, 20, { [17] = 1, [19] = 1 }, QB_FORMAT_ENTRIES },
	/* an element is in no set */
	{ 2, 2, 2, 22, { 0 }, QB_FORMAT_ENTRIES },
	/* a set is larger than all sets together */
	{ 1, 1, 1, 18, { [16] = 1 }, QB_FORMAT_ENTRIES },
	/* the sizes do not add up to the number of elements */
	{ 1, 2, 2, 20, { 0 }, QB_FORMAT_ENTRIES },
	/* a number is longer than necessary, or does not end */
	{ 1, 1, 1, 19, { [16] = 128 }, QB_FORMAT_ENTRIES },
	{ 1, 1, 1, 18, { [16] = 128, [17] = 128 }, QB_FORMAT_ENTRIES },
	/* no body of this length can have these counts */
	{ 1, 100, 1, 18, { 0 }, QB_FORMAT_LENGTH },
	{ 20, 20, 1, 18, { 0 }, QB_FORMAT_LENGTH },
	{ 0, 1, 1, 18, { 0 }, QB_FORMAT_LENGTH },
	{ 1, 1, 0, 18, { 0 }, QB_FORMAT_LENGTH },
	{ UINT64_MAX, UINT64_MAX, UINT64_MAX, 18, { 0 }, QB_FORMAT_LENGTH },
	/* the body is longer than its counts say */
	{ 0, 0, 0, 1, { 0 }, QB_FORMAT_ENTRIES },
};

/* The checksum fits, and each body gets its expected status. */
static void
wrong_bodies(void **state)
{
	size_t i;

	(void) state;
	for (i = 0; i < ALL_OF(wrong); i++)
	{
		uint8_t bytes[QSET_HEADER_BYTES + 28] = { 'Q', 'S', 'S', 1, 1 };
		test_bytes b;

		WHERE("case %d", (int) i);
		qb_store32(bytes + 16, TEST_QI_FAMILY);
		qb_store64(bytes + AT_SETS, wrong[i].sets);
		qb_store64(bytes + AT_ELEMENTS, wrong[i].elements);
		qb_store64(bytes + AT_UNIVERSE, wrong[i].universe);
		qb_store64(bytes + AT_BODY, wrong[i].length);
		memcpy(bytes + QSET_HEADER_BYTES, wrong[i].body, wrong[i].length);
		b = test_bytes_of(bytes, QSET_HEADER_BYTES + (uint64_t) wrong[i].length);
		test_repair_crc(b.data, b.length);
		REQUIRE_STATUS(try(b), wrong[i].status);
		free(b.data);
	}
}

static void
no_memory_to_read(void **state)
{
	test_bytes b = example(true, 5);
	qb_status status = QB_NO_MEMORY;
	qset_collection c;
	long fail;

	(void) state;
	for (fail = 1; status != QB_OK; fail++)
	{
		test_fail_at(fail);
		status = qset_read(&c, b.data, b.length, &test_heap);
		REQUIRE(status == QB_OK || status == QB_NO_MEMORY);
		test_fail_at(0);
		if (status != QB_OK)
			test_no_leak();
	}
	qset_collection_free(&c);
	free(b.data);
	test_no_leak();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trips),
		cmocka_unit_test(extreme_values),
		cmocka_unit_test(known_bytes),
		cmocka_unit_test(every_bit_counts),
		cmocka_unit_test(rules_hold_beyond_the_checksum),
		cmocka_unit_test(every_length_is_checked),
		cmocka_unit_test(wrong_bodies),
		cmocka_unit_test(no_memory_to_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
