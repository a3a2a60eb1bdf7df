/*
 * test_crc.c
 *		CRC-32C: known values, and the fast version compared with the plain version.
 *
 * test/unit/test_crc.c
 */
#include "support.h"

typedef uint32_t (*crc_function)(uint32_t crc, const uint8_t *bytes, size_t length);

static const crc_function both[] = { qb_crc32c, qb_crc32c_plain };

static uint32_t
whole(crc_function f, const void *bytes, size_t length)
{
	return f(QB_CRC32C_INIT, bytes, length) ^ QB_CRC32C_INIT;
}

/* The standard check value of CRC-32C, and three examples of RFC 3720, B.4. */
static void
known_values(void **state)
{
	uint8_t bytes[32];
	size_t i;

	(void) state;
	for (i = 0; i < ALL_OF(both); i++)
	{
		size_t k;

		assert_int_equal(whole(both[i], "", 0), 0);
		assert_int_equal(whole(both[i], "123456789", 9), 0xE3069283);
		memset(bytes, 0, sizeof(bytes));
		assert_int_equal(whole(both[i], bytes, 32), 0x8A9136AA);
		memset(bytes, 0xFF, sizeof(bytes));
		assert_int_equal(whole(both[i], bytes, 32), 0x62A8AB43);
		for (k = 0; k < 32; k++)
			bytes[k] = (uint8_t) k;
		assert_int_equal(whole(both[i], bytes, 32), 0x46DD794E);
	}
}

static void
fast_is_plain(void **state)
{
	uint8_t bytes[400];
	test_rng rng = test_seeded(1);
	size_t offset;
	size_t length;

	(void) state;
	for (offset = 0; offset < sizeof(bytes); offset++)
		bytes[offset] = (uint8_t) test_random(&rng);
	for (offset = 0; offset < 9; offset++)
		for (length = 0; offset + length <= 200; length++)
			assert_int_equal(qb_crc32c(0x12345678, bytes + offset, length),
							 qb_crc32c_plain(0x12345678, bytes + offset, length));
}

/* On x86-64, long values are read as three streams, whose checksums are combined. */
static void
long_is_plain(void **state)
{
	static const size_t lengths[] = {
		3071, 3072, 3073, 3080, 4096, 6143, 6144, 6145, 10000, 20000
	};
	static uint8_t bytes[20000 + 8];
	test_rng rng = test_seeded(2);
	size_t i;

	(void) state;
	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t) test_random(&rng);
	for (i = 0; i < ALL_OF(lengths); i++)
	{
		assert_int_equal(qb_crc32c(0x12345678, bytes + i % 8, lengths[i]),
						 qb_crc32c_plain(0x12345678, bytes + i % 8, lengths[i]));
		assert_int_equal(qb_crc32c(QB_CRC32C_INIT, bytes, lengths[i]),
						 qb_crc32c_plain(QB_CRC32C_INIT, bytes, lengths[i]));
	}
}

static void
continues_from_parts(void **state)
{
	const uint8_t text[] = "The checksum of a whole is that of its parts, one after the other.";
	uint32_t wanted = whole(qb_crc32c_plain, text, sizeof(text));
	size_t cut;

	(void) state;
	for (cut = 0; cut <= sizeof(text); cut++)
	{
		uint32_t crc = qb_crc32c(QB_CRC32C_INIT, text, cut);

		crc = qb_crc32c(crc, text + cut, sizeof(text) - cut);
		assert_int_equal(crc ^ QB_CRC32C_INIT, wanted);
	}
}

/* The checksum's own field counts as zero, so its content does not matter. */
static void
goes_around_its_field(void **state)
{
	uint8_t bytes[40];
	uint32_t wanted;
	size_t field;

	(void) state;
	for (field = 0; field + 4 <= sizeof(bytes); field++)
	{
		memset(bytes, 0x5A, sizeof(bytes));
		memset(bytes + field, 0, 4);
		wanted = whole(qb_crc32c_plain, bytes, sizeof(bytes));
		assert_int_equal(qb_checksum(bytes, sizeof(bytes), field), wanted);
		qb_store32(bytes + field, 0xDEADBEEF);
		assert_int_equal(qb_checksum(bytes, sizeof(bytes), field), wanted);
		bytes[(field + 4) % sizeof(bytes)] ^= 1;
		assert_int_not_equal(qb_checksum(bytes, sizeof(bytes), field), wanted);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_values),          cmocka_unit_test(fast_is_plain),
		cmocka_unit_test(long_is_plain),         cmocka_unit_test(continues_from_parts),
		cmocka_unit_test(goes_around_its_field),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
