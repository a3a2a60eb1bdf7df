/*
 * test_kernels.c
 *		Every table of inner loops gives the bytes of the plain table.
 *
 * Tables that this processor cannot run are skipped and reported.
 *
 * test/unit/test_kernels.c
 */
#include "isa_support.h"

#include "engine/sketch_engine.h"

static const struct
{
	int structure;
	uint64_t n;
} shapes[] = {
	{ QS_THREAD, 100 },   { QS_WARP, 1 },        { QS_WARP, 24 },         { QS_HALF_WARP, 3 },
	{ QS_HALF_WARP, 64 }, { QS_SUB_WARP, 1 },    { QS_SUB_WARP, 96 },     { QS_SUB_WARP, 4096 },
	{ QS_MULTILEVEL, 1 }, { QS_MULTILEVEL, 33 }, { QS_MULTILEVEL, 1024 }, { QS_SF, 17 },
};

/* Build a sketch in batches of many lengths, with and without weights. */
static test_bytes
build(const char *set, const qs_params *p, uint64_t seed)
{
	static const size_t lengths[] = { 1, 2, 7, 8, 9, 15, 17, 100, 4095, 4096, 4097, 9000 };
	static uint64_t key[9000];
	static int64_t weight[9000];
	test_rng rng = test_seeded(seed);
	test_bytes bytes;
	qs_sketch sk;
	size_t b;

	assert_true(qb_isa_use(set));
	test_init_dense(&sk, p);
	for (b = 0; b < 2 * ALL_OF(lengths); b++)
	{
		size_t count = lengths[b / 2];
		size_t i;

		for (i = 0; i < count; i++)
		{
			key[i] = test_key(test_skewed(&rng, 3000));
			weight[i] = (int64_t) test_below(&rng, 1000);
		}
		REQUIRE_OK(qs_engine_cpu.insert(&sk, key, b % 2 ? weight : NULL, count));
	}
	bytes = test_write_valid(&sk);
	qs_free(&sk);
	return bytes;
}

static void
same_bytes(void **state)
{
	size_t s;
	size_t i;

	(void) state;
	for (s = 0; s < ALL_OF(test_isas); s++)
	{
		if (!qb_isa_use(test_isas[s]))
		{
			print_message("%s: not on this processor\n", test_isas[s]);
			continue;
		}
		for (i = 0; i < ALL_OF(shapes); i++)
		{
			qs_params p = test_usual_params(shapes[i].structure, shapes[i].n);
			test_bytes plain = build("scalar", &p, i);
			test_bytes fast = build(test_isas[s], &p, i);

			assert_true(test_equal_bytes(plain, fast));
			free(plain.data);
			free(fast.data);
		}
	}
	assert_true(qb_isa_use("auto"));
}

/*
 * The kernel selects exactly the keys whose estimates reach "least", in narrow and wide
 * sketches.
 */
static void
selected_keys_are_large_enough(void **state)
{
	static const int64_t weights[] = { 1, 300, INT64_C(1) << 34 };
	uint64_t key[QS_BATCH];
	int64_t estimate[QS_BATCH];
	qs_selection selection;
	size_t s, w, i;

	(void) state;
	for (s = 0; s < ALL_OF(test_isas); s++)
		for (w = 0; qb_isa_use(test_isas[s]) && w < ALL_OF(weights); w++)
		{
			qs_params p = test_usual_params(QS_MULTILEVEL, 33);
			test_rng rng = test_seeded(w + 1);
			int64_t least;
			qs_sketch sk;

			test_init_dense(&sk, &p);
			for (i = 0; i < QS_BATCH; i++)
			{
				key[i] = test_key(test_skewed(&rng, 3000));
				test_insert(&sk, key[i], 1 + (int64_t) test_below(&rng, (uint64_t) weights[w]));
			}
			qs_query(&sk, key, QS_BATCH, estimate);
			for (least = 1; least > 0 && least < sk.total; least = least * 5 / 4 + 1)
			{
				size_t at = 0;

				selection.least = least;
				qs_kernels_select(&sk, key, QS_BATCH, &selection);
				if (qs_kernels_now()->select == NULL)
					continue;
				for (i = 0; i < QS_BATCH; i++)
					if (estimate[i] >= least)
						assert_true(at < selection.count && selection.found[at++] == i);
				assert_true(at == selection.count);
			}
			qs_free(&sk);
		}
	assert_true(qb_isa_use("auto"));
}

static void
hashes_agree(void **state)
{
	uint64_t key[100];
	uint64_t hv[100];
	size_t s;
	size_t i;

	(void) state;
	for (i = 0; i < ALL_OF(key); i++)
		key[i] = test_key(i);
	for (s = 0; s < ALL_OF(test_isas); s++)
		if (qb_isa_use(test_isas[s]))
		{
			qs_kernels_now()->hash(qb_seed_key(5), key, ALL_OF(key), hv);
			for (i = 0; i < ALL_OF(key); i++)
				assert_true(hv[i] == qb_hash(key[i], qb_seed_key(5)));
		}
	assert_true(qb_isa_use("auto"));
}

static void
unknown_set(void **state)
{
	(void) state;
	assert_true(qb_isa_use("scalar"));
	assert_false(qb_isa_use("sse9"));
	assert_string_equal(qb_isa_name(qb_isa_now()), "scalar");
	assert_true(qb_isa_use("auto"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_bytes),
		cmocka_unit_test(selected_keys_are_large_enough),
		cmocka_unit_test(hashes_agree),
		cmocka_unit_test(unknown_set),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
