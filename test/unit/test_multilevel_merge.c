/*
 * test_multilevel_merge.c
 *		Merging and subtracting multilevel sketches, with each instruction set; folding
 *		multilevel sketches.
 *
 * The sum of two sketches must have the bytes of a sketch that is built from the summed
 * counters.  Some sources of merges are views, whose bytes may start at any address.
 *
 * test/unit/test_multilevel_merge.c
 */
#include "multilevel_support.h"

/* Check that a + b has the summed counters, and that subtracting b restores a. */
static void
check_sum(const counters *c, const uint64_t *a, const uint64_t *b, size_t offset)
{
	uint64_t sum[MOST];
	qs_sketch into;
	qs_sketch from;
	qs_sketch wanted;
	qs_sketch view;
	test_bytes before;
	uint8_t *block;
	uint64_t i;

	for (i = 0; i < c->count; i++)
		sum[i] = a[i] + b[i];
	build(&into, c, a);
	build(&from, c, b);
	build(&wanted, c, sum);
	before = test_write_valid(&into);
	block = view_at(&view, &from, offset);
	REQUIRE_OK(qs_merge(&into, &view));
	REQUIRE(test_same(&into, &wanted));
	REQUIRE_OK(qs_subtract(&into, &view));
	REQUIRE(test_writes(&into, before));
	REQUIRE_OK(qs_merge(&into, &from));
	REQUIRE(test_same(&into, &wanted));
	test_release(&test_heap_state, block);
	free(before.data);
	qs_free(&into);
	qs_free(&from);
	qs_free(&wanted);
}

/* ---- carries and borrows ---- */

/* Add each pair of values of edges[], in each counter of a bucket. */
static void
check_edges(void)
{
	static counters c;
	uint64_t a[MOST];
	uint64_t b[MOST];
	uint64_t i;
	uint64_t k;

	find_keys(&c, 3);
	for (i = 0; i < EDGES; i++)
		for (k = 0; k < EDGES; k++)
		{
			uint64_t j;

			for (j = 0; j < c.count; j++)
			{
				a[j] = edges[(i + j) % EDGES];
				b[j] = edges[(k + j / 3) % EDGES];
			}
			WHERE("%s, %d and %d", qb_isa_name(qb_isa_now()), (int) i, (int) k);
			check_sum(&c, a, b, (size_t) (i + k) % 33);
		}
}

static void
every_edge_in_every_counter(void **state)
{
	(void) state;
	test_with_each_isa(check_edges);
}

/* Only one counter of one bucket is not zero.  Its sum is 256 or more. */
static void
check_single_carries(void)
{
	static counters c;
	uint64_t a[MOST];
	uint64_t b[MOST];
	uint64_t i;

	find_keys(&c, 2);
	for (i = 0; i < c.count; i++)
	{
		WHERE("%s, counter %d", qb_isa_name(qb_isa_now()), (int) i);
		memset(a, 0, sizeof(a));
		memset(b, 0, sizeof(b));
		a[i] = 255;
		b[i] = 1;
		check_sum(&c, a, b, 1);
		check_sum(&c, b, a, 2);
		b[i] = 255;
		check_sum(&c, a, b, 3);
		b[i] = 256;
		check_sum(&c, a, b, 4);
		check_sum(&c, b, a, 5);
	}
}

static void
single_carries(void **state)
{
	(void) state;
	test_with_each_isa(check_single_carries);
}

/* Returns a random counter with a random number of bits. */
static uint64_t
random_value(test_rng *rng, uint64_t bits)
{
	return test_random(rng) >> (63 - test_below(rng, bits + 1));
}

static void
fill_random(test_rng *rng, uint64_t *value, uint64_t count, uint64_t bits)
{
	uint64_t share = 1 + test_below(rng, 30);
	uint64_t i;

	for (i = 0; i < count; i++)
		value[i] = test_below(rng, share) == 0 ? random_value(rng, bits) : 0;
}

/* Add random counters of 4 and of 8 bytes, in few and many buckets, with few or many carries. */
static void
check_random(void)
{
	static const uint64_t n[] = { 1, 2, 127, 128, 129, 140 };
	static counters c;
	test_rng rng = test_seeded(70);
	uint64_t a[MOST];
	uint64_t b[MOST];
	size_t i;
	int round;

	for (i = 0; i < ALL_OF(n); i++)
	{
		find_keys(&c, n[i]);
		for (round = 0; round < 12; round++)
		{
			WHERE("%s, n %d, round %d", qb_isa_name(qb_isa_now()), (int) n[i], round);
			fill_random(&rng, a, c.count, round % 2 ? 9 : 14);
			fill_random(&rng, b, c.count, round % 3 ? 8 : 13);
			if (round % 4 == 1)
				a[test_below(&rng, c.count)] = UINT64_C(1) << 32;
			if (round % 4 >= 2 && round > 5)
				b[test_below(&rng, c.count)] = (UINT64_C(1) << 40) + 255;
			check_sum(&c, a, b, (size_t) round * 5);
		}
	}
}

static void
random_counters(void **state)
{
	(void) state;
	test_with_each_isa(check_random);
}

/* Make a sketch with counters of 8 bytes, although its total requires only 4 bytes. */
static void
build_wide(qs_sketch *sk, const counters *c, const uint64_t *value)
{
	build(sk, c, value);
	test_insert(sk, c->key[3], QS_WIDE_TOTAL + 255);
	REQUIRE_OK(test_try_remove(sk, c->key[3], QS_WIDE_TOTAL + 255));
	REQUIRE(sk->wide && sk->total < QS_WIDE_TOTAL);
}

/* Merge and subtract sketches of different counter widths, in both directions. */
static void
check_widths(void)
{
	static counters c;
	test_rng rng = test_seeded(71);
	uint64_t value[2][MOST];
	int round;

	find_keys(&c, 5);
	for (round = 0; round < 12; round++)
	{
		uint64_t sum[MOST];
		qs_sketch part[2];
		qs_sketch wanted;
		test_bytes before;
		uint64_t i;
		int into = round % 2;

		WHERE("%s, round %d", qb_isa_name(qb_isa_now()), round);
		fill_random(&rng, value[0], c.count, 14);
		fill_random(&rng, value[1], c.count, 14);
		for (i = 0; i < c.count; i++)
			sum[i] = value[0][i] + value[1][i];
		build_wide(&part[0], &c, value[0]);
		build(&part[1], &c, value[1]);
		build(&wanted, &c, sum);
		before = test_write_valid(&part[into]);
		REQUIRE_OK(qs_merge(&part[into], &part[1 - into]));
		REQUIRE(test_same(&part[into], &wanted));
		REQUIRE_OK(qs_subtract(&part[into], &part[1 - into]));
		REQUIRE(test_writes(&part[into], before));
		free(before.data);
		qs_free(&part[0]);
		qs_free(&part[1]);
		qs_free(&wanted);
	}
}

static void
widths_may_differ(void **state)
{
	(void) state;
	test_with_each_isa(check_widths);
}

/* ---- folding ---- */

/* Compute the counters after groups of "more" neighbouring buckets are folded. */
static void
fold_values(const counters *c, uint64_t more, const uint64_t *value, uint64_t *folded)
{
	uint64_t i;

	memset(folded, 0, MOST * sizeof(*folded));
	for (i = 0; i < c->count; i++)
		folded[i / QS_LOW_COUNTERS / more * QS_LOW_COUNTERS + i % QS_LOW_COUNTERS] += value[i];
}

/* Make a sketch of n / more buckets with the folded counters.  Each counter belongs to one key. */
static void
build_folded(qs_sketch *sk, const counters *c, uint64_t more, const uint64_t *folded)
{
	qs_params p = c->p;
	uint64_t i;

	p.n /= more;
	test_init_dense(sk, &p);
	for (i = 0; i < p.n * QS_LOW_COUNTERS; i++)
	{
		uint64_t first = i / QS_LOW_COUNTERS * more * QS_LOW_COUNTERS + i % QS_LOW_COUNTERS;

		if (folded[i] > 0)
			test_insert(sk, c->key[first], (int64_t) folded[i]);
	}
}

static void
folds_are_sums(void **state)
{
	static counters c;
	test_rng rng = test_seeded(72);
	uint64_t value[MOST];
	uint64_t folded[MOST];
	uint64_t more;
	int round;

	(void) state;
	find_keys(&c, BUCKETS);
	for (more = 2; more <= 8; more *= 2)
		for (round = 0; round < 8; round++)
		{
			qs_sketch sk;
			qs_sketch wanted;

			WHERE("to 1/%d, round %d", (int) more, round);
			fill_random(&rng, value, c.count, round % 2 ? 8 : 12);
			if (round % 4 == 3)
				value[test_below(&rng, c.count)] += UINT64_C(1) << 32;
			fold_values(&c, more, value, folded);
			build(&sk, &c, value);
			build_folded(&wanted, &c, more, folded);
			REQUIRE_OK(qs_fold(&sk, c.p.n / more));
			REQUIRE(test_same(&sk, &wanted));
			qs_free(&sk);
			qs_free(&wanted);
		}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_edge_in_every_counter),
		cmocka_unit_test(single_carries),
		cmocka_unit_test(random_counters),
		cmocka_unit_test(widths_may_differ),
		cmocka_unit_test(folds_are_sums),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
