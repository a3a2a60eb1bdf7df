/*
 * filter_mutants.h
 *		Slightly damaged filters with a valid checksum.
 *
 * A valid filter, dense or compact, is changed in a few fields, words and gaps.  Some
 * mutations can keep the number of set bits right: they flip two bits, or change the number
 * with the bits.  filter_support.h has the checks.  mutants.h does the same for sketches.
 *
 * test/unit/filter_mutants.h
 */
#ifndef QF_TEST_MUTANTS_H
#define QF_TEST_MUTANTS_H

#include "filter_support.h"
#include "mutator.h"

/* Offsets of header fields; see filter/format.h. */
enum
{
	FILTER_AT_FORM = 4,
	FILTER_AT_M = 16,
	FILTER_AT_ROWS = 40,
	FILTER_AT_ONES = 56
};

static const struct filter_sample
{
	uint64_t m;
	uint32_t k;
	double p;
	size_t rows;
	bool ids; /* rows have ids */
	bool blocked;
} filter_samples[] = {
	{ 8192, 200, 0.01, 0, false, false },   { 8192, 200, 0.01, 24, false, false },
	{ 8192, 200, 0.01, 400, false, false }, { 5846, 20, 0.2, 100, false, false },
	{ 4096, 50, 0.05, 1000, false, false }, { 65536, 50, 0.05, 100, false, false },
	{ 4096, 100, 0.02, 60, true, false },   { 64, 7, 0.5, 2, false, false },
	{ 64, 64, 0.9, 1, true, false },        { 8192, 7, 1, 10, false, false },
	{ 1024, 7, 1, 100, false, false },      { 100, 3, 1, 200, false, false },
	{ 8192, 7, 1, 10, false, true },        { 1024, 7, 1, 100, false, true },
	{ 512, 3, 1, 0, false, true },          { 32768, 50, 0.05, 600, false, false },
	{ 32768, 9, 1, 35, false, true },
};

static inline test_bytes
make_filter_sample(const struct filter_sample *s)
{
	qf_params p = s->blocked ? filter_bloom_params(s->m, s->k, QF_BLOCKED, s->m % 11)
							 : filter_params(s->m, s->k, s->p, s->m % 11);
	uint64_t i;
	qf_filter f;
	test_bytes b;

	qf_init(&f, &p, &test_heap);
	f.keys.family = s->rows > 0 ? TEST_FAMILY : 0;
	for (i = 0; i < s->rows; i++)
	{
		uint64_t key = test_key(i % 37);
		uint64_t id = i * 3;

		if (s->ids)
			filter_insert_ids(&f, &key, &id, 1);
		else
			filter_insert(&f, &key, 1, i, 42);
	}
	b = filter_bytes(&f);
	qf_free(&f);
	return b;
}

/* Returns a copy of a sample.  The first call for a sample builds it. */
static inline test_bytes
sound_filter(uint64_t number)
{
	static test_bytes made[ALL_OF(filter_samples)];

	if (made[number].data == NULL)
		made[number] = make_filter_sample(&filter_samples[number]);
	return test_bytes_of(made[number].data, made[number].length);
}

static inline void
flip_filter_bit(mutator *m, test_bytes *b)
{
	uint64_t bits = (b->length - QF_HEADER_BYTES) * 8;
	uint64_t bit = bits > 0 ? choose(m, bits) : 0;

	if (bits > 0)
		b->data[QF_HEADER_BYTES + bit / 8] ^= (uint8_t) (1 << bit % 8);
}

/* Move a bit of a compact body: lengthen one gap and shorten the next gap by the same amount. */
static inline void
move_filter_bit(mutator *m, test_bytes *b)
{
	uint64_t at, step;

	if (b->data[FILTER_AT_FORM] != QF_ENCODING_COMPACT || b->length < QF_HEADER_BYTES + 2)
		return;
	at = QF_HEADER_BYTES + choose(m, b->length - QF_HEADER_BYTES - 1);
	step = 1 + choose(m, 3);
	b->data[at] = (uint8_t) (b->data[at] + step);
	b->data[at + 1] = (uint8_t) (b->data[at + 1] - step);
}

/*
 * Change the length of the body by up to 64 bytes.  Set the header's number of set bits or
 * number of bits to match.
 */
static inline void
resize_filter(mutator *m, test_bytes *b)
{
	static const uint64_t steps[] = { 1, 4, 8, 64 };
	uint64_t step = steps[choose(m, ALL_OF(steps))];
	uint64_t length = b->length;

	if (choose(m, 2))
		length += step;
	else if (length >= QF_HEADER_BYTES + step)
		length -= step;
	b->data = realloc(b->data, length);
	REQUIRE(b->data != NULL);
	if (length > b->length)
		memset(b->data + b->length, (int) choose(m, 256), length - b->length);
	b->length = length;
	if (choose(m, 2))
		set_field(b, FILTER_AT_ONES, 4, length - QF_HEADER_BYTES);
	else
		set_field(b, FILTER_AT_M, 8, (length - QF_HEADER_BYTES) * 8 - choose(m, 64));
}

static inline void
mutate_filter(mutator *m, test_bytes *b)
{
	static const uint32_t widths[] = { 1, 4, 8 };
	uint32_t width = widths[choose(m, 3)];
	uint64_t fields = (choose(m, 2) ? QF_HEADER_BYTES : b->length) / width;
	uint64_t at = choose(m, fields) * width;

	switch (choose(m, 7))
	{
		case 0:
			flip_filter_bit(m, b);
			break;
		case 1:
			flip_filter_bit(m, b);
			flip_filter_bit(m, b);
			break;
		case 2:
			flip_filter_bit(m, b);
			filter_repair_ones(*b);
			break;
		case 3:
			resize_filter(m, b);
			break;
		case 4:
			move_filter_bit(m, b);
			break;
		case 5:
			set_field(b, FILTER_AT_ROWS, 8, changed(m, get_field(b, FILTER_AT_ROWS, 8)));
			break;
		default:
			set_field(b, at, width, changed(m, get_field(b, at, width)));
	}
}

/* Check that estimates and bounds of keys are plausible. */
static inline void
measure_filter(test_bytes b)
{
	double deviations = qf_deviations(0.95);
	qf_scale scale;
	qf_filter view;
	uint64_t i;

	REQUIRE_OK(qf_open(&view, b.data, b.length));
	if (qf_is_bloom(&view.params))
	{
		REQUIRE(qf_distinct(&view) >= 0);
		return;
	}
	qf_scale_make(&scale, &view);
	for (i = 0; i < 8; i++)
	{
		uint32_t set = filter_query(&view, test_key(i));
		qf_bounds bounds = qf_bounds_of(&scale, set, deviations);

		REQUIRE(qf_estimate(&scale, set) ==
				qf_estimate(&scale, set)); /* fails if the estimate is NaN */
		REQUIRE(bounds.lower >= 0 && bounds.lower <= bounds.upper);
		qf_estimate_paper(&scale, set);
	}
}

/* Tests one mutant; returns true if the mutant was valid. */
static inline bool
try_filter_mutant(mutator *m)
{
	test_bytes b = sound_filter(choose(m, ALL_OF(filter_samples)));
	uint64_t changes = 1 + choose(m, MOST_CHANGES);
	qf_filter view;
	bool opened;
	bool valid;

	while (changes-- > 0)
		mutate_filter(m, &b);
	test_repair_crc(b.data, b.length);
	opened = qf_open(&view, b.data, b.length) == QB_OK;
	valid = qf_validate(b.data, b.length, NULL) == QB_OK;
	REQUIRE(opened || !valid);
	if (opened)
		filter_exercise(b);
	if (valid)
	{
		filter_exercise_valid(b);
		measure_filter(b);
	}
	test_no_leak();
	free(b.data);
	return valid;
}

#endif
