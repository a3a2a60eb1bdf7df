/*
 * test_from_keys.c
 *		The compact encoding made directly from keys.
 *
 * The bytes must equal the bytes of a sketch that counts the keys in tables.
 *
 * test/unit/test_from_keys.c
 */
#include "samples.h"
#include "isa_support.h"

#include "engine/sketch_engine.h"

#define MOST 30000

static uint64_t key[MOST];
static int64_t weight[MOST];

/* The keys of a case. */
typedef struct stream
{
	const char *name;
	size_t before; /* number of keys already in the explicit sketch */
	size_t count;
	uint64_t distinct;
	int64_t weights; /* largest weight; 0: no weights are passed, and each is 1 */
	bool compact;    /* these keys must be accepted for 4096 buckets, except by thread and sf */
} stream;

static const stream streams[] = {
	{ "one each", 0, 3500, 1 << 30, 0, true },
	{ "some counted", 500, 3000, 1 << 30, 0, true },
	{ "some twice", 300, 4000, 8000, 0, true },
	{ "small weights", 100, 3500, 1 << 30, 5, true },
	{ "weights beyond a byte", 100, 3500, 1 << 30, 3000, true },
	{ "weights beyond four bytes", 100, 3500, 1 << 30, INT64_C(1) << 40, true },
	{ "few distinct", 100, 4000, 200, 0, false },
	{ "all the same", 0, 4000, 1, 0, false },
	{ "few", 0, 100, 1 << 30, 0, false },
	{ "more than buckets", 0, 9000, 1 << 30, 0, false },
};

static void
fill(const stream *s, uint64_t seed)
{
	test_rng rng = test_seeded(seed);
	size_t i;

	for (i = 0; i < s->before + s->count; i++)
	{
		key[i] = test_key(test_below(&rng, s->distinct));
		weight[i] = (int64_t) test_below(&rng, (uint64_t) s->weights + 1);
	}
}

static const int64_t *
weights_of(const stream *s)
{
	return s->weights > 0 ? weight : NULL;
}

/* Returns the bytes of a sketch that counts all keys. */
static test_bytes
counted(const qs_params *p, const stream *s)
{
	test_bytes bytes;
	qs_sketch sk;

	test_init(&sk, p);
	REQUIRE_OK(qs_engine_cpu.insert(&sk, key, weights_of(s), s->before + s->count));
	bytes = test_write_valid(&sk);
	qs_free(&sk);
	return bytes;
}

/*
 * Make a compact sketch from an explicit sketch and the remaining keys.  The result owns only
 * the memory of its member "compact".
 */
static bool
make(qs_sketch *made, qs_sketch *sk, const qs_params *p, const stream *s)
{
	const int64_t *w = weights_of(s);

	test_init(sk, p);
	if (qs_engine_cpu.insert(sk, key, w, s->before) != QB_OK)
		return false;
	return qs_compact_from_keys(made, &test_heap, sk, key + s->before, w ? w + s->before : NULL,
								s->count);
}

static void
release(const qs_sketch *made)
{
	test_heap.release(test_heap.context, (void *) (uintptr_t) made->compact);
}

static void
require_same(const qs_params *p, const stream *s)
{
	qs_sketch made;
	qs_sketch sk;

	if (make(&made, &sk, p, s))
	{
		test_bytes expected = counted(p, s);
		test_bytes bytes = test_write_valid(&made);

		REQUIRE(sk.encoding == QS_EXPLICIT && test_equal_bytes(expected, bytes));
		free(expected.data);
		free(bytes.data);
		release(&made);
	}
	else
		REQUIRE(!s->compact || qs_has_rows(p->structure) || qs_has_fat(p->structure));
	qs_free(&sk);
}

/* Try every structure, with each instruction set. */
static void
bytes_are_those_of_tables(void **state)
{
	size_t i, set;
	int structure;

	(void) state;
	for (set = 0; set < ALL_OF(test_isas); set++)
		STRUCTURES(structure)
	for (i = 0; qb_isa_use(test_isas[set]) && i < ALL_OF(streams); i++)
	{
		qs_params p = test_usual_params(structure, 4096);

		WHERE("%s, %s, %s", test_isas[set], qs_structure_name(structure), streams[i].name);
		fill(&streams[i], i + 1);
		require_same(&p, &streams[i]);
	}
	assert_true(qb_isa_use("auto"));
	test_no_leak();
}

/*
 * Try several depths and numbers of buckets.  With one or two buckets, the keys are refused.  All
 * other numbers of buckets need two or three sorting passes.
 */
static void
tables_of_any_size(void **state)
{
	static const struct
	{
		uint64_t n;
		uint8_t depth;
	} tables[] = {
		{ 1, 3 },    { 2, 3 },    { 3072, 1 },   { 3072, 7 },     { 4096, 1 },
		{ 4096, 3 }, { 4096, 7 }, { 100000, 3 }, { 1 << 20, 28 }, { (1 << 22) + 1, 3 },
	};
	static const stream one_each = { "one each", 900, 2500, 1 << 30, 0, false };
	size_t i;

	(void) state;
	for (i = 0; i < ALL_OF(tables); i++)
	{
		qs_params p = test_usual_params(QS_MULTILEVEL, tables[i].n);

		WHERE("%d buckets, depth %d", (int) tables[i].n, tables[i].depth);
		p.depth = tables[i].depth;
		fill(&one_each, i);
		require_same(&p, &one_each);
	}
	test_no_leak();
}

/*
 * qs_compact_from_keys() declines a total out of range.  Counting the keys then reports the
 * overflow.
 */
static void
totals_are_in_range(void **state)
{
	static const stream one_each = { "one each", 0, 3500, 1 << 30, 0, true };
	qs_params p = test_usual_params(QS_MULTILEVEL, 4096);
	qs_sketch made;
	qs_sketch sk;

	(void) state;
	fill(&one_each, 1);
	test_init(&sk, &p);
	test_insert(&sk, 1, INT64_MAX - 10);
	REQUIRE(!qs_compact_from_keys(&made, &test_heap, &sk, key, NULL, one_each.count));
	qs_free(&sk);
	test_no_leak();
}

/* If memory runs out, no sketch is made, and nothing leaks. */
static void
memory_may_run_out(void **state)
{
	const stream *s = &streams[3];
	qs_params p = test_usual_params(QS_MULTILEVEL, 4096);
	bool made = false;
	long at;

	(void) state;
	fill(s, 1);
	for (at = 1; !made; at++)
	{
		qs_sketch result;
		qs_sketch sk;

		test_fail_at(at);
		made = make(&result, &sk, &p, s);
		test_fail_at(0);
		if (made)
			release(&result);
		qs_free(&sk);
		test_no_leak();
	}
	REQUIRE(at > 4);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_are_those_of_tables),
		cmocka_unit_test(tables_of_any_size),
		cmocka_unit_test(totals_are_in_range),
		cmocka_unit_test(memory_may_run_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
