/*
 * test_sets_postings.c
 *		The sets most similar to one set, by postings and by scanning the collection.
 *
 * Each answer must equal the first pairs of a naive sorted list.
 *
 * test/unit/test_sets_postings.c
 */
#include "pairs_support.h"

#include "sets/pairs.h"

#define SEEDS 300

static answer wanted;

/* Returns the value that orders the pairs of a set, computed as SQL computes it. */
static double
score(qset_order order, double size, const qset_pair *pair)
{
	double common = pair->common;
	double other = pair->either + common - size;

	switch (order)
	{
		case QSET_BY_COMMON:
			return common;
		case QSET_BY_OVERLAP:
			return common == 0 ? 0 : common / (size < other ? size : other);
		case QSET_BY_LIFT:
			return common == 0 ? 0 : common / other;
		default:
			return pair->either == 0 ? 0 : common / pair->either;
	}
}

static bool
comes_before(const qset_question *q, const qset_pair *x, const qset_pair *y)
{
	double size = (double) q->size;
	double left = score(q->filter.order, size, x);
	double right = score(q->filter.order, size, y);

	if (left == right)
	{
		left = score(QSET_BY_JACCARD, size, x);
		right = score(QSET_BY_JACCARD, size, y);
	}
	return left != right ? left > right : x->b < y->b;
}

static uint32_t
common_of(const qset_question *q, const qset_collection *c, uint64_t set)
{
	uint32_t common = 0;
	uint64_t i;
	uint64_t j;

	for (i = 0; i < q->ranks; i++)
		for (j = c->offset[set]; j < c->offset[set + 1]; j++)
			common += c->rank[j] == q->rank[i];
	return common;
}

/* Compute the answer: insert each passing pair in order, and keep the best pairs. */
static void
naive_answer(const qset_question *q, const qset_collection *c, double jaccard)
{
	uint64_t set;
	uint64_t i;

	wanted.count = 0;
	for (set = 0; set < c->sets; set++)
	{
		qset_pair pair = { 0, (uint32_t) set, common_of(q, c, set), 0 };

		pair.either = (uint32_t) q->size + qset_set_size(c, set) - pair.common;
		if ((int64_t) set == q->itself ||
			!naive_pass(&q->filter, jaccard, pair.common, pair.either) ||
			(pair.common == 0 && !qset_filter_passes_nothing(&q->filter)))
			continue;
		REQUIRE(wanted.count < ROOM);
		for (i = wanted.count++; i > 0 && comes_before(q, &pair, &wanted.pair[i - 1]); i--)
			wanted.pair[i] = wanted.pair[i - 1];
		wanted.pair[i] = pair;
	}
	if (q->filter.top > 0 && wanted.count > q->filter.top)
		wanted.count = q->filter.top;
}

static void
require_answer(qb_status status, qset_best *best)
{
	REQUIRE_OK(status);
	REQUIRE(best->count == wanted.count);
	REQUIRE(memcmp(best->pair, wanted.pair, wanted.count * sizeof(qset_pair)) == 0);
	qset_release(&test_heap, best->pair);
}

/* Check the answers of the postings, with all tables of loops, and of the collection. */
static void
ask(qset_postings *p, const qset_question *q, double jaccard)
{
	const qset_kernels *table[3];
	size_t tables = test_tables(table);
	qset_best best;

	naive_answer(q, &p->collection, jaccard);
	while (tables-- > 0)
		require_answer(qset_postings_answer(p, q, table[tables], &best, &test_heap), &best);
	require_answer(qset_collection_answer(&p->collection, q, &best, &test_heap), &best);
}

static qset_filter
random_filter(test_rng *rng, double *jaccard)
{
	static const double some[] = { 0, 0, 0.1, 0.25, 0.5, 1 };
	static const uint64_t top[] = { 0, 1, 2, 3, 7, 100000 };
	qset_filter filter;

	*jaccard = some[test_below(rng, ALL_OF(some))];
	REQUIRE_OK(qset_filter_init(&filter, (int64_t) test_below(rng, 4), *jaccard,
								top[test_below(rng, ALL_OF(top))]));
	filter.order = (qset_order) test_below(rng, QSET_ORDERS);
	return filter;
}

/* Choose random elements of the collection, and up to four elements outside of the collection. */
static void
random_question(test_rng *rng, const qset_collection *c, qset_question *q, uint32_t *rank)
{
	uint64_t one_of = 1 + test_below(rng, 6);
	uint64_t i;

	q->rank = rank;
	q->ranks = 0;
	q->itself = -1;
	for (i = 0; i < c->universe; i++)
		if (test_below(rng, one_of) == 0)
			rank[q->ranks++] = (uint32_t) i;
	q->size = q->ranks + test_below(rng, 5);
}

static void
make(qset_postings *p, uint64_t seed)
{
	qset_collection c;

	test_collection(&c, seed, seed % 3 == 0);
	REQUIRE_OK(qset_postings_make(p, &c));
}

static void
best_sets(void **state)
{
	uint64_t seed;

	(void) state;
	for (seed = 0; seed < SEEDS; seed++)
	{
		test_rng rng = test_seeded(seed);
		qset_question q = { .most = ROOM };
		qset_postings p;
		uint32_t *rank;
		uint64_t set;
		double jaccard;

		make(&p, seed);
		rank = test_array(p.collection.universe, sizeof(*rank));
		for (set = 0; set < p.collection.sets; set++)
		{
			q.filter = random_filter(&rng, &jaccard);
			qset_question_of_set(&q, &p.collection, set);
			ask(&p, &q, jaccard);
			random_question(&rng, &p.collection, &q, rank);
			ask(&p, &q, jaccard);
		}
		free(rank);
		qset_postings_free(&p);
	}
	test_no_leak();
}

/* The answers for each set must have the pairs that jobs over all rows find for this set. */
static void
as_of_jobs(void **state)
{
	static answer all;
	uint64_t seed;
	uint64_t i;

	(void) state;
	for (seed = 0; seed < SEEDS; seed++)
	{
		way w = { qset_kernels_now(), QSET_AUTO, QSET_VARIANT_AUTO, 1, 7 };
		test_rng rng = test_seeded(seed + SEEDS);
		qset_postings p;
		qset_request r = { .rows = &p.collection, .memory = &test_heap };
		uint64_t found = 0;
		uint64_t set;
		double jaccard;

		make(&p, seed);
		r.filter = random_filter(&rng, &jaccard);
		r.filter.top = 1 + test_below(&rng, 4);
		run_pairs(&r, &w, &all);
		for (set = 0; set < p.collection.sets; set++)
		{
			qset_question q = { .most = ROOM, .filter = r.filter };
			qset_best best;

			qset_question_of_set(&q, &p.collection, set);
			REQUIRE_OK(qset_postings_answer(&p, &q, qset_kernels_now(), &best, &test_heap));
			for (i = 0; i < best.count; i++)
				REQUIRE(in_answer(&all, (uint32_t) set, best.pair[i].b));
			found += best.count;
			qset_release(&test_heap, best.pair);
		}
		REQUIRE(found == all.count);
		qset_postings_free(&p);
	}
	test_no_leak();
}

#define SETS  150000
#define LARGE 70000

/* Make postings of several blocks: many small sets, and one set with very many elements. */
static void
make_large(qset_postings *p)
{
	test_rng rng = test_seeded(1);
	qset_builder b;
	qset_collection c;
	uint64_t i;

	test_builder(&b, false);
	for (i = 0; i < SETS * 3; i++)
		test_add(&b, (int64_t) (i % SETS), test_below(&rng, 1 + test_below(&rng, LARGE)));
	for (i = 0; i < LARGE; i++)
		test_add(&b, -1, i);
	REQUIRE_OK(qset_builder_finish(&b, &c));
	qset_builder_free(&b);
	REQUIRE_OK(qset_postings_make(p, &c));
	REQUIRE(qset_set_size(&p->collection, 0) == LARGE);
}

/* Query several blocks.  The large set needs 4-byte counters. */
static void
several_blocks(void **state)
{
	static const uint64_t top[] = { 0, 1, 10, 1000 };
	const qset_kernels *table[3];
	size_t tables = test_tables(table);
	qset_postings p;
	uint64_t i;
	size_t t;

	(void) state;
	make_large(&p);
	for (i = 0; i < 3 * ALL_OF(top) * QSET_ORDERS; i++)
		for (t = 0; t < tables; t++)
		{
			qset_question q = { .most = SETS };
			qset_best plain;
			qset_best fast;

			qset_question_of_set(&q, &p.collection, i % 3 * (SETS / 2));
			REQUIRE_OK(qset_filter_init(&q.filter, 1, 0, top[i / 3 % ALL_OF(top)]));
			q.filter.order = (qset_order) (i / 3 / ALL_OF(top));
			REQUIRE_OK(qset_collection_answer(&p.collection, &q, &plain, &test_heap));
			REQUIRE_OK(qset_postings_answer(&p, &q, table[t], &fast, &test_heap));
			REQUIRE(plain.count > 0 && plain.count == fast.count);
			REQUIRE(memcmp(plain.pair, fast.pair, plain.count * sizeof(qset_pair)) == 0);
			qset_release(&test_heap, plain.pair);
			qset_release(&test_heap, fast.pair);
		}
	qset_postings_free(&p);
	test_no_leak();
}

/* qset_collection_rank() returns the rank of each element, and -1 for other numbers. */
static void
ranks(void **state)
{
	uint64_t seed;
	uint64_t i;

	(void) state;
	for (seed = 0; seed < SEEDS; seed++)
	{
		qset_collection c;

		test_collection(&c, seed, seed % 2 == 0);
		for (i = 0; i < c.universe; i++)
		{
			uint64_t high = c.wide ? c.high[i] : 0;
			int64_t after = qset_collection_rank(&c, c.low[i] + 1, high);

			REQUIRE(qset_collection_rank(&c, c.low[i], high) == (int64_t) i);
			REQUIRE(after == -1 || (c.low[after] == c.low[i] + 1 && after != (int64_t) i));
			if (c.wide)
				REQUIRE(qset_collection_rank(&c, c.low[i], high ^ 1) == -1);
		}
		qset_collection_free(&c);
	}
	test_no_leak();
}

/* A question to the postings or, if "plain" is true, to the collection of the postings. */
typedef struct asking
{
	qset_postings p;
	qset_question q;
	bool plain;
} asking;

static void
ask_pausing(void *context)
{
	const asking *a = context;
	qset_best best;

	if (a->plain)
		REQUIRE_OK(qset_collection_answer(&a->p.collection, &a->q, &best, &test_pausing_heap));
	else
		REQUIRE_OK(
			qset_postings_answer(&a->p, &a->q, qset_kernels_now(), &best, &test_pausing_heap));
}

/* A question pauses, and a jump out of each pause is safe. */
static void
pauses(void **state)
{
	asking a = { .q = { .most = SETS } };
	int plain;

	(void) state;
	make_large(&a.p);
	REQUIRE_OK(qset_filter_init(&a.q.filter, 1, 0, 0));
	qset_question_of_set(&a.q, &a.p.collection, 0);
	for (plain = 0; plain < 2; plain++)
	{
		uint64_t all;
		uint64_t at;

		a.plain = plain;
		REQUIRE(test_until(ask_pausing, &a, 0));
		all = test_pausing.paused;
		REQUIRE(all > 5);
		for (at = 1; at <= all; at++)
			REQUIRE(!test_until(ask_pausing, &a, at));
	}
	qset_postings_free(&a.p);
	test_no_leak();
}

/* Each allocation fails in turn. */
static void
no_memory(void **state)
{
	qset_question q = { .most = ROOM };
	qb_status status = QB_NO_MEMORY;
	long k;

	(void) state;
	REQUIRE_OK(qset_filter_init(&q.filter, 1, 0, 0));
	for (k = 1; status == QB_NO_MEMORY; k++)
	{
		qset_collection c;
		qset_postings p;
		qset_best best;

		test_collection(&c, 5, true);
		test_fail_at(k);
		status = qset_postings_make(&p, &c);
		if (status == QB_OK)
		{
			qset_question_of_set(&q, &p.collection, 0);
			status = qset_postings_answer(&p, &q, qset_kernels_now(), &best, &test_heap);
			if (status == QB_OK)
			{
				qset_release(&test_heap, best.pair);
				status = qset_collection_answer(&p.collection, &q, &best, &test_heap);
			}
			if (status == QB_OK)
				qset_release(&test_heap, best.pair);
			test_fail_at(0);
			ask(&p, &q, 0);
			qset_postings_free(&p);
		}
		test_fail_at(0);
		REQUIRE(status == QB_OK || status == QB_NO_MEMORY);
	}
	REQUIRE(k > 8);
	test_no_leak();
}

/* An answer with more pairs than allowed is refused. */
static void
no_room(void **state)
{
	qset_question q = { .most = 2 };
	qset_postings p;
	qset_best best;

	(void) state;
	make(&p, 5);
	REQUIRE_OK(qset_filter_init(&q.filter, 0, 0, 0));
	qset_question_of_set(&q, &p.collection, 0);
	REQUIRE(p.collection.sets > 4);
	REQUIRE(qset_postings_answer(&p, &q, qset_kernels_now(), &best, &test_heap) == QB_NO_ROOM);
	REQUIRE(qset_collection_answer(&p.collection, &q, &best, &test_heap) == QB_NO_ROOM);
	q.filter.top = 2;
	ask(&p, &q, 0);
	qset_postings_free(&p);
	test_no_leak();
}

static void
orders_by_name(void **state)
{
	(void) state;
	REQUIRE(qset_order_of("jaccard") == QSET_BY_JACCARD);
	REQUIRE(qset_order_of("common") == QSET_BY_COMMON);
	REQUIRE(qset_order_of("overlap") == QSET_BY_OVERLAP);
	REQUIRE(qset_order_of("lift") == QSET_BY_LIFT);
	REQUIRE(qset_order_of("") == -1);
	REQUIRE(qset_order_of("Lift") == -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(best_sets),      cmocka_unit_test(as_of_jobs),
		cmocka_unit_test(several_blocks), cmocka_unit_test(ranks),
		cmocka_unit_test(pauses),         cmocka_unit_test(no_memory),
		cmocka_unit_test(no_room),        cmocka_unit_test(orders_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
