/*
 * test_sets_pairs.c
 *		All pairs: every method, table of loops and number of shards gives the pairs of a
 *		naive double loop.
 *
 * test/unit/test_sets_pairs.c
 */
#include "pairs_support.h"

/*
 * Number of seeds of within_a_collection() and of between_collections(), unless QSKETCH_SEEDS is
 * set.
 */
#define SEEDS 2500

static uint64_t
seeds(void)
{
	const char *asked = getenv("QSKETCH_SEEDS");

	return asked ? strtoull(asked, NULL, 10) : SEEDS;
}

static answer wanted;
static answer got;

/* Try all methods and variants, with one table of loops and one number of shards. */
static void
try_methods(const qset_request *r, const qset_kernels *k, uint64_t shards, uint64_t room)
{
	int method;
	int variant;

	for (method = QSET_AUTO; method < QSET_METHODS; method++)
		for (variant = QSET_VARIANT_AUTO; variant <= QSET_VARIANT_ON; variant++)
		{
			way w = { k, method, variant, shards, room };

			if (variant != QSET_VARIANT_AUTO && method != QSET_INDEX && method != QSET_BITMAP)
				continue;
			snprintf(test_where + 40, sizeof(test_where) - 40, "%s %s %d, %d shares", k->name,
					 qset_method_name(method), variant, (int) shards);
			test_where[39] = ' ';
			run_pairs(r, &w, &got);
			require_same_pairs(&got, &wanted);
		}
}

/* Pick a threshold that pairs of small sets often reach exactly. */
static double
pick_jaccard(test_rng *rng)
{
	double whole = (double) (1 + test_below(rng, 9));

	switch (test_below(rng, 5))
	{
		case 0:
			return (double) test_below(rng, (uint64_t) whole + 1) / whole;
		case 1:
			return (double) test_below(rng, 21) / 20;
		case 2:
			return (double) (test_random(rng) >> 11) * 0x1p-53;
		default:
			return 0;
	}
}

static void
pick_filter(test_rng *rng, qset_filter *f, double *jaccard)
{
	*jaccard = pick_jaccard(rng);
	REQUIRE_OK(qset_filter_init(f, (int64_t) (test_below(rng, 3) ? test_below(rng, 6) : 1),
								*jaccard, test_below(rng, 4) ? 0 : 1 + test_below(rng, 5)));
}

/* Each seed uses one table of loops and one number of shards. */
static void
within_a_collection(void **state)
{
	const qset_kernels *table[3];
	size_t tables = test_tables(table);
	uint64_t last = seeds();
	uint64_t seed;

	(void) state;
	for (seed = 0; seed < last; seed++)
	{
		test_rng rng = test_seeded(seed + 1000);
		qset_collection c;
		qset_request r = { .rows = &c, .memory = &test_heap };
		double jaccard;

		name_case(seed);
		test_collection(&c, seed, seed % 2);
		pick_filter(&rng, &r.filter, &jaccard);
		r.directed = test_below(&rng, 4) == 0;
		naive_pairs(&r, jaccard, &wanted);
		try_methods(&r, table[seed % tables], 1 + test_below(&rng, 5), 1 + test_below(&rng, 50));
		qset_collection_free(&c);
	}
	test_no_leak();
}

static void
between_collections(void **state)
{
	const qset_kernels *table[3];
	size_t tables = test_tables(table);
	uint64_t last = seeds();
	uint64_t seed;

	(void) state;
	for (seed = 0; seed < last; seed++)
	{
		test_rng rng = test_seeded(seed + 2000);
		qset_collection a;
		qset_collection b;
		qset_request r = { .rows = &a, .columns = &b, .memory = &test_heap };
		double jaccard;

		name_case(seed);
		test_collection(&a, seed, seed % 2);
		test_collection(&b, test_below(&rng, 3) ? seed : seed * 2, seed % 2);
		pick_filter(&rng, &r.filter, &jaccard);
		naive_pairs(&r, jaccard, &wanted);
		try_methods(&r, table[seed % tables], 1 + test_below(&rng, 5), 1 + test_below(&rng, 50));
		qset_collection_free(&a);
		qset_collection_free(&b);
	}
	test_no_leak();
}

static void
tables_and_shares(void **state)
{
	const qset_kernels *table[3];
	size_t tables = test_tables(table);
	uint64_t seed;
	uint64_t shards;
	size_t t;

	(void) state;
	for (seed = 0; seed < 40; seed++)
	{
		test_rng rng = test_seeded(seed + 3000);
		qset_collection c;
		qset_request r = { .rows = &c, .memory = &test_heap };
		double jaccard;

		name_case(seed);
		test_collection(&c, seed, false);
		pick_filter(&rng, &r.filter, &jaccard);
		naive_pairs(&r, jaccard, &wanted);
		for (t = 0; t < tables; t++)
			for (shards = 1; shards <= 7; shards += 2)
				try_methods(&r, table[t], shards, 1000);
		qset_collection_free(&c);
	}
}

/* Collections with empty sets must be made by hand. */
static void
empty_sets(void **state)
{
	int64_t id[] = { -5, 0, 3, 9, 10 };
	uint64_t offset[] = { 0, 0, 2, 2, 5, 6 };
	uint32_t rank[] = { 0, 2, 0, 1, 2, 1 };
	uint64_t low[] = { 7, 8, 9 };
	qset_collection c = { .keys = { .family = 1 }, .sets = 5, .elements = 6, .universe = 3 };
	const qset_kernels *table[3];
	size_t tables = test_tables(table);
	const double jaccard[] = { 0, 1.0 / 3, 0.5, 2.0 / 3, 1 };
	int64_t least;
	size_t j;
	size_t t;

	(void) state;
	c.id = id;
	c.offset = offset;
	c.rank = rank;
	c.low = low;
	for (least = 0; least < 4; least++)
		for (j = 0; j < ALL_OF(jaccard); j++)
			for (t = 0; t < tables; t++)
			{
				qset_request r = { .rows = &c, .memory = &test_heap };

				name_case((uint64_t) least * 10 + j);
				REQUIRE_OK(qset_filter_init(&r.filter, least, jaccard[j], 0));
				naive_pairs(&r, jaccard[j], &wanted);
				REQUIRE(least > 0 || j > 0 || wanted.count == 10);
				try_methods(&r, table[t], 1 + t, 3);
				r.columns = &c;
				naive_pairs(&r, jaccard[j], &wanted);
				try_methods(&r, table[t], 1 + t, 3);
			}
}

static void
wide_lists_and_counters(void **state)
{
	const qset_kernels *table[3];
	size_t tables = test_tables(table);
	qset_collection c;
	size_t t;
	int method;
	int variant;

	(void) state;
	large_collection(66000, 66000, &c);
	for (t = 0; t < tables; t++)
		for (method = QSET_INDEX; method <= QSET_HYBRID; method++)
			for (variant = QSET_VARIANT_OFF; variant <= QSET_VARIANT_ON; variant++)
			{
				way w = { table[t], method, variant, 1, ROOM };
				qset_request r = { .rows = &c, .memory = &test_heap };

				/* the last large set shares half of its elements with each other large set */
				REQUIRE_OK(qset_filter_init(&r.filter, 33000, 0, 0));
				run_pairs(&r, &w, &got);
				REQUIRE(got.count == 6);
				REQUIRE(got.pair[0].a == 66000 && got.pair[0].common == 66000);
				REQUIRE(got.pair[5].b == 66003 && got.pair[5].common == 33000);
				REQUIRE(got.pair[5].either == 99000);
				/* small sets share at most one element; skip the scalar table and hybrid */
				if (t == 0 || method == QSET_HYBRID)
					continue;
				REQUIRE_OK(qset_filter_init(&r.filter, 2, 0, 0));
				run_pairs(&r, &w, &got);
				REQUIRE(got.count == 6);
			}
	qset_collection_free(&c);
	test_no_leak();
}

/* With "top", the pairs within a collection are the union of the best pairs of each set. */
static void
top_is_the_union(void **state)
{
	static qset_pair scratch[ROOM];
	static answer directed;
	uint64_t seed;

	(void) state;
	for (seed = 0; seed < 300; seed++)
	{
		qset_collection c;
		qset_request r = { .rows = &c, .memory = &test_heap };
		way w = { qset_kernels_now(), QSET_AUTO, QSET_VARIANT_AUTO, 1 + seed % 3, ROOM };
		uint64_t i;

		name_case(seed);
		test_collection(&c, seed, false);
		REQUIRE_OK(qset_filter_init(&r.filter, 1, 0, 1 + seed % 4));
		naive_pairs(&r, 0, &directed);
		run_pairs(&r, &w, &got);
		got.count = qset_finish_top(got.pair, got.count, scratch);
		for (i = 0; i < got.count; i++)
		{
			const qset_pair *p = &got.pair[i];

			REQUIRE(p->a < p->b && (i == 0 || by_sets(p - 1, p) < 0));
			REQUIRE(in_answer(&directed, p->a, p->b) || in_answer(&directed, p->b, p->a));
		}
		for (i = 0; i < directed.count; i++)
		{
			const qset_pair *p = &directed.pair[i];

			REQUIRE(in_answer(&got, p->a < p->b ? p->a : p->b, p->a < p->b ? p->b : p->a));
		}
		qset_collection_free(&c);
	}
}

/* One row of a directed job compares one set with all other sets. */
static void
one_against_all(void **state)
{
	uint64_t seed;

	(void) state;
	for (seed = 0; seed < 300; seed++)
	{
		qset_collection c;
		qset_request r = { .rows = &c, .memory = &test_heap, .directed = true };
		qset_plan plan;
		uint64_t *block;
		uint64_t set;
		qset_job job;

		test_collection(&c, seed, false);
		REQUIRE_OK(qset_filter_init(&r.filter, 1 + (int64_t) (seed % 3), 0, 0));
		naive_pairs(&r, 0, &wanted);
		REQUIRE_OK(make_block(&r, &plan, &block));
		REQUIRE_OK(qset_job_open(&job, block, qset_kernels_now(), &test_heap, NULL));
		got.count = 0;
		for (set = 0; set < c.sets; set++)
		{
			int64_t row = qset_job_row_of(&job, (uint32_t) set);
			uint64_t count;

			if (row < 0)
				continue;
			qset_job_shard(&job, (uint64_t) row, (uint64_t) row + 1, 1);
			REQUIRE_OK(qset_job_next(&job, got.pair + got.count, ROOM - got.count, &count));
			got.count += count;
		}
		REQUIRE(qset_job_row_of(&job, (uint32_t) c.sets) < 0);
		require_same_pairs(&got, &wanted);
		qset_job_close(&job);
		free(block);
		qset_collection_free(&c);
	}
	test_no_leak();
}

/* ---- real data ---- */

static void
add_transactions(FILE *f, qset_builder *b)
{
	static char line[1 << 16];
	int64_t set = 0;

	while (fgets(line, sizeof(line), f))
	{
		char *at = line;
		char *end;
		uint64_t item;

		set++;
		for (item = strtoull(at, &end, 10); end != at; item = strtoull(at, &end, 10))
		{
			REQUIRE_OK(qset_builder_add(b, &set, &item, NULL, 1));
			at = end;
		}
	}
}

/* Find the pairs of 1,500 sessions of a news portal, if the data are present. */
static void
kosarak(void **state)
{
	FILE *f = popen(
		"zcat ../shared/data/kosarak-36682-transactions.dat.gz 2>/dev/null | head -1500", "r");
	const qset_kernels *table[3];
	size_t tables = test_tables(table);
	qset_request r = { .memory = &test_heap };
	qset_collection c;
	qset_builder b;
	size_t t;

	(void) state;
	REQUIRE(f != NULL);
	test_builder(&b, false);
	add_transactions(f, &b);
	pclose(f);
	REQUIRE_OK(qset_builder_finish(&b, &c));
	qset_builder_free(&b);
	if (c.sets == 0)
	{
		qset_collection_free(&c);
		skip(); /* the data are not present */
	}
	r.rows = &c;
	REQUIRE_OK(qset_filter_init(&r.filter, 12, 0, 0));
	naive_pairs(&r, 0, &wanted);
	REQUIRE(wanted.count > 100);
	name_case(0);
	for (t = 0; t < tables; t++)
		try_methods(&r, table[t], t + 1, 777);
	qset_collection_free(&c);
	test_no_leak();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty_sets),
		cmocka_unit_test(within_a_collection),
		cmocka_unit_test(between_collections),
		cmocka_unit_test(tables_and_shares),
		cmocka_unit_test(wide_lists_and_counters),
		cmocka_unit_test(top_is_the_union),
		cmocka_unit_test(one_against_all),
		cmocka_unit_test(kosarak),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
