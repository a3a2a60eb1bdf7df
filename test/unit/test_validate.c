/*
 * test_validate.c
 *		Each check of the validator, one by one.
 *
 * Each test damages bytes for one check of the validator, and repairs the checksum.
 *
 * test/unit/test_validate.c
 */
#include "samples.h"

#include "sketch/multilevel.h"

enum
{
	AT_PART = 6,
	AT_FAMILY = 32,
	AT_COLLATION = 36,
	BODY = QS_HEADER_BYTES
};

static test_bytes
bytes_of(int structure, int part, sample_kind kind)
{
	sample s = { "", structure, part, kind };

	WHERE("%s, part %d", qs_structure_name(structure), part);
	return sample_bytes(&s);
}

/* Repair the checksum, and check the validator's status. */
static void
require_verdict(test_bytes b, qb_status wanted)
{
	test_repair_crc(b.data, b.length);
	REQUIRE_STATUS(qs_validate(b.data, b.length), wanted);
}

/* ---- explicit ---- */

static void
set_entry(uint8_t *bytes, int i, uint64_t fingerprint, int64_t count)
{
	qb_store64(bytes + BODY + 16 * i, fingerprint);
	qb_store64(bytes + BODY + 16 * i + 8, (uint64_t) count);
}

/*
 * All cases have three entries.  Their counts add up to 6 or INT64_MAX, unless the sum is
 * tested.
 */
static void
explicit_entries_are_checked(void **state)
{
	static const struct
	{
		uint64_t fingerprint[3];
		int64_t count[3];
		int64_t total;
		qb_status verdict;
	} cases[] = {
		{ { 0, 5, UINT64_MAX }, { 1, 2, 3 }, 6, QB_OK },
		{ { 0, 1, INT64_MAX }, { 1, 1, INT64_MAX - 2 }, INT64_MAX, QB_OK },
		{ { 5, 5, 6 }, { 1, 2, 3 }, 6, QB_FORMAT_ENTRIES },
		{ { 0, 0, 6 }, { 1, 2, 3 }, 6, QB_FORMAT_ENTRIES },
		{ { 5, 7, 6 }, { 1, 2, 3 }, 6, QB_FORMAT_ENTRIES },
		{ { 5, UINT64_MAX, 0 }, { 1, 2, 3 }, 6, QB_FORMAT_ENTRIES },
		{ { 5, 6, 7 }, { 0, 3, 3 }, 6, QB_FORMAT_ENTRIES },
		{ { 5, 6, 7 }, { 3, 3, 0 }, 6, QB_FORMAT_ENTRIES },
		{ { 5, 6, 7 }, { -1, 4, 3 }, 6, QB_FORMAT_ENTRIES },
		{ { 5, 6, 7 }, { 1, 2, 3 }, 5, QB_FORMAT_ENTRIES },
		{ { 5, 6, 7 }, { 1, 2, 3 }, 7, QB_FORMAT_ENTRIES },
		{ { 5, 6, 7 }, { INT64_MAX, INT64_MAX, 8 }, 6, QB_FORMAT_ENTRIES },
		{ { 5, 6, 7 }, { INT64_MIN, INT64_MIN, 6 }, 6, QB_FORMAT_ENTRIES },
	};
	size_t i;
	int k;

	(void) state;
	for (i = 0; i < ALL_OF(cases); i++)
	{
		test_bytes b = bytes_of(QS_WARP, 0, SAMPLE_EXPLICIT);

		WHERE("case %zu", i);
		for (k = 0; k < 3; k++)
			set_entry(b.data, k, cases[i].fingerprint[k], cases[i].count[k]);
		qb_store64(b.data + TEST_AT_TOTAL, (uint64_t) cases[i].total);
		require_verdict(b, cases[i].verdict);
		free(b.data);
	}
}

/* A sketch with more entries than the limit must be dense. */
static void
explicit_sketches_are_small(void **state)
{
	qs_params p = sample_params(QS_SUB_WARP);
	uint64_t limit = qs_explicit_limit(&p);
	uint64_t used;

	(void) state;
	for (used = limit; used <= limit + 1; used++)
	{
		test_bytes head = bytes_of(QS_SUB_WARP, 0, SAMPLE_EXPLICIT);
		test_bytes b = { calloc(1, BODY + 16 * used), BODY + 16 * used };
		uint64_t i;

		memcpy(b.data, head.data, BODY);
		for (i = 0; i < used; i++)
			set_entry(b.data, (int) i, i, 2);
		qb_store64(b.data + TEST_AT_TOTAL, 2 * used);
		qb_store64(b.data + TEST_AT_USED, used);
		require_verdict(b, used == limit ? QB_OK : QB_FORMAT_PARAMS);
		free(head.data);
		free(b.data);
	}
}

/* ---- header ---- */

static void
counts_belong_to_a_family(void **state)
{
	test_bytes b = bytes_of(QS_SUB_WARP, 0, SAMPLE_DENSE);

	(void) state;
	qb_store32(b.data + AT_FAMILY, 0);
	require_verdict(b, QB_FORMAT_PARAMS);
	free(b.data);
	b = bytes_of(QS_SUB_WARP, 0, SAMPLE_EMPTY);
	qb_store32(b.data + AT_FAMILY, 0);
	qb_store32(b.data + AT_COLLATION, 5);
	require_verdict(b, QB_FORMAT_PARAMS);
	qb_store32(b.data + AT_COLLATION, 0);
	require_verdict(b, QB_OK);
	free(b.data);
}

static void
device_parts_are_not_explicit(void **state)
{
	test_bytes b = bytes_of(QS_SF, QS_PART_HOST, SAMPLE_EXPLICIT);

	(void) state;
	b.data[AT_PART] = QS_PART_DEVICE;
	require_verdict(b, QB_FORMAT_PARAMS);
	free(b.data);
}

/* ---- plain counters ---- */

static uint8_t *
counter(test_bytes b, uint64_t i)
{
	return b.data + BODY + 4 * i;
}

static void
change(test_bytes b, uint64_t i, int by)
{
	qb_store32(counter(b, i), qb_load32(counter(b, i)) + (uint32_t) by);
}

/* Returns the index of the first nonzero counter among "count" counters from index "from" on. */
static uint64_t
used_counter(test_bytes b, uint64_t from, uint64_t count)
{
	uint64_t i;

	for (i = from; i < from + count; i++)
		if (qb_load32(counter(b, i)) > 0)
			return i;
	REQUIRE(false);
	return 0;
}

/* Returns the number of counters in a bucket; for a host part, in a bucket of the fat table. */
static uint64_t
width(const sample *s)
{
	return s->structure == QS_SF ? 24 : qs_bucket_width(s->structure);
}

static const sample bucketed[] = {
	{ "warp", QS_WARP, 0, SAMPLE_DENSE },
	{ "half_warp", QS_HALF_WARP, 0, SAMPLE_DENSE },
	{ "sub_warp", QS_SUB_WARP, 0, SAMPLE_DENSE },
	{ "sf host", QS_SF, QS_PART_HOST, SAMPLE_DENSE },
};

static void
buckets_have_whole_keys(void **state)
{
	size_t i;

	(void) state;
	for (i = 0; i < ALL_OF(bucketed); i++)
	{
		test_bytes b = sample_bytes(&bucketed[i]);
		uint64_t m = width(&bucketed[i]);
		uint64_t there = used_counter(b, 0, m);
		uint64_t other = used_counter(b, m, m);

		WHERE("%s", bucketed[i].name);
		/* the sum of the table is right, but the sums of two buckets are wrong */
		change(b, there, -1);
		change(b, other, 1);
		require_verdict(b, QB_FORMAT_COUNTERS);
		/* moving the three counts of one key to the other bucket is valid */
		change(b, there, -2);
		change(b, other, 2);
		require_verdict(b, QB_OK);
		change(b, there, 3);
		change(b, other, -3);
		require_verdict(b, QB_OK);
		/* first the sum of the bucket is no multiple of d; then only the total does not match */
		change(b, there, 1);
		require_verdict(b, QB_FORMAT_COUNTERS);
		change(b, there, 2);
		require_verdict(b, QB_FORMAT_COUNTERS);
		free(b.data);
	}
}

/* One counter has the whole sum of its bucket, which is more than all keys can add to a counter. */
static void
buckets_are_not_lopsided(void **state)
{
	size_t i;
	uint64_t k;

	(void) state;
	for (i = 0; i < ALL_OF(bucketed); i++)
	{
		test_bytes b = sample_bytes(&bucketed[i]);
		uint64_t m = width(&bucketed[i]);

		WHERE("%s", bucketed[i].name);
		for (k = 1; k < m; k++)
		{
			change(b, 0, (int) qb_load32(counter(b, k)));
			qb_store32(counter(b, k), 0);
		}
		require_verdict(b, QB_FORMAT_COUNTERS);
		/* the sum is valid if it is spread over d = 3 counters */
		qb_store32(counter(b, 1), qb_load32(counter(b, 0)) / 3);
		qb_store32(counter(b, 2), qb_load32(counter(b, 0)) / 3);
		qb_store32(counter(b, 0), qb_load32(counter(b, 0)) / 3);
		require_verdict(b, QB_OK);
		change(b, 0, 1);
		change(b, 1, -1);
		require_verdict(b, QB_FORMAT_COUNTERS);
		free(b.data);
	}
}

static void
rows_have_all_the_weight(void **state)
{
	test_bytes b = bytes_of(QS_THREAD, 0, SAMPLE_DENSE);

	(void) state;
	change(b, used_counter(b, 20, 20), -1);
	change(b, 45, 1);
	require_verdict(b, QB_FORMAT_COUNTERS);
	change(b, 45, -1);
	change(b, 25, 1);
	require_verdict(b, QB_OK);
	free(b.data);
}

/* ---- multilevel ---- */

#define LOW BODY /* offset of the low buckets */

static void
low_buckets_are_checked(void **state)
{
	test_bytes b = bytes_of(QS_MULTILEVEL, 0, SAMPLE_DENSE);
	uint8_t *low = b.data + LOW;

	(void) state;
	low[3] ^= 1;
	low[QS_LOW_BYTES + 4] ^= 1;
	require_verdict(b, QB_FORMAT_COUNTERS);
	free(b.data);
}

/*
 * Make a sketch of one bucket and one key of weight 200.  Append a high bucket whose counter "at"
 * is "high_counter".  "named": the low bucket names the high bucket.
 */
static test_bytes
with_high_bucket(uint64_t high_counter, uint64_t at, bool named)
{
	qs_params p = test_params(QS_MULTILEVEL, 1, 3, 0, 4, 8);
	test_bytes b;
	test_bytes longer;
	qs_sketch sk;

	test_init_dense(&sk, &p);
	test_insert(&sk, test_key(1), 200);
	b = test_write_dense(&sk);
	qs_free(&sk);
	longer = (test_bytes){ calloc(1, b.length + 128), b.length + 128 };
	memcpy(longer.data, b.data, b.length);
	free(b.data);
	if (named)
		qb_store32(longer.data + LOW + QS_LOW_COUNTERS, QS_HIGH_INDEX_MIN);
	qb_store64(longer.data + TEST_AT_USED, 1);
	qb_store32(longer.data + LOW + QS_LOW_BYTES + 4 * at, (uint32_t) high_counter);
	return longer;
}

/* An index is below QS_HIGH_INDEX_MIN, or names a high bucket that does not exist. */
static void
high_indexes_are_checked(void **state)
{
	static const uint32_t wrong[] = { 1, 1023, 1025, 2048, UINT32_MAX };
	size_t i;

	(void) state;
	for (i = 0; i < ALL_OF(wrong); i++)
	{
		test_bytes b = with_high_bucket(1, 0, true);

		qb_store32(b.data + LOW + QS_LOW_COUNTERS, wrong[i]);
		require_tables(b, false, false);
		free(b.data);
	}
}

static void
high_buckets_are_checked(void **state)
{
	static const struct
	{
		uint64_t counter, at;
		bool named;
	} wrong[] = {
		{ 0, 0, true },          /* a named high bucket is all zero */
		{ 0, 0, false },         /* no index names the high bucket */
		{ 1, 28, true },         /* an unused counter is not zero */
		{ 1, 0, true },          /* the counter exceeds N */
		{ UINT32_MAX, 0, true }, /* the counter exceeds N by far */
	};
	size_t i;

	(void) state;
	for (i = 0; i < ALL_OF(wrong); i++)
	{
		test_bytes b = with_high_bucket(wrong[i].counter, wrong[i].at, wrong[i].named);

		WHERE("case %zu", i);
		require_tables(b, false, false);
		free(b.data);
	}
}

/* The counters add up to d * N, but one counter is too large. */
static void
multilevel_buckets_are_not_lopsided(void **state)
{
	test_bytes b = with_high_bucket(2, 0, true);
	uint8_t *low = b.data + LOW;

	(void) state;
	/* N = 200 and the counters are 256 * 2 + 88 = 600, 0, 0: the sum is right, but 600 exceeds N */
	memset(low, 0, QS_LOW_COUNTERS);
	low[0] = 88;
	require_tables(b, false, true);
	/* N = 600 and the counters are 600, 600, 600: one key of weight 600 */
	qb_store64(b.data + TEST_AT_TOTAL, 600);
	low[5] = low[9] = 88;
	qb_store32(low + QS_LOW_BYTES + 4 * 5, 2);
	qb_store32(low + QS_LOW_BYTES + 4 * 9, 2);
	require_tables(b, true, true);
	low[5]++;
	low[9]--;
	require_tables(b, false, true);
	free(b.data);
}

/* The sketch has no high bucket.  A separate check finds lopsided low counters. */
static void
low_buckets_are_not_lopsided(void **state)
{
	static const struct
	{
		uint8_t counter[3];
		int64_t total;
		bool right;
	} cases[] = {
		{ { 5, 5, 5 }, 5, true },   { { 255, 255, 255 }, 255, true }, { { 6, 5, 4 }, 5, false },
		{ { 15, 0, 0 }, 5, false }, { { 5, 5, 6 }, 5, false },        { { 5, 5, 5 }, 6, false },
		{ { 5, 5, 5 }, 4, false },  { { 0, 0, 0 }, 5, false },
	};
	test_bytes b = with_high_bucket(2, 0, true);
	uint8_t *low = b.data + LOW;
	size_t i;

	(void) state;
	memset(low, 0, QS_LOW_BYTES);
	qb_store64(b.data + TEST_AT_USED, 0);
	b.length -= 4 * QS_HIGH_COUNTERS;
	for (i = 0; i < ALL_OF(cases); i++)
	{
		WHERE("case %zu", i);
		memcpy(low + 7, cases[i].counter, sizeof(cases[i].counter));
		qb_store64(b.data + TEST_AT_TOTAL, (uint64_t) cases[i].total);
		require_tables(b, cases[i].right, true);
	}
	free(b.data);
}

/* ---- sf ---- */

static void
slim_counters_are_maxima(void **state)
{
	test_bytes b = bytes_of(QS_SF, QS_PART_FULL, SAMPLE_DENSE);
	uint64_t there = used_counter(b, 0, 8);

	(void) state;
	change(b, there, 1);
	require_verdict(b, QB_FORMAT_COUNTERS);
	change(b, there, -2);
	require_verdict(b, QB_FORMAT_COUNTERS);
	change(b, there, 1);
	require_verdict(b, QB_OK);
	free(b.data);
}

/* Check which slim counters the buckets may have, with N = 600, d = 3, z = 3. */
static void
device_parts_are_plausible(void **state)
{
	static const struct
	{
		uint32_t slim[2][8]; /* slim counters of the first two buckets; later buckets are empty */
		bool right;
	} cases[] = {
		{ { { 600, 600, 600 } }, true },
		{ { { 300, 300, 300 }, { 300, 300, 300 } }, true },
		{ { { 200, 200, 200 } }, true },                   /* z cells of 200 each */
		{ { { 199, 200, 200 } }, false },                  /* too little for 600 */
		{ { { 0 } }, false },                              /* nothing at all */
		{ { { 601, 600, 600 } }, false },                  /* above N */
		{ { { 600, 600, 600, 1 } }, false },               /* 1801 is above d * N */
		{ { { 600 }, { 1, 1, 1 } }, false },               /* 600 + 1 is above N */
		{ { { 400, 400, 400 }, { 201 } }, false },         /* 400 + 201 is above N */
		{ { { 300, 300, 300, 300 }, { 201, 1 } }, false }, /* 1200 / 3 + 201 is above N */
		{ { { 300, 300, 300, 300 }, { 200, 1 } }, true },
	};
	size_t i;
	int k;

	(void) state;
	for (i = 0; i < ALL_OF(cases); i++)
	{
		test_bytes b = bytes_of(QS_SF, QS_PART_DEVICE, SAMPLE_DENSE);

		WHERE("case %zu", i);
		REQUIRE(b.length == BODY + 4 * 8 * 4);
		qb_store64(b.data + TEST_AT_TOTAL, 600);
		memset(b.data + BODY, 0, b.length - BODY);
		for (k = 0; k < 16; k++)
			qb_store32(counter(b, (uint64_t) k), cases[i].slim[k / 8][k % 8]);
		require_tables(b, cases[i].right, true);
		free(b.data);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(explicit_entries_are_checked),
		cmocka_unit_test(explicit_sketches_are_small),
		cmocka_unit_test(counts_belong_to_a_family),
		cmocka_unit_test(device_parts_are_not_explicit),
		cmocka_unit_test(buckets_have_whole_keys),
		cmocka_unit_test(buckets_are_not_lopsided),
		cmocka_unit_test(rows_have_all_the_weight),
		cmocka_unit_test(low_buckets_are_checked),
		cmocka_unit_test(high_indexes_are_checked),
		cmocka_unit_test(high_buckets_are_checked),
		cmocka_unit_test(multilevel_buckets_are_not_lopsided),
		cmocka_unit_test(low_buckets_are_not_lopsided),
		cmocka_unit_test(slim_counters_are_maxima),
		cmocka_unit_test(device_parts_are_plausible),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
