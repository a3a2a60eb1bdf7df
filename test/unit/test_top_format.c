/*
 * test_top_format.c
 *		The byte format of lists of top keys: golden files, and hostile bytes.
 *
 * test/golden has the samples of top_support.h.  To rewrite the files, run GOLDEN_WRITE=1
 * build/unit/test_top_format in the top directory.
 *
 * test/unit/test_top_format.c
 */
#include "format_support.h"
#include "top_support.h"

/* The written samples equal the golden files. */
static void
lists_are_as_they_were(void **state)
{
	static const char *const name[] = { "top_empty", "top_explicit_texts", "top_dense",
										"top_warp_explicit", "top_warp_dense_texts" };
	int kind;

	(void) state;
	for (kind = 0; kind < TOP_SAMPLES; kind++)
	{
		test_bytes b = top_sample(kind);

		require_golden(name[kind], b);
		free(b.data);
	}
}

static void
copies_are_the_same(void **state)
{
	int kind;

	(void) state;
	for (kind = 0; kind < TOP_SAMPLES; kind++)
	{
		test_bytes b = top_sample(kind);
		test_bytes again;
		qs_sketch sketch;
		qs_top view;
		top_counted c;

		WHERE("sample %d", kind);
		c.truth = NULL;
		REQUIRE_OK(qs_top_open(&view, &sketch, b.data, b.length));
		REQUIRE_OK(qs_copy(&c.sketch, &sketch, &test_heap));
		REQUIRE_OK(qs_top_copy(&c.top, &view, &test_heap));
		again = top_write(&c);
		REQUIRE(test_equal_bytes(b, again));
		free(again.data);
		free(b.data);
		top_end(&c);
		test_no_leak();
	}
}

static void
damage_is_found(void **state)
{
	int kind;
	uint64_t i;

	(void) state;
	for (kind = 0; kind < TOP_SAMPLES; kind++)
	{
		test_bytes b = top_sample(kind);

		for (i = 0; i < b.length; i++)
		{
			test_bytes cut = test_bytes_of(b.data, i);

			REQUIRE(qs_top_validate(cut.data, cut.length) != QB_OK);
			top_use(cut.data, cut.length);
			top_repair(cut.data, cut.length);
			REQUIRE(qs_top_validate(cut.data, cut.length) != QB_OK);
			free(cut.data);
			b.data[i] ^= (uint8_t) (1 << i % 8);
			REQUIRE(qs_top_validate(b.data, b.length) != QB_OK);
			top_use(b.data, b.length);
			b.data[i] ^= (uint8_t) (1 << i % 8);
		}
		free(b.data);
	}
}

/* Change bytes and fields, and repair the checksums. */
static void
mutants_do_no_harm(void **state)
{
	static const uint64_t edges[] = { 0,
									  1,
									  127,
									  128,
									  255,
									  INT32_MAX,
									  UINT32_MAX,
									  INT64_MAX,
									  UINT64_MAX,
									  UINT64_MAX / 32,
									  UINT64_C(1) << 59 };
	test_rng rng = test_seeded(31);
	test_bytes sound[TOP_SAMPLES];
	int accepted = 0;
	int round;
	int i;

	(void) state;
	for (i = 0; i < TOP_SAMPLES; i++)
		sound[i] = top_sample(i);
	for (round = 0; round < 30000; round++)
	{
		const test_bytes *s = &sound[test_below(&rng, TOP_SAMPLES)];
		test_bytes m = test_bytes_of(s->data, s->length);
		uint64_t list = QS_TOP_HEADER_BYTES + qb_load64(m.data + AT_SKETCH);
		int changes = 1 + (int) test_below(&rng, 3);

		WHERE("round %d", round);
		while (changes-- > 0)
		{
			bool header = test_below(&rng, 2) || list == m.length;
			uint64_t at = header ? test_below(&rng, QS_TOP_HEADER_BYTES + QS_HEADER_BYTES)
								 : list + test_below(&rng, m.length - list);

			if (test_below(&rng, 2) && at / 8 * 8 + 8 <= m.length)
				qb_store64(m.data + at / 8 * 8, edges[test_below(&rng, ALL_OF(edges))]);
			else
				m.data[at] ^= (uint8_t) (1 << test_below(&rng, 8));
		}
		top_repair(m.data, m.length);
		accepted += qs_top_validate(m.data, m.length) == QB_OK;
		top_use(m.data, m.length);
		free(m.data);
	}
	for (i = 0; i < TOP_SAMPLES; i++)
		free(sound[i].data);
	REQUIRE(accepted > 100 && accepted < 15000);
}

/* Check that a changed field gets this status after the checksums are repaired. */
static void
require_refused(int kind, uint64_t at, uint64_t value, int bytes, qb_status wanted)
{
	test_bytes b = top_sample(kind);

	WHERE("sample %d, offset %llu", kind, (unsigned long long) at);
	memcpy(b.data + at, &value, (size_t) bytes);
	top_repair(b.data, b.length);
	REQUIRE_STATUS(qs_top_validate(b.data, b.length), wanted);
	free(b.data);
}

static void
contradictions_are_refused(void **state)
{
	test_bytes b = top_sample(4);
	uint64_t list = QS_TOP_HEADER_BYTES + qb_load64(b.data + AT_SKETCH);
	uint64_t texts = qb_load64(b.data + AT_TEXT_BYTES);
	uint64_t text = list + qb_load64(b.data + AT_COUNT) * QS_TOP_ENTRY_BYTES;
	uint64_t last = b.length - 1;

	(void) state;
	require_refused(4, 0, 'X', 1, QB_FORMAT_MAGIC);
	require_refused(4, 3, 2, 1, QB_FORMAT_VERSION);
	require_refused(4, AT_N, 0, 4, QB_FORMAT_PARAMS);
	require_refused(4, AT_N, QS_TOP_MAX + 1, 4, QB_FORMAT_PARAMS);
	require_refused(4, AT_N, 3, 4, QB_FORMAT_PARAMS); /* more candidates than n allows */
	require_refused(4, AT_TEXTS, 2, 1, QB_FORMAT_PARAMS);
	require_refused(2, AT_ENCODING, 6, 1, QB_FORMAT_PARAMS);
	require_refused(0, AT_TEXTS, 1, 1, QB_FORMAT_PARAMS);
	require_refused(4, 14, 1, 2, QB_FORMAT_RESERVED);
	require_refused(4, 63, 1, 1, QB_FORMAT_RESERVED);
	require_refused(4, AT_BOUND, (uint64_t) -1, 8, QB_FORMAT_PARAMS);
	require_refused(4, AT_BOUND, INT64_MAX, 8, QB_FORMAT_PARAMS);
	require_refused(1, AT_BOUND, 1, 8, QB_FORMAT_PARAMS); /* an exact list has bound 0 */
	require_refused(1, AT_COUNT, 1, 8, QB_FORMAT_PARAMS);
	require_refused(4, AT_SKETCH, UINT64_MAX, 8, QB_FORMAT_LENGTH);
	require_refused(4, AT_COUNT, 0, 8, QB_FORMAT_PARAMS);
	require_refused(4, AT_COUNT, 1, 8, QB_FORMAT_LENGTH);
	require_refused(4, AT_TEXT_BYTES, texts + 1, 8, QB_FORMAT_LENGTH);
	require_refused(4, AT_TEXT_BYTES, UINT64_MAX, 8, QB_FORMAT_LENGTH);
	require_refused(4, AT_TEXT_BYTES, texts - 1, 8, QB_FORMAT_LENGTH);
	require_refused(4, text, 0, 1, QB_FORMAT_ENTRIES);   /* one text more than keys */
	require_refused(4, last, 'x', 1, QB_FORMAT_ENTRIES); /* one text fewer than keys */
	require_refused(1, QS_TOP_HEADER_BYTES + QS_HEADER_BYTES + 8, 99, 4, QB_FORMAT_ENTRIES);
	require_refused(1, QS_TOP_HEADER_BYTES + 7, 0, 1, QB_FORMAT_LENGTH); /* 8-byte counts */
	require_refused(4, list, UINT64_MAX, 8, QB_FORMAT_ENTRIES);
	require_refused(4, list + 8, (uint64_t) -1, 8, QB_FORMAT_ENTRIES);
	require_refused(4, list + 8, INT64_MAX, 8, QB_FORMAT_ENTRIES);
	require_refused(4, list + 16, (uint64_t) -1, 8, QB_FORMAT_ENTRIES);
	require_refused(4, list + 16, INT64_MAX, 8, QB_FORMAT_ENTRIES);
	free(b.data);
}

/* An explicit sketch has 4-byte counts only within a list, and only if its weights allow them. */
static void
counts_are_as_narrow_as_they_can_be(void **state)
{
	int64_t weight[] = { 5, UINT32_MAX - 5, 1 };
	uint64_t key[] = { test_key(1), test_key(2), test_key(3) };
	qs_params p = test_usual_params(QS_MULTILEVEL, 64);
	size_t n;

	(void) state;
	for (n = 1; n <= 3; n++)
	{
		uint64_t entry = n < 3 ? 12 : 16;
		qs_sketch alone, listed;
		test_bytes list, bytes;
		top_counted c;
		qs_top view;

		top_begin(&c, &p, 4, false);
		REQUIRE_OK(top_try_batch(&c, key, weight, n));
		list = top_write(&c);
		REQUIRE(list.length == QS_TOP_HEADER_BYTES + QS_HEADER_BYTES + n * entry);
		REQUIRE_OK(qs_top_validate(list.data, list.length));
		REQUIRE_OK(qs_top_open(&view, &listed, list.data, list.length));
		REQUIRE_STATUS(
			qs_validate(list.data + QS_TOP_HEADER_BYTES, list.length - QS_TOP_HEADER_BYTES),
			n < 3 ? QB_FORMAT_PARAMS : QB_OK);
		bytes = test_write(&listed);
		REQUIRE_OK(qs_validate(bytes.data, bytes.length));
		REQUIRE_OK(qs_open(&alone, bytes.data, bytes.length));
		REQUIRE(qs_estimate(&listed, key[n - 1]) == weight[n - 1]);
		REQUIRE(qs_estimate(&alone, key[n - 1]) == weight[n - 1]);
		free(bytes.data);
		free(list.data);
		top_end(&c);
	}
	test_no_leak();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_are_as_they_were),
		cmocka_unit_test(copies_are_the_same),
		cmocka_unit_test(damage_is_found),
		cmocka_unit_test(mutants_do_no_harm),
		cmocka_unit_test(contradictions_are_refused),
		cmocka_unit_test(counts_are_as_narrow_as_they_can_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
