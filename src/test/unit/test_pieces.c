/*
 * test_pieces.c
 *		An estimate from the pieces is the estimate of the whole.
 *
 * src/test/unit/test_pieces.c
 */
#include "support.h"

#include "core/pieces.h"

static int64_t
estimate_from_pieces(test_bytes whole, uint64_t key)
{
	uint8_t bytes[QS_PIECES_BYTES];
	uint8_t header[QS_HEADER_BYTES];
	qs_piece piece[QS_DEPTH_MAX];
	qs_sketch view;
	qs_sketch one;
	int64_t estimate;
	uint64_t hv;
	uint32_t used = 0;
	uint32_t count;
	uint32_t i;

	memcpy(header, whole.data, sizeof(header));
	REQUIRE_OK(qs_open(&view, header, whole.length));
	hv = qs_hash(key, view.seed_key);
	count = qs_pieces(&view, hv, piece);
	for (i = 0; i < count; i++)
	{
		memcpy(bytes + used, whole.data + piece[i].offset, piece[i].bytes);
		used += piece[i].bytes;
	}
	if (qs_high_piece(&view, bytes, piece))
		memcpy(bytes + used, whole.data + piece->offset, piece->bytes);
	qs_from_pieces(&one, &view, bytes);
	one.ops->query(&one, &hv, 1, &estimate);
	return estimate;
}

static void
check(qs_sketch *sk)
{
	test_bytes whole = test_write_valid(sk);
	uint64_t i;

	for (i = 0; i < 500; i++)
		assert_int_equal(estimate_from_pieces(whole, test_key(i)), test_estimate(sk, test_key(i)));
	free(whole.data);
}

/* Every structure and part, narrow and wide, with heavy keys. */
static void
same_estimate(void **state)
{
	int structure;

	(void) state;
	for (structure = QS_THREAD; structure <= QS_SF; structure++)
	{
		qs_params p = test_usual_params(structure, 24);
		qs_sketch sk;
		int part;

		test_init_dense(&sk, &p);
		test_fill(&sk, 7, 400, 20000);
		check(&sk);
		test_insert(&sk, test_key(3), QS_WIDE_TOTAL);
		check(&sk);
		for (part = QS_PART_DEVICE; structure == QS_SF && part <= QS_PART_HOST; part++)
		{
			qs_sketch some;

			REQUIRE_OK(qs_sf_part(&some, &sk, part, sk.memory));
			check(&some);
			qs_free(&some);
		}
		qs_free(&sk);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_estimate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
