/*
 * test_top_kernels.c
 *		Selecting keys while they are added.
 *
 * No key may be missed, and few keys may be selected needlessly.  Every instruction set
 * must find the same candidates.
 *
 * test/unit/test_top_kernels.c
 */
#include "top_support.h"
#include "isa_support.h"

#include "engine/sketch_engine.h"

/* Largest weights of streams; 0: no weights are passed.  The last two make sketches wide. */
static const int64_t weights[] = { 0, 3, 255, 300, 1500, INT64_C(1) << 20, INT64_C(1) << 34 };

static const int64_t *
random_weights(test_rng *rng, int64_t most, int64_t *weight, size_t count)
{
	size_t i;

	for (i = 0; i < count && most > 0; i++)
		weight[i] = (int64_t) test_below(rng, (uint64_t) most + 1);
	return most > 0 ? weight : NULL;
}

/* Draw random keys.  If "skewed", a few keys are frequent. */
static void
random_keys(test_rng *rng, bool skewed, uint64_t *key, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		key[i] = test_key(skewed ? test_skewed(rng, TOP_KEYS) : test_below(rng, TOP_KEYS));
}

/*
 * Add a batch, and compare the selected keys with the estimates.  Returns the number of
 * needlessly selected keys.
 */
static size_t
check_batch(qs_sketch *sk, const uint64_t *key, const int64_t *weight, size_t count, int64_t least)
{
	int64_t estimate[QS_BATCH];
	qs_selection selection;
	size_t wanted = 0;
	size_t at = 0;
	size_t i;

	selection.least = least;
	REQUIRE_OK(qs_insert_select(sk, key, weight, count, &selection));
	qs_query(sk, key, count, estimate);
	for (i = 0; i < count; i++)
	{
		bool selected = at < selection.count && selection.found[at] == i;

		REQUIRE(selected || estimate[i] < least);
		wanted += estimate[i] >= least;
		at += selected;
	}
	REQUIRE(at == selection.count);
	return at - wanted;
}

/* Choose a limit that few, half or most of the counters have reached. */
static int64_t
some_limit(test_rng *rng, const qs_sketch *sk)
{
	int64_t mean = sk->total * 3 / (int64_t) (sk->params.n * 28);

	return 1 + mean / 2 + (int64_t) test_below(rng, (uint64_t) mean + 2);
}

static void
no_key_is_missed(void **state)
{
	size_t s, w, i, batch;

	(void) state;
	for (s = 0; s < ALL_OF(test_isas); s++)
		for (w = 0; qb_isa_use(test_isas[s]) && w < ALL_OF(weights); w++)
			for (i = 0; i < 4; i++)
			{
				qs_params p = test_usual_params(QS_MULTILEVEL, i < 2 ? 33 : 2048);
				test_rng rng = test_seeded(10 * w + i);
				uint64_t key[QS_BATCH];
				int64_t weight[QS_BATCH];
				size_t vain = 0;
				qs_sketch sk;

				WHERE("%s, weights up to %lld, stream %zu", test_isas[s], (long long) weights[w],
					  i);
				test_init_dense(&sk, &p);
				for (batch = 0; batch < 40; batch++)
				{
					size_t count = batch % 2 ? QS_BATCH : 1 + test_below(&rng, QS_BATCH);

					random_keys(&rng, i % 2, key, count);
					vain += check_batch(&sk, key, random_weights(&rng, weights[w], weight, count),
										count, some_limit(&rng, &sk));
				}
				REQUIRE(qs_kernels_now()->add_select == NULL || i < 2 || vain < 40 * QS_BATCH / 5);
				qs_free(&sk);
			}
	assert_true(qb_isa_use("auto"));
}

/* Make a list of top keys with this instruction set; returns its bytes. */
static test_bytes
build(const char *set, int64_t most, size_t stream)
{
	qs_params p = test_usual_params(QS_MULTILEVEL, stream < 2 ? 33 : 2048);
	test_rng rng = test_seeded(stream + 1);
	top_counted c;
	test_bytes bytes;
	size_t batch;

	assert_true(qb_isa_use(set));
	top_begin(&c, &p, 10, stream % 2 == 0);
	for (batch = 0; batch < 40; batch++)
	{
		uint64_t key[QS_BATCH];
		int64_t weight[QS_BATCH];
		size_t count = 1 + test_below(&rng, QS_BATCH);

		random_keys(&rng, stream % 2, key, count);
		REQUIRE_OK(top_try_batch(&c, key, random_weights(&rng, most, weight, count), count));
	}
	bytes = top_write(&c);
	top_end(&c);
	return bytes;
}

static void
candidates_are_the_same(void **state)
{
	size_t s, w, i;

	(void) state;
	for (s = 0; s < ALL_OF(test_isas); s++)
		for (w = 0; qb_isa_use(test_isas[s]) && w < ALL_OF(weights); w++)
			for (i = 0; i < 4; i++)
			{
				test_bytes plain = build("scalar", weights[w], i);
				test_bytes fast = build(test_isas[s], weights[w], i);

				WHERE("%s, weights up to %lld, stream %zu", test_isas[s], (long long) weights[w],
					  i);
				REQUIRE(test_equal_bytes(plain, fast));
				free(plain.data);
				free(fast.data);
			}
	assert_true(qb_isa_use("auto"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_key_is_missed),
		cmocka_unit_test(candidates_are_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
