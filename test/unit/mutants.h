/*
 * mutants.h
 *		Slightly damaged sketches with a valid checksum.
 *
 * Arbitrary bytes rarely pass the checks of the header.  Therefore a valid sketch of a
 * chosen structure, form and width is changed in a few bytes, fields and counters.  Often
 * the sums still match: one counter loses what another gains, or the total changes with
 * the counters.  Then the checksum is repaired.
 *
 * If the validator accepts the mutant, all operations must work.  If the validator refuses
 * the mutant, functions that check only the header must still be safe; see exercise.h.
 *
 * test_mutants.c and fuzz_mutants.c run this file under AddressSanitizer and UBSan.
 *
 * test/unit/mutants.h
 */
#ifndef QS_TEST_MUTANTS_H
#define QS_TEST_MUTANTS_H

#include "exercise.h"
#include "mutator.h"
#include "samples.h"

#include "sketch/measure.h"
#include "sketch/pieces.h"
#include "sketch/moments.h"

/* Returns a copy of a sample.  The first call for a sample builds it. */
static test_bytes
sound_bytes(uint64_t number)
{
	static test_bytes made[ALL_OF(samples)];

	if (made[number].data == NULL)
		made[number] = sample_bytes(&samples[number]);
	return test_bytes_of(made[number].data, made[number].length);
}

/* Choose the offset of a field of the header, or of a counter (or half an entry) of the body. */
static uint64_t
choose_offset(mutator *m, const test_bytes *b, uint32_t width)
{
	uint64_t fields = b->length / width;

	if (b->length == QS_HEADER_BYTES || choose(m, 4) == 0)
		fields = QS_HEADER_BYTES / width;
	return choose(m, fields) * width;
}

/* Move part of one counter of the body to another counter. */
static void
move_count(mutator *m, test_bytes *b, uint32_t width)
{
	uint64_t counters = (b->length - QS_HEADER_BYTES) / width;
	uint64_t from;
	uint64_t to;
	uint64_t some;

	if (counters < 2)
		return;
	from = QS_HEADER_BYTES + choose(m, counters) * width;
	to = choose(m, 2) ? QS_HEADER_BYTES + choose(m, counters) * width
					  : from + width * (1 + choose(m, 7));
	if (to + width > b->length)
		return;
	some = choose(m, 2) ? get_field(b, from, width) : 1 + choose(m, 3);
	set_field(b, from, width, get_field(b, from, width) - some);
	set_field(b, to, width, get_field(b, to, width) + some);
}

/* Increase a counter, and increase the total by the same amount or by this amount / depth. */
static void
change_with_total(mutator *m, test_bytes *b, uint32_t width)
{
	uint64_t depth = b->data[8] ? b->data[8] : 1;
	uint64_t counters = (b->length - QS_HEADER_BYTES) / width;
	uint64_t at;
	uint64_t more = (1 + choose(m, 3)) * (choose(m, 2) ? depth : 1);

	if (counters == 0)
		return;
	if (choose(m, 2))
		more <<= choose(m, 62);
	at = QS_HEADER_BYTES + choose(m, counters) * width;
	set_field(b, at, width, get_field(b, at, width) + more);
	set_field(b, TEST_AT_TOTAL, 8,
			  get_field(b, TEST_AT_TOTAL, 8) + (choose(m, 2) ? more / depth : more));
}

static void
mutate(mutator *m, test_bytes *b)
{
	static const uint32_t widths[] = { 1, 4, 8 };
	uint32_t width = widths[choose(m, 3)];
	uint64_t at;

	switch (choose(m, 4))
	{
		case 0:
			change_with_total(m, b, width);
			break;
		case 1:
			move_count(m, b, width);
			break;
		default:
			at = choose_offset(m, b, width);
			set_field(b, at, width, changed(m, get_field(b, at, width)));
	}
}

static inline void
read_piece(void *context, uint64_t offset, uint32_t bytes, uint8_t *out)
{
	const test_bytes *b = context;

	REQUIRE(offset + bytes <= b->length);
	memcpy(out, b->data + offset, bytes);
}

/* Returns the estimate of a key, read from pieces of the bytes. */
static int64_t
estimate_from_pieces(test_bytes b, uint64_t key)
{
	qs_source source = { .read = read_piece, .context = &b };
	qs_sketch view;

	REQUIRE_OK(qs_open(&view, b.data, b.length));
	return qs_estimate_stored(&view, qb_hash(key, view.seed_key), &source);
}

/* Check that bounds and estimates of keys are plausible for this error of the sketch. */
static void
bounds_of_valid(test_bytes b, const qs_sketch *view, const qs_noise *noise, int64_t error)
{
	uint64_t key[8];
	uint64_t i;

	exercise_keys(view, key);
	for (i = 0; i < ALL_OF(key); i++)
	{
		qs_bounds bounds = qs_bounds_of(qs_estimate(view, key[i]), error);
		double unbiased = qs_estimate_unbiased(view, noise, key[i]);

		REQUIRE(bounds.lower >= 0 && bounds.lower <= bounds.estimate &&
				bounds.estimate <= bounds.upper && bounds.estimate <= view->total);
		REQUIRE(unbiased == unbiased && unbiased <= (double) view->total + 1);
		if (view->encoding == QS_DENSE)
			REQUIRE(estimate_from_pieces(b, key[i]) == bounds.estimate);
	}
}

/*
 * Check that the product, error and bounds of a valid sketch are plausible, for one probe and
 * for 1000.
 */
static void
measure_valid(test_bytes b)
{
	static const double confidence[] = { 0, 0.5, 0.95, 1 };
	static const uint64_t probes[] = { 1, 1000 };
	qs_product product;
	qs_sketch view;
	qs_noise noise;
	uint64_t i;
	uint64_t p;

	test_dense(&view, b);
	if (qs_has_product(&view))
	{
		REQUIRE_OK(qs_inner_product(&view, &view, &test_heap, &product));
		REQUIRE(product.estimate >= 0 && product.standard_error >= 0);
	}
	for (p = 0; p < ALL_OF(probes); p++)
	{
		REQUIRE_OK(qs_noise_init(&noise, &view, probes[p], &test_heap));
		for (i = 0; i < ALL_OF(confidence); i++)
		{
			int64_t error = qs_noise_error(&noise, confidence[i], probes[p]);

			REQUIRE(error >= 0 && error <= view.total);
			bounds_of_valid(b, &view, &noise, error);
		}
		qs_noise_free(&noise);
	}
	test_dense_free(&view);
	test_no_leak();
}

/* Tests one mutant; returns true if the mutant was valid. */
static inline bool
try_mutant(mutator *m)
{
	test_bytes b = sound_bytes(choose(m, ALL_OF(samples)));
	uint64_t changes = 1 + choose(m, MOST_CHANGES);
	qs_sketch view;
	bool valid;

	while (changes-- > 0)
		mutate(m, &b);
	test_repair_crc(b.data, b.length);
	valid = qs_validate(b.data, b.length) == QB_OK;
	REQUIRE(!valid || qs_open(&view, b.data, b.length) == QB_OK);
	if (qs_open(&view, b.data, b.length) == QB_OK)
		exercise_opened(b);
	if (valid)
	{
		exercise_valid(b);
		/*
		 * one in 16 device parts is measured, because measuring a device part takes as long as
		 * all other checks of 1000 mutants
		 */
		if (exercise_is_small(&view.params) &&
			(view.params.part != QS_PART_DEVICE || choose(m, 16) == 0))
			measure_valid(b);
	}
	free(b.data);
	return valid;
}

#endif
