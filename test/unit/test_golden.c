/*
 * test_golden.c
 *		Serialized sketches that must never change.
 *
 * test/golden has sketches of every structure, every form and every part.  The keys come from
 * one stream, so that any implementation can build the sketches:
 *
 *	x = 88172645463325252; for each key i = 0, 1, ..
 *		x ^= x << 13; x ^= x >> 7; x ^= x << 17		(64 bits; xorshift by Marsaglia)
 *		fingerprint = ((x >> 48) >> (x & 15)) * 0x9E3779B97F4A7C15
 *		weight = 1 + i mod 5
 *
 * "empty" has no keys.  "explicit" has the first 24 keys, "many" has the first 20000 keys.
 * "wide" has the keys of "many", and fingerprint 3 with weight 2^40 + 255.  "dense" has
 * fingerprints 0 to 999, each with weight 1, which use nearly all counters.  Parameters: size
 * 1kB, depth 3, z 8, 1024 masks, seed 42; family 1, collation 0 (empty: family 0).
 *
 * The files change only with the version of the format.  To rewrite the files, run
 * GOLDEN_WRITE=1 build/unit/test_golden in the top directory.
 *
 * test/unit/test_golden.c
 */
#include "format_support.h"

typedef enum content
{
	EMPTY,
	EXPLICIT,
	DENSE,
	MANY,
	WIDE
} content;

static const struct golden
{
	const char *name;
	int structure;
	int part;
	content content;
} golden[] = {
	{ "sub_warp_empty", QS_SUB_WARP, 0, EMPTY },
	{ "thread_explicit", QS_THREAD, 0, EXPLICIT },
	{ "thread_many", QS_THREAD, 0, MANY },
	{ "thread_wide", QS_THREAD, 0, WIDE },
	{ "warp_explicit", QS_WARP, 0, EXPLICIT },
	{ "warp_many", QS_WARP, 0, MANY },
	{ "warp_wide", QS_WARP, 0, WIDE },
	{ "half_warp_explicit", QS_HALF_WARP, 0, EXPLICIT },
	{ "half_warp_many", QS_HALF_WARP, 0, MANY },
	{ "half_warp_wide", QS_HALF_WARP, 0, WIDE },
	{ "sub_warp_explicit", QS_SUB_WARP, 0, EXPLICIT },
	{ "sub_warp_many", QS_SUB_WARP, 0, MANY },
	{ "sub_warp_wide", QS_SUB_WARP, 0, WIDE },
	{ "multilevel_explicit", QS_MULTILEVEL, 0, EXPLICIT },
	{ "multilevel_many", QS_MULTILEVEL, 0, MANY },
	{ "multilevel_dense", QS_MULTILEVEL, 0, DENSE },
	{ "multilevel_wide", QS_MULTILEVEL, 0, WIDE },
	{ "sf_explicit", QS_SF, QS_PART_FULL, EXPLICIT },
	{ "sf_many", QS_SF, QS_PART_FULL, MANY },
	{ "sf_device_many", QS_SF, QS_PART_DEVICE, MANY },
	{ "sf_device_wide", QS_SF, QS_PART_DEVICE, WIDE },
	{ "sf_host_explicit", QS_SF, QS_PART_HOST, EXPLICIT },
	{ "sf_host_many", QS_SF, QS_PART_HOST, MANY },
};

/* ---- building ---- */

static void
insert_stream(qs_sketch *sk, int count)
{
	uint64_t x = UINT64_C(88172645463325252);
	int i;

	for (i = 0; i < count; i++)
	{
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		test_insert(sk, ((x >> 48) >> (x & 15)) * UINT64_C(0x9E3779B97F4A7C15), 1 + i % 5);
	}
}

static void
build(qs_sketch *sk, const struct golden *g)
{
	qs_params p;
	qs_sketch full;
	uint64_t i;

	REQUIRE_OK(qs_params_make(&p, &(qs_choice){ .structure = g->structure,
												.size = 1024,
												.depth = 3,
												.z = 8,
												.masks = 1024,
												.seed = 42 }));
	qs_init(&full, &p, &test_heap);
	full.keys.family = g->content != EMPTY;
	for (i = 0; g->content == DENSE && i < 1000; i++)
		test_insert(&full, i, 1);
	if (g->content == EXPLICIT || g->content >= MANY)
		insert_stream(&full, g->content == EXPLICIT ? 24 : 20000);
	if (g->content == WIDE)
		test_insert(&full, 3, (INT64_C(1) << 40) + 255);
	REQUIRE((full.encoding == QS_DENSE) == (g->content >= DENSE));
	if (g->part == QS_PART_FULL)
	{
		*sk = full;
		return;
	}
	REQUIRE_OK(qs_sf_part(sk, &full, (qs_part) g->part, &test_heap));
	qs_free(&full);
}

/* ---- tests ---- */

static void
the_stream_gives_the_files(void **state)
{
	size_t i;

	(void) state;
	for (i = 0; i < ALL_OF(golden); i++)
	{
		qs_sketch sk;
		test_bytes b;

		build(&sk, &golden[i]);
		b = test_write_valid(&sk);
		require_golden(golden[i].name, b);
		free(b.data);
		qs_free(&sk);
	}
	test_no_leak();
}

/* Values that old versions wrote can be read, queried and written again. */
static void
the_files_are_sketches(void **state)
{
	size_t i;

	(void) state;
	for (i = 0; i < ALL_OF(golden); i++)
	{
		test_bytes b = golden_read(golden[i].name);
		qs_sketch view;

		REQUIRE_OK(qs_validate(b.data, b.length));
		REQUIRE_OK(qs_open(&view, b.data, b.length));
		REQUIRE(test_writes(&view, b));
		REQUIRE(test_estimate(&view, 3) >= (golden[i].content == WIDE ? INT64_C(1) << 40 : 0));
		REQUIRE(view.total ==
				(golden[i].content == EMPTY      ? 0
				 : golden[i].content == EXPLICIT ? 4 * 15 + 10
				 : golden[i].content == DENSE
					 ? 1000
					 : 60000 + (golden[i].content == WIDE ? (INT64_C(1) << 40) + 255 : 0)));
		free(b.data);
	}
}

/* The multilevel files of many keys must contain nonzero high buckets. */
static void
the_multilevel_files_overflow(void **state)
{
	size_t i;

	(void) state;
	for (i = 0; i < ALL_OF(golden); i++)
		if (golden[i].structure == QS_MULTILEVEL && golden[i].content >= MANY)
		{
			test_bytes b = golden_read(golden[i].name);
			qs_sketch sk;

			test_dense(&sk, b);
			assert_in_range(sk.ops->live_extra(&sk), 4, 28);
			test_dense_free(&sk);
			free(b.data);
		}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_stream_gives_the_files),
		cmocka_unit_test(the_files_are_sketches),
		cmocka_unit_test(the_multilevel_files_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
