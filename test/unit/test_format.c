/*
 * test_format.c
 *		Damaged serialized sketches: each change is detected or harmless.
 *
 * Three promises are tested.  The checksum detects each changed bit.  Bytes with a
 * matching checksum are refused, or are a valid sketch with which everything works.  Bytes
 * that only qs_open() checked, like stored values, cause no access out of bounds.
 *
 * test/unit/test_format.c
 */
#include "exercise.h"
#include "format_support.h"
#include "samples.h"

/* ---- undamaged bytes ---- */

static void
samples_are_valid_and_work(void **state)
{
	size_t i;

	(void) state;
	for (i = 0; i < ALL_OF(samples); i++)
	{
		test_bytes b = sample_bytes(&samples[i]);

		WHERE("%s", samples[i].name);
		exercise_opened(b);
		exercise_valid(b);
		free(b.data);
	}
}

/* A serialized sketch may start at any address. */
static void
bytes_can_be_unaligned(void **state)
{
	size_t i;
	size_t offset;

	(void) state;
	for (i = 0; i < ALL_OF(samples); i++)
		for (offset = 1; offset < 8; offset++)
		{
			test_bytes b = sample_bytes(&samples[i]);
			uint8_t *room = malloc(offset + b.length);
			test_bytes moved = { room + offset, b.length };

			WHERE("%s, offset %zu", samples[i].name, offset);
			REQUIRE(room != NULL);
			memcpy(moved.data, b.data, b.length);
			exercise_valid(moved);
			free(room);
			free(b.data);
		}
}

static void
header_says_what_the_sketch_is(void **state)
{
	static const sample s = { "sf", QS_SF, QS_PART_FULL, SAMPLE_WIDE };
	test_bytes b = sample_bytes(&s);

	(void) state;
	assert_memory_equal(b.data, "QSK\1", 4);
	assert_int_equal(b.data[4], QS_SF);
	assert_int_equal(b.data[TEST_AT_FORM], QS_DENSE);
	assert_int_equal(b.data[6], QS_PART_FULL);
	assert_int_equal(b.data[TEST_AT_COUNTER_BYTES], 8);
	assert_int_equal(b.data[8], 3);
	assert_int_equal(b.data[9], 3);
	assert_int_equal(b.data[10], 4);
	assert_int_equal(qb_load64(b.data + TEST_AT_N), 4);
	assert_int_equal(qb_load64(b.data + 24), 8);
	assert_int_equal(qb_load32(b.data + 32), TEST_FAMILY);
	assert_int_equal(qb_load32(b.data + 36), TEST_COLLATION);
	assert_int_equal(qb_load64(b.data + TEST_AT_TOTAL), 150 * (INT64_C(1) << 53));
	assert_int_equal(b.length, 60 + 4 * 8 * 8 + 4 * 8 * 3 * 8);
	free(b.data);
}

/* ---- damage ---- */

static void
every_other_length_is_refused(void **state)
{
	size_t i;
	uint64_t length;

	(void) state;
	for (i = 0; i < ALL_OF(samples); i++)
	{
		test_bytes b = sample_bytes(&samples[i]);

		WHERE("%s", samples[i].name);
		for (length = 0; length <= b.length + 300; length++)
		{
			test_bytes cut = with_length(b, length, QS_HEADER_BYTES);
			qs_sketch view;

			REQUIRE((qs_open(&view, cut.data, length) == QB_OK) == (length == b.length));
			REQUIRE((qs_validate(cut.data, length) == QB_OK) == (length == b.length));
			free(cut.data);
		}
		free(b.data);
	}
}

static void
every_flipped_bit_is_found(void **state)
{
	size_t i;
	uint64_t bit;

	(void) state;
	for (i = 0; i < ALL_OF(samples); i++)
	{
		test_bytes b = sample_bytes(&samples[i]);

		for (bit = 0; bit < b.length * 8; bit++)
		{
			WHERE("%s, bit %d of byte %d", samples[i].name, (int) bit % 8, (int) bit / 8);
			b.data[bit / 8] ^= (uint8_t) (1 << bit % 8);
			REQUIRE(qs_validate(b.data, b.length) != QB_OK);
			b.data[bit / 8] ^= (uint8_t) (1 << bit % 8);
		}
		free(b.data);
	}
}

/* Use the bytes as far as the checks accept them; returns true if the bytes are valid. */
static bool
use(test_bytes b)
{
	qs_sketch view;

	if (qs_open(&view, b.data, b.length) != QB_OK)
	{
		REQUIRE(qs_validate(b.data, b.length) != QB_OK);
		return false;
	}
	exercise_opened(b);
	if (qs_validate(b.data, b.length) != QB_OK)
		return false;
	exercise_valid(b);
	return true;
}

/*
 * With the checksum repaired, the validator still detects most flips.  Flips may pass in free
 * fields, such as seed, masks, family, collation, encoding of text and fingerprints.  Flips in
 * dense counters and in the total must be detected, except in device parts.
 */
static void
flipped_bits_with_a_fitting_checksum_are_harmless(void **state)
{
	size_t i;
	uint64_t bit;

	(void) state;
	for (i = 0; i < ALL_OF(samples); i++)
	{
		test_bytes b = sample_bytes(&samples[i]);
		bool dense = b.data[TEST_AT_FORM] == QS_DENSE;

		for (bit = 0; bit < b.length * 8; bit++)
		{
			uint64_t byte = bit / 8;
			bool passed;

			WHERE("%s, bit %d of byte %d", samples[i].name, (int) bit % 8, (int) byte);
			b.data[byte] ^= (uint8_t) (1 << bit % 8);
			test_repair_crc(b.data, b.length);
			passed = use(b);
			if (dense && byte >= QS_HEADER_BYTES && samples[i].part != QS_PART_DEVICE)
				REQUIRE(!passed);
			if (byte < 4 || byte == TEST_AT_FORM || byte == TEST_AT_COUNTER_BYTES ||
				(byte == TEST_AT_TEXT && bit % 8 > 1))
				REQUIRE(!passed);
			if ((byte >= TEST_AT_TOTAL && byte < QS_HEADER_BYTES) &&
				samples[i].part != QS_PART_DEVICE)
				REQUIRE(!passed);
			b.data[byte] ^= (uint8_t) (1 << bit % 8);
		}
		free(b.data);
	}
}

/* Write absurd values to header fields, and repair the checksum. */
static void
absurd_fields_are_refused(void **state)
{
	static const uint64_t values[] = { 0,          1,         2,          3,
									   255,        1 << 16,   1 << 24,    1 << 29,
									   UINT32_MAX, INT64_MAX, UINT64_MAX, UINT64_C(1) << 63 };
	static const struct
	{
		int at;
		int bytes;
		const char *name;
	} fields[] = {
		{ 3, 1, "version" },
		{ 4, 1, "structure" },
		{ 5, 1, "form" },
		{ 6, 1, "part" },
		{ 7, 1, "counter bytes" },
		{ 8, 1, "depth" },
		{ 9, 1, "z" },
		{ 10, 1, "masks" },
		{ 11, 1, "reserved" },
		{ TEST_AT_N, 8, "n" },
		{ TEST_AT_TOTAL, 8, "total" },
		{ TEST_AT_USED, 8, "used" },
		{ 56, 4, "present" },
	};
	size_t i;
	size_t f;
	size_t v;

	(void) state;
	for (i = 0; i < ALL_OF(samples); i++)
		for (f = 0; f < ALL_OF(fields); f++)
			for (v = 0; v < ALL_OF(values); v++)
			{
				test_bytes b = sample_bytes(&samples[i]);

				WHERE("%s, %s %llu", samples[i].name, fields[f].name,
					  (unsigned long long) values[v]);
				memcpy(b.data + fields[f].at, &values[v], (size_t) fields[f].bytes);
				test_repair_crc(b.data, b.length);
				use(b);
				free(b.data);
			}
}

/* If several fields are wrong, the status names the most basic error. */
static void
complaints_are_in_order(void **state)
{
	static const sample s = { "multilevel", QS_MULTILEVEL, 0, SAMPLE_DENSE };
	test_bytes b = sample_bytes(&s);

	(void) state;
	b.data[b.length - 40] ^= 1;
	REQUIRE_STATUS(qs_validate(b.data, b.length), QB_FORMAT_CRC);
	test_repair_crc(b.data, b.length);
	REQUIRE_STATUS(qs_validate(b.data, b.length), QB_FORMAT_COUNTERS);
	REQUIRE_STATUS(qs_validate(b.data, b.length - 1), QB_FORMAT_LENGTH);
	b.data[56] = 1;
	REQUIRE_STATUS(qs_validate(b.data, b.length - 1), QB_FORMAT_RESERVED);
	b.data[TEST_AT_COUNTER_BYTES] = 8;
	REQUIRE_STATUS(qs_validate(b.data, b.length - 1), QB_FORMAT_PARAMS);
	b.data[3] = 2;
	REQUIRE_STATUS(qs_validate(b.data, b.length - 1), QB_FORMAT_VERSION);
	b.data[0] = 'q';
	REQUIRE_STATUS(qs_validate(b.data, b.length - 1), QB_FORMAT_MAGIC);
	REQUIRE_STATUS(qs_validate(b.data, QS_HEADER_BYTES - 1), QB_FORMAT_SHORT);
	REQUIRE_STATUS(qs_validate(NULL, 0), QB_FORMAT_SHORT);
	free(b.data);
}

/* Change several random bytes, with and without repairing the checksum. */
static void
random_damage_is_harmless(void **state)
{
	test_rng rng = test_seeded(17);
	size_t i;
	int round;

	(void) state;
	for (i = 0; i < ALL_OF(samples); i++)
		for (round = 0; round < 300; round++)
		{
			test_bytes b = sample_bytes(&samples[i]);
			uint64_t changes = 1 + test_below(&rng, 6);

			WHERE("%s, round %d", samples[i].name, round);
			while (changes-- > 0)
			{
				uint64_t from = round % 4 == 0 ? 0 : QS_HEADER_BYTES;
				uint64_t at = from + test_below(&rng, b.length - from + (b.length == from));

				if (at < b.length)
					b.data[at] = test_below(&rng, 3) ? (uint8_t) test_random(&rng) : 255;
			}
			if (round % 2)
				test_repair_crc(b.data, b.length);
			use(b);
			free(b.data);
		}
}

/* Each body repeats one byte.  In a dense body all counters and all high indexes are equal. */
static void
uniform_bodies_are_harmless(void **state)
{
	static const uint8_t fill[] = { 0, 1, 4, 127, 128, 254, 255 };
	size_t i;
	size_t f;

	(void) state;
	for (i = 0; i < ALL_OF(samples); i++)
		for (f = 0; f < ALL_OF(fill); f++)
		{
			test_bytes b = sample_bytes(&samples[i]);

			WHERE("%s, body of %d", samples[i].name, fill[f]);
			memset(b.data + QS_HEADER_BYTES, fill[f], b.length - QS_HEADER_BYTES);
			test_repair_crc(b.data, b.length);
			use(b);
			free(b.data);
		}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_are_valid_and_work),
		cmocka_unit_test(bytes_can_be_unaligned),
		cmocka_unit_test(header_says_what_the_sketch_is),
		cmocka_unit_test(every_other_length_is_refused),
		cmocka_unit_test(every_flipped_bit_is_found),
		cmocka_unit_test(flipped_bits_with_a_fitting_checksum_are_harmless),
		cmocka_unit_test(absurd_fields_are_refused),
		cmocka_unit_test(complaints_are_in_order),
		cmocka_unit_test(random_damage_is_harmless),
		cmocka_unit_test(uniform_bodies_are_harmless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
