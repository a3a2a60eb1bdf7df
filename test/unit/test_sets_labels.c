/*
 * test_sets_labels.c
 *		Codes of keys, in hash slots or in a direct table, and images of builders.
 *
 * test/unit/test_sets_labels.c
 */
#include "sets_support.h"

#include "sets/dictionary.h"

#define KEYS 6000

typedef struct key
{
	uint64_t low;
	uint64_t high;
} key;

static int
by_sign(const void *x, const void *y)
{
	int64_t a = (int64_t) ((const key *) x)->low;
	int64_t b = (int64_t) ((const key *) y)->low;

	return (a > b) - (a < b);
}

static int
by_halves(const void *x, const void *y)
{
	const key *a = x;
	const key *b = y;

	if (a->high != b->high)
		return a->high < b->high ? -1 : 1;
	return (a->low > b->low) - (a->low < b->low);
}

/* Check that the keys of "l", in the order of their ranks, are the sorted distinct "keys". */
static void
require_ranks(const qset_dictionary *l, const key *keys, uint64_t count)
{
	key *sorted = test_array(count, sizeof(*sorted));
	uint32_t *rank = test_array(l->used, sizeof(*rank));
	uint64_t *low = test_array(l->used, sizeof(*low));
	uint64_t *high = l->wide ? test_array(l->used, sizeof(*high)) : NULL;
	uint64_t distinct = 0;
	uint64_t i;

	memcpy(sorted, keys, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), l->wide ? by_halves : by_sign);
	REQUIRE_OK(qset_dictionary_rank(l, rank, low, high, &test_heap));
	for (i = 0; i < count; i++)
	{
		if (i > 0 && sorted[i].low == sorted[i - 1].low &&
			(!l->wide || sorted[i].high == sorted[i - 1].high))
			continue;
		REQUIRE(distinct < l->used && low[distinct] == sorted[i].low);
		REQUIRE(!l->wide || high[distinct] == sorted[i].high);
		distinct++;
	}
	REQUIRE(distinct == l->used);
	for (i = 0; i < l->used; i++)
		REQUIRE(low[rank[i]] == l->low[i]);
	free(sorted);
	free(rank);
	free(low);
	free(high);
}

/* Assign codes to keys in batches, and check that each code names its key. */
static void
label_keys(qset_dictionary *l, const key *keys, uint64_t count, uint32_t batch)
{
	uint64_t i;
	uint32_t j;

	for (i = 0; i < count; i += batch)
	{
		uint32_t n = count - i < batch ? (uint32_t) (count - i) : batch;
		uint64_t low[QSET_DICTIONARY_AT_ONCE];
		uint64_t high[QSET_DICTIONARY_AT_ONCE];
		uint32_t code[QSET_DICTIONARY_AT_ONCE];

		for (j = 0; j < n; j++)
		{
			low[j] = keys[i + j].low;
			high[j] = keys[i + j].high;
		}
		REQUIRE_OK(qset_dictionary_of(l, low, l->wide ? high : NULL, n, code, &test_heap));
		REQUIRE((l->direct != NULL) != (l->slot != NULL));
		for (j = 0; j < n; j++)
			REQUIRE(code[j] < l->used && l->low[code[j]] == low[j] &&
					(!l->wide || l->high[code[j]] == high[j]));
	}
}

/*
 * Returns the i-th key of a stream: dense, sparse, ascending, descending, at either end, or
 * mixed.
 */
static uint64_t
next_key(int kind, uint64_t i, test_rng *rng)
{
	switch (kind)
	{
		case 0:
			return test_below(rng, 3000);
		case 1:
			return test_random(rng);
		case 2:
			return 1000000 + i / 2;
		case 3:
			return (uint64_t) - (int64_t) i;
		case 4:
			return (uint64_t) INT64_MAX - test_below(rng, 2000);
		case 5:
			return (uint64_t) INT64_MIN + test_below(rng, 2000);
		case 6:
			return i < KEYS / 2 ? test_below(rng, 500) : test_random(rng);
		case 7:
			return i < KEYS / 2 ? test_random(rng) : test_below(rng, 500);
		case 8:
			return test_below(rng, 2) ? test_below(rng, 1000) : (uint64_t) - (int64_t) i;
		default:
			return test_below(rng, 2) ? (uint64_t) INT64_MAX - i : (uint64_t) INT64_MIN + i;
	}
}

static void
labels_of_streams(void **state)
{
	static key keys[KEYS];
	int kind;
	int wide;
	int round;

	(void) state;
	for (kind = 0; kind < 10; kind++)
		for (wide = 0; wide < 2; wide++)
			for (round = 0; round < 12; round++)
			{
				test_rng rng = test_seeded((uint64_t) (kind * 100 + wide * 50 + round));
				uint64_t count = round == 0 ? KEYS : 1 + test_below(&rng, KEYS);
				qset_dictionary l = { .wide = wide };
				uint64_t i;

				WHERE("kind %d wide %d round %d", kind, wide, round);
				for (i = 0; i < count; i++)
				{
					keys[i].low = next_key(kind, i, &rng);
					keys[i].high = wide ? test_upper(keys[i].low) : 0;
				}
				label_keys(&l, keys, count,
						   1 + (uint32_t) test_below(&rng, QSET_DICTIONARY_AT_ONCE));
				require_ranks(&l, keys, count);
				REQUIRE(qset_dictionary_memory(&l) <= (l.used + QSET_DICTIONARY_AT_ONCE) * 128);
				qset_dictionary_free(&l, &test_heap);
			}
	test_no_leak();
}

/* Dense keys get direct codes.  Streams with random keys, or with keys at both ends, do not. */
static void
dense_keys_are_direct(void **state)
{
	static key keys[KEYS];
	int kind;

	(void) state;
	for (kind = 0; kind < 10; kind++)
	{
		test_rng rng = test_seeded(7);
		qset_dictionary l = { .wide = false };
		uint64_t i;

		WHERE("kind %d", kind);
		for (i = 0; i < KEYS; i++)
			keys[i] = (key){ next_key(kind, i, &rng), 0 };
		label_keys(&l, keys, KEYS, QSET_DICTIONARY_AT_ONCE);
		REQUIRE((l.direct != NULL) == (kind != 1 && kind != 6 && kind != 7 && kind != 9));
		qset_dictionary_free(&l, &test_heap);
	}
	test_no_leak();
}

/* Adding images of builders or adding the rows of these builders gives equal collections. */
static void
images_are_their_rows(void **state)
{
	uint64_t seed;

	(void) state;
	for (seed = 0; seed < 400; seed++)
	{
		test_rng rng = test_seeded(seed);
		bool wide = seed % 2;
		int parts = 1 + (int) test_below(&rng, 4);
		qset_builder all;
		qset_builder sum;
		qset_collection a;
		qset_collection b;
		int part;

		WHERE("seed %d", (int) seed);
		test_builder(&all, wide);
		test_builder(&sum, wide);
		for (part = 0; part < parts; part++)
		{
			uint64_t rows = test_below(&rng, 3) ? test_below(&rng, 500) : 0;
			qset_builder one;
			uint64_t *image;

			test_builder(&one, wide);
			for (; rows > 0; rows--)
			{
				int64_t id = (int64_t) test_below(&rng, 20) - 10;
				uint64_t low = next_key((int) (seed % 10), rows, &rng);

				test_add(&one, id, low);
				test_add(&all, id, low);
			}
			image = test_array(qset_builder_image_bytes(&one), 1);
			qset_builder_write(&one, image);
			REQUIRE_OK(qset_builder_add_image(&sum, image));
			free(image);
			qset_builder_free(&one);
		}
		REQUIRE_OK(qset_builder_finish(&all, &a));
		REQUIRE_OK(qset_builder_finish(&sum, &b));
		REQUIRE(test_same_collection(&a, &b));
		qset_collection_free(&a);
		qset_collection_free(&b);
		qset_builder_free(&all);
		qset_builder_free(&sum);
	}
	test_no_leak();
}

/*
 * The number of sets is so large that rows are distributed in two passes.  Each row occurs
 * twice.
 */
static void
many_sets(void **state)
{
	enum
	{
		SETS = 20000
	};
	qset_builder b;
	qset_collection c;
	int64_t set;
	uint64_t i;
	int again;

	(void) state;
	test_builder(&b, false);
	for (again = 0; again < 2; again++)
		for (set = SETS - 1; set >= 0; set--)
			for (i = 0; i < 1 + (uint64_t) set % 5; i++)
				test_add(&b, set * 3 - SETS, i * (uint64_t) set);
	REQUIRE_OK(qset_builder_finish(&b, &c));
	REQUIRE(c.sets == SETS);
	for (set = 0; set < SETS; set++)
	{
		REQUIRE(c.id[set] == set * 3 - SETS);
		REQUIRE(qset_set_size(&c, (uint64_t) set) == (set == 0 ? 1 : 1 + (uint64_t) set % 5));
		for (i = 0; i < qset_set_size(&c, (uint64_t) set); i++)
			REQUIRE(c.low[qset_set_ranks(&c, (uint64_t) set)[i]] == i * (uint64_t) set);
	}
	qset_collection_free(&c);
	qset_builder_free(&b);
	test_no_leak();
}

/* A dictionary to which keys at equal distances are added. */
typedef struct growing
{
	qset_dictionary dictionary;
	uint64_t spread;
	uint64_t used; /* number of codes before the last call of qset_dictionary_of() */
} growing;

static void
grow(void *context)
{
	growing *g = context;
	uint32_t code;
	uint64_t i;

	for (i = 0; i < QSET_PATIENCE; i++)
	{
		uint64_t key = i * g->spread;

		g->used = g->dictionary.used;
		REQUIRE_OK(qset_dictionary_of(&g->dictionary, &key, NULL, 1, &code, &test_pausing_heap));
	}
}

/* Check that all earlier keys still have their codes. */
static void
still_there(void *context)
{
	growing *g = context;
	uint32_t code;
	uint64_t i;

	for (i = 0; i < g->used; i++)
	{
		uint64_t key = i * g->spread;

		REQUIRE_OK(qset_dictionary_of(&g->dictionary, &key, NULL, 1, &code, &test_pausing_heap));
		REQUIRE(code == i);
	}
}

static void
jump_out_of_growing(growing *g)
{
	test_pausing.paused = 0;
	test_pausing.jump_at = 12;
	if (setjmp(test_pausing.jump) == 0)
	{
		grow(g);
		REQUIRE(!"jumped");
	}
	test_pausing.jump_at = 0;
}

/* A growing dictionary pauses, and a jump out of a pause loses no key. */
static void
growing_pauses(void **state)
{
	uint64_t spread;

	(void) state;
	for (spread = 1; spread <= 1000; spread *= 1000) /* direct codes, then slots */
	{
		growing g = { .spread = spread };

		jump_out_of_growing(&g);
		REQUIRE((g.dictionary.direct != NULL) == (spread == 1));
		REQUIRE(g.dictionary.used == g.used && g.used > 1000);
		still_there(&g);
		test_drop();
	}
	test_no_leak();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(labels_of_streams),     cmocka_unit_test(dense_keys_are_direct),
		cmocka_unit_test(images_are_their_rows), cmocka_unit_test(many_sets),
		cmocka_unit_test(growing_pauses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
