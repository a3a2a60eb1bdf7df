/*
 * test_filter_bits.c
 *		The bits of filters do not depend on code paths, batches, merging or halving.
 *
 * test/unit/test_filter_bits.c
 */
#include "filter_support.h"
#include "isa_support.h"

#define ROWS 6000
#define KEYS 700

/*
 * Filters that stay explicit, filters that become dense early, filters with k above QF_GAPS,
 * and Bloom filters.
 */
static const struct shape
{
	const char *name;
	uint64_t m;
	uint32_t k;
	double p;
	uint32_t layout;
} shapes[] = {
	{ "few bits", 1 << 22, 100, 1e-5, QF_STANDARD },
	{ "usual", 1 << 16, 267, 0.001, QF_STANDARD },
	{ "many", 98304, 200, 0.03, QF_STANDARD },
	{ "odd", 58466, 200, 0.0308, QF_STANDARD },
	{ "one hash", 4096, 1, 0.5, QF_STANDARD },
	{ "long", 1 << 19, 5000, 0.0003, QF_STANDARD },
	{ "bloom", 1 << 14, 7, 1, QF_STANDARD },
	{ "small", 64, 3, 0.01, QF_STANDARD },
	{ "blocked", 1 << 14, 7, 1, QF_BLOCKED },
	{ "many in a block", 3 << 13, 20, 1, QF_BLOCKED },
	{ "one block", 512, 1, 1, QF_BLOCKED },
	{ "few of many blocks", 1 << 20, 3, 1, QF_BLOCKED },
	{ "long, few bits", 1 << 24, 16384, 1e-7, QF_STANDARD },
};

static uint64_t keys[ROWS];
static uint64_t ids[ROWS];

static int
make_rows(void **state)
{
	test_rng rng = test_seeded(3);
	size_t i;

	(void) state;
	for (i = 0; i < ROWS; i++)
	{
		keys[i] = test_key(test_skewed(&rng, KEYS));
		ids[i] = test_random(&rng);
	}
	return 0;
}

/* Returns position j of a key with hash h, by the definition in params.h. */
static uint32_t
position_by_definition(const qf_params *p, uint64_t h, uint32_t j)
{
	uint64_t draw;

	if (p->layout == QF_STANDARD)
		return (uint32_t) qb_mul_high(qb_mix64(h + (j + 1) * QF_POSITION_STEP), p->m);
	draw = qb_mix64(h + (j / 7 + 1) * QF_POSITION_STEP);
	return (uint32_t) (qb_mul_high(h, p->m / 512) * 512 + (draw >> 9 * (j % 7)) % 512);
}

static void
insert_by_definition(qf_filter *f, uint64_t key, uint64_t row, uint64_t nonce, uint64_t copies)
{
	uint64_t q = qf_power(f->params.q, copies);
	uint64_t h = qb_mix64(key ^ qb_seed_key(f->params.seed));
	uint64_t base = qb_seed_key(nonce) ^ qb_mix64(row);
	uint64_t t = 0;
	uint32_t j = 0;

	while (j < f->params.k)
	{
		uint64_t draw = qb_mix64(base + t++ * QB_ROW_STEP);
		uint64_t beyond = q;
		uint32_t gap = 0;
		uint32_t position;

		for (; gap < QF_GAPS && draw < beyond; gap++)
			beyond = qb_mul_high(beyond, q);
		j += gap;
		if (gap == QF_GAPS || j >= f->params.k)
			continue;
		position = position_by_definition(&f->params, h, j);
		REQUIRE_OK(qf_set(f, &position, 1));
		j++;
	}
	REQUIRE_OK(qf_count_rows(f, (int64_t) copies, true));
}

static void
start(qf_filter *f, const struct shape *s)
{
	qf_params p = s->p < 1 ? filter_params(s->m, s->k, s->p, 11)
						   : filter_bloom_params(s->m, s->k, s->layout, 11);

	WHERE("%s", s->name);
	filter_init(f, &p);
}

/* ---- paths ---- */

static void
every_path_sets_the_same_bits(void **state)
{
	size_t i, c, r;

	(void) state;
	for (i = 0; i < ALL_OF(shapes); i++)
	{
		qf_filter wanted;

		start(&wanted, &shapes[i]);
		for (r = 0; r < ROWS; r++)
			insert_by_definition(&wanted, keys[r], 1000 + r, 77, 1);
		for (c = 0; c < ALL_OF(test_isas); c++)
		{
			qf_filter f;
			uint32_t set[KEYS];
			bool found[KEYS];
			uint64_t probe[KEYS];

			if (!qb_isa_use(test_isas[c]))
				continue;
			start(&f, &shapes[i]);
			WHERE("%s, %s", shapes[i].name, test_isas[c]);
			filter_insert(&f, keys, ROWS, 1000, 77);
			REQUIRE(filter_same(&f, &wanted));
			for (r = 0; r < KEYS; r++)
				probe[r] = test_key(r * 2);
			qf_engine_cpu.query(&f, probe, KEYS - 3, set);
			qf_engine_cpu.contains(&f, probe, KEYS - 3, found);
			for (r = 0; r < KEYS - 3; r++)
			{
				REQUIRE(set[r] == qf_count(&wanted, probe[r]));
				REQUIRE(found[r] == (set[r] == wanted.params.k));
			}
			qf_free(&f);
		}
		qb_isa_use("auto");
		qf_free(&wanted);
	}
	test_no_leak();
}

/* Bits depend neither on batches, nor on the order of rows, nor on merging. */
static void
bits_are_a_union_over_rows(void **state)
{
	test_rng rng = test_seeded(9);
	size_t i, at;

	(void) state;
	for (i = 0; i < ALL_OF(shapes); i++)
	{
		qf_filter whole, parts, some;

		start(&whole, &shapes[i]);
		start(&parts, &shapes[i]);
		start(&some, &shapes[i]);
		filter_insert(&whole, keys, ROWS, 0, 5);
		for (at = ROWS; at > 0;)
		{
			size_t n = 1 + (size_t) test_below(&rng, at < 900 ? at : 900);

			at -= n;
			filter_insert(at % 2 ? &parts : &some, keys + at, n, at, 5);
		}
		filter_merge(&some, &parts);
		REQUIRE(filter_same(&whole, &some));
		qf_free(&whole);
		qf_free(&parts);
		qf_free(&some);
	}
}

static void
overlapping_shards_of_identified_rows_count_once(void **state)
{
	size_t i;

	(void) state;
	for (i = 0; i < ALL_OF(shapes); i++)
	{
		qf_filter whole, a, b, copy;

		start(&whole, &shapes[i]);
		start(&a, &shapes[i]);
		start(&b, &shapes[i]);
		filter_insert_ids(&whole, keys, ids, ROWS);
		filter_insert_ids(&a, keys, ids, ROWS * 2 / 3);
		filter_insert_ids(&b, keys + ROWS / 3, ids + ROWS / 3, ROWS * 2 / 3);
		filter_insert_ids(&b, keys + ROWS / 2, ids + ROWS / 2, ROWS / 2);
		filter_merge(&b, &a);
		REQUIRE(whole.rows == QF_ROWS_UNKNOWN);
		REQUIRE(filter_same(&whole, &b));
		REQUIRE_OK(qf_copy(&copy, &b, &test_heap));
		filter_merge(&b, &copy);
		filter_merge(&b, &b);
		REQUIRE(filter_same(&whole, &b));
		qf_free(&whole);
		qf_free(&a);
		qf_free(&b);
		qf_free(&copy);
	}
	test_no_leak();
}

static void
other_nonces_seeds_and_rows_draw_otherwise(void **state)
{
	qf_filter a, b;
	qf_params p;

	(void) state;
	start(&a, &shapes[1]);
	start(&b, &shapes[1]);
	filter_insert(&a, keys, ROWS, 0, 1);
	filter_insert(&b, keys, ROWS, 0, 2);
	assert_false(filter_same(&a, &b));
	qf_free(&b);
	start(&b, &shapes[1]);
	filter_insert(&b, keys, ROWS, 1, 1);
	assert_false(filter_same(&a, &b));
	qf_free(&b);
	p = a.params;
	p.seed++;
	filter_init(&b, &p);
	filter_insert(&b, keys, ROWS, 0, 1);
	assert_false(filter_same(&a, &b));
	REQUIRE_STATUS(qf_engine_cpu.merge(&a, &b), QB_MISMATCH);
	qf_free(&a);
	qf_free(&b);
}

/* ---- copies ---- */

static void
copies_follow_the_definition(void **state)
{
	static const int64_t copies[] = { 1, 0, 3, 1, 50, 100000, INT64_C(1) << 40 };
	size_t i, r;

	(void) state;
	for (i = 0; i < ALL_OF(shapes); i++)
	{
		qf_filter wanted, f;
		qf_batch b = { .fingerprint = keys,
					   .count = ALL_OF(copies),
					   .nonce = 4,
					   .first_row = 9,
					   .copies = copies };

		start(&wanted, &shapes[i]);
		start(&f, &shapes[i]);
		for (r = 0; r < ALL_OF(copies); r++)
			if (copies[r] > 0)
				insert_by_definition(&wanted, keys[r], 9 + r, 4, (uint64_t) copies[r]);
		REQUIRE_OK(qf_engine_cpu.insert(&f, &b));
		REQUIRE(filter_same(&wanted, &f));
		qf_free(&wanted);
		qf_free(&f);
	}
}

/* Rows with one copy each set the same bits as rows without numbers of copies. */
static void
one_copy_is_a_plain_row(void **state)
{
	static int64_t one[ROWS];
	size_t i;

	(void) state;
	for (i = 0; i < ROWS; i++)
		one[i] = 1;
	for (i = 0; i < ALL_OF(shapes); i++)
	{
		qf_filter plain, f;
		qf_batch b = { .fingerprint = keys, .count = ROWS, .nonce = 4, .copies = one };

		start(&plain, &shapes[i]);
		start(&f, &shapes[i]);
		filter_insert(&plain, keys, ROWS, 0, 4);
		REQUIRE_OK(qf_engine_cpu.insert(&f, &b));
		REQUIRE(filter_same(&plain, &f));
		qf_free(&plain);
		qf_free(&f);
	}
}

/* ---- numbers of rows ---- */

static void
rows_are_counted_up_to_their_range(void **state)
{
	const int64_t many[] = { INT64_MAX, 1 };
	const int64_t most = INT64_MAX;
	qf_batch b = { .fingerprint = keys, .count = 2, .copies = many };
	qf_filter f, other;

	(void) state;
	start(&f, &shapes[7]);
	start(&other, &shapes[7]);
	REQUIRE_STATUS(qf_engine_cpu.insert(&f, &b), QB_TOTAL_OVERFLOW);
	assert_true(f.rows == 0 && f.ones == 0);
	b.copies = &most;
	b.count = 1;
	REQUIRE_OK(qf_engine_cpu.insert(&f, &b));
	assert_true(f.rows == INT64_MAX && f.ones > 0);
	b.copies = NULL;
	REQUIRE_STATUS(qf_engine_cpu.insert(&f, &b), QB_TOTAL_OVERFLOW);
	REQUIRE_OK(qf_engine_cpu.insert(&other, &b));
	assert_true(other.rows == 1);
	REQUIRE_STATUS(qf_engine_cpu.merge(&other, &f), QB_TOTAL_OVERFLOW);
	assert_true(other.rows == 1);
	qf_free(&f);
	qf_free(&other);
}

/* ---- halving ---- */

static void
halving_and_merging_commute(void **state)
{
	size_t i;
	int halvings;

	(void) state;
	for (i = 0; i < ALL_OF(shapes); i++)
		for (halvings = 1; halvings <= 8; halvings++)
		{
			uint64_t m = shapes[i].m >> halvings;
			qf_filter a, b, merged, small;
			qf_params p;

			start(&a, &shapes[i]);
			if (halvings > qf_params_foldable(&a.params))
				break;
			start(&b, &shapes[i]);
			WHERE("%s, %d halvings", shapes[i].name, halvings);
			filter_insert(&a, keys, ROWS / 2, 0, 1);
			filter_insert(&b, keys + ROWS / 2, ROWS / 2, 0, 2);
			/* a filter of the halved size */
			p = a.params;
			p.m = m;
			filter_init(&small, &p);
			filter_insert(&small, keys, ROWS / 2, 0, 1);
			filter_insert(&small, keys + ROWS / 2, ROWS / 2, 0, 2);
			/* merge, then halve */
			REQUIRE_OK(qf_copy(&merged, &a, &test_heap));
			filter_merge(&merged, &b);
			REQUIRE_OK(qf_fold(&merged, m));
			REQUIRE(filter_same(&merged, &small));
			/* merging is refused after one filter is halved, and allowed after both are halved */
			REQUIRE_OK(qf_fold(&a, m));
			REQUIRE_STATUS(qf_engine_cpu.merge(&a, &b), QB_MISMATCH);
			REQUIRE_STATUS(qf_engine_cpu.merge(&b, &a), QB_MISMATCH);
			REQUIRE_OK(qf_fold(&b, m));
			filter_merge(&b, &a);
			REQUIRE(filter_same(&b, &small));
			qf_free(&a);
			qf_free(&b);
			qf_free(&merged);
			qf_free(&small);
		}
	test_no_leak();
}

static void
sizes_that_halving_does_not_reach_are_refused(void **state)
{
	qf_filter f;

	(void) state;
	start(&f, &shapes[3]);
	REQUIRE_STATUS(qf_fold(&f, 58466 / 4), QB_NO_FOLD);
	REQUIRE_STATUS(qf_fold(&f, 58466 * 2), QB_NO_FOLD);
	REQUIRE_STATUS(qf_fold(&f, 0), QB_NO_FOLD);
	REQUIRE_OK(qf_fold(&f, 58466));
	REQUIRE_OK(qf_fold(&f, 29233));
	qf_free(&f);
	start(&f, &shapes[5]);
	REQUIRE_STATUS(qf_fold(&f, 4096), QB_NO_FOLD); /* m would be less than k */
	qf_free(&f);
	start(&f, &shapes[9]);
	REQUIRE_OK(qf_fold(&f, 3 << 9));
	REQUIRE_STATUS(qf_fold(&f, 3 << 8), QB_NO_FOLD); /* m would be no whole number of blocks */
	qf_free(&f);
}

/* ---- forms and memory ---- */

/* A filter is a list of positions up to its limit, and dense beyond it. */
static void
few_bits_are_a_list(void **state)
{
	qf_filter f;
	uint64_t limit;
	uint32_t position;

	(void) state;
	start(&f, &shapes[1]);
	limit = qf_explicit_limit(&f.params);
	for (position = 0; position < limit; position++)
	{
		uint32_t place = position * 40 + 3;

		REQUIRE_OK(qf_set(&f, &place, 1));
		REQUIRE_OK(qf_set(&f, &place, 1));
		REQUIRE(f.slots <= 64 || f.slots <= f.ones * 4);
	}
	assert_true(f.encoding == QF_EXPLICIT && f.ones == limit);
	assert_true(f.slots * 4 <= qf_words(&f.params) * 8 * 2);
	position = 5;
	REQUIRE_OK(qf_set(&f, &position, 1));
	assert_true(f.encoding == QF_DENSE && f.ones == limit + 1);
	qf_free(&f);
	test_no_leak();
}

/* Each allocation fails in turn.  The status must be QB_NO_MEMORY, and nothing may leak. */
static void
failing_memory_is_reported(void **state)
{
	size_t i;
	long k;

	(void) state;
	for (i = 0; i < ALL_OF(shapes); i++)
		for (k = 1;; k++)
		{
			qf_filter f, copy;
			qf_batch b = { .fingerprint = keys, .count = ROWS };
			qb_status status;

			start(&f, &shapes[i]);
			test_fail_at(k);
			status = qf_engine_cpu.insert(&f, &b);
			if (status == QB_OK && (status = qf_copy(&copy, &f, &test_heap)) == QB_OK)
			{
				status = qf_engine_cpu.merge(&copy, &f);
				if (status == QB_OK && qf_params_foldable(&f.params) > 0)
					status = qf_fold(&copy, f.params.m / 2);
				qf_free(&copy);
			}
			test_fail_at(0);
			qf_free(&f);
			test_no_leak();
			if (status == QB_OK)
				break;
			REQUIRE(status == QB_NO_MEMORY && k < 100);
		}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_path_sets_the_same_bits),
		cmocka_unit_test(bits_are_a_union_over_rows),
		cmocka_unit_test(overlapping_shards_of_identified_rows_count_once),
		cmocka_unit_test(other_nonces_seeds_and_rows_draw_otherwise),
		cmocka_unit_test(copies_follow_the_definition),
		cmocka_unit_test(one_copy_is_a_plain_row),
		cmocka_unit_test(rows_are_counted_up_to_their_range),
		cmocka_unit_test(halving_and_merging_commute),
		cmocka_unit_test(sizes_that_halving_does_not_reach_are_refused),
		cmocka_unit_test(few_bits_are_a_list),
		cmocka_unit_test(failing_memory_is_reported),
	};

	return cmocka_run_group_tests(tests, make_rows, NULL);
}
