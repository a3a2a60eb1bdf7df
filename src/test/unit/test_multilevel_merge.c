/*
 * test_multilevel_merge.c
 *		Merging, subtracting and folding multilevel sketches: every carry and
 *		borrow, with each set of instructions.
 *
 * At depth 1 a key owns one counter, so a sketch with any counters can be built
 * by choosing keys.  The sum of two sketches must have the bytes of one that is
 * built from the sums of their counters; nothing is merged to make that one.
 * What is merged is a view of bytes that start at any address.
 *
 * src/test/unit/test_multilevel_merge.c
 */
#include "support.h"

#include "sketch/multilevel.h"
#include "engine/sketch_kernels.h"

/* More than are added at a time, also when folded to half, and no multiple of it. */
#define BUCKETS 272
#define MOST    (BUCKETS * QS_LOW_COUNTERS)

static const char *const sets[] = { "scalar", "avx2", "avx512" };

/* Either side of all that a low and a high counter can overflow at. */
static const uint64_t edges[] = { 0,   1,   127, 128, 254,   255,   256,           257,
								  510, 511, 512, 513, 65535, 65536, (1 << 24) - 1, 1 << 24 };

#define EDGES ALL_OF(edges)

/* Parameters of depth 1 and a key for each counter. */
typedef struct counters
{
	qs_params p;
	uint64_t count; /* n * 28 */
	uint64_t key[MOST];
} counters;

/* From the definitions alone: bucket and mask. */
static uint64_t
counter_of(const qs_params *p, uint64_t key)
{
	uint64_t seed_key = qs_seed_key(p->seed);
	uint64_t hv = qs_hash(key, seed_key);
	uint32_t index = (uint32_t) hv & (qs_mask_count(p) - 1);
	uint32_t mask = qs_mask_turn(qs_mask(seed_key, QS_LOW_COUNTERS, 1, index), QS_LOW_COUNTERS, hv);

	return qs_reduce(hv, p->n) * QS_LOW_COUNTERS + (uint32_t) __builtin_ctz(mask);
}

static void
find_keys(counters *c, uint64_t n)
{
	uint64_t found = 0;
	uint64_t i;

	c->p = test_params(QS_MULTILEVEL, n, 1, 0, 10, n);
	c->count = n * QS_LOW_COUNTERS;
	memset(c->key, 0, sizeof(c->key));
	for (i = 2; found < c->count; i++)
	{
		uint64_t *key = &c->key[counter_of(&c->p, test_key(i))];

		found += *key == 0;
		*key = test_key(i);
	}
}

/* A dense sketch whose counters are "value". */
static void
build(qs_sketch *sk, const counters *c, const uint64_t *value)
{
	uint64_t i;

	test_init_dense(sk, &c->p);
	for (i = 0; i < c->count; i++)
		if (value[i] > 0)
			test_insert(sk, c->key[i], (int64_t) value[i]);
}

/* A view of its bytes, which start "offset" bytes after an aligned address. */
static uint8_t *
view_at(qs_sketch *view, const qs_sketch *sk, size_t offset)
{
	uint64_t length = qs_flat_size(sk);
	uint8_t *block = test_alloc(&test_heap_state, 4096 + offset + length);
	uint8_t *bytes = block + 4096 + offset;

	qs_write(sk, bytes);
	REQUIRE_OK(qs_validate(bytes, length));
	REQUIRE_OK(qs_open(view, bytes, length));
	return block;
}

/* a + b and back again, by the set of instructions in use. */
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

/* Run a check with each set that this processor has. */
static void
with_each_set(void (*check)(void))
{
	size_t s;

	for (s = 0; s < ALL_OF(sets); s++)
	{
		if (!qs_isa_use(sets[s]))
			print_message("%s: not on this processor\n", sets[s]);
		else
			check();
		test_no_leak();
	}
	assert_true(qs_isa_use("auto"));
}

/* ---- carries and borrows ---- */

/* Each edge meets each other in each counter of a bucket. */
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
			WHERE("%s, %d and %d", qs_isa_name(qs_isa_now()), (int) i, (int) k);
			check_sum(&c, a, b, (size_t) (i + k) % 33);
		}
}

static void
every_edge_in_every_counter(void **state)
{
	(void) state;
	with_each_set(check_edges);
}

/* One counter of one bucket carries, and nothing else does. */
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
		WHERE("%s, counter %d", qs_isa_name(qs_isa_now()), (int) i);
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
	with_each_set(check_single_carries);
}

/* A counter of any size, mostly small. */
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

/* Few and many buckets, which carry rarely or all, 4-byte and 8-byte counters. */
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
			WHERE("%s, n %d, round %d", qs_isa_name(qs_isa_now()), (int) n[i], round);
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
	with_each_set(check_random);
}

/* A sketch with counters of 8 bytes in memory, though its weight needs only 4. */
static void
build_wide(qs_sketch *sk, const counters *c, const uint64_t *value)
{
	build(sk, c, value);
	test_insert(sk, c->key[3], QS_WIDE_TOTAL + 255);
	REQUIRE_OK(test_try_remove(sk, c->key[3], QS_WIDE_TOTAL + 255));
	REQUIRE(sk->wide && sk->total < QS_WIDE_TOTAL);
}

/* Wide and narrow counters in memory, either into the other. */
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

		WHERE("%s, round %d", qs_isa_name(qs_isa_now()), round);
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
	with_each_set(check_widths);
}

/* ---- folding ---- */

/* The counters of a sketch with a "more"th of the buckets. */
static void
fold_values(const counters *c, uint64_t more, const uint64_t *value, uint64_t *folded)
{
	uint64_t i;

	memset(folded, 0, MOST * sizeof(*folded));
	for (i = 0; i < c->count; i++)
		folded[i / QS_LOW_COUNTERS / more * QS_LOW_COUNTERS + i % QS_LOW_COUNTERS] += value[i];
}

/* A sketch of n / more buckets, each counter of which is of one key. */
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
check_folds(void)
{
	static counters c;
	test_rng rng = test_seeded(72);
	uint64_t value[MOST];
	uint64_t folded[MOST];
	uint64_t more;
	int round;

	find_keys(&c, BUCKETS);
	for (more = 2; more <= 8; more *= 2)
		for (round = 0; round < 8; round++)
		{
			qs_sketch sk;
			qs_sketch small;
			qs_sketch wanted;
			qs_sketch view;
			uint8_t *block;

			WHERE("%s, to 1/%d, round %d", qs_isa_name(qs_isa_now()), (int) more, round);
			fill_random(&rng, value, c.count, round % 2 ? 8 : 12);
			if (round % 4 == 3)
				value[test_below(&rng, c.count)] += UINT64_C(1) << 32;
			fold_values(&c, more, value, folded);
			build(&sk, &c, value);
			build_folded(&wanted, &c, more, folded);
			block = view_at(&view, &sk, (size_t) round * 3);
			REQUIRE_OK(qs_copy(&small, &wanted, &test_heap));
			REQUIRE_OK(qs_fold(&sk, c.p.n / more));
			REQUIRE(test_same(&sk, &wanted));
			/* merging and subtracting fold, too */
			REQUIRE_OK(qs_merge(&small, &view));
			REQUIRE_OK(qs_subtract(&small, &sk));
			REQUIRE(test_same(&small, &wanted));
			REQUIRE_OK(qs_merge(&small, &wanted));
			REQUIRE_OK(qs_subtract(&small, &view));
			REQUIRE(test_same(&small, &wanted));
			test_release(&test_heap_state, block);
			qs_free(&sk);
			qs_free(&small);
			qs_free(&wanted);
		}
}

/* What folds to one too many in one counter is refused. */
static void
check_folded_underflows(void)
{
	static counters c;
	uint64_t value[MOST] = { 0 };
	uint64_t i;

	find_keys(&c, 4);
	for (i = 0; i < c.count; i++)
	{
		qs_params p = c.p;
		qs_sketch sk;
		qs_sketch small;

		WHERE("%s, counter %d", qs_isa_name(qs_isa_now()), (int) i);
		value[i] = 300;
		build(&sk, &c, value);
		value[i] = 0;
		p.n = 2;
		test_init_dense(&small, &p);
		test_insert(&small, c.key[i], 299);
		test_insert(&small, c.key[(i + 1) % c.count], 500);
		REQUIRE_STATUS(qs_subtract(&small, &sk), QS_UNDERFLOW);
		test_insert(&small, c.key[i], 1);
		REQUIRE_OK(qs_subtract(&small, &sk));
		assert_int_equal(small.total, 500);
		qs_free(&sk);
		qs_free(&small);
	}
}

static void
folds_are_sums(void **state)
{
	(void) state;
	with_each_set(check_folds);
	with_each_set(check_folded_underflows);
}

/* ---- what cannot be subtracted ---- */

/* One counter is smaller by one than what is subtracted: refused, and nothing changes. */
static void
check_underflows(void)
{
	static counters c;
	uint64_t a[MOST];
	uint64_t b[MOST];
	uint64_t i;
	size_t e;

	find_keys(&c, 2);
	for (i = 0; i < c.count; i++)
		for (e = 1; e < EDGES; e++)
		{
			qs_sketch into;
			qs_sketch from;
			test_bytes before;

			WHERE("%s, counter %d, %d", qs_isa_name(qs_isa_now()), (int) i, (int) edges[e]);
			memset(a, 0, sizeof(a));
			memset(b, 0, sizeof(b));
			a[i] = edges[e] - 1;
			b[i] = edges[e];
			a[(i + 1) % c.count] = e % 2 ? 200 : 2000;
			build(&into, &c, a);
			build(&from, &c, b);
			before = test_write_valid(&into);
			REQUIRE_STATUS(qs_subtract(&into, &from), QS_UNDERFLOW);
			REQUIRE(test_writes(&into, before));
			free(before.data);
			qs_free(&into);
			qs_free(&from);
		}
}

static void
underflows_are_refused(void **state)
{
	(void) state;
	with_each_set(check_underflows);
}

/* The definition: no counter below zero, none above its share of what is left. */
static bool
may_subtract(const qs_sketch *into, const qs_sketch *from)
{
	uint64_t b;
	uint32_t c;

	for (b = 0; b < into->params.n; b++)
	{
		uint64_t old[QS_LOW_COUNTERS];
		uint64_t less[QS_LOW_COUNTERS];
		unsigned __int128 sum = 0;
		uint64_t most = 0;

		qs_multilevel_values(into, b, old);
		qs_multilevel_values(from, b, less);
		for (c = 0; c < QS_LOW_COUNTERS; c++)
		{
			if (old[c] < less[c])
				return false;
			sum += old[c] - less[c];
			most = old[c] - less[c] > most ? old[c] - less[c] : most;
		}
		if ((unsigned __int128) most * into->params.depth > sum)
			return false;
	}
	return true;
}

/*
 * Keys some of which were never there.  Half of the time no counter of theirs
 * is too small.
 */
static void
check_verdicts(void)
{
	test_rng rng = test_seeded(73);
	int allowed = 0;
	int too_small = 0;
	int round;

	for (round = 0; round < 4000; round++)
	{
		static const uint64_t scales[] = { 1, 30, 700, 1 << 16, 1 << 24, UINT64_C(1) << 31 };
		qs_params p = test_params(QS_MULTILEVEL, 1 + test_below(&rng, 2),
								  2 + (int) test_below(&rng, 4), 0, 4, 3);
		uint64_t scale = scales[test_below(&rng, ALL_OF(scales))];
		uint64_t key = test_key(test_below(&rng, 40));
		qs_sketch into;
		qs_sketch from;
		int64_t most;
		int64_t weight;
		bool may;
		int i;

		WHERE("%s, round %d", qs_isa_name(qs_isa_now()), round);
		test_init_dense(&into, &p);
		test_init_dense(&from, &p);
		for (i = 0; i < 14; i++)
			test_insert(&into, test_key(test_below(&rng, 30)),
						1 + (int64_t) test_below(&rng, scale));
		most = test_estimate(&into, key);
		weight = round % 2 ? most : most + (int64_t) test_below(&rng, 2);
		test_insert(&from, key, weight);
		may = from.total <= into.total && may_subtract(&into, &from);
		REQUIRE_STATUS(qs_subtract(&into, &from), may ? QS_OK : QS_UNDERFLOW);
		test_require_valid(&into);
		allowed += may;
		too_small += weight > most;
		qs_free(&into);
		qs_free(&from);
	}
	REQUIRE(allowed > 400 && too_small > 400);
}

static void
verdicts_are_the_definition(void **state)
{
	(void) state;
	with_each_set(check_verdicts);
}

/* A key of depth 2 that owns just these counters of the only bucket. */
static uint64_t
key_of_mask(const qs_params *p, uint32_t wanted)
{
	uint64_t seed_key = qs_seed_key(p->seed);
	uint64_t i;

	for (i = 2;; i++)
	{
		uint64_t hv = qs_hash(test_key(i), seed_key);
		uint32_t index = (uint32_t) hv & (qs_mask_count(p) - 1);
		uint32_t mask = qs_mask(seed_key, QS_LOW_COUNTERS, 2, index);

		if (qs_mask_turn(mask, QS_LOW_COUNTERS, hv) == wanted)
			return test_key(i);
		REQUIRE(i < 1000000);
	}
}

/*
 * Keys {a, b} and {b, c} were added, {a, c} is taken away: no counter is too
 * small, but b would stay larger than the weight that is left.
 */
static void
check_unfit_rests(void)
{
	static const int64_t weights[] = { 1, 100, 300, 1 << 16, 1 << 24, INT64_C(1) << 33 };
	qs_params p = test_params(QS_MULTILEVEL, 1, 2, 0, 10, 5);
	uint32_t a;
	size_t w;

	for (a = 0; a < QS_LOW_COUNTERS; a++)
		for (w = 0; w < ALL_OF(weights); w++)
		{
			uint32_t bit_a = UINT32_C(1) << a;
			uint32_t bit_b = UINT32_C(1) << (a + 9) % QS_LOW_COUNTERS;
			uint32_t bit_c = UINT32_C(1) << (a + 20) % QS_LOW_COUNTERS;
			qs_sketch into;
			qs_sketch from;
			test_bytes before;

			WHERE("%s, counter %d, weight %lld", qs_isa_name(qs_isa_now()), (int) a,
				  (long long) weights[w]);
			test_init_dense(&into, &p);
			test_init_dense(&from, &p);
			test_insert(&into, key_of_mask(&p, bit_a | bit_b), weights[w]);
			test_insert(&into, key_of_mask(&p, bit_b | bit_c), weights[w]);
			test_insert(&from, key_of_mask(&p, bit_a | bit_c), 1);
			before = test_write_valid(&into);
			REQUIRE(!may_subtract(&into, &from));
			REQUIRE_STATUS(qs_subtract(&into, &from), QS_UNDERFLOW);
			REQUIRE(test_writes(&into, before));
			free(before.data);
			qs_free(&into);
			qs_free(&from);
		}
}

static void
unfit_rests_are_refused(void **state)
{
	(void) state;
	with_each_set(check_unfit_rests);
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
		cmocka_unit_test(underflows_are_refused),
		cmocka_unit_test(verdicts_are_the_definition),
		cmocka_unit_test(unfit_rests_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
