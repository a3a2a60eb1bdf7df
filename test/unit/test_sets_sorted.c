/*
 * test_sets_sorted.c
 *		Sorted arrays: intersecting, galloping and sorting, compared with naive answers.
 *
 * The tests run the loops of every instruction set, and the paper's methods for one pair.
 *
 * test/unit/test_sets_sorted.c
 */
#include "sets_support.h"

#include "bench/sets_single_pair.h"

#define SEEDS 3000
#define MOST  300

/* A set, with 8-byte and with 4-byte elements. */
typedef struct both
{
	int64_t *wide;
	int32_t *narrow;
	uint64_t n;
} both;

/* Make a random set, in blocks of exactly its size. */
static both
make(test_rng *rng, uint64_t universe, int64_t base, uint64_t most)
{
	int64_t set[MOST];
	both s;
	uint64_t i;

	s.n = test_set(rng, test_below(rng, most + 1), universe, base, set);
	s.wide = test_array(s.n, sizeof(*s.wide));
	s.narrow = test_array(s.n, sizeof(*s.narrow));
	for (i = 0; i < s.n; i++)
	{
		s.wide[i] = set[i];
		s.narrow[i] = (int32_t) set[i];
	}
	return s;
}

static void
drop(both s)
{
	free(s.wide);
	free(s.narrow);
}

/* Find the common elements by comparing all pairs; returns their number. */
static uint64_t
naive(both a, both b, int64_t *out)
{
	uint64_t common = 0;
	uint64_t i;
	uint64_t j;

	for (i = 0; i < a.n; i++)
		for (j = 0; j < b.n; j++)
			if (a.wide[i] == b.wide[j])
				out[common++] = a.wide[i];
	return common;
}

static void
check_pair(const qset_kernels *k, both a, both b)
{
	uint64_t least = a.n < b.n ? a.n : b.n;
	int32_t *out32 = test_array(least + QSET_SLACK, sizeof(*out32));
	int64_t *out64 = test_array(least + QSET_SLACK, sizeof(*out64));
	int64_t wanted[MOST];
	uint64_t common = naive(a, b, wanted);
	uint64_t i;

	REQUIRE(k->count32(a.narrow, a.n, b.narrow, b.n) == common);
	REQUIRE(k->count64(a.wide, a.n, b.wide, b.n) == common);
	REQUIRE(qset_count32(k, a.narrow, a.n, b.narrow, b.n) == common);
	REQUIRE(qset_count64(k, a.wide, a.n, b.wide, b.n) == common);
	REQUIRE(qset_gallop32(a.narrow, a.n, b.narrow, b.n, NULL) == common);
	REQUIRE(qset_gallop64(a.wide, a.n, b.wide, b.n, NULL) == common);
	REQUIRE(k->intersect32(a.narrow, a.n, b.narrow, b.n, out32) == common);
	REQUIRE(k->intersect64(a.wide, a.n, b.wide, b.n, out64) == common);
	for (i = 0; i < common; i++)
		REQUIRE(out32[i] == (int32_t) wanted[i] && out64[i] == wanted[i]);
	REQUIRE(qset_intersect32(k, a.narrow, a.n, b.narrow, b.n, out32) == common);
	REQUIRE(qset_intersect64(k, a.wide, a.n, b.wide, b.n, out64) == common);
	for (i = 0; i < common; i++)
		REQUIRE(out32[i] == (int32_t) wanted[i] && out64[i] == wanted[i]);
	free(out32);
	free(out64);
}

static void
check_methods(const qset_kernels *k, both a, both b, uint64_t common)
{
	int method;
	uint64_t count;

	for (method = QSET_AUTO; method < QSET_INDEX; method++)
	{
		WHERE("%s %s", k->name, qset_method_name(method));
		REQUIRE_OK(qset_single_count(k, method, (uint32_t *) a.narrow, a.n, (uint32_t *) b.narrow,
									 b.n, &test_heap, &count));
		REQUIRE(count == common);
	}
	REQUIRE_STATUS(qset_single_count(k, QSET_INDEX, (uint32_t *) a.narrow, a.n,
									 (uint32_t *) b.narrow, b.n, &test_heap, &count),
				   QB_BAD_METHOD);
}

/* Test sets of negative and positive numbers with many or few common elements. */
static void
counts_and_elements(void **state)
{
	const qset_kernels *table[3];
	size_t tables = test_tables(table);
	uint64_t seed;
	size_t t;

	(void) state;
	for (seed = 0; seed < SEEDS; seed++)
	{
		test_rng rng = test_seeded(seed);
		uint64_t universe = 1 + test_below(&rng, UINT64_C(4) << test_below(&rng, 12));
		uint64_t most = test_below(&rng, 4) ? MOST : 20;
		both a = make(&rng, universe, -(int64_t) (universe / 2), MOST);
		both b = make(&rng, universe, -(int64_t) (universe / 2), most);

		for (t = 0; t < tables; t++)
		{
			WHERE("seed %d %s", (int) seed, table[t]->name);
			check_pair(table[t], a, b);
			check_pair(table[t], b, a);
			check_pair(table[t], a, a);
		}
		drop(a);
		drop(b);
	}
}

static void
methods_of_a_pair(void **state)
{
	const qset_kernels *table[3];
	size_t tables = test_tables(table);
	uint64_t seed;
	size_t t;

	(void) state;
	for (seed = 0; seed < SEEDS; seed++)
	{
		test_rng rng = test_seeded(seed + SEEDS);
		uint64_t universe = 1 + test_below(&rng, UINT64_C(4) << test_below(&rng, 12));
		both a = make(&rng, universe, 0, MOST);
		both b = make(&rng, universe, 0, test_below(&rng, 4) ? MOST : 20);
		int64_t common[MOST];

		for (t = 0; t < tables; t++)
			check_methods(table[t], a, b, naive(a, b, common));
		drop(a);
		drop(b);
	}
	test_no_leak();
}

/* Some sets are so large that a search makes a table, and a merge path has several pieces. */
static void
methods_of_a_large_pair(void **state)
{
	const uint32_t sizes[] = { 1, 1000, 2047, 2048, 2049, 5000, 30000 };
	uint32_t *a = test_array(30000, sizeof(*a));
	uint32_t *b = test_array(30000, sizeof(*b));
	size_t i;
	size_t j;
	int method;

	(void) state;
	for (i = 0; i < 30000; i++)
	{
		a[i] = (uint32_t) i * 3;
		b[i] = (uint32_t) i * 2 + 6;
	}
	for (i = 0; i < ALL_OF(sizes); i++)
		for (j = 0; j < ALL_OF(sizes); j++)
			for (method = QSET_AUTO; method < QSET_INDEX; method++)
			{
				uint32_t end_a = (sizes[i] - 1) * 3 + 1;
				uint32_t end_b = (sizes[j] - 1) * 2 + 7;
				uint32_t end = end_a < end_b ? end_a : end_b;
				uint64_t count;

				/* the common elements are 6, 12, 18, and so on */
				REQUIRE_OK(qset_single_count(qset_kernels_now(), method, a, sizes[i], b, sizes[j],
											 &test_heap, &count));
				REQUIRE(count == (end - 1) / 6);
			}
	free(a);
	free(b);
}

/* For any cut of the path, the two parts together contain all common elements. */
static void
paths_cut_anywhere(void **state)
{
	uint64_t seed;

	(void) state;
	for (seed = 0; seed < 300; seed++)
	{
		test_rng rng = test_seeded(seed);
		both a = make(&rng, 60, 0, 50);
		both b = make(&rng, 60, 0, 50);
		const uint32_t *x = (const uint32_t *) a.narrow;
		const uint32_t *y = (const uint32_t *) b.narrow;
		uint64_t common = test_naive_count(x, a.n, y, b.n);
		uint64_t diagonal;

		for (diagonal = 0; diagonal <= a.n + b.n; diagonal++)
		{
			uint64_t i;
			uint64_t j;

			i = qset_path_cut(x, a.n, y, b.n, diagonal, &j);
			REQUIRE(i + j == diagonal || i + j == diagonal + 1);
			REQUIRE(i == 0 || j == b.n || x[i - 1] < y[j]);
			REQUIRE(j == 0 || i == a.n || y[j - 1] < x[i]);
			REQUIRE(test_naive_count(x, i, y, j) +
						test_naive_count(x + i, a.n - i, y + j, b.n - j) ==
					common);
		}
		drop(a);
		drop(b);
	}
}

/* An ascending array is sorted.  An array with two equal neighbours at any position is not. */
static void
sortedness(void **state)
{
	const qset_kernels *table[3];
	size_t tables = test_tables(table);
	uint64_t n;
	uint64_t at;
	size_t t;

	(void) state;
	for (t = 0; t < tables; t++)
		for (n = 0; n < 70; n++)
		{
			int32_t *a = test_array(n, sizeof(*a));
			int64_t *b = test_array(n, sizeof(*b));

			for (at = 0; at < n; at++)
			{
				a[at] = (int32_t) at * 5 - 100;
				b[at] = ((int64_t) at - 30) * (INT64_C(1) << 40);
			}
			REQUIRE(table[t]->sorted32(a, n) && table[t]->sorted64(b, n));
			for (at = 1; at < n; at++)
			{
				a[at] -= 5;
				b[at] -= INT64_C(1) << 40;
				REQUIRE(!table[t]->sorted32(a, n) && !table[t]->sorted64(b, n));
				a[at] += 5;
				b[at] += INT64_C(1) << 40;
			}
			free(a);
			free(b);
		}
}

static int
compare64(const void *a, const void *b)
{
	int64_t x = *(const int64_t *) a;
	int64_t y = *(const int64_t *) b;

	return (x > y) - (x < y);
}

/* Sort short and long arrays of random elements, whose bits outside of "mask" are 0. */
static void
sorting(void **state)
{
	uint64_t seed;

	(void) state;
	for (seed = 0; seed < 1000; seed++)
	{
		test_rng rng = test_seeded(seed);
		uint64_t n = test_below(&rng, seed % 10 ? 120 : 3000);
		uint64_t mask = test_random(&rng) | test_random(&rng);
		int64_t *a = test_array(n, sizeof(*a));
		int64_t *wanted = test_array(n, sizeof(*wanted));
		int32_t *b = test_array(n, sizeof(*b));
		int64_t *scratch = test_array(n, sizeof(*scratch));
		uint64_t n64 = n;
		uint64_t n32 = n;
		uint64_t i;
		uint64_t kept = 0;

		for (i = 0; i < n; i++)
		{
			a[i] = (int64_t) (test_random(&rng) & mask);
			b[i] = (int32_t) (test_random(&rng) & mask);
		}
		for (i = 0; i < n; i++)
			wanted[i] = a[i];
		qsort(wanted, n, sizeof(*wanted), compare64);
		qset_sort_unique64(a, &n64, scratch, NULL);
		for (i = 0; i < n; i++)
			if (i == 0 || wanted[i] != wanted[i - 1])
				REQUIRE(kept < n64 && a[kept++] == wanted[i]);
		REQUIRE(kept == n64);
		for (i = 0; i < n; i++)
			wanted[i] = b[i];
		qsort(wanted, n, sizeof(*wanted), compare64);
		qset_sort_unique32(b, &n32, (int32_t *) scratch, NULL);
		for (i = kept = 0; i < n; i++)
			if (i == 0 || wanted[i] != wanted[i - 1])
				REQUIRE(kept < n32 && b[kept++] == wanted[i]);
		REQUIRE(kept == n32);
		free(a);
		free(b);
		free(wanted);
		free(scratch);
	}
}

/* ---- other loops ---- */

static void
bits_of_two_bitmaps(void **state)
{
	const qset_kernels *table[3];
	size_t tables = test_tables(table);
	test_rng rng = test_seeded(5);
	uint64_t words;
	size_t t;

	(void) state;
	for (words = 0; words < 40; words++)
	{
		uint64_t *a = test_array(words, sizeof(*a));
		uint64_t *b = test_array(words, sizeof(*b));
		uint32_t element[100];
		uint64_t both_set = 0;
		uint64_t probed = 0;
		uint64_t i;

		for (i = 0; i < words; i++)
		{
			a[i] = test_random(&rng);
			b[i] = test_random(&rng) | test_random(&rng);
			both_set += (uint64_t) __builtin_popcountll(a[i] & b[i]);
		}
		for (i = 0; i < 100 && words > 0; i++)
		{
			element[i] = (uint32_t) test_below(&rng, words * 64);
			probed += a[element[i] / 64] >> element[i] % 64 & 1;
		}
		for (t = 0; t < tables; t++)
		{
			REQUIRE(table[t]->and_count(a, b, words) == both_set);
			REQUIRE(table[t]->probe(a, element, words > 0 ? 100 : 0) == probed);
		}
		free(a);
		free(b);
	}
}

static void
sums_of_columns(void **state)
{
	const qset_kernels *table[3];
	size_t tables = test_tables(table);
	const uint32_t counts[] = { 0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 100, 255, 256, 700, 65535 };
	test_rng rng = test_seeded(6);
	uint64_t *bits = test_array(64 * 24, sizeof(*bits));
	const uint64_t **column = test_array(65535, sizeof(*column));
	size_t i;
	size_t t;

	(void) state;
	for (i = 0; i < 64 * 24; i++)
		bits[i] = i < 24 ? UINT64_MAX : test_random(&rng);
	for (i = 0; i < ALL_OF(counts); i++)
	{
		uint16_t wanted[QSET_BLOCK];
		uint16_t sum[QSET_BLOCK];
		uint32_t c;

		/* in every second case all columns are full, for the largest possible sums */
		for (c = 0; c < counts[i]; c++)
			column[c] = bits + (i % 2 ? 0 : 24 * test_below(&rng, 64));
		qset_kernels_plain.sum_columns(column, counts[i], 8, wanted);
		for (c = 0; c < QSET_BLOCK; c++)
		{
			uint32_t s = 0;
			uint32_t k;

			for (k = 0; k < counts[i]; k++)
				s += column[k][8 + c / 64] >> c % 64 & 1;
			REQUIRE(wanted[c] == s);
		}
		for (t = 0; t < tables; t++)
		{
			WHERE("%s %u", table[t]->name, counts[i]);
			memset(sum, 0xA5, sizeof(sum));
			table[t]->sum_columns(column, counts[i], 8, sum);
			REQUIRE(memcmp(sum, wanted, sizeof(sum)) == 0);
		}
	}
	free(column);
	free(bits);
}

static void
positions(void **state)
{
	const qset_kernels *table[3];
	size_t tables = test_tables(table);
	const uint32_t bounds[] = { 0, 1, 2, 100, 40000, 65535 };
	test_rng rng = test_seeded(7);
	uint32_t n;
	size_t i;
	size_t t;

	(void) state;
	for (n = 0; n < 150; n++)
	{
		uint16_t *row16 = test_array(n, sizeof(*row16));
		uint32_t *row32 = test_array(n, sizeof(*row32));
		uint32_t *out = test_array(n + QSET_SLACK, sizeof(*out));
		uint32_t from = n > 0 ? (uint32_t) test_below(&rng, n) : 0;
		uint32_t k;

		for (k = 0; k < n; k++)
			row32[k] = row16[k] = (uint16_t) (test_random(&rng) >> test_below(&rng, 16));
		for (i = 0; i < ALL_OF(bounds); i++)
			for (t = 0; t < tables; t++)
			{
				qset_slice s = {
					.row = row16, .from = from, .to = n, .least = bounds[i], .most = 9000
				};
				uint32_t found = table[t]->find16(&s, out);
				uint32_t at = 0;

				for (k = from; k < n; k++)
					if (row16[k] >= bounds[i])
						REQUIRE(at < found && out[at++] == k);
				REQUIRE(at == found);
				s.size = row32;
				found = table[t]->find16(&s, out);
				for (k = from, at = 0; k < n; k++)
					if (row16[k] >= bounds[i] && row32[k] <= 9000)
						REQUIRE(at < found && out[at++] == k);
				REQUIRE(at == found);
				s.row = row32;
				found = table[t]->find32(&s, out);
				for (k = from, at = 0; k < n; k++)
					if (row32[k] >= bounds[i])
						REQUIRE(at < found && out[at++] == k);
				REQUIRE(at == found);
			}
		free(row16);
		free(row32);
		free(out);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_and_elements),
		cmocka_unit_test(methods_of_a_pair),
		cmocka_unit_test(methods_of_a_large_pair),
		cmocka_unit_test(paths_cut_anywhere),
		cmocka_unit_test(sortedness),
		cmocka_unit_test(sorting),
		cmocka_unit_test(bits_of_two_bitmaps),
		cmocka_unit_test(sums_of_columns),
		cmocka_unit_test(positions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
