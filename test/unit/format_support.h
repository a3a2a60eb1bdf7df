/*
 * format_support.h
 *		Golden files, and copies cut or padded to another length, for tests of byte formats.
 *
 * test/golden has values that must never change.  With GOLDEN_WRITE in the environment,
 * the tests rewrite the golden files before they compare.  Run the tests from the top of
 * the source.
 *
 * test/unit/format_support.h
 */
#ifndef QS_TEST_FORMAT_SUPPORT_H
#define QS_TEST_FORMAT_SUPPORT_H

#include "support.h"

static inline FILE *
golden_open(const char *name, const char *mode)
{
	char path[200];
	FILE *file;

	snprintf(path, sizeof(path), "test/golden/%s.bin", name);
	file = fopen(path, mode);
	WHERE("%s", path);
	REQUIRE(file != NULL);
	return file;
}

static inline test_bytes
golden_read(const char *name)
{
	static uint8_t room[65536];
	FILE *file = golden_open(name, "rb");
	size_t length = fread(room, 1, sizeof(room), file);

	fclose(file);
	return test_bytes_of(room, length);
}

/* Check that the bytes equal the golden file. */
static inline void
require_golden(const char *name, test_bytes b)
{
	test_bytes there;

	if (getenv("GOLDEN_WRITE"))
	{
		FILE *file = golden_open(name, "wb");

		REQUIRE(fwrite(b.data, 1, b.length, file) == b.length && fclose(file) == 0);
	}
	there = golden_read(name);
	REQUIRE(test_equal_bytes(there, b));
	free(there.data);
}

/*
 * Returns a copy, cut or padded with zeros to "length" bytes.  The checksum is repaired if the
 * copy has a whole header.
 */
static inline test_bytes
with_length(test_bytes b, uint64_t length, uint64_t header)
{
	test_bytes other = { calloc(1, length > 0 ? length : 1), length };

	memcpy(other.data, b.data, length < b.length ? length : b.length);
	if (length >= header)
		test_repair_crc(other.data, length);
	return other;
}

#endif
