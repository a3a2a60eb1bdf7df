/*
 * test_pieces.c
 *		Estimates from a key's pieces, which are a few bytes of a serialized sketch.
 *
 * Each piece is copied to a block of its own size first, so that a read beside it is
 * seen.
 *
 * src/test/unit/test_pieces.c
 */
#include "samples.h"

#include "sketch/pieces.h"

static uint8_t *
append(uint8_t *to, test_bytes b, qs_piece piece)
{
	REQUIRE(piece.offset >= QS_HEADER_BYTES && piece.offset + piece.bytes <= b.length);
	memcpy(to, b.data + piece.offset, piece.bytes);
	return to + piece.bytes;
}

/* The answer from the header and the pieces alone. */
static int64_t
estimate_from_pieces(test_bytes b, uint64_t key)
{
	test_bytes header = test_bytes_of(b.data, QS_HEADER_BYTES);
	uint8_t room[QS_PIECES_BYTES];
	qs_piece piece[QS_DEPTH_MAX];
	uint8_t *end = room;
	test_bytes exact;
	qs_sketch view;
	qs_sketch one;
	uint64_t hv;
	int64_t estimate;
	uint32_t count;
	uint32_t i;

	REQUIRE_OK(qs_open(&view, header.data, b.length));
	hv = qb_hash(key, view.seed_key);
	count = qs_pieces(&view, hv, piece);
	REQUIRE(count >= 1 && count <= QS_DEPTH_MAX);
	for (i = 0; i < count; i++)
		end = append(end, b, piece[i]);
	if (qs_high_piece(&view, room, piece))
		end = append(end, b, piece[0]);
	exact = test_bytes_of(room, (uint64_t) (end - room));
	qs_from_pieces(&one, &view, exact.data);
	one.ops->query(&one, &hv, 1, &estimate);
	free(exact.data);
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
		if (samples[i].kind >= SAMPLE_DENSE)
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
 * Bytes that nobody validated: pieces give the same answers as the whole, however
 * wrong, and no step goes outside.
 */
static void
damaged_bytes_are_harmless(void **state)
{
	test_rng rng = test_seeded(91);
	size_t i;
	int round;

	(void) state;
	for (i = 0; i < ALL_OF(samples); i++)
		for (round = 0; round < 20 && samples[i].kind >= SAMPLE_DENSE; round++)
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
