/*
 * test_filter_format.c
 *		The byte format of filters: golden files, and hostile bytes.
 *
 * test/golden has filters, built from the fingerprints that test_golden.c describes.  Row i
 * has number i and nonce 42, or id 3 * i.  Filters have seed 42, family 1 (empty: family 0)
 * and collation 0.  To rewrite the files, run in the top directory
 * GOLDEN_WRITE=1 build/unit/test_filter_format.
 *
 * test/unit/test_filter_format.c
 */
#include "filter_support.h"
#include "format_support.h"

static const struct golden
{
	const char *name;
	uint64_t m;
	uint32_t k;
	double p;
	size_t rows;
	bool ids; /* row i has id 3 * i */
	uint32_t layout;
} golden[] = {
	{ "filter_empty", 8192, 200, 0.01, 0, false, QF_STANDARD },
	{ "filter_few", 8192, 200, 0.01, 24, false, QF_STANDARD },
	{ "filter_many", 16384, 20, 0.1, 400, false, QF_STANDARD },
	{ "filter_dense", 8192, 200, 0.01, 1000, false, QF_STANDARD },
	{ "filter_odd", 5846, 200, 0.0308, 200, false, QF_STANDARD },
	{ "filter_ids", 8192, 1500, 0.0005, 2000, true, QF_STANDARD },
	{ "filter_bloom_few", 8192, 7, 1, 10, false, QF_STANDARD },
	{ "filter_bloom", 8192, 7, 1, 800, false, QF_STANDARD },
	{ "filter_blocked_few", 8192, 7, 1, 10, false, QF_BLOCKED },
	{ "filter_blocked_many", 16384, 9, 1, 90, false, QF_BLOCKED },
	{ "filter_blocked", 8192, 9, 1, 800, false, QF_BLOCKED },
};

static void
insert_stream(qf_filter *f, const struct golden *g)
{
	uint64_t x = UINT64_C(88172645463325252);
	uint64_t i;

	for (i = 0; i < g->rows; i++)
	{
		uint64_t key, id = i * 3;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		key = ((x >> 48) >> (x & 15)) * UINT64_C(0x9E3779B97F4A7C15);
		if (g->ids)
			filter_insert_ids(f, &key, &id, 1);
		else
			filter_insert(f, &key, 1, i, 42);
	}
}

static test_bytes
sample(const struct golden *g)
{
	qf_params p = g->p < 1 ? filter_params(g->m, g->k, g->p, 42)
						   : filter_bloom_params(g->m, g->k, g->layout, 42);
	qf_filter f;
	test_bytes b;

	WHERE("%s", g->name);
	qf_init(&f, &p, &test_heap);
	f.keys.family = g->rows > 0;
	insert_stream(&f, g);
	b = filter_bytes(&f);
	qf_free(&f);
	return b;
}

static void
filters_are_as_they_were(void **state)
{
	size_t i;

	(void) state;
	for (i = 0; i < ALL_OF(golden); i++)
	{
		test_bytes b = sample(&golden[i]);

		require_golden(golden[i].name, b);
		free(b.data);
	}
}

static void
samples_are_valid_and_work(void **state)
{
	size_t i, offset;

	(void) state;
	for (i = 0; i < ALL_OF(golden); i++)
		for (offset = 0; offset < 8; offset++)
		{
			test_bytes b = sample(&golden[i]);
			uint8_t *room = malloc(offset + b.length);
			test_bytes moved = { room + offset, b.length };

			memcpy(moved.data, b.data, b.length);
			filter_exercise(moved);
			filter_exercise_valid(moved);
			free(room);
			free(b.data);
		}
	test_no_leak();
}

static void
every_other_length_is_refused(void **state)
{
	size_t i;
	uint64_t length;

	(void) state;
	for (i = 0; i < ALL_OF(golden); i++)
	{
		test_bytes b = sample(&golden[i]);

		for (length = 0; length < b.length + 100; length++)
		{
			test_bytes cut = with_length(b, length, QF_HEADER_BYTES);
			qf_filter view;

			/* qf_open() does not detect every cut of a compact body */
			if (b.data[4] == QF_DENSE || length == b.length)
				REQUIRE((qf_open(&view, cut.data, length) == QB_OK) == (length == b.length));
			if (qf_open(&view, cut.data, length) == QB_OK)
				filter_exercise(cut);
			REQUIRE((qf_validate(cut.data, length, NULL) == QB_OK) == (length == b.length));
			free(cut.data);
		}
		free(b.data);
	}
}

/*
 * The checksum detects each flipped bit.  With a repaired checksum, the bytes are refused or
 * safe to use.
 */
static void
every_flipped_bit_is_found(void **state)
{
	size_t i;
	uint64_t bit;
	size_t valid = 0;

	(void) state;
	for (i = 0; i < ALL_OF(golden); i++)
	{
		test_bytes b = sample(&golden[i]);

		for (bit = 0; bit < b.length * 8; bit++)
		{
			test_bytes bad = test_bytes_of(b.data, b.length);
			qf_filter view;

			WHERE("%s, bit %d of byte %d", golden[i].name, (int) bit % 8, (int) bit / 8);
			bad.data[bit / 8] ^= (uint8_t) (1 << bit % 8);
			REQUIRE(qf_validate(bad.data, bad.length, NULL) != QB_OK);
			test_repair_crc(bad.data, bad.length);
			if (qf_open(&view, bad.data, bad.length) == QB_OK)
				filter_exercise(bad);
			if (qf_validate(bad.data, bad.length, NULL) == QB_OK)
			{
				valid++;
				filter_exercise_valid(bad);
			}
			free(bad.data);
		}
		free(b.data);
	}
	/* changed seeds, families, numbers of rows and probabilities can be valid */
	assert_true(valid > 100);
	test_no_leak();
}

/* Change bytes of a sample, repair the checksum, and check the validator's status. */
static void
require_refused(const char *name, size_t at, uint64_t value, size_t width, qb_status wanted)
{
	size_t i = 0;
	test_bytes b;

	while (strcmp(golden[i].name, name) != 0)
		i++;
	b = sample(&golden[i]);
	WHERE("%s, %d", name, (int) at);
	memcpy(b.data + at, &value, width);
	test_repair_crc(b.data, b.length);
	REQUIRE_STATUS(qf_validate(b.data, b.length, NULL), wanted);
	free(b.data);
}

static void
contradictions_are_refused_though_the_checksum_fits(void **state)
{
	test_bytes b = sample(&golden[3]);
	uint32_t ones = qb_load32(b.data + 56);
	uint64_t bits = qb_load64(b.data + QF_HEADER_BYTES);

	(void) state;
	require_refused("filter_dense", 2, 'X', 1, QB_FORMAT_MAGIC);
	require_refused("filter_dense", 3, 2, 1, QB_FORMAT_VERSION);
	require_refused("filter_dense", 4, QF_EXPLICIT, 1, QB_FORMAT_PARAMS);
	require_refused("filter_dense", 4, QF_ENCODING_COMPACT, 1, QB_FORMAT_LENGTH);
	require_refused("filter_dense", 4, 4, 1, QB_FORMAT_PARAMS);
	require_refused("filter_few", 4, QF_EXPLICIT, 1, QB_FORMAT_PARAMS);
	require_refused("filter_few", 4, QF_DENSE, 1, QB_FORMAT_LENGTH);
	require_refused("filter_dense", 5, QF_BLOCKED, 1, QB_FORMAT_PARAMS); /* p is not 1 */
	require_refused("filter_blocked", 5, QF_LAYOUTS, 1, QB_FORMAT_PARAMS);
	require_refused("filter_blocked", 5, 255, 1, QB_FORMAT_PARAMS);
	require_refused("filter_blocked", 16, 8192 + 64, 8, QB_FORMAT_PARAMS); /* a partial block */
	require_refused("filter_blocked", 48, 1, 8, QB_FORMAT_PARAMS);
	require_refused("filter_dense", 6, QB_TEXT_BYTES + 1, 1, QB_FORMAT_PARAMS);
	require_refused("filter_empty", 6, QB_TEXT_ASCII, 1, QB_FORMAT_PARAMS);
	require_refused("filter_dense", 7, 1, 1, QB_FORMAT_RESERVED);
	require_refused("filter_dense", 8, 0, 4, QB_FORMAT_PARAMS);     /* k */
	require_refused("filter_dense", 8, 65537, 4, QB_FORMAT_PARAMS); /* k */
	require_refused("filter_dense", 8, 8193, 4, QB_FORMAT_PARAMS);  /* k beyond m */
	require_refused("filter_dense", 16, 8256, 8, QB_FORMAT_LENGTH); /* m */
	require_refused("filter_dense", 16, UINT64_MAX, 8, QB_FORMAT_PARAMS);
	require_refused("filter_dense", 32, 0, 4, QB_FORMAT_PARAMS); /* family */
	require_refused("filter_dense", 40, 0, 8, QB_FORMAT_PARAMS); /* rows */
	require_refused("filter_dense", 40, 1, 8,
					QB_FORMAT_PARAMS); /* one row cannot set this many bits */
	require_refused("filter_dense", 40, (uint64_t) -2, 8, QB_FORMAT_PARAMS);
	require_refused("filter_dense", 56, ones - 1, 4, QB_FORMAT_BITS);
	require_refused("filter_dense", 56, ones + 1, 4, QB_FORMAT_BITS);
	require_refused("filter_dense", 56, 8193, 4, QB_FORMAT_PARAMS);
	require_refused("filter_dense", 60, bits & (bits - 1), 8, QB_FORMAT_BITS);
	require_refused("filter_empty", 32, 1, 4, QB_FORMAT_PARAMS);
	require_refused("filter_empty", 36, 1, 4, QB_FORMAT_PARAMS);
	require_refused("filter_bloom", 40, 800, 8, QB_FORMAT_PARAMS);
	require_refused("filter_odd", QF_HEADER_BYTES + 5846 / 64 * 8 + 7, 0x80, 1, QB_FORMAT_RESERVED);
	free(b.data);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(filters_are_as_they_were),
		cmocka_unit_test(samples_are_valid_and_work),
		cmocka_unit_test(every_other_length_is_refused),
		cmocka_unit_test(every_flipped_bit_is_found),
		cmocka_unit_test(contradictions_are_refused_though_the_checksum_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
