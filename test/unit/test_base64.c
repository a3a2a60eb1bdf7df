/*
 * test_base64.c
 *		Base64: known values, the fast loops against the plain ones, and text that
 *		is not base64.
 *
 * test/unit/test_base64.c
 */
#include "support.h"

#include "base/base64.h"
#include "base/isa.h"

/* Several vectors, and all remainders. */
#define MOST 300

static const char *const levels[] = { "scalar", "neon", "avx2" };

/* A block of exactly this length, so that the sanitizer sees a step beyond it. */
static char *
encoded(const uint8_t *bytes, size_t count)
{
	char *text = malloc(qb_base64_length(count) + 1);

	qb_base64_encode(bytes, count, text);
	text[qb_base64_length(count)] = '\0';
	return text;
}

static bool
decodes(const char *text, size_t length, const uint8_t *expected, size_t count)
{
	char *exact = malloc(length + 1);
	uint8_t *bytes = malloc(qb_base64_bytes(length) + 1);
	size_t got = 0;
	bool ok;

	memcpy(exact, text, length);
	ok = qb_base64_decode(exact, length, bytes, &got);
	if (ok && expected)
	{
		assert_int_equal(got, count);
		assert_memory_equal(bytes, expected, count);
	}
	free(exact);
	free(bytes);
	return ok;
}

/* RFC 4648, section 10, and all digits. */
static void
known_values(void **state)
{
	static const char *const bytes[] = { "", "f", "fo", "foo", "foob", "fooba", "foobar" };
	static const char *const text[] = { "",         "Zg==",     "Zm8=",    "Zm9v",
										"Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy" };
	uint8_t all[48];
	size_t i;

	(void) state;
	for (i = 0; i < ALL_OF(bytes); i++)
	{
		char *out = encoded((const uint8_t *) bytes[i], strlen(bytes[i]));

		assert_string_equal(out, text[i]);
		assert_true(
			decodes(text[i], strlen(text[i]), (const uint8_t *) bytes[i], strlen(bytes[i])));
		free(out);
	}
	for (i = 0; i < 16; i++)
	{
		uint32_t bits = (uint32_t) (i * 4) << 18 | (uint32_t) (i * 4 + 1) << 12 |
						(uint32_t) (i * 4 + 2) << 6 | (uint32_t) (i * 4 + 3);

		all[i * 3] = (uint8_t) (bits >> 16);
		all[i * 3 + 1] = (uint8_t) (bits >> 8);
		all[i * 3 + 2] = (uint8_t) bits;
	}
	{
		char *out = encoded(all, sizeof(all));

		assert_string_equal(out,
							"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");
		free(out);
	}
}

/* Each length, random bytes: there and back, and the text of the plain loops, at each level. */
static void
levels_agree(void **state)
{
	test_rng rng = { 1 };
	uint8_t bytes[MOST];
	char plain[MOST * 2];
	size_t length, level, i;

	(void) state;
	for (length = 0; length <= MOST; length++)
	{
		for (i = 0; i < length; i++)
			bytes[i] = (uint8_t) (test_random(&rng) >> 24);
		qb_base64_encode_plain(bytes, length, plain);
		plain[qb_base64_length(length)] = '\0';
		for (level = 0; level < ALL_OF(levels); level++)
		{
			char *text;

			if (!qb_isa_use(levels[level]))
				continue;
			text = encoded(bytes, length);
			assert_string_equal(text, plain);
			assert_true(decodes(text, strlen(text), bytes, length));
			free(text);
		}
	}
	qb_isa_use("auto");
}

/* Is a character of the text, if it is replaced by this one, found at all levels? */
static void
check_byte(char *text, size_t length, size_t place, int c)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	bool is_digit = c != '\0' && strchr(digits, c) != NULL;
	bool is_padding = c == '=' && place == length - 1;
	char before = text[place];
	size_t level;

	text[place] = (char) c;
	for (level = 0; level < ALL_OF(levels); level++)
		if (qb_isa_use(levels[level]))
			assert_int_equal(decodes(text, length, NULL, 0), is_digit || is_padding);
	text[place] = before;
}

/* Any byte anywhere in text of several vectors. */
static void
invalid_bytes(void **state)
{
	char text[120];
	size_t place;
	int c;

	(void) state;
	memset(text, 'x', sizeof(text));
	for (place = 0; place < sizeof(text); place++)
		for (c = 0; c < 256; c++)
			check_byte(text, sizeof(text), place, c);
	qb_isa_use("auto");
}

/* Lengths that no text has, and padding that does not belong there. */
static void
invalid_ends(void **state)
{
	static const char *const none[] = {
		"A",    "AA",   "AAA",    "=",        "====",     "A===",
		"AA=A", "=AAA", "AA==AA", "AA==AAAA", "AAA=AAA=", "AAAAA==="
	};
	char text[MOST];
	size_t i, level;

	(void) state;
	memset(text, 'A', sizeof(text));
	for (level = 0; level < ALL_OF(levels); level++)
	{
		if (!qb_isa_use(levels[level]))
			continue;
		for (i = 0; i < ALL_OF(none); i++)
			assert_false(decodes(none[i], strlen(none[i]), NULL, 0));
		for (i = 0; i < MOST; i++)
			assert_int_equal(decodes(text, i, NULL, 0), i % 4 == 0);
	}
	qb_isa_use("auto");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_values),
		cmocka_unit_test(levels_agree),
		cmocka_unit_test(invalid_bytes),
		cmocka_unit_test(invalid_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
