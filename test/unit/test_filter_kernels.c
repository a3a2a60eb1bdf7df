/*
 * test_filter_kernels.c
 *		The inner loops of filters: each instruction set must give the results of the plain
 *		loops.
 *
 * test_filter_bits.c tests whole filters.  This file tests short bitmaps of every length,
 * and each bit of a key.
 *
 * test/unit/test_filter_kernels.c
 */
#include "isa_support.h"

#include "engine/filter_engine.h"
#include "filter/filter.h"

#define MOST_WORDS  40
#define MOST_HASHES 40
#define KEYS        50

/* Fill with random bytes; some bytes are 0x00, and some are 0xFF. */
static void
fill(uint8_t *bytes, size_t count, test_rng *rng)
{
	static const uint8_t kinds[] = { 0x00, 0xFF };
	size_t i;

	for (i = 0; i < count; i++)
	{
		uint64_t draw = test_random(rng);

		bytes[i] = draw >> 62 == 0 ? kinds[draw & 1] : (uint8_t) (draw >> 8);
	}
}

/* ---- unite ---- */

static void
check_unite(void)
{
	uint8_t from[MOST_WORDS * 8];
	test_rng rng = test_seeded(21);
	uint64_t words;

	for (words = 0; words <= MOST_WORDS; words++)
	{
		size_t bytes = words * 8;
		uint8_t wanted[MOST_WORDS * 8];
		uint8_t *into = malloc(bytes + 1);
		uint64_t ones;

		WHERE("%s, %d words", qb_isa_name(qb_isa_now()), (int) words);
		fill(from, bytes, &rng);
		fill(into + 1, bytes, &rng);
		memcpy(wanted, into + 1, bytes);
		ones = qf_kernels_plain.unite(wanted, from, words);
		REQUIRE(ones == qf_ones(wanted, words));
		REQUIRE(qf_kernels_now()->unite(into + 1, from, words) == ones);
		REQUIRE(memcmp(into + 1, wanted, bytes) == 0);
		free(into);
	}
}

/* Unite filters with all bits set.  No lane that counts bits may overflow. */
static void
check_full_unite(void)
{
	uint64_t words = (1 << 14) + 1;
	uint8_t *bits = malloc(words * 8);

	WHERE("%s", qb_isa_name(qb_isa_now()));
	memset(bits, 0xFF, words * 8);
	REQUIRE(qf_kernels_now()->unite(bits, bits, words) == words * 64);
	free(bits);
}

static void
filters_are_united(void **state)
{
	(void) state;
	test_with_each_isa(check_unite);
	test_with_each_isa(check_full_unite);
}

/* ---- blocks ---- */

/* Returns the answer of blocks_have() for the first hash. */
static bool
first_is_there(const uint8_t *bits, const qf_params *p, const uint64_t *h)
{
	bool found[1];

	qf_kernels_now()->blocks_have(bits, p, h, 1, found);
	return found[0];
}

/* A key is found if all of its bits are set, and not found if one of them is cleared. */
static void
check_each_bit(void)
{
	test_rng rng = test_seeded(22);
	uint32_t k, j, i;

	for (k = 1; k <= MOST_HASHES; k++)
	{
		qf_params p = { .m = 3 * QF_BLOCK_BITS, .k = k, .layout = QF_BLOCKED };
		uint64_t h[1 + QF_FETCH_AHEAD] = { 0 };
		uint8_t *bits = malloc(p.m / 8 + 1);

		for (i = 0; i < 10; i++)
		{
			memset(bits, 0, p.m / 8 + 1);
			h[0] = test_random(&rng);
			(void) qf_block_set(bits + 1, &p, h[0]);
			REQUIRE(first_is_there(bits + 1, &p, h));
			for (j = 0; j < k; j++)
			{
				uint32_t position = qf_any_position(&p, h[0], j);

				WHERE("%s, bit %d of %d", qb_isa_name(qb_isa_now()), (int) j, (int) k);
				bits[1 + position / 8] ^= (uint8_t) (1 << position % 8);
				REQUIRE(!first_is_there(bits + 1, &p, h));
				bits[1 + position / 8] ^= (uint8_t) (1 << position % 8);
			}
		}
		free(bits);
	}
}

/* Look up many keys with one call.  At least every third key is present. */
static void
check_many_keys(void)
{
	test_rng rng = test_seeded(23);
	uint64_t h[KEYS + QF_FETCH_AHEAD] = { 0 };
	uint32_t k, i;

	for (k = 1; k <= MOST_HASHES; k++)
	{
		qf_params p = { .m = 5 * QF_BLOCK_BITS, .k = k, .layout = QF_BLOCKED };
		bool found[KEYS], plain[KEYS];
		uint8_t *bits = malloc(p.m / 8);

		WHERE("%s, %d bits", qb_isa_name(qb_isa_now()), (int) k);
		fill(bits, p.m / 8, &rng);
		for (i = 0; i < KEYS; i++)
		{
			h[i] = test_random(&rng);
			if (i % 3 == 0)
				(void) qf_block_set(bits, &p, h[i]);
		}
		qf_kernels_plain.blocks_have(bits, &p, h, KEYS, plain);
		qf_kernels_now()->blocks_have(bits, &p, h, KEYS, found);
		for (i = 0; i < KEYS; i++)
			REQUIRE(found[i] == plain[i] && (found[i] || i % 3 != 0));
		free(bits);
	}
}

static void
keys_are_looked_up_in_blocks(void **state)
{
	(void) state;
	test_with_each_isa(check_each_bit);
	test_with_each_isa(check_many_keys);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(filters_are_united),
		cmocka_unit_test(keys_are_looked_up_in_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
