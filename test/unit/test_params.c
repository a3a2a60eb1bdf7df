/*
 * test_params.c
 *		Parameters: valid ranges, sizes, merging, and the explicit limit.
 *
 * test/unit/test_params.c
 */
#include "support.h"

static const struct
{
	int structure;
	const char *name;
	uint32_t width;
	uint32_t depth_max;
	uint64_t bucket; /* bytes of a bucket; thread: of a counter */
} known[] = {
	{ QS_THREAD, "thread", 0, 32, 4 },           { QS_WARP, "warp", 32, 32, 128 },
	{ QS_HALF_WARP, "half_warp", 16, 16, 64 },   { QS_SUB_WARP, "sub_warp", 8, 8, 32 },
	{ QS_MULTILEVEL, "multilevel", 28, 28, 32 }, { QS_SF, "sf", 8, 8, 32 },
};

static void
structures_have_names(void **state)
{
	size_t i;

	(void) state;
	for (i = 0; i < ALL_OF(known); i++)
	{
		size_t length = strlen(known[i].name);

		assert_string_equal(qs_structure_name(known[i].structure), known[i].name);
		assert_int_equal(qs_structure_by_name(known[i].name, length), known[i].structure);
		assert_int_equal(qs_structure_by_name(known[i].name, length - 1), 0);
		assert_int_equal(qs_bucket_width(known[i].structure), known[i].width);
		assert_int_equal(qs_depth_max(known[i].structure), known[i].depth_max);
	}
	assert_null(qs_structure_name(0));
	assert_null(qs_structure_name(7));
	assert_null(qs_structure_name(-1));
	assert_int_equal(qs_structure_by_name("", 0), 0);
	assert_int_equal(qs_structure_by_name("WARP", 4), 0);
	assert_int_equal(qs_structure_by_name("sub_warps", 9), 0);
}

static void
making_checks_ranges(void **state)
{
	static const struct
	{
		int structure;
		uint64_t size;
		int64_t depth, z, masks;
		qb_status status;
	} cases[] = {
		{ QS_SUB_WARP, 1024, 3, 8, 1024, QB_OK },
		{ QS_SUB_WARP, UINT64_C(1) << 29, 8, 64, 65536, QB_OK },
		{ QS_WARP, 1024, 32, 2, 1, QB_OK },
		{ 0, 1024, 3, 8, 1024, QB_BAD_STRUCTURE },
		{ 7, 1024, 3, 8, 1024, QB_BAD_STRUCTURE },
		{ -1, 1024, 3, 8, 1024, QB_BAD_STRUCTURE },
		{ QS_SF, 1023, 3, 8, 1024, QB_BAD_SIZE },
		{ QS_SF, 0, 3, 8, 1024, QB_BAD_SIZE },
		{ QS_SF, (UINT64_C(1) << 29) + 1, 3, 8, 1024, QB_BAD_SIZE },
		{ QS_SF, UINT64_MAX, 3, 8, 1024, QB_BAD_SIZE },
		{ QS_SF, 1024, 0, 8, 1024, QB_BAD_DEPTH },
		{ QS_SF, 1024, -3, 8, 1024, QB_BAD_DEPTH },
		{ QS_SF, 1024, 9, 8, 1024, QB_BAD_DEPTH },
		{ QS_SF, 1024, INT64_MAX, 8, 1024, QB_BAD_DEPTH },
		{ QS_SUB_WARP, 1024, 9, 8, 1024, QB_BAD_DEPTH },
		{ QS_HALF_WARP, 1024, 17, 8, 1024, QB_BAD_DEPTH },
		{ QS_MULTILEVEL, 1024, 29, 8, 1024, QB_BAD_DEPTH },
		{ QS_WARP, 1024, 33, 8, 1024, QB_BAD_DEPTH },
		{ QS_THREAD, 1024, 33, 8, 1024, QB_BAD_DEPTH },
		{ QS_SF, 1024, 3, 1, 1024, QB_BAD_Z },
		{ QS_SF, 1024, 3, 65, 1024, QB_BAD_Z },
		{ QS_SF, 1024, 3, INT64_MIN, 1024, QB_BAD_Z },
		{ QS_SF, 1024, 3, 8, 0, QB_BAD_MASKS },
		{ QS_SF, 1024, 3, 8, -1024, QB_BAD_MASKS },
		{ QS_SF, 1024, 3, 8, INT64_MIN, QB_BAD_MASKS },
		{ QS_SF, 1024, 3, 8, 1000, QB_BAD_MASKS },
		{ QS_SF, 1024, 3, 8, 131072, QB_BAD_MASKS },
	};
	size_t i;

	(void) state;
	for (i = 0; i < ALL_OF(cases); i++)
	{
		qs_params p;

		WHERE("case %zu", i);
		REQUIRE_STATUS(qs_params_make(&p, &(qs_choice){ .structure = cases[i].structure,
														.size = cases[i].size,
														.depth = cases[i].depth,
														.z = cases[i].z,
														.masks = cases[i].masks,
														.seed = 5 }),
					   cases[i].status);
		if (cases[i].status == QB_OK)
			REQUIRE_OK(qs_params_check(&p));
	}
}

/* Parameters that a structure does not use are zero, so that equal sketches have equal bytes. */
static void
made_parameters_are_canonical(void **state)
{
	size_t i;

	(void) state;
	for (i = 0; i < ALL_OF(known); i++)
	{
		qs_params p;

		REQUIRE_OK(qs_params_make(&p, &(qs_choice){ .structure = known[i].structure,
													.size = 3 << 20,
													.depth = 2,
													.z = 4,
													.masks = 256,
													.seed = 77 }));
		assert_int_equal(p.structure, known[i].structure);
		assert_int_equal(p.part, QS_PART_FULL);
		assert_int_equal(p.depth, 2);
		assert_int_equal(p.seed, 77);
		assert_int_equal(p.z, known[i].structure == QS_SF ? 4 : 0);
		assert_int_equal(p.log2_masks, known[i].structure == QS_THREAD ? 0 : 8);
		assert_int_equal(p.n, (3 << 20) / known[i].bucket / (known[i].width == 0 ? 2 : 1));
		assert_int_equal(qs_block_bytes(&p) * p.n, 3 << 20);
	}
}

/*
 * Doubling a size that is a multiple of the bucket's size doubles n.  Sketches whose sizes differ
 * by a power of two can therefore be folded to one size.
 */
static void
doubling_the_size_doubles_n(void **state)
{
	size_t i;
	uint32_t d;
	uint64_t size;

	(void) state;
	for (i = 0; i < ALL_OF(known); i++)
		for (d = 1; d <= known[i].depth_max; d++)
			for (size = QS_SIZE_MIN; size < QS_SIZE_MAX; size += size < 2048 ? 1 : size / 7)
			{
				uint64_t n = qs_params_n(known[i].structure, d, size);
				qs_params p = test_params(known[i].structure, n, (int) d, 2, 0, 0);

				WHERE("%s, depth %u, size %llu", known[i].name, d, (unsigned long long) size);
				REQUIRE(n >= 1 && qs_block_bytes(&p) * n <= size);
				if (size * 2 <= QS_SIZE_MAX)
					REQUIRE(size % known[i].bucket != 0 ||
							qs_params_n(known[i].structure, d, size * 2) == 2 * n);
			}
}

/* qs_params_check() refuses a wrong value in each field except the seed. */
static void
checking_finds_each_field(void **state)
{
	static const qs_params good = { .n = 8, .structure = QS_SF, .depth = 3, .z = 8 };
	static const struct
	{
		qs_params p;
		qb_status status;
	} cases[] = {
		{ { .n = 8, .structure = 0, .depth = 3 }, QB_BAD_STRUCTURE },
		{ { .n = 8, .structure = 7, .depth = 3 }, QB_BAD_STRUCTURE },
		{ { .n = 8, .structure = QS_SF, .part = 3, .depth = 3, .z = 8 }, QB_BAD_STRUCTURE },
		{ { .n = 8, .structure = QS_WARP, .part = 1, .depth = 3 }, QB_BAD_STRUCTURE },
		{ { .n = 8, .structure = QS_WARP, .depth = 0 }, QB_BAD_DEPTH },
		{ { .n = 8, .structure = QS_WARP, .depth = 33 }, QB_BAD_DEPTH },
		{ { .n = 8, .structure = QS_WARP, .depth = 3, .z = 8 }, QB_BAD_Z },
		{ { .n = 8, .structure = QS_SF, .depth = 3 }, QB_BAD_Z },
		{ { .n = 8, .structure = QS_SF, .depth = 3, .z = 1 }, QB_BAD_Z },
		{ { .n = 8, .structure = QS_SF, .depth = 3, .z = 65 }, QB_BAD_Z },
		{ { .n = 8, .structure = QS_WARP, .depth = 3, .log2_masks = 17 }, QB_BAD_MASKS },
		{ { .n = 8, .structure = QS_THREAD, .depth = 3, .log2_masks = 1 }, QB_BAD_MASKS },
		{ { .n = 0, .structure = QS_WARP, .depth = 3 }, QB_BAD_SIZE },
		{ { .n = (1 << 22) + 1, .structure = QS_WARP, .depth = 3 }, QB_BAD_SIZE },
		{ { .n = UINT64_MAX, .structure = QS_THREAD, .depth = 3 }, QB_BAD_SIZE },
	};
	size_t i;

	(void) state;
	REQUIRE_OK(qs_params_check(&good));
	for (i = 0; i < ALL_OF(cases); i++)
	{
		WHERE("case %zu", i);
		REQUIRE_STATUS(qs_params_check(&cases[i].p), cases[i].status);
	}
}

static void
folding_needs_a_power_of_two(void **state)
{
	qs_params a = test_usual_params(QS_SF, 24);
	qs_params b;
	uint64_t n;
	size_t field;

	(void) state;
	for (n = 1; n <= 400; n++)
	{
		bool smaller = n == 3 || n == 6 || n == 12 || n == 24;
		bool larger = n == 24 || n == 48 || n == 96 || n == 192 || n == 384;

		b = a;
		b.n = n;
		assert_int_equal(qs_params_fold(&a, &b), smaller);
		assert_int_equal(qs_params_fold(&b, &a), larger);
		assert_int_equal(qs_params_mergeable(&a, &b), n == 24);
	}
	for (field = 0; field < 6; field++)
	{
		b = a;
		b.seed += field == 0;
		b.structure -= field == 1;
		b.part += field == 2;
		b.depth += field == 3;
		b.z += field == 4;
		b.log2_masks += field == 5;
		assert_false(qs_params_mergeable(&a, &b));
		assert_false(qs_params_mergeable(&b, &a));
		assert_false(qs_params_fold(&a, &b));
	}
}

static void
the_explicit_limit_follows_the_size(void **state)
{
	size_t i;

	(void) state;
	for (i = 0; i < ALL_OF(known); i++)
	{
		qs_params p = test_usual_params(known[i].structure, 1);
		uint32_t previous = 0;

		for (; qs_params_check(&p) == QB_OK; p.n *= 2)
		{
			uint32_t limit = qs_explicit_limit(&p);
			uint64_t half = qs_block_bytes(&p) * p.n / 2;

			/*
			 * the limit is the largest number of entries that fit into half of the memory that
			 * queries read, but at least 1 and at most QS_EXPLICIT_MAX
			 */
			assert_true(limit == 1 || limit * sizeof(qs_entry) <= half);
			assert_true(limit == QS_EXPLICIT_MAX || (limit + 1) * sizeof(qs_entry) > half);
			assert_true(limit >= previous && limit >= 1 && limit <= QS_EXPLICIT_MAX);
			previous = limit;
		}
		assert_int_equal(previous, QS_EXPLICIT_MAX);
	}
}

/* Each status has a different text, in the style of error messages. */
static void
statuses_have_words(void **state)
{
	int i;
	int j;

	(void) state;
	for (i = QB_OK; i < QB_STATUSES; i++)
	{
		const char *text = qb_status_text((qb_status) i);

		assert_non_null(text);
		assert_true(strlen(text) > 0 && text[0] >= 'a' && text[0] <= 'z');
		assert_true(text[strlen(text) - 1] != '.');
		assert_string_not_equal(text, "unrecognized status");
		for (j = QB_OK; j < i; j++)
			assert_string_not_equal(text, qb_status_text((qb_status) j));
	}
	assert_string_equal(qb_status_text(QB_STATUSES), "unrecognized status");
	assert_string_equal(qb_status_text((qb_status) 1000), "unrecognized status");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(structures_have_names),
		cmocka_unit_test(making_checks_ranges),
		cmocka_unit_test(made_parameters_are_canonical),
		cmocka_unit_test(doubling_the_size_doubles_n),
		cmocka_unit_test(checking_finds_each_field),
		cmocka_unit_test(folding_needs_a_power_of_two),
		cmocka_unit_test(the_explicit_limit_follows_the_size),
		cmocka_unit_test(statuses_have_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
