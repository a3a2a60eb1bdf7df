/*
 * test_pack.c
 *		Packed bytes: packing and unpacking, sizes, invalid bytes, and the fast loops
 *		against the plain ones.
 *
 * test/unit/test_pack.c
 */
#include "support.h"

#include "base/isa.h"
#include "base/pack.h"

#define MOST 5000

static const char *const levels[] = { "scalar", "neon", "avx2" };

/* Pack into exactly the room that it takes, so that the sanitizer sees what goes beyond. */
static uint8_t *
packed(const uint8_t *bytes, uint32_t count, size_t *length)
{
	size_t room = 16 + (size_t) count * 2;
	uint8_t *out = malloc(room + QB_PACK_SLACK);
	uint8_t *exact;

	*length = qb_pack(bytes, count, out, room);
	assert_true(*length > 0);
	exact = malloc(*length + QB_PACK_SLACK);
	assert_int_equal(qb_pack(bytes, count, exact, *length), *length);
	assert_memory_equal(exact, out, *length);
	assert_int_equal(qb_pack(bytes, count, exact, *length - 1), 0);
	assert_int_equal(qb_pack_plain(bytes, count, exact, *length), *length);
	assert_memory_equal(exact, out, *length);
	free(out);
	return exact;
}

/* Unpack into exactly the room that is allowed, so that the sanitizer sees what goes beyond. */
static bool
unpacks_by(bool (*unpack)(const uint8_t *, size_t, uint8_t *, uint32_t), const uint8_t *packed,
		   size_t length, uint8_t **bytes, uint32_t count)
{
	*bytes = malloc((size_t) count + QB_PACK_SLACK);
	return unpack(packed, length, *bytes, count);
}

static bool
unpacks(const uint8_t *from, size_t length, const uint8_t *expected, uint32_t expected_count)
{
	uint8_t *exact = malloc(length > 0 ? length : 1);
	uint8_t *bytes = NULL;
	uint8_t *plain = NULL;
	uint32_t count = 0;
	bool ok;

	memcpy(exact, from, length);
	ok = qb_unpacked_count(exact, length, &count);
	if (ok)
	{
		ok = unpacks_by(qb_unpack, exact, length, &bytes, count);
		assert_int_equal(unpacks_by(qb_unpack_plain, exact, length, &plain, count), ok);
		if (ok)
			assert_memory_equal(plain, bytes, count);
	}
	if (ok && expected)
	{
		assert_int_equal(count, expected_count);
		assert_memory_equal(bytes, expected, count);
	}
	free(exact);
	free(bytes);
	free(plain);
	return ok;
}

static void
check(const uint8_t *bytes, uint32_t count)
{
	uint8_t *given = malloc(count > 0 ? count : 1);
	size_t length;
	uint8_t *small;

	memcpy(given, bytes, count);
	small = packed(given, count, &length);
	assert_true(unpacks(small, length, bytes, count));
	assert_false(unpacks(small, length - 1, NULL, 0));
	small[length] = 1;
	assert_false(unpacks(small, length + 1, NULL, 0));
	free(small);
	free(given);
}

/* Lengths around words and runs, from nothing but zeros to none. */
static void
there_and_back(void **state)
{
	static const uint32_t lengths[] = { 1,    7,    8,    9,    63,   64,   65,   2047,
										2048, 2049, 2055, 2056, 2057, 4096, 4097, MOST };
	static const unsigned one_in[] = { 1, 2, 9, 100, 3000 };
	test_rng rng = test_seeded(3);
	uint8_t bytes[MOST] = { 0 };
	size_t i, k;
	uint32_t place;

	(void) state;
	for (i = 0; i < ALL_OF(lengths); i++)
	{
		memset(bytes, 0, sizeof(bytes));
		check(bytes, lengths[i]);
		for (k = 0; k < ALL_OF(one_in); k++)
		{
			for (place = 0; place < lengths[i]; place++)
				bytes[place] =
					test_below(&rng, one_in[k]) == 0 ? (uint8_t) (1 + test_below(&rng, 255)) : 0;
			check(bytes, lengths[i]);
		}
	}
}

/* Each byte of a word, alone: none is taken for another. */
static void
each_byte(void **state)
{
	uint8_t bytes[16];
	int set;

	(void) state;
	for (set = 0; set < 256; set++)
	{
		int i;

		for (i = 0; i < 16; i++)
			bytes[i] = set >> (i % 8) & 1 ? (uint8_t) (0x80 >> (i % 8)) : 0;
		check(bytes, sizeof(bytes));
	}
}

/* Few keys in a large table take little. */
static void
small(void **state)
{
	static uint8_t bytes[1 << 20];
	size_t length;
	uint32_t i;

	(void) state;
	for (i = 0; i < 1000; i++)
		bytes[i * 1000] = 1;
	free(packed(bytes, sizeof(bytes), &length));
	assert_true(length < 4200);
}

/* No count is believed that would ask for more memory than the packed bytes can stand for. */
static void
damaged(void **state)
{
	static const uint8_t huge[] = { 0xFF, 0xFF, 0xFF, 0x3F, 0, 255 };
	static const uint8_t longer[] = { 8, 0, 0, 0, 0, 1 };
	static const uint8_t zero[] = { 8, 0, 0, 0, 1, 0 };
	static const uint8_t cut[] = { 8, 0, 0, 0, 0xFF, 1, 2, 3 };
	test_rng rng = test_seeded(4);
	uint8_t bytes[200];
	uint32_t count;
	int i;

	(void) state;
	assert_false(qb_unpacked_count(huge, 3, &count));
	assert_false(unpacks(huge, sizeof(huge), NULL, 0));
	assert_false(unpacks(longer, sizeof(longer), NULL, 0));
	assert_false(unpacks(zero, sizeof(zero), NULL, 0));
	assert_false(unpacks(cut, sizeof(cut), NULL, 0));
	for (i = 0; i < 100000; i++)
	{
		size_t length = test_below(&rng, sizeof(bytes));
		size_t k;

		for (k = 0; k < length; k++)
			bytes[k] = test_below(&rng, 3) == 0 ? 0 : (uint8_t) test_random(&rng);
		if (length > 4)
			bytes[2] = bytes[3] = 0;
		(void) unpacks(bytes, length, NULL, 0);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(there_and_back),
		cmocka_unit_test(each_byte),
		cmocka_unit_test(small),
		cmocka_unit_test(damaged),
	};
	int failed = 0;
	size_t i;

	for (i = 0; i < ALL_OF(levels); i++)
		if (qb_isa_use(levels[i]))
			failed += cmocka_run_group_tests_name(levels[i], tests, NULL, NULL);
	return failed;
}
