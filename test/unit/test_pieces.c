/*
 * test_pieces.c
 *		Estimates from pieces of a serialized sketch.
 *
 * The pieces of a key are the few bytes that its estimate needs.  The header is in a block of
 * its size, so AddressSanitizer reports accesses beyond the header.
 *
 * test/unit/test_pieces.c
 */
#include "samples.h"

#include "sketch/pieces.h"

/* Number of pieces read for the current estimate. */
static uint32_t pieces;

static void
read_piece(void *context, uint64_t offset, uint32_t bytes, uint8_t *out)
{
	const test_bytes *b = context;
	test_bytes piece;

	REQUIRE(offset >= QS_HEADER_BYTES && offset + bytes <= b->length);
	piece = test_bytes_of(b->data + offset, bytes);
	memcpy(out, piece.data, bytes);
	free(piece.data);
	pieces++;
}

/* Returns the estimate from the header and the key's pieces. */
static int64_t
estimate_from_pieces(test_bytes b, uint64_t key)
{
	test_bytes header = test_bytes_of(b.data, QS_HEADER_BYTES);
	qs_source source = { .read = read_piece, .context = &b };
	qs_sketch view;
	int64_t estimate;

	REQUIRE_OK(qs_open(&view, header.data, b.length));
	pieces = 0;
	estimate = qs_estimate_stored(&view, qb_hash(key, view.seed_key), &source);
	free(header.data);
	return estimate;
}

static void
require_same_estimates(test_bytes b)
{
	qs_sketch view;
	uint64_t i;

	REQUIRE_OK(qs_open(&view, b.data, b.length));
	for (i = 0; i < 120; i++)
		REQUIRE(estimate_from_pieces(b, test_key(i)) == test_estimate(&view, test_key(i)));
}

static void
pieces_are_enough(void **state)
{
	size_t i;

	(void) state;
	for (i = 0; i < ALL_OF(samples); i++)
		if (samples[i].kind >= SAMPLE_COMPACT)
		{
			test_bytes b = sample_bytes(&samples[i]);

			WHERE("%s", samples[i].name);
			require_same_estimates(b);
			free(b.data);
		}
}

static void
the_largest_pieces_fit(void **state)
{
	int s;

	(void) state;
	for (s = QS_THREAD; s < QS_STRUCTURES; s++)
	{
		qs_params p = test_params(s, 8, (int) qs_depth_max(s), 64, 16, 3);
		qs_sketch sk;
		test_bytes b;

		WHERE("%s", qs_structure_name(s));
		p.part = s == QS_SF ? QS_PART_HOST : QS_PART_FULL;
		test_init_dense(&sk, &p);
		test_fill(&sk, 90, 100, 1000);
		test_insert(&sk, test_key(4), INT64_C(1) << 33);
		b = test_write_valid(&sk);
		require_same_estimates(b);
		free(b.data);
		qs_free(&sk);
	}
	test_no_leak();
}

/*
 * The bytes are damaged and not validated.  Pieces must give the same estimate as the whole
 * sketch, and no read may be out of bounds.
 */
static void
damaged_bytes_are_harmless(void **state)
{
	test_rng rng = test_seeded(91);
	size_t i;
	int round;

	(void) state;
	for (i = 0; i < ALL_OF(samples); i++)
		for (round = 0; round < 20 && samples[i].kind >= SAMPLE_COMPACT; round++)
		{
			test_bytes b = sample_bytes(&samples[i]);
			uint64_t at;

			WHERE("%s, round %d", samples[i].name, round);
			for (at = QS_HEADER_BYTES; at < b.length; at++)
				if (test_below(&rng, 4) == 0)
					b.data[at] = round % 2 ? (uint8_t) test_random(&rng) : 4 * (at % 2);
			require_same_estimates(b);
			free(b.data);
		}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_are_enough),
		cmocka_unit_test(the_largest_pieces_fit),
		cmocka_unit_test(damaged_bytes_are_harmless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
