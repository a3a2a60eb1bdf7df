/*
 * test_blocks.c
 *		Writing, checking and merging random sketches with every instruction set.
 *
 * All instruction sets must give the same bytes.  Structures, depths, numbers of buckets
 * and weights are random.  The fast loops are also called directly, with random tables.
 * Tables and bytes end where their memory ends, so AddressSanitizer reports accesses beyond
 * the end.  QSKETCH_UNITS sets the number of sketches.
 */
#include "samples.h"
#include "isa_support.h"

#include "sketch/multilevel.h"
#include "sketch/compact_write.h"

#define SKETCHES  300
#define MOST_KEYS 3000

/* ---- random sketches ---- */

static qs_params
some_params(test_rng *rng)
{
	int structure = QS_THREAD + (int) test_below(rng, QS_STRUCTURES - QS_THREAD);
	uint64_t most = test_below(rng, 4) == 0 && !qs_has_fat(structure) ? 2000 : 70;

	return test_params(structure, 1 + test_below(rng, most),
					   1 + (int) test_below(rng, qs_structures[structure].depth_max),
					   QS_Z_MIN + (int) test_below(rng, QS_Z_MAX - QS_Z_MIN + 1),
					   (int) test_below(rng, 11), test_random(rng));
}

/* Insert keys, and remove some of the keys again. */
static void
add_some(qs_sketch *sk, test_rng *rng)
{
	static const int64_t weights[] = { 1, 2, 60, 130, 300, 70000, 1 << 30, INT64_C(1) << 35 };
	uint64_t most = (uint64_t) weights[test_below(rng, ALL_OF(weights))];
	uint64_t keys = test_below(rng, 1 + test_below(rng, 4 * sk->params.n));

	for (keys = keys < MOST_KEYS ? keys : MOST_KEYS; keys > 0; keys--)
	{
		uint64_t key = test_below(rng, 2000);
		int64_t weight = 1 + (int64_t) test_below(rng, most);

		test_insert(sk, key, weight);
		if (test_below(rng, 4) == 0)
			REQUIRE_OK(test_try_remove(sk, key, weight));
	}
}

/* Make a dense sketch, or a part of a dense sketch. */
static void
some_sketch(qs_sketch *sk, const qs_params *p, int part, test_rng *rng)
{
	qs_sketch whole;

	test_init_dense(&whole, p);
	add_some(&whole, rng);
	*sk = whole;
	if (part == QS_PART_FULL)
		return;
	REQUIRE_OK(qs_sf_part(sk, &whole, (qs_part) part, &test_heap));
	qs_free(&whole);
}

/* Merge a sketch into a copy of "into"; returns the bytes of the copy. */
static test_bytes
merged(const qs_sketch *into, const qs_sketch *from)
{
	qs_sketch copy;
	test_bytes b;

	REQUIRE_OK(qs_copy(&copy, into, &test_heap));
	REQUIRE_OK(qs_merge(&copy, from));
	b = test_write(&copy);
	qs_free(&copy);
	return b;
}

static void
check_merging(const qs_sketch *into, const qs_sketch *from, test_bytes bytes)
{
	test_bytes right = merged(into, from);
	qs_sketch view;
	size_t s;

	REQUIRE_OK(qs_open(&view, bytes.data, bytes.length));
	for (s = 0; s < ALL_OF(test_isas); s++)
	{
		test_bytes b;

		if (!qb_isa_use(test_isas[s]))
			continue;
		b = merged(into, &view);
		REQUIRE(test_equal_bytes(right, b));
		free(b.data);
	}
	qb_isa_use("auto");
	free(right.data);
}

static void
check_sketch(test_rng *rng)
{
	qs_params p = some_params(rng);
	int part = qs_has_fat(p.structure) ? (int) test_below(rng, 3) : QS_PART_FULL;
	qs_sketch sk, other;
	test_bytes b;

	WHERE("%s of %d, part %d, depth %d, z %d", qs_structure_name(p.structure), (int) p.n, part,
		  p.depth, p.z);
	some_sketch(&sk, &p, part, rng);
	some_sketch(&other, &p, part, rng);
	b = test_bytes_by_all(&sk, test_write_valid);
	check_merging(&other, &sk, b);
	free(b.data);
	qs_free(&other);
	qs_free(&sk);
}

static void
all_instructions_agree(void **state)
{
	const char *asked = getenv("QSKETCH_UNITS");
	long sketches = asked ? atol(asked) : SKETCHES;
	test_rng rng = test_seeded(asked ? (uint64_t) sketches : 15);

	(void) state;
	for (; sketches > 0; sketches--)
		check_sketch(&rng);
	test_no_leak();
}

/* ---- inner loops ---- */

/* Returns a random counter of up to "bytes" bytes, which is sometimes 0. */
static uint32_t
some_counter(test_rng *rng, uint32_t bytes)
{
	uint64_t bits = test_below(rng, 8 * bytes + 1);

	return bits == 0 ? 0 : (uint32_t) (test_random(rng) >> 32) & UINT32_MAX >> (32 - bits);
}

/* Make random blocks of counters of 1 or 4 bytes.  About a third of the blocks is empty. */
static uint8_t *
some_units(test_rng *rng, uint64_t blocks, uint32_t counters, uint32_t bytes)
{
	uint8_t *table = calloc(blocks * counters, bytes);
	uint64_t i;

	REQUIRE(table != NULL);
	for (i = 0; i < blocks * counters; i++)
		if ((i / counters * 7 + blocks) % 3 != 0 && bytes == 1)
			table[i] = (uint8_t) some_counter(rng, 1);
		else if ((i / counters * 7 + blocks) % 3 != 0)
			qb_store32(table + 4 * i, some_counter(rng, 4));
	return table;
}

static uint32_t
varint_bytes(uint32_t v)
{
	uint32_t bytes = 0;

	for (; v != 0; v >>= 7)
		bytes++;
	return bytes;
}

static void
check_cells(const qs_block_kernels *fast, uint32_t width, uint64_t count, test_rng *rng)
{
	uint8_t *table = some_units(rng, count, width, 4);
	uint64_t present = 0;
	uint64_t bytes = 0;
	uint64_t i;

	for (i = 0; i < count * width; i++)
	{
		uint32_t v = qb_load32(table + 4 * i);

		present |= (uint64_t) (v != 0) << (i / width);
		bytes += varint_bytes(v);
	}
	REQUIRE(fast->present_cells(table, 4 * width, count) == present);
	REQUIRE(fast->measure_cells(table, width, present) == bytes);
	free(table);
}

static void
check_low(const qs_block_kernels *fast, uint64_t count, test_rng *rng)
{
	uint8_t *table = some_units(rng, count, QS_LOW_BYTES, 1);
	uint64_t present = 0;
	uint64_t indexed = 0;
	uint64_t apart = 0;
	uint64_t bytes = 0;
	uint64_t i, c;

	for (i = 0; i < count; i++)
	{
		uint8_t *low = table + i * QS_LOW_BYTES;

		if (test_below(rng, 3) > 0)
			qb_store32(low + QS_LOW_COUNTERS, 0);
		indexed |= (uint64_t) (qb_load32(low + QS_LOW_COUNTERS) != 0) << i;
		for (c = 0; c < QS_LOW_COUNTERS; c++)
		{
			present |= (uint64_t) (low[c] != 0) << i;
			bytes += (indexed >> i & 1) == 0 ? varint_bytes(low[c]) : 0;
		}
	}
	REQUIRE(fast->present_low(table, count) == present);
	REQUIRE(fast->have_index(table, count) == indexed);
	REQUIRE(fast->measure_low(table, present, &apart) == bytes);
	REQUIRE(apart == (indexed & present));
	free(table);
}

static void
loops_see_what_is_there(void **state)
{
	static const uint32_t widths[] = { 1, 8, 16, 32 };
	test_rng rng = test_seeded(16);
	uint64_t count;
	size_t s, w;

	(void) state;
	for (s = 0; s < ALL_OF(test_isas); s++)
		for (count = 1; count <= QS_PRESENCE_BITS && qb_isa_use(test_isas[s]); count++)
		{
			const qs_block_kernels *fast = qs_block_kernels_now();

			WHERE("%s, %d blocks", test_isas[s], (int) count);
			if (!fast || !fast->present_low)
				continue;
			for (w = 0; w < ALL_OF(widths); w++)
				check_cells(fast, widths[w], count, &rng);
			check_low(fast, count, &rng);
		}
	qb_isa_use("auto");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_instructions_agree),
		cmocka_unit_test(loops_see_what_is_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
