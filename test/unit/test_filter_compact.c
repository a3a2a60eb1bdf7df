/*
 * test_filter_compact.c
 *		The compact encoding of filters: its size, its choice, and its equivalence to bits.
 *
 * test/unit/test_filter_compact.c
 */
#include "filter_support.h"

static qf_params
params_of(uint64_t m, uint32_t layout)
{
	return filter_bloom_params(m, 7, layout, 3);
}

/* Set up to "count" random bits. */
static void
set_random(qf_filter *f, uint64_t count, test_rng *rng)
{
	uint64_t i;

	for (i = 0; i < count; i++)
	{
		uint32_t position = (uint32_t) test_below(rng, f->params.m);

		REQUIRE_OK(qf_set(f, &position, 1));
	}
	f->rows = QF_ROWS_UNKNOWN;
}

/* Make a filter of m bits, and set about the fraction "fill" of the bits. */
static void
init_filled(qf_filter *f, uint64_t m, uint32_t layout, double fill, uint64_t seed)
{
	qf_params p = params_of(m, layout);
	test_rng rng = test_seeded(seed);

	filter_init(f, &p);
	set_random(f, (uint64_t) (fill * (double) m) + 1, &rng);
}

/* ---- sizes ---- */

/* If at least 0.01 % of the bits are set, a set bit takes at most 2.5 bytes on average. */
static void
few_bits_take_few_bytes(void **state)
{
	static const struct
	{
		double fill;
		double most; /* limit of the bytes per set bit */
	} fills[] = { { 0.0001, 2.5 }, { 0.001, 2.1 }, { 0.01, 1.5 }, { 0.05, 1.2 }, { 0.08, 1.2 } };
	static const uint64_t sizes[] = { 1 << 20, 1 << 23 };
	size_t i, s;

	(void) state;
	for (i = 0; i < ALL_OF(fills); i++)
		for (s = 0; s < ALL_OF(sizes); s++)
		{
			qf_filter f;
			qf_flat flat;

			WHERE("%g of %d", fills[i].fill, (int) sizes[s]);
			init_filled(&f, sizes[s], QF_STANDARD, fills[i].fill, 1);
			flat = qf_flat_of(&f);
			REQUIRE(flat.encoding == QF_ENCODING_COMPACT);
			REQUIRE((double) (flat.bytes - QF_HEADER_BYTES) <= fills[i].most * (double) f.ones);
			qf_free(&f);
		}
}

static void
an_empty_filter_is_its_header(void **state)
{
	qf_params p = params_of(QF_BITS_MAX, QF_BLOCKED);
	qf_filter f;

	(void) state;
	qf_init(&f, &p, &test_heap);
	assert_true(qf_flat_of(&f).bytes == QF_HEADER_BYTES);
	qf_free(&f);
}

/* ---- choice of the encoding ---- */

/*
 * Set bits one by one.  The compact encoding is chosen while it takes at most three quarters of
 * the dense size.
 */
static void
the_smaller_form_is_chosen(void **state)
{
	test_rng rng = test_seeded(5);
	qf_params p = params_of(4096, QF_STANDARD);
	qf_filter f;
	bool compact = false;
	bool dense = false;
	int round;

	(void) state;
	filter_init(&f, &p);
	for (round = 0; round < 600; round++)
	{
		qf_flat flat = qf_flat_of(&f);
		uint64_t body = flat.bytes - QF_HEADER_BYTES;
		bool is_compact = flat.encoding == QF_ENCODING_COMPACT;
		test_bytes b;

		REQUIRE(is_compact ? body * 4 <= 4096 / 8 * 3 : body == 4096 / 8);
		compact |= is_compact;
		dense |= !is_compact;
		set_random(&f, 1, &rng);
		b = filter_bytes(&f);
		filter_exercise_valid(b);
		free(b.data);
	}
	REQUIRE(compact && dense);
	qf_free(&f);
	test_no_leak();
}

/* Returns the bytes of a filter in dense encoding. */
static test_bytes
dense_bytes_of(const qf_filter *f)
{
	qf_flat flat = { .encoding = QF_DENSE, .bytes = qf_dense_size(&f->params) };
	test_bytes b = { malloc(flat.bytes), flat.bytes };

	REQUIRE(b.data != NULL);
	qf_write(f, &flat, b.data);
	return b;
}

/* Bytes in dense encoding are refused if compact is the only valid form. */
static void
the_other_form_is_refused(void **state)
{
	test_bytes dense;
	qf_filter f;

	(void) state;
	init_filled(&f, 1 << 16, QF_BLOCKED, 0.05, 2);
	dense = dense_bytes_of(&f);
	REQUIRE_STATUS(qf_validate(dense.data, dense.length, NULL), QB_FORMAT_BITS);
	free(dense.data);
	qf_free(&f);
}

/*
 * Set neighbouring bits, as hashes never do.  A group with more than QF_GROUP_BYTES bits would
 * be slow to read, so the filter is written in dense encoding.
 */
static void
crowded_bits_stay_dense(void **state)
{
	static const uint32_t counts[] = { QF_GROUP_BYTES - 1, QF_GROUP_BYTES, QF_GROUP_BYTES + 1 };
	qf_params p = params_of(1 << 23, QF_STANDARD);
	size_t i;
	uint32_t j;

	(void) state;
	for (i = 0; i < ALL_OF(counts); i++)
	{
		qf_filter f;
		test_bytes b;

		WHERE("%d", (int) counts[i]);
		filter_init(&f, &p);
		for (j = 0; j < counts[i]; j++)
			REQUIRE_OK(qf_set(&f, &j, 1));
		f.rows = QF_ROWS_UNKNOWN;
		REQUIRE(f.encoding == QF_EXPLICIT);
		b = filter_bytes(&f);
		REQUIRE((b.data[4] == QF_DENSE) == (counts[i] > QF_GROUP_BYTES));
		filter_exercise_valid(b);
		free(b.data);
		qf_free(&f);
	}
	test_no_leak();
}

/* ---- damage ---- */

/* Validate this body in a filter of 64 bits, which has one group; returns the status. */
static qb_status
status_of(const char *body, uint32_t length, uint32_t ones)
{
	static const uint32_t first[] = { 1 };
	qf_params p = params_of(64, QF_STANDARD);
	test_bytes b = { calloc(1, QF_HEADER_BYTES + length), QF_HEADER_BYTES + length };
	test_bytes sound;
	qb_status status;
	qf_filter f;

	filter_init(&f, &p);
	REQUIRE_OK(qf_set(&f, first, 1));
	f.rows = QF_ROWS_UNKNOWN;
	sound = filter_bytes(&f);
	memcpy(b.data, sound.data, QF_HEADER_BYTES);
	memcpy(b.data + QF_HEADER_BYTES, body, length);
	qb_store32(b.data + 56, ones);
	test_repair_crc(b.data, b.length);
	status = qf_validate(b.data, b.length, NULL);
	if (status == QB_OK || status == QB_FORMAT_BITS)
		filter_exercise(b);
	free(b.data);
	free(sound.data);
	qf_free(&f);
	return status;
}

static void
other_gaps_are_refused(void **state)
{
	(void) state;
	REQUIRE_OK(status_of("\x3F", 1, 1));
	REQUIRE_OK(status_of("\x00\x3E", 2, 2));
	REQUIRE_STATUS(status_of("\x40", 1, 1), QB_FORMAT_BITS);     /* a bit beyond m */
	REQUIRE_STATUS(status_of("\x00\x3F", 2, 2), QB_FORMAT_BITS); /* the second bit is beyond m */
	REQUIRE_STATUS(status_of("\x81\x00", 2, 1),
				   QB_FORMAT_BITS); /* a number longer than necessary */
	REQUIRE_STATUS(status_of("\x01\x81", 2, 1), QB_FORMAT_BITS); /* a number that is cut off */
	REQUIRE_STATUS(status_of("\x01\x01", 2, 1), QB_FORMAT_BITS); /* one extra bit */
	REQUIRE_STATUS(status_of("\x81\x01", 2, 2), QB_FORMAT_BITS); /* a single bit, beyond m */
	REQUIRE_STATUS(status_of("\x01", 1, 2), QB_FORMAT_LENGTH);   /* fewer bytes than bits */
	REQUIRE_STATUS(status_of("\x01\x01\x01\x01\x01\x01\x01", 7, 7), QB_FORMAT_LENGTH);
	REQUIRE_STATUS(status_of("\xFF\xFF\xFF\xFF\x0F", 5, 1), QB_FORMAT_BITS);
	REQUIRE_STATUS(status_of("\xFF\xFF\xFF\xFF\xFF", 5, 1), QB_FORMAT_BITS);
	test_no_leak();
}

/* Decrease and increase the end of each group but the last, whose end is not stored. */
static void
other_ends_are_refused(void **state)
{
	qf_filter f;
	test_bytes b;
	uint64_t table, at;

	(void) state;
	init_filled(&f, 1 << 15, QF_STANDARD, 0.05, 3);
	b = filter_bytes(&f);
	table = qf_group_table(&f.params, f.ones);
	assert_true(table >= 40);
	for (at = 0; at < table; at += 4)
	{
		static const uint32_t steps[] = { 1, 100, 5000, UINT32_MAX, UINT32_MAX - 99, 1u << 31 };
		size_t i;

		for (i = 0; i < ALL_OF(steps); i++)
		{
			test_bytes bad = test_bytes_of(b.data, b.length);
			uint8_t *end = bad.data + QF_HEADER_BYTES + at;

			WHERE("%d + %u", (int) at / 4, steps[i]);
			qb_store32(end, qb_load32(end) + steps[i]);
			test_repair_crc(bad.data, bad.length);
			/* a step of 1 or -1 may give a valid filter in which another bit is set */
			if (steps[i] + 1 <= 2 && qf_validate(bad.data, bad.length, NULL) == QB_OK)
				filter_exercise_valid(bad);
			else
				REQUIRE_STATUS(qf_validate(bad.data, bad.length, NULL), QB_FORMAT_BITS);
			filter_exercise(bad);
			free(bad.data);
		}
	}
	free(b.data);
	qf_free(&f);
	test_no_leak();
}

/* ---- equivalence to bits ---- */

/* A lookup makes at most two reads per position, of few bytes on average. */
static void
a_lookup_reads_little(void **state)
{
	uint32_t layout;
	uint64_t i;

	(void) state;
	for (layout = 0; layout < QF_LAYOUTS; layout++)
	{
		qf_filter f, view;
		test_bytes b;
		filter_reads reads;
		qf_source source = { .read = filter_read, .context = &reads };

		init_filled(&f, 1 << 23, layout, 0.03, 4);
		b = filter_bytes(&f);
		reads = (filter_reads){ .bytes = b };
		REQUIRE_OK(qf_open(&view, b.data, b.length));
		for (i = 0; i < 1000; i++)
			REQUIRE(qf_count_stored(&view, qf_hash(test_key(i), view.seed_key), false, &source) ==
					qf_count(&f, test_key(i)));
		REQUIRE(reads.count <= 1000 * 2 * 7 && reads.sum <= reads.count / 2 * 100);
		free(b.data);
		qf_free(&f);
	}
	test_no_leak();
}

/* Check that merging stored bytes sets the same bits as merging the filter. */
static void
require_same_union(const qf_filter *into, const qf_filter *view, const qf_filter *bits)
{
	qf_filter a, b;

	REQUIRE_OK(qf_copy(&a, into, &test_heap));
	REQUIRE_OK(qf_copy(&b, into, &test_heap));
	filter_merge(&a, view);
	filter_merge(&b, bits);
	REQUIRE(filter_same(&a, &b));
	qf_free(&a);
	qf_free(&b);
}

static void
merging_gives_the_same(void **state)
{
	static const double fills[] = { 0, 0.01, 0.3 };
	static const double others[] = { 0, 0.001, 0.06 };
	uint32_t layout;
	size_t i, j;

	(void) state;
	for (layout = 0; layout < QF_LAYOUTS; layout++)
		for (i = 0; i < ALL_OF(fills); i++)
			for (j = 0; j < ALL_OF(others); j++)
			{
				qf_filter into, from, view;
				test_bytes b;

				WHERE("layout %u, %g into %g", layout, others[j], fills[i]);
				init_filled(&into, 1 << 16, layout, fills[i], 6);
				init_filled(&from, 1 << 16, layout, others[j], 7);
				if (from.encoding == QF_EXPLICIT)
					REQUIRE_OK(qf_make_dense(&from));
				b = filter_bytes(&from);
				REQUIRE_OK(qf_open(&view, b.data, b.length));
				REQUIRE(view.encoding == QF_ENCODING_COMPACT);
				require_same_union(&into, &view, &from);
				free(b.data);
				qf_free(&into);
				qf_free(&from);
			}
	test_no_leak();
}

/* ---- pauses ---- */

static jmp_buf stopped;
static int pauses;

static void
jump_out_or_count(void)
{
	if (pauses++ == 0)
		longjmp(stopped, 1);
}

/* Merging and validating a large filter pauses.  A stopped merge can be repeated. */
static void
long_work_can_be_stopped(void **state)
{
	qf_params p = params_of(1 << 25, QF_STANDARD);
	qb_memory impatient = test_heap;
	qf_filter f, into, view;
	test_bytes b;

	(void) state;
	init_filled(&f, 1 << 25, QF_STANDARD, 0.05, 8);
	b = filter_bytes(&f);
	REQUIRE_OK(qf_open(&view, b.data, b.length));
	REQUIRE(view.encoding == QF_ENCODING_COMPACT);
	impatient.pause = jump_out_or_count;
	filter_init(&into, &p);
	into.memory = &impatient;
	pauses = 0;
	if (setjmp(stopped) == 0)
	{
		filter_merge(&into, &view);
		REQUIRE(!"stopped");
	}
	REQUIRE(into.ones > 0 && into.ones < f.ones && into.rows == 0);
	filter_merge(&into, &view);
	REQUIRE(into.ones == f.ones && filter_same(&into, &f));
	REQUIRE_OK(qf_validate(b.data, b.length, &impatient));
	REQUIRE(pauses > 4);
	free(b.data);
	qf_free(&into);
	qf_free(&f);
	test_no_leak();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_bits_take_few_bytes),
		cmocka_unit_test(an_empty_filter_is_its_header),
		cmocka_unit_test(the_smaller_form_is_chosen),
		cmocka_unit_test(the_other_form_is_refused),
		cmocka_unit_test(crowded_bits_stay_dense),
		cmocka_unit_test(other_gaps_are_refused),
		cmocka_unit_test(other_ends_are_refused),
		cmocka_unit_test(a_lookup_reads_little),
		cmocka_unit_test(merging_gives_the_same),
		cmocka_unit_test(long_work_can_be_stopped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
