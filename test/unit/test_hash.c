/*
 * test_hash.c
 *		Hashing and masks: the properties on which the structures depend.
 *
 * Statistical checks have fixed inputs, so each check either always passes or never
 * passes.  Thresholds are at least six standard deviations from the expectation of a
 * perfect hash.
 *
 * test/unit/test_hash.c
 */
#include "support.h"

#include "sketch/cells.h"
#include "unmix.h"

/* ---- the mix ---- */

/* The first outputs of splitmix64 from state 0, as published. */
static void
mix_has_known_values(void **state)
{
	(void) state;
	assert_true(qb_mix64(0) == 0);
	assert_true(qb_mix64(1 * QB_ROW_STEP) == UINT64_C(0xE220A8397B1DCDAF));
	assert_true(qb_mix64(2 * QB_ROW_STEP) == UINT64_C(0x6E789E6AA1B965F4));
	assert_true(qb_mix64(3 * QB_ROW_STEP) == UINT64_C(0x06C45D188009454F));
}

/* The mix has an inverse, so it is a bijection.  Distinct keys therefore have distinct hashes. */
static void
mix_can_be_undone(void **state)
{
	test_rng rng = test_seeded(2);
	int i;

	(void) state;
	for (i = 0; i < 200000; i++)
	{
		uint64_t x = i < 1000 ? (uint64_t) i - 500 : test_random(&rng);

		assert_true(test_unmix(qb_mix64(x)) == x);
	}
}

/* Each input bit changes each output bit half of the time. */
static void
mix_avalanches(void **state)
{
	enum
	{
		SAMPLES = 4096
	};
	int in;

	(void) state;
	for (in = 0; in < 64; in++)
	{
		test_rng rng = test_seeded(3);
		int changed[64] = { 0 };
		int i;
		int out;

		for (i = 0; i < SAMPLES; i++)
		{
			/* every second input is small, like keys of tables */
			uint64_t x = i % 2 ? (uint64_t) i : test_random(&rng);
			uint64_t difference = qb_mix64(x) ^ qb_mix64(x ^ UINT64_C(1) << in);

			for (out = 0; out < 64; out++)
				changed[out] += (difference >> out) & 1;
		}
		for (out = 0; out < 64; out++)
			assert_in_range(changed[out], SAMPLES / 2 - 200, SAMPLES / 2 + 200);
	}
}

/* The byte format depends on these hashes, so they must never change. */
static void
hashes_are_pinned(void **state)
{
	uint64_t key = qb_seed_key(42);
	uint64_t hv = qb_hash(123456789, key);

	(void) state;
	assert_true(qb_seed_key(0) == UINT64_C(0xE220A8397B1DCDAF));
	assert_true(key == UINT64_C(0xBDD732262FEB6E95));
	assert_true(hv == UINT64_C(0x756BFC5D16498E20));
	assert_int_equal(qb_reduce(hv, 1000003), 458680);
	assert_int_equal(qs_row_cell(hv, 0, 1000003), 957513);
	assert_int_equal(qs_row_cell(hv, 2, 1000003), 628067);
	assert_int_equal(qs_sf_cell(hv, 0, 64), 12);
	assert_int_equal(qs_sf_cell(hv, 2, 64), 29);
	assert_int_equal(qs_mask(key, 32, 3, 5), 0x00018010);
	assert_int_equal(qs_mask(key, 8, 3, 5), 0xC2);
	assert_int_equal(qs_mask(key, 28, 3, 1023), 0x0208020);
	assert_int_equal(qs_mask_rotation(0x0208020, 28, hv), 0x0820080);
}

/* ---- buckets, rows and cells ---- */

/* Folding requires that buckets 2i and 2i + 1 of 2n become bucket i of n. */
static void
halving_n_joins_neighbours(void **state)
{
	test_rng rng = test_seeded(4);
	int i;

	(void) state;
	for (i = 0; i < 200000; i++)
	{
		uint64_t hv = i < 2 ? (uint64_t) -i : test_random(&rng);
		uint64_t shift = 35 + test_below(&rng, 29);
		uint64_t n = 1 + (test_random(&rng) >> shift);
		uint32_t row = (uint32_t) test_below(&rng, 32);

		assert_true(qb_reduce(hv, n) < n);
		assert_true(qb_reduce(hv, 2 * n) / 2 == qb_reduce(hv, n));
		assert_true(qs_row_cell(hv, row, n) < n);
		assert_true(qs_row_cell(hv, row, 2 * n) / 2 == qs_row_cell(hv, row, n));
	}
}

/* Returns the sum of (seen - wanted)^2 / wanted over equally likely classes. */
static double
chi_square(const uint64_t *seen, size_t classes, uint64_t samples)
{
	double wanted = (double) samples / (double) classes;
	double sum = 0;
	size_t i;

	for (i = 0; i < classes; i++)
		sum += ((double) seen[i] - wanted) * ((double) seen[i] - wanted) / wanted;
	return sum;
}

/*
 * True if chi_square() is near its expectation df.  Its standard deviation is sqrt(2 df).  Both
 * too small and too large sums are rejected.
 */
static bool
looks_uniform(const uint64_t *seen, size_t classes, uint64_t samples)
{
	double df = (double) classes - 1;
	double excess = chi_square(seen, classes, samples) - df;

	return excess * excess < 36 * 2 * df + 400;
}

/* Returns key i of a pattern: consecutive, multiples of 65536 or of 2^40, or random. */
static uint64_t
patterned_key(int pattern, uint64_t i, test_rng *rng)
{
	switch (pattern)
	{
		case 0:
			return i;
		case 1:
			return i * 65536;
		case 2:
			return i << 40;
		default:
			return test_random(rng);
	}
}

/* All combinations of bucket and mask are equally likely. */
static void
buckets_and_masks_are_uniform(void **state)
{
	enum
	{
		BUCKETS = 12,
		MASKS = 64,
		SAMPLES = 200000
	};
	int pattern;

	(void) state;
	for (pattern = 0; pattern < 4; pattern++)
	{
		uint64_t seen[BUCKETS * MASKS] = { 0 };
		test_rng rng = test_seeded(5);
		uint64_t seed_key = qb_seed_key((uint64_t) pattern);
		uint64_t i;

		for (i = 0; i < SAMPLES; i++)
		{
			uint64_t hv = qb_hash(patterned_key(pattern, i, &rng), seed_key);

			seen[qb_reduce(hv, BUCKETS) * MASKS + (hv & (MASKS - 1))]++;
		}
		assert_true(looks_uniform(seen, BUCKETS * MASKS, SAMPLES));
	}
}

/* The cells of two rows, and of two sub-buckets, are uniform and independent. */
static void
rows_and_cells_are_independent(void **state)
{
	enum
	{
		SIDE = 24,
		SAMPLES = 200000
	};
	uint64_t rows[SIDE * SIDE] = { 0 };
	uint64_t cells[SIDE * SIDE] = { 0 };
	uint64_t mixed[SIDE * SIDE] = { 0 };
	uint64_t seed_key = qb_seed_key(6);
	uint64_t i;

	(void) state;
	for (i = 0; i < SAMPLES; i++)
	{
		uint64_t hv = qb_hash(i, seed_key);

		rows[qs_row_cell(hv, 0, SIDE) * SIDE + qs_row_cell(hv, 1, SIDE)]++;
		cells[qs_sf_cell(hv, 0, SIDE) * SIDE + qs_sf_cell(hv, 1, SIDE)]++;
		mixed[qb_reduce(hv, SIDE) * SIDE + qs_sf_cell(hv, 2, SIDE)]++;
	}
	assert_true(looks_uniform(rows, SIDE * SIDE, SAMPLES));
	assert_true(looks_uniform(cells, SIDE * SIDE, SAMPLES));
	assert_true(looks_uniform(mixed, SIDE * SIDE, SAMPLES));
}

/* The hashes of one key under two seeds are unrelated. */
static void
seeds_are_independent(void **state)
{
	enum
	{
		SIDE = 24,
		SAMPLES = 200000
	};
	uint64_t seen[SIDE * SIDE] = { 0 };
	uint64_t i;

	(void) state;
	for (i = 0; i < SAMPLES; i++)
		seen[qb_reduce(qb_hash(i, qb_seed_key(0)), SIDE) * SIDE +
			 qb_reduce(qb_hash(i, qb_seed_key(1)), SIDE)]++;
	assert_true(looks_uniform(seen, SIDE * SIDE, SAMPLES));
}

/* ---- masks ---- */

static const uint32_t widths[] = { 8, 16, 28, 32 };

static void
masks_have_d_of_m_bits(void **state)
{
	size_t w;
	uint32_t d;
	uint32_t i;

	(void) state;
	for (w = 0; w < ALL_OF(widths); w++)
		for (d = 1; d <= widths[w]; d++)
			for (i = 0; i < 600; i++)
			{
				uint32_t mask = qs_mask(qb_seed_key(d), widths[w], d, i < 300 ? i : 65835 - i);

				assert_int_equal(__builtin_popcount(mask), d);
				assert_int_equal((uint64_t) mask >> widths[w], 0);
			}
}

static void
masks_depend_on_all_they_should(void **state)
{
	uint64_t a = qb_seed_key(1);
	uint64_t b = qb_seed_key(2);
	int same[4] = { 0 };
	uint32_t i;

	(void) state;
	for (i = 0; i < 1000; i++)
	{
		same[0] += qs_mask(a, 32, 4, i) == qs_mask(b, 32, 4, i);
		same[1] += qs_mask(a, 32, 4, i) == qs_mask(a, 32, 4, i + 1);
		same[2] += qs_mask(a, 28, 4, i) == qs_mask(a, 32, 4, i);
		same[3] += (qs_mask(a, 32, 4, i) & ~qs_mask(a, 32, 5, i)) == 0;
	}
	for (i = 0; i < 4; i++)
		assert_in_range(same[i], 0, 10);
}

/* All C(8, 3) = 56 masks are equally likely.  All bits of masks of any width are equally likely. */
static void
masks_are_uniform(void **state)
{
	uint64_t seen[256] = { 0 };
	uint64_t classes[56];
	size_t count = 0;
	size_t w;
	uint32_t i;

	(void) state;
	for (i = 0; i < 65536; i++)
		seen[qs_mask(qb_seed_key(9), 8, 3, i)]++;
	for (i = 0; i < 256; i++)
		if (__builtin_popcount(i) == 3)
			classes[count++] = seen[i];
	assert_true(looks_uniform(classes, 56, 65536));
	for (w = 0; w < ALL_OF(widths); w++)
	{
		uint64_t bits[32] = { 0 };
		uint32_t k;

		for (i = 0; i < 65536; i++)
			for (k = 0; k < 32; k++)
				bits[k] += (qs_mask(qb_seed_key(w), widths[w], 5, i) >> k) & 1;
		assert_true(looks_uniform(bits, widths[w], 65536 * 5));
	}
}

/* Rotate a mask of m bits by one position. */
static uint32_t
turned_once(uint32_t mask, uint32_t m)
{
	return (mask << 1 & (uint32_t) ((UINT64_C(1) << m) - 1)) | (mask >> (m - 1) & 1);
}

/* Only bits 16 to 31 of hv choose the rotation.  All m rotations are equally likely. */
static void
turning_moves_bits_around(void **state)
{
	test_rng rng = test_seeded(10);
	size_t w;
	int i;

	(void) state;
	for (w = 0; w < ALL_OF(widths); w++)
	{
		uint32_t m = widths[w];
		uint64_t seen[32] = { 0 };

		for (i = 0; i < 65536; i++)
		{
			uint32_t mask = (uint32_t) test_random(&rng) & (uint32_t) ((UINT64_C(1) << m) - 1);
			uint32_t wanted = mask;
			uint64_t hv = (test_random(&rng) & ~(UINT64_C(65535) << 16)) | (uint64_t) i << 16;
			uint32_t positions = (uint32_t) i * m / 65536;
			uint32_t k;

			for (k = 0; k < positions; k++)
				wanted = turned_once(wanted, m);
			assert_int_equal(qs_mask_rotation(mask, m, hv), wanted);
			seen[__builtin_ctz(qs_mask_rotation(1, m, hv))]++;
		}
		assert_true(looks_uniform(seen, m, 65536));
	}
}

/* A table of masks is a prefix of each larger table, and has the masks that qs_mask() returns. */
static void
tables_of_masks_are_prefixes(void **state)
{
	static const int structures[] = { QS_WARP, QS_HALF_WARP, QS_SUB_WARP, QS_MULTILEVEL, QS_SF };
	test_rng rng = test_seeded(12);
	size_t s;

	(void) state;
	for (s = 0; s < ALL_OF(structures); s++)
	{
		uint32_t m = qs_bucket_width(structures[s]);
		int log2_masks;

		for (log2_masks = 0; log2_masks <= 16; log2_masks += 4)
		{
			qs_params p = test_params(structures[s], 2, 3, 2, log2_masks, 11);
			qs_sketch with;
			qs_sketch without;
			uint32_t i;

			test_init_dense(&with, &p);
			test_init(&without, &p);
			for (i = 0; i < qs_mask_count(&p); i++)
			{
				uint64_t hv = test_random(&rng) << 16 | i;
				uint32_t turned = qs_mask_rotation(with.masks[i], m, hv);

				assert_int_equal(with.masks[i], qs_mask(qb_seed_key(11), m, 3, i));
				assert_int_equal(qs_mask_of(&with, hv), turned);
				assert_int_equal(qs_mask_of(&without, hv), turned);
			}
			qs_free(&with);
		}
	}
	test_no_leak();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mix_has_known_values),
		cmocka_unit_test(mix_can_be_undone),
		cmocka_unit_test(mix_avalanches),
		cmocka_unit_test(hashes_are_pinned),
		cmocka_unit_test(halving_n_joins_neighbours),
		cmocka_unit_test(buckets_and_masks_are_uniform),
		cmocka_unit_test(rows_and_cells_are_independent),
		cmocka_unit_test(seeds_are_independent),
		cmocka_unit_test(masks_have_d_of_m_bits),
		cmocka_unit_test(masks_depend_on_all_they_should),
		cmocka_unit_test(masks_are_uniform),
		cmocka_unit_test(turning_moves_bits_around),
		cmocka_unit_test(tables_of_masks_are_prefixes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
