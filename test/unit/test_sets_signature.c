/*
 * test_sets_signature.c
 *		Signatures of sets, and the index of prefixes.
 *
 * The bound that signatures give is never below the number of common elements.  The search
 * works with windows of any length.
 *
 * test/unit/test_sets_signature.c
 */
#include "pairs_support.h"

#define UNIVERSE 100000

/* Fill a set with distinct numbers, of which "common" are copied from another set. */
static void
fill_set(test_rng *rng, uint32_t *set, uint64_t size, const uint32_t *other, uint64_t common)
{
	static bool taken[UNIVERSE];
	uint64_t i;

	memcpy(set, other, common * sizeof(*set));
	for (i = 0; i < common; i++)
		taken[set[i]] = true;
	for (i = common; i < size; i++)
	{
		do
			set[i] = (uint32_t) test_below(rng, UNIVERSE);
		while (taken[set[i]]);
		taken[set[i]] = true;
	}
	for (i = 0; i < size; i++)
		taken[set[i]] = false;
}

/*
 * On each level, 2 * common is at most n + m minus the number of bits that differ between both
 * signatures.
 */
static void
bound_of_common_elements(void **state)
{
	static uint32_t a[3000];
	static uint32_t b[3000];
	uint64_t seed;

	(void) state;
	for (seed = 0; seed < 2000; seed++)
	{
		test_rng rng = test_seeded(seed);
		uint64_t n = 1 + test_below(&rng, seed % 3 ? 60 : 3000);
		uint64_t m = 1 + test_below(&rng, n);
		uint64_t common = test_below(&rng, m + 1);
		qset_sieve row = { .most_level = QSET_SIGNATURE_LEVELS - 1 };
		int level;

		name_case(seed);
		fill_set(&rng, a, n, a, 0);
		fill_set(&rng, b, m, a, common);
		qset_sieve_row(&row, a, n);
		for (level = 0; level < QSET_SIGNATURE_LEVELS; level++)
		{
			uint64_t signature[1 << (QSET_SIGNATURE_LEVELS - 1)] = { 0 };
			uint64_t different = 0;
			int w;

			qset_signature_make(signature, level, b, m);
			for (w = 0; w < 1 << level; w++)
				different +=
					(uint64_t) __builtin_popcountll(signature[w] ^ row.row[(1 << level) + w]);
			REQUIRE(2 * common <= n + m - different);
			REQUIRE(common < n || n != m || different == 0);
		}
	}
}

/* ---- the sieve ---- */

#define COLUMNS 300

/* A row, columns of similar size, and a list of columns. */
typedef struct sieved
{
	qset_sieve sieve;
	int level;
	qset_signed column[COLUMNS];
	uint64_t signature[COLUMNS << (QSET_SIGNATURE_LEVELS - 1)];
	uint64_t n;
	uint32_t list4[COLUMNS];
	uint16_t list2[COLUMNS];
} sieved;

/* Make random columns.  Half of the columns have nearly the row's signature. */
static void
make_sieved(sieved *x, uint64_t seed)
{
	test_rng rng = test_seeded(seed);
	uint64_t words = UINT64_C(1) << seed % QSET_SIGNATURE_LEVELS;
	uint64_t *row = x->sieve.row + words;
	uint64_t i;

	x->level = (int) (seed % QSET_SIGNATURE_LEVELS);
	x->n = test_below(&rng, COLUMNS + 1);
	x->sieve = (qset_sieve){ x->column, x->signature, .from = (uint32_t) test_below(&rng, 99) };
	x->sieve.row_size = 20 + test_below(&rng, words * 40);
	x->sieve.row_known = x->sieve.row_size - test_below(&rng, 3);
	x->sieve.fraction = test_random(&rng) >> 33;
	x->sieve.min_count = test_below(&rng, 10);
	for (i = 0; i < words; i++)
		row[i] = test_random(&rng) & test_random(&rng);
	for (i = 0; i < COLUMNS * words; i++)
		x->signature[i] =
			i / words % 2 ? row[i % words] ^ (test_random(&rng) >> 60) : test_random(&rng);
	for (i = 0; i < COLUMNS; i++)
		x->column[i] = (qset_signed){ (uint32_t) (x->sieve.row_size + test_below(&rng, 10)),
									  (uint32_t) (i * words) };
	for (i = 0; i < x->n; i++)
		x->list2[i] = (uint16_t) (x->list4[i] = (uint32_t) test_below(&rng, COLUMNS));
}

/* True if a column passes the sieve by its definition. */
static bool
naive_sieve(const sieved *x, uint32_t column)
{
	const qset_sieve *s = &x->sieve;
	uint64_t size = x->column[column].size;
	uint64_t needed =
		(uint64_t) (((unsigned __int128) (s->row_size + size) * s->fraction + UINT32_MAX) >> 32);
	uint64_t different = 0;
	int w;

	for (w = 0; w < 1 << x->level; w++)
		different += (uint64_t) __builtin_popcountll(x->signature[x->column[column].at + w] ^
													 s->row[(1 << x->level) + w]);
	if (needed < s->min_count)
		needed = s->min_count;
	return column >= s->from && different + 2 * needed <= s->row_known + size;
}

/* Every table of loops passes the columns that naive_sieve() passes. */
static void
sieves_agree(void **state)
{
	static sieved x;
	const qset_kernels *table[3];
	size_t tables = test_tables(table);
	uint64_t passed = 0;
	uint64_t seed;

	(void) state;
	for (seed = 0; seed < 500; seed++)
	{
		uint32_t want[COLUMNS];
		uint32_t wanted = 0;
		uint32_t *out;
		uint64_t i;
		size_t t;

		name_case(seed);
		make_sieved(&x, seed);
		for (i = 0; i < x.n; i++)
			if (naive_sieve(&x, x.list4[i]))
				want[wanted++] = x.list4[i];
		out = test_array(x.n, sizeof(*out));
		for (t = 0; t < tables; t++)
		{
			REQUIRE(table[t]->sieve(&x.sieve, x.level, x.list4, x.n, true, out) == wanted);
			REQUIRE(memcmp(out, want, wanted * sizeof(*out)) == 0);
			REQUIRE(table[t]->sieve(&x.sieve, x.level, x.list2, x.n, false, out) == wanted);
			REQUIRE(memcmp(out, want, wanted * sizeof(*out)) == 0);
		}
		passed += wanted;
		free(out);
	}
	REQUIRE(passed > 1000);
}

#define SETS 40

static void
probed_sets(void **state)
{
	const qset_kernels *table[3];
	size_t tables = test_tables(table);
	uint64_t seed;
	size_t t;

	(void) state;
	for (seed = 0; seed < 300; seed++)
	{
		test_rng rng = test_seeded(seed);
		uint64_t bits[16];
		uint64_t offset[SETS + 1] = { 0 };
		uint32_t set[SETS];
		uint16_t want[SETS] = { 0 };
		uint16_t common[SETS];
		uint32_t *element;
		uint64_t i;
		uint64_t e;

		for (i = 0; i < 16; i++)
			bits[i] = test_random(&rng);
		for (i = 0; i < SETS; i++)
			offset[i + 1] = offset[i] + test_below(&rng, 12);
		element = test_array(offset[SETS], sizeof(*element));
		for (e = 0; e < offset[SETS]; e++)
			element[e] = (uint32_t) test_below(&rng, 16 * 64);
		for (i = 0; i < SETS; i++)
		{
			set[i] = (uint32_t) test_below(&rng, SETS);
			for (e = offset[set[i]]; e < offset[set[i] + 1]; e++)
				want[i] += bits[element[e] / 64] >> element[e] % 64 & 1;
		}
		name_case(seed);
		for (t = 0; t < tables; t++)
		{
			table[t]->probe_sets(bits, element, offset, set, SETS, common);
			REQUIRE(memcmp(common, want, sizeof(want)) == 0);
		}
		free(element);
	}
}

/*
 * Make sets of up to 300 elements.  Some elements are frequent, so windows are long.  Sizes differ,
 * so signatures have several levels.  Each third set equals the set before it, exactly or nearly.
 */
static void
many_sets(qset_collection *c, uint64_t sets, uint64_t seed)
{
	test_rng rng = test_seeded(seed);
	uint64_t of[300] = { 0 };
	uint64_t size = 0;
	qset_builder b;
	uint64_t i;
	uint64_t e;

	test_builder(&b, false);
	for (i = 0; i < sets; i++)
	{
		if (i % 3 != 0 || size == 0)
			size = 1 + test_below(&rng, test_below(&rng, 8) ? 8 : 300);
		else if (i % 2 == 0)
			of[test_below(&rng, size)] = test_below(&rng, 1000);
		for (e = 0; e < size; e++)
		{
			uint64_t most = 1 + test_below(&rng, 1000);

			if (i % 3 != 0)
				of[e] = test_below(&rng, most);
			test_add(&b, (int64_t) (i * 7919 % sets), of[e]);
		}
	}
	REQUIRE_OK(qset_builder_finish(&b, c));
	qset_builder_free(&b);
}

/* The index of prefixes gives the pairs of the hybrid method, which other tests check. */
static void
long_windows(void **state)
{
	static answer wanted;
	static answer got;
	static const double least[] = { 0, 0.5, 0.6, 2.0 / 3, 0.75, 0.9, 1 };
	static const int64_t min_count[] = { 25, 4, 3, 3, 3, 3, 2 };
	const qset_kernels *table[3];
	size_t tables = test_tables(table);
	qset_collection c[2];
	size_t t;
	size_t j;
	int kind;

	(void) state;
	many_sets(&c[0], 3000, 1);
	many_sets(&c[1], 1000, 1);
	for (kind = 0; kind < 4; kind++)
		for (j = 0; j < ALL_OF(least); j++)
			for (t = 0; t < tables; t++)
			{
				qset_request r = { .rows = &c[0], .memory = &test_heap };
				way w = { table[t], QSET_HYBRID, QSET_VARIANT_AUTO, 3, ROOM };

				name_case((uint64_t) kind * 10 + j);
				r.columns = kind == 1 ? &c[1] : NULL;
				r.directed = kind == 2;
				REQUIRE_OK(qset_filter_init(&r.filter, min_count[j], least[j], kind == 3 ? 2 : 0));
				run_pairs(&r, &w, &wanted);
				w.method = QSET_INDEX;
				w.variant = QSET_VARIANT_ON;
				run_pairs(&r, &w, &got);
				REQUIRE(wanted.count >= 10);
				require_same_pairs(&got, &wanted);
			}
	qset_collection_free(&c[0]);
	qset_collection_free(&c[1]);
	test_no_leak();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bound_of_common_elements),
		cmocka_unit_test(sieves_agree),
		cmocka_unit_test(probed_sets),
		cmocka_unit_test(long_windows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
