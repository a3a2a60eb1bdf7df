/*
 * test_multilevel.c
 *		The multilevel sketch, compared with buckets of 28 counters of 64 bits.
 *
 * The reference counters never overflow, and the sketch must have the same values, in
 * memory and serialized.  The serialized form must be canonical: high buckets are in the
 * order of their low buckets, and no high bucket is all zero.
 *
 * test/unit/test_multilevel.c
 */
#include "support.h"

#include "sketch/multilevel.h"

typedef struct reference
{
	qs_params p;
	uint64_t *value; /* n * 28 counters */
	int64_t total;
} reference;

static reference
make_reference(const qs_params *p)
{
	reference r = { *p, calloc(p->n * QS_LOW_COUNTERS, sizeof(uint64_t)), 0 };

	REQUIRE(r.value != NULL);
	return r;
}

/* Add to the reference by the definitions of bucket and mask. */
static void
reference_add(reference *r, uint64_t key, int64_t weight)
{
	uint64_t seed_key = qb_seed_key(r->p.seed);
	uint64_t hv = qb_hash(key, seed_key);
	uint64_t first = qb_reduce(hv, r->p.n) * QS_LOW_COUNTERS;
	uint32_t index = (uint32_t) hv & (qs_mask_count(&r->p) - 1);
	uint32_t mask = qs_mask_rotation(qs_mask(seed_key, QS_LOW_COUNTERS, r->p.depth, index),
									 QS_LOW_COUNTERS, hv);
	uint32_t i;

	for (i = 0; i < QS_LOW_COUNTERS; i++)
		if (mask >> i & 1)
			r->value[first + i] += (uint64_t) weight;
	r->total += weight;
}

/* Check that the tables have the counters of the reference and are canonical. */
static void
require_expanded(const uint8_t *bytes, const reference *r)
{
	uint32_t width = r->total >= QS_WIDE_TOTAL ? 8 : 4;
	const uint8_t *low = bytes;
	const uint8_t *high = low + r->p.n * QS_LOW_BYTES;
	uint32_t used = 0;
	uint64_t b;
	uint32_t i;

	for (b = 0; b < r->p.n; b++, low += QS_LOW_BYTES)
	{
		const uint64_t *value = r->value + b * QS_LOW_COUNTERS;
		bool needed = false;

		for (i = 0; i < QS_LOW_COUNTERS; i++)
			needed = needed || value[i] > 255;
		REQUIRE(qb_load32(low + QS_LOW_COUNTERS) == (needed ? QS_HIGH_INDEX_MIN + used : 0));
		for (i = 0; i < QS_LOW_COUNTERS; i++)
			REQUIRE(low[i] + (needed ? qb_counter_get(high, i, width == 8) << 8 : 0) == value[i]);
		high += needed ? QS_HIGH_COUNTERS * width : 0;
		used += needed;
	}
}

static void
require_reference(const qs_sketch *sk, const reference *r)
{
	test_bytes b = test_tables_of(sk);
	uint64_t value[QS_LOW_COUNTERS];
	uint64_t bucket;

	REQUIRE(sk->total == r->total);
	for (bucket = 0; bucket < r->p.n; bucket++)
	{
		qs_multilevel_values(sk, bucket, value);
		REQUIRE(memcmp(value, r->value + bucket * QS_LOW_COUNTERS, sizeof(value)) == 0);
	}
	require_expanded(b.data, r);
	test_require_valid(sk);
	free(b.data);
}

/* Add a batch of keys to the sketch and to the reference. */
static void
add(qs_sketch *sk, reference *r, const uint64_t *key, const int64_t *weight, size_t count)
{
	size_t i;

	REQUIRE_OK(qs_engine_cpu.insert(sk, key, weight, count));
	for (i = 0; i < count; i++)
		reference_add(r, key[i], weight ? weight[i] : 1);
}

/* ---- streams ---- */

/* Add one key a million times with weight 1, and then 9000 times with weight 1000. */
static void
one_key_ten_million_times(void **state)
{
	enum
	{
		BATCH = 50000
	};
	static uint64_t key[BATCH];
	qs_params p = test_usual_params(QS_MULTILEVEL, 8);
	reference r = make_reference(&p);
	qs_sketch sk;
	int i;

	(void) state;
	test_init_dense(&sk, &p);
	for (i = 0; i < BATCH; i++)
		key[i] = test_key(77);
	for (i = 0; i < 1000000 / BATCH; i++)
		REQUIRE_OK(qs_engine_cpu.insert(&sk, key, NULL, BATCH));
	reference_add(&r, key[0], 1000000);
	require_reference(&sk, &r);
	for (i = 0; i < 9000; i++)
		test_insert(&sk, key[0], 1000);
	reference_add(&r, key[0], 9000000);
	require_reference(&sk, &r);
	assert_int_equal(test_estimate(&sk, key[0]), 10000000);
	qs_free(&sk);
	free(r.value);
	test_no_leak();
}

/* Draw key i with a probability proportional to (i + 1)^-1.5, from cumulative sums. */
static uint64_t
zipf(test_rng *rng, const double *sum, int keys)
{
	double u = (double) test_below(rng, UINT64_C(1) << 40) / (double) (UINT64_C(1) << 40);
	int low = 0;
	int high = keys - 1;

	while (low < high)
	{
		int middle = (low + high) / 2;

		if (sum[middle] < u * sum[keys - 1])
			low = middle + 1;
		else
			high = middle;
	}
	return test_key((uint64_t) low);
}

/* Returns an approximate square root, by Newton's method.  The distribution need not be exact. */
static double
square_root(double x)
{
	double y = x;
	int i;

	for (i = 0; i < 40; i++)
		y = (y + x / y) / 2;
	return y;
}

static void
a_skewed_stream(void **state)
{
	enum
	{
		KEYS = 5000,
		BATCH = 3000
	};
	static double sum[KEYS];
	static uint64_t key[BATCH];
	test_rng rng = test_seeded(60);
	uint64_t n;
	int i;

	(void) state;
	for (i = 0; i < KEYS; i++)
		sum[i] = (i > 0 ? sum[i - 1] : 0) + 1 / ((i + 1) * square_root(i + 1));
	for (n = 1; n <= 256; n *= 4)
	{
		qs_params p = test_usual_params(QS_MULTILEVEL, n);
		reference r = make_reference(&p);
		qs_sketch sk;
		int batch;

		WHERE("n %d", (int) n);
		test_init(&sk, &p);
		for (batch = 0; batch < 30; batch++)
		{
			for (i = 0; i < BATCH; i++)
				key[i] = zipf(&rng, sum, KEYS);
			add(&sk, &r, key, NULL, BATCH);
		}
		require_reference(&sk, &r);
		qs_free(&sk);
		free(r.value);
	}
	test_no_leak();
}

/* Add weights near powers of two.  A low counter carries into its high bucket from 256 on. */
static void
carries_at_the_edges(void **state)
{
	static const int64_t edge[] = { 1,
									254,
									255,
									256,
									257,
									511,
									512,
									65535,
									65536,
									(1 << 24) - 1,
									1 << 24,
									INT64_C(1) << 31,
									INT64_C(1) << 32,
									(INT64_C(1) << 40) + 255 };
	size_t i;
	size_t j;
	size_t k;

	(void) state;
	for (i = 0; i < ALL_OF(edge); i++)
		for (j = 0; j < ALL_OF(edge); j++)
		{
			qs_params p = test_params(QS_MULTILEVEL, 2, 5, 0, 3, i);
			reference r = make_reference(&p);
			qs_sketch sk;
			uint64_t key[3] = { test_key(j), test_key(j + 1), test_key(j) };
			int64_t weight[3] = { edge[i], edge[j], 1 };

			WHERE("%lld, %lld", (long long) edge[i], (long long) edge[j]);
			test_init_dense(&sk, &p);
			for (k = 0; k < 3; k++)
			{
				add(&sk, &r, key + k, weight + k, 1);
				require_reference(&sk, &r);
			}
			qs_free(&sk);
			free(r.value);
		}
	test_no_leak();
}

/* ---- removals ---- */

/* Remove random amounts until the sketch is empty.  Low counters borrow from high counters. */
static void
removals_borrow(void **state)
{
	enum
	{
		KEYS = 40
	};
	test_rng rng = test_seeded(61);
	uint64_t n;

	(void) state;
	for (n = 1; n <= 16; n *= 2)
	{
		qs_params p = test_usual_params(QS_MULTILEVEL, n);
		reference r = make_reference(&p);
		int64_t left[KEYS];
		qs_sketch sk;
		uint64_t i;
		int round = 0;

		test_init_dense(&sk, &p);
		for (i = 0; i < KEYS; i++)
		{
			uint64_t key = test_key(i);

			left[i] = 1 + (int64_t) test_below(&rng, 3000);
			add(&sk, &r, &key, &left[i], 1);
		}
		for (; sk.total > 0; round++)
		{
			int64_t some;

			i = test_below(&rng, KEYS);
			some = (int64_t) test_below(&rng, 700);
			some = some < left[i] ? some : left[i];
			REQUIRE_OK(test_try_remove(&sk, test_key(i), some));
			reference_add(&r, test_key(i), -some);
			left[i] -= some;
			if (round % 50 == 0 || sk.total < 1000)
				require_reference(&sk, &r);
		}
		/* an empty sketch has no high bucket */
		require_reference(&sk, &r);
		assert_int_equal(test_table_bytes(&sk), n * QS_LOW_BYTES);
		qs_free(&sk);
		free(r.value);
	}
	test_no_leak();
}

/*
 * The bytes depend neither on the order in which buckets overflow, nor on buckets that
 * overflowed only for a while.
 */
static void
high_buckets_are_canonical(void **state)
{
	enum
	{
		KEYS = 200
	};
	qs_params p = test_usual_params(QS_MULTILEVEL, 64);
	test_rng rng = test_seeded(62);
	reference r = make_reference(&p);
	uint64_t key[KEYS];
	int64_t weight[KEYS];
	test_bytes wanted = { NULL, 0 };
	uint64_t i;
	int round;

	(void) state;
	for (i = 0; i < KEYS; i++)
	{
		key[i] = test_key(i);
		weight[i] = i % 3 == 0 ? 300 : 2;
		reference_add(&r, key[i], weight[i]);
	}
	for (round = 0; round < 20; round++)
	{
		qs_sketch sk;

		test_shuffle(&rng, key, weight, KEYS);
		test_init_dense(&sk, &p);
		/* add and remove heavy keys, which make more buckets overflow */
		for (i = 0; i < 50; i++)
			test_insert(&sk, test_key(1000 + i * (uint64_t) round), 300);
		REQUIRE_OK(qs_engine_cpu.insert(&sk, key, weight, KEYS));
		for (i = 0; i < 50; i++)
			REQUIRE_OK(test_try_remove(&sk, test_key(1000 + i * (uint64_t) round), 300));
		require_reference(&sk, &r);
		if (round == 0)
			wanted = test_write(&sk);
		REQUIRE(test_writes(&sk, wanted));
		qs_free(&sk);
	}
	free(wanted.data);
	free(r.value);
	test_no_leak();
}

/* ---- merging ---- */

static void
merging_and_folding_carry(void **state)
{
	test_rng rng = test_seeded(63);
	uint64_t small;
	int round;

	(void) state;
	for (small = 1; small <= 32; small *= 2)
		for (round = 0; round < 6; round++)
		{
			qs_params p = test_usual_params(QS_MULTILEVEL, small);
			qs_params q = test_usual_params(QS_MULTILEVEL, small << (round % 4));
			reference r = make_reference(&p);
			qs_sketch a;
			qs_sketch b;
			int i;

			test_init_dense(&a, &p);
			test_init_dense(&b, &q);
			for (i = 0; i < 300; i++)
			{
				uint64_t key = test_key(test_below(&rng, 100));
				int64_t weight = (int64_t) test_below(&rng, 200);

				add(i % 2 ? &a : &b, &r, &key, &weight, 1);
			}
			REQUIRE_OK(qs_fold(&b, p.n));
			REQUIRE_OK(qs_merge(&a, &b));
			require_reference(&a, &r);
			qs_free(&a);
			qs_free(&b);
			free(r.value);
		}
	test_no_leak();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_key_ten_million_times),  cmocka_unit_test(a_skewed_stream),
		cmocka_unit_test(carries_at_the_edges),       cmocka_unit_test(removals_borrow),
		cmocka_unit_test(high_buckets_are_canonical), cmocka_unit_test(merging_and_folding_carry),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
