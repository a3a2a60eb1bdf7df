/*
 * test_compact.c
 *		The compact encoding: its size, its choice, and its equivalence to tables.
 *
 * test/unit/test_compact.c
 */
#include "samples.h"

#include "sketch/compact.h"
#include "sketch/pieces.h"

/* ---- sizes ---- */

static uint64_t
bytes_of_keys(int structure, uint64_t size, uint64_t keys, int64_t weight)
{
	qs_params p;
	qs_sketch sk;
	uint64_t bytes;
	uint64_t i;

	REQUIRE_OK(qs_params_make(
		&p,
		&(qs_choice){ .structure = structure, .size = size, .depth = 3, .z = 8, .masks = 1024 }));
	test_init(&sk, &p);
	for (i = 0; i < keys; i++)
		test_insert(&sk, i, weight);
	bytes = qs_flat_size(&sk);
	qs_free(&sk);
	return bytes;
}

/* Few keys take few bytes, in a table of any size. */
static void
few_keys_take_few_bytes(void **state)
{
	static const uint64_t sizes[] = { 1 << 18, 1 << 20, 1 << 24 };
	size_t i;
	int s;

	(void) state;
	assert_in_range(bytes_of_keys(QS_MULTILEVEL, 1 << 20, 4000, 1), 1, 36000);
	assert_in_range(bytes_of_keys(QS_MULTILEVEL, 1 << 20, 20000, 1), 1, 140000);
	STRUCTURES(s)
	for (i = 0; i < ALL_OF(sizes); i++)
	{
		WHERE("%s of %d", qs_structure_name(s), (int) sizes[i]);
		REQUIRE(bytes_of_keys(s, sizes[i], 4000, 1) <= 4000 * 9 + QS_HEADER_BYTES);
	}
}

/* In compact encoding a wide counter takes only the bytes that its value needs. */
static void
weights_take_the_bytes_they_need(void **state)
{
	(void) state;
	assert_in_range(bytes_of_keys(QS_MULTILEVEL, 1 << 20, 60000, 80000), 1, 1500000);
}

/* ---- choice of the encoding ---- */

/*
 * Add keys one by one.  The compact encoding is chosen while it takes at most three quarters of
 * the dense size.
 */
static void
the_smaller_form_is_chosen(void **state)
{
	test_rng rng = test_seeded(5);
	int s;

	(void) state;
	STRUCTURES(s)
	{
		qs_sketch sk;
		bool compact = false;
		bool dense = false;
		int round;

		WHERE("%s", qs_structure_name(s));
		sample_init_dense(&sk, s, 64, 3);
		for (round = 0; round < 1000; round++)
		{
			uint64_t body = qs_flat_size(&sk) - QS_HEADER_BYTES;
			bool is_compact = qs_flat_of(&sk).encoding == QS_COMPACT;

			REQUIRE(is_compact ? body * 4 <= test_table_bytes(&sk) * 3
							   : body == test_table_bytes(&sk));
			compact |= is_compact;
			dense |= !is_compact;
			test_insert(&sk, test_random(&rng), qs_has_high(s) ? 1 : 1 << 22);
			test_require_valid(&sk);
		}
		REQUIRE(compact && dense);
		qs_free(&sk);
	}
}

/*
 * Measure sketches of few to many keys.  Gaps take one to three bytes, and blocks have few or
 * many nonzero counters.
 */
static void
gaps_of_any_length_are_measured(void **state)
{
	static const uint64_t counts[] = { 1, 3, 40, 300, 2000, 9000 };
	test_rng rng = test_seeded(6);
	int s;

	(void) state;
	STRUCTURES(s)
	{
		qs_sketch sk;
		uint64_t keys = 0;
		size_t i;

		sample_init_dense(&sk, s, 8192, 3);
		for (i = 0; i < ALL_OF(counts); i++)
		{
			WHERE("%s of %d keys", qs_structure_name(s), (int) counts[i]);
			for (; keys < counts[i]; keys++)
				test_insert(&sk, test_random(&rng), 1);
			test_require_valid(&sk);
		}
		qs_free(&sk);
	}
}

/*
 * A block that ends one byte before or after the end of its group must be refused.  The reader
 * does not check each byte of a block while at least QS_BLOCK_BYTES of data remain.
 */
static void
units_end_with_their_group(void **state)
{
	int s;

	(void) state;
	STRUCTURES(s)
	{
		uint32_t groups, group;
		qs_sketch sk, view;
		test_bytes b;

		WHERE("%s", qs_structure_name(s));
		sample_init_dense(&sk, s, 4096, 3);
		test_fill(&sk, 1, 1500, 1000000);
		test_fill(&sk, 2, 1500, 1000);
		b = test_write_valid(&sk);
		REQUIRE_OK(qs_open(&view, b.data, b.length));
		groups = qb_load32(b.data + TEST_AT_PRESENT) / 16;
		REQUIRE(view.encoding == QS_COMPACT && groups > 50);
		for (group = 0; group + 8 < groups / 2; group++)
		{
			uint8_t *end = b.data + QS_HEADER_BYTES + 4 * group;
			int by;

			for (by = -1; by <= 1; by++)
			{
				qb_store32(end, qb_load32(end) + (uint32_t) by);
				test_repair_crc(b.data, b.length);
				REQUIRE_STATUS(qs_validate(b.data, b.length), by == 0 ? QB_OK : QB_FORMAT_COUNTERS);
				qb_store32(end, qb_load32(end) - (uint32_t) by);
			}
		}
		free(b.data);
		qs_free(&sk);
	}
	test_no_leak();
}

/* ---- equivalence to tables ---- */

static void
require_same_tables(const qs_sketch *a, const qs_sketch *b)
{
	test_bytes left = test_tables_of(a);
	test_bytes right = test_tables_of(b);

	REQUIRE(a->total == b->total && test_equal_bytes(left, right));
	free(left.data);
	free(right.data);
}

/*
 * Make a sketch of n buckets with up to 60 keys.  The weights make counters below 128, around
 * 128, or longer than a byte.
 */
static void
some_sketch(qs_sketch *sk, int structure, uint64_t n, test_rng *rng, bool wide)
{
	static const uint64_t weights[] = { 2, 90, 2000 };
	uint64_t keys = 1 + test_below(rng, 60);
	uint64_t most = weights[test_below(rng, ALL_OF(weights))];

	sample_init_dense(sk, structure, n, 3);
	while (keys-- > 0)
		test_insert(sk, test_random(rng), (int64_t) (1 + test_below(rng, most)));
	if (wide)
		test_insert(sk, test_random(rng), INT64_C(1) << 40);
}

static void
copies_have_the_same_tables(void **state)
{
	test_rng rng = test_seeded(6);
	int round;
	int s;

	(void) state;
	STRUCTURES(s)
	for (round = 0; round < 100; round++)
	{
		qs_sketch sk, view, copy;
		test_bytes b;

		WHERE("%s, round %d", qs_structure_name(s), round);
		some_sketch(&sk, s, round % 3 ? 512 : 513, &rng, round % 2);
		b = test_write_valid(&sk);
		REQUIRE_OK(qs_open(&view, b.data, b.length));
		REQUIRE(view.encoding == QS_COMPACT);
		REQUIRE_OK(qs_copy(&copy, &view, &test_heap));
		require_same_tables(&sk, &copy);
		qs_free(&copy);
		qs_free(&sk);
		free(b.data);
	}
	test_no_leak();
}

/* Merging or subtracting compact bytes has the same effect as merging or subtracting tables. */
static void
merging_is_the_same(void **state)
{
	test_rng rng = test_seeded(7);
	int round;
	int s;

	(void) state;
	STRUCTURES(s)
	for (round = 0; round < 100; round++)
	{
		qs_sketch plain, merged, from, view;
		test_bytes b;

		WHERE("%s, round %d", qs_structure_name(s), round);
		some_sketch(&plain, s, 64, &rng, round % 5 == 0);
		some_sketch(&from, s, 64, &rng, round % 3 == 0);
		b = test_write_valid(&from);
		REQUIRE_OK(qs_open(&view, b.data, b.length));
		REQUIRE_OK(qs_copy(&merged, &plain, &test_heap));
		REQUIRE_OK(qs_merge(&merged, &view));
		REQUIRE_OK(qs_merge_deferred(&merged, &view));
		REQUIRE_OK(qs_materialize(&merged));
		REQUIRE_OK(qs_merge(&plain, &from));
		REQUIRE_OK(qs_merge(&plain, &from));
		require_same_tables(&plain, &merged);
		REQUIRE_OK(qs_subtract(&merged, &view));
		REQUIRE_OK(qs_subtract(&plain, &from));
		require_same_tables(&plain, &merged);
		qs_free(&plain);
		qs_free(&merged);
		qs_free(&from);
		free(b.data);
	}
	test_no_leak();
}

/* Merge compact and dense sketches alternately, while carries are deferred. */
static void
merging_deferred_is_the_same(void **state)
{
	test_rng rng = test_seeded(8);
	qs_sketch plain, deferred;
	int round;

	(void) state;
	sample_init_dense(&plain, QS_MULTILEVEL, 64, 3);
	sample_init_dense(&deferred, QS_MULTILEVEL, 64, 3);
	for (round = 0; round < 300; round++)
	{
		qs_sketch from, view;
		test_bytes b;

		WHERE("round %d", round);
		some_sketch(&from, QS_MULTILEVEL, 64, &rng, false);
		if (round % 2)
			test_fill(&from, (uint64_t) round, 1000, 20000);
		b = test_write_valid(&from);
		REQUIRE_OK(qs_open(&view, b.data, b.length));
		REQUIRE_OK(qs_merge(&plain, &from));
		REQUIRE_OK(qs_merge_deferred(&deferred, &view));
		qs_free(&from);
		free(b.data);
	}
	REQUIRE_OK(qs_materialize(&deferred));
	require_same_tables(&plain, &deferred);
	qs_free(&plain);
	qs_free(&deferred);
	test_no_leak();
}

/* ---- reading one key ---- */

typedef struct counted_source
{
	const test_bytes *bytes;
	uint32_t reads;
	uint32_t read;
} counted_source;

static void
read_counted(void *context, uint64_t offset, uint32_t bytes, uint8_t *out)
{
	counted_source *c = context;

	REQUIRE(offset + bytes <= c->bytes->length);
	memcpy(out, c->bytes->data + offset, bytes);
	c->reads++;
	c->read += bytes;
}

/* Each lookup in this compact sketch takes two reads, of at most 1024 bytes together. */
static void
one_key_is_two_small_reads(void **state)
{
	test_rng rng = test_seeded(9);
	counted_source c;
	qs_source source = { .read = read_counted, .context = &c };
	qs_params p;
	qs_sketch sk;
	test_bytes b;
	uint64_t i;

	(void) state;
	REQUIRE_OK(qs_params_make(
		&p, &(qs_choice){
				.structure = QS_MULTILEVEL, .size = 1 << 20, .depth = 3, .z = 8, .masks = 1024 }));
	test_init(&sk, &p);
	for (i = 0; i < 20000; i++)
		test_insert(&sk, i, (int64_t) (1 + test_below(&rng, 1000)));
	b = test_write_valid(&sk);
	for (i = 0; i < 5000; i++)
	{
		qs_sketch view;
		uint64_t hv;

		REQUIRE_OK(qs_open(&view, b.data, b.length));
		hv = qb_hash(i * 9, view.seed_key);
		c = (counted_source){ .bytes = &b };
		REQUIRE(qs_estimate_stored(&view, hv, &source) == qs_estimate(&sk, i * 9));
		REQUIRE(c.reads == 2 && c.read <= 1024);
	}
	free(b.data);
	qs_free(&sk);
	test_no_leak();
}

/* A group may have more bytes than one read loads. */
static void
large_groups_are_read_in_parts(void **state)
{
	static const int structures[] = { QS_WARP, QS_MULTILEVEL, QS_SF };
	size_t s;

	(void) state;
	for (s = 0; s < ALL_OF(structures); s++)
	{
		qs_params p = test_params(structures[s], 4096, 3, 64, 16, 3);
		qs_sketch sk, view;
		test_bytes b;
		uint64_t i;

		WHERE("%s", qs_structure_name(structures[s]));
		test_init_dense(&sk, &p);
		for (i = 0; i < 300000; i++) /* only keys of the first 100 buckets */
			if (qb_reduce(qb_hash(i, sk.seed_key), 4096) < 100)
				test_insert(&sk, i, (int64_t) i);
		b = test_write_valid(&sk);
		REQUIRE_OK(qs_open(&view, b.data, b.length));
		REQUIRE(view.encoding == QS_COMPACT);
		for (i = 0; i < 20000; i++)
			REQUIRE(qs_estimate(&view, i) == qs_estimate(&sk, i));
		free(b.data);
		qs_free(&sk);
	}
	test_no_leak();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_keys_take_few_bytes),
		cmocka_unit_test(weights_take_the_bytes_they_need),
		cmocka_unit_test(the_smaller_form_is_chosen),
		cmocka_unit_test(gaps_of_any_length_are_measured),
		cmocka_unit_test(units_end_with_their_group),
		cmocka_unit_test(copies_have_the_same_tables),
		cmocka_unit_test(merging_is_the_same),
		cmocka_unit_test(merging_deferred_is_the_same),
		cmocka_unit_test(one_key_is_two_small_reads),
		cmocka_unit_test(large_groups_are_read_in_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
