/*
 * test_compact_damage.c
 *		Compact bytes that no sketch would write are refused.
 *
 * test/unit/test_compact_damage.c
 */
#include "samples.h"

#include "sketch/compact.h"

/* Bytes in dense encoding are refused if compact is the only valid form. */
static void
the_other_form_is_refused(void **state)
{
	static const sample small = { "warp, compact", QS_WARP, 0, SAMPLE_COMPACT };
	qs_sketch sk;
	test_bytes dense;

	(void) state;
	sample_build(&sk, &small);
	dense = test_write_dense(&sk);
	test_repair_crc(dense.data, dense.length);
	REQUIRE_STATUS(qs_validate(dense.data, dense.length), QB_FORMAT_COUNTERS);
	free(dense.data);
	qs_free(&sk);
}

/* The end of a block with at least two counters of one byte each. */
typedef struct pair
{
	uint8_t *last; /* the last counter; another counter precedes it */
	bool alone;    /* the block has a single key, of weight 2 */
} pair;

/*
 * Collect the ends of up to "most" blocks, whose counters have one byte each; returns their
 * number.
 */
static size_t
pairs_of_counters(test_bytes b, pair *pairs, size_t most)
{
	qs_sketch view;
	qs_block_reader r;
	qs_groups g;
	qs_block block;
	size_t found = 0;

	REQUIRE_OK(qs_open(&view, b.data, b.length));
	REQUIRE(view.encoding == QS_COMPACT);
	g = qs_groups_of(&view);
	while (qs_next_group(&g, &r))
		while (found < most && qs_read_block(&r, &block))
			pairs[found++] =
				(pair){ b.data + (r.next - b.data) - 1,
						block.count == 3 && block.value[0] + block.value[1] + block.value[2] == 6 };
	return found;
}

/* Check that the sketch is refused if one counter grows by 1 and another counter shrinks by 1. */
static void
require_refused(test_bytes b, uint8_t *more, uint8_t *less)
{
	++*more;
	--*less;
	test_repair_crc(b.data, b.length);
	REQUIRE(qs_validate(b.data, b.length) != QB_OK);
	--*more;
	++*less;
	test_repair_crc(b.data, b.length);
}

/*
 * Each key has weight 2, and buckets have few or many keys.  The validator must refuse a
 * counter larger than the weight of its bucket, and a bucket whose sum is no multiple of the
 * depth.
 */
static void
counters_that_do_not_fit_are_refused(void **state)
{
	static const int structures[] = { QS_WARP, QS_HALF_WARP, QS_SUB_WARP, QS_MULTILEVEL };
	static const uint64_t keys[] = { 40, 400, 1500 };
	pair pairs[64];
	size_t i, k, s;

	(void) state;
	for (s = 0; s < ALL_OF(structures); s++)
		for (k = 0; k < ALL_OF(keys); k++)
		{
			qs_sketch sk;
			test_bytes b;
			size_t found;

			WHERE("%s, %d keys", qs_structure_name(structures[s]), (int) keys[k]);
			sample_init_dense(&sk, structures[s], 512, 3);
			for (i = 0; i < keys[k]; i++)
				test_insert(&sk, i, 2);
			b = test_write_valid(&sk);
			found = pairs_of_counters(b, pairs, ALL_OF(pairs));
			REQUIRE(found > 10);
			for (i = 1; i < found; i++)
			{
				require_refused(b, pairs[i].last, pairs[i - 1].last);
				if (pairs[i].alone)
					require_refused(b, pairs[i].last, pairs[i].last - 1);
			}
			REQUIRE_OK(qs_validate(b.data, b.length));
			qs_free(&sk);
			free(b.data);
		}
	test_no_leak();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_other_form_is_refused),
		cmocka_unit_test(counters_that_do_not_fit_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
