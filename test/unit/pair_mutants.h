/*
 * pair_mutants.h
 *		Pairs of values of one type that need not match each other.
 *
 * mutants.h and similar files combine a damaged value only with itself and with values made
 * from it.  This file passes pairs of values to functions that take two values.  Fields and
 * bodies are copied from other values or changed at random, and the checksums are repaired.
 *
 * Invalid values are skipped.  Two valid values may still differ in parameters, widths or
 * types of keys.  If the values do not match, merging and subtracting must return
 * QB_MISMATCH.  If a function accepts two values, its result must be valid.
 *
 * test_pair_mutants.c and fuzz_pairs.c run this file under AddressSanitizer and UBSan.
 *
 * test/unit/pair_mutants.h
 */
#ifndef QS_TEST_PAIR_MUTANTS_H
#define QS_TEST_PAIR_MUTANTS_H

#include "filter_mutants.h"
#include "mutants.h"
#include "sets_mutants.h"

/* The size of a header, and offsets of fields that may differ between two values. */
typedef struct pair_format
{
	uint64_t header;
	uint64_t family; /* offset of the family; the collation follows it */
	uint64_t form;   /* offset of a byte that names a width, an encoding or a kind */
} pair_format;

static const pair_format pair_sketches = { QS_HEADER_BYTES, 32, 7 };
static const pair_format pair_filters = { QF_HEADER_BYTES, 32, 4 };
static const pair_format pair_sets = { QSET_HEADER_BYTES, 16, 4 };

/* Copy bytes from another value, if both values have these bytes. */
static inline void
pair_take(test_bytes *b, test_bytes from, uint64_t at, uint64_t bytes)
{
	if (at + bytes <= b->length && at + bytes <= from.length)
		memcpy(b->data + at, from.data + at, bytes);
}

/* Replace the body of a value by the body of another value. */
static inline void
pair_take_body(test_bytes *b, test_bytes from, uint64_t header)
{
	test_bytes joined = test_bytes_of(from.data, from.length);

	memcpy(joined.data, b->data, header);
	free(b->data);
	*b = joined;
}

/* Damage a value, usually with fields or the body of another value. */
static inline void
pair_damage(mutator *m, test_bytes *b, test_bytes from, const pair_format *f)
{
	uint64_t at = choose(m, b->length);

	switch (choose(m, 8))
	{
		case 0:
			pair_take(b, from, 0, f->header);
			break;
		case 1:
			pair_take_body(b, from, f->header);
			break;
		case 2:
			pair_take(b, from, f->family, 8);
			break;
		case 3:
			pair_take(b, from, f->form, 1);
			break;
		case 4:
			set_field(b, f->family + 4 * choose(m, 2), 4, edge(m));
			break;
		case 5:
			pair_take(b, from, choose(m, f->header / 8) * 8, 8);
			break;
		case 6:
			b->data[at] = (uint8_t) changed(m, b->data[at]);
			break;
		default:
			break; /* the value stays valid */
	}
}

/* ---- sketches ---- */

/* Merge, subtract and multiply two sketches.  Only the product may accept mismatched sketches. */
static inline void
pair_of_sketches(const qs_sketch *a, const qs_sketch *b, test_bytes bytes)
{
	bool fit = qs_mergeable(a, b);
	qs_product product;
	qs_sketch into;
	qb_status status;

	REQUIRE_OK(qs_copy(&into, a, &test_heap));
	status = qs_merge(&into, b);
	REQUIRE((status == QB_MISMATCH) == !fit);
	if (status == QB_OK)
		test_require_valid(&into);
	else
		REQUIRE(test_writes(&into, bytes));
	qs_free(&into);
	REQUIRE_OK(qs_copy(&into, a, &test_heap));
	status = qs_subtract(&into, b);
	REQUIRE((status == QB_MISMATCH) == !fit);
	if (status == QB_OK)
		test_require_valid(&into);
	qs_free(&into);
	status = qs_inner_product(a, b, &test_heap, &product);
	REQUIRE(status == QB_OK || (status == QB_MISMATCH && !fit));
}

static inline test_bytes
pair_sketch(mutator *m)
{
	test_bytes b = sound_bytes(choose(m, ALL_OF(samples)));
	test_bytes from = sound_bytes(choose(m, ALL_OF(samples)));

	pair_damage(m, &b, from, &pair_sketches);
	free(from.data);
	test_repair_crc(b.data, b.length);
	return b;
}

static inline bool
try_sketch_pair(mutator *m)
{
	test_bytes a = pair_sketch(m);
	test_bytes b = choose(m, 4) ? pair_sketch(m) : test_bytes_of(a.data, a.length);
	bool valid = qs_validate(a.data, a.length) == QB_OK && qs_validate(b.data, b.length) == QB_OK;
	qs_sketch x, y;

	if (qs_open(&x, a.data, a.length) == QB_OK && qs_open(&y, b.data, b.length) == QB_OK &&
		exercise_is_small(&x.params) && exercise_is_small(&y.params) && valid)
	{
		pair_of_sketches(&x, &y, a);
		pair_of_sketches(&y, &x, b);
	}
	test_no_leak();
	free(a.data);
	free(b.data);
	return valid;
}

/* ---- filters ---- */

static inline void
pair_of_filters(const qf_filter *a, const qf_filter *b, test_bytes bytes)
{
	qf_filter into;
	qb_status status;
	test_bytes after;

	REQUIRE_OK(qf_copy(&into, a, &test_heap));
	status = qf_engine_cpu.merge(&into, b);
	REQUIRE((status == QB_MISMATCH) == !qf_mergeable(a, b));
	after = filter_bytes(&into);
	if (status == QB_OK)
		REQUIRE_OK(qf_validate(after.data, after.length, NULL));
	else
		REQUIRE(test_equal_bytes(after, bytes));
	free(after.data);
	qf_free(&into);
}

static inline test_bytes
pair_filter(mutator *m)
{
	test_bytes b = sound_filter(choose(m, ALL_OF(filter_samples)));
	test_bytes from = sound_filter(choose(m, ALL_OF(filter_samples)));

	pair_damage(m, &b, from, &pair_filters);
	free(from.data);
	test_repair_crc(b.data, b.length);
	return b;
}

static inline bool
try_filter_pair(mutator *m)
{
	test_bytes a = pair_filter(m);
	test_bytes b = choose(m, 4) ? pair_filter(m) : test_bytes_of(a.data, a.length);
	bool valid = qf_validate(a.data, a.length, NULL) == QB_OK &&
				 qf_validate(b.data, b.length, NULL) == QB_OK;
	qf_filter x, y;

	if (valid && qf_open(&x, a.data, a.length) == QB_OK && qf_open(&y, b.data, b.length) == QB_OK)
	{
		pair_of_filters(&x, &y, a);
		pair_of_filters(&y, &x, b);
	}
	test_no_leak();
	free(a.data);
	free(b.data);
	return valid;
}

/* ---- collections of sets ---- */

/* Add a and b to a builder with the keys of a.  Add b again as the image of a builder. */
static inline void
pair_build(const qset_collection *a, const qset_collection *b, bool fit)
{
	qset_builder builder, other;
	qset_collection all;
	uint64_t *image;
	qb_status status;

	qset_builder_init(&builder, a->wide, &a->keys, &test_heap);
	qset_builder_init(&other, b->wide, &b->keys, &test_heap);
	REQUIRE_OK(qset_builder_add_collection(&builder, a));
	REQUIRE_OK(qset_builder_add_collection(&other, b));
	image = test_array(qset_builder_image_bytes(&other) / 8, 8);
	qset_builder_write(&other, image);
	status = qset_builder_add_collection(&builder, b);
	REQUIRE(b->sets == 0 || status == (fit ? QB_OK : QB_MISMATCH) || a->sets == 0);
	if (b->sets > 0)
		REQUIRE(qset_builder_add_image(&builder, image) == status);
	if (status == QB_OK)
	{
		REQUIRE_OK(qset_builder_finish(&builder, &all));
		test_require_collection(&all);
		qset_collection_free(&all);
	}
	free(image);
	qset_builder_free(&other);
	qset_builder_free(&builder);
}

/* Map the elements of both collections to common numbers, and check the status. */
static inline void
pair_numbers(const qset_collection *a, const qset_collection *b, qb_status wanted)
{
	uint32_t *of_a = test_array(a->universe, sizeof(*of_a));
	uint32_t *of_b = test_array(b->universe, sizeof(*of_b));
	uint64_t numbers = 0;

	REQUIRE_STATUS(qset_collection_map(a, b, of_a), wanted);
	REQUIRE_STATUS(qset_collection_join(a, b, of_a, of_b, &numbers), wanted);
	REQUIRE(numbers <= a->universe + b->universe);
	free(of_a);
	free(of_b);
}

/* Prepare a search for pairs of sets of two collections, and check the status. */
static inline void
pair_request(const qset_collection *a, const qset_collection *b, qb_status wanted)
{
	qset_request request = {
		.rows = a, .columns = b, .memory = &test_heap, .memory_limit = UINT64_MAX
	};
	qset_preparation preparation;

	REQUIRE_OK(qset_filter_init(&request.filter, 1, 0, 0));
	REQUIRE_STATUS(qset_prepare(&preparation, &request), wanted);
	qset_prepared_free(&preparation);
}

static inline void
pair_of_collections(const qset_collection *a, const qset_collection *b)
{
	bool fit = qset_collections_match(a, b);
	qb_status wanted = fit ? QB_OK : QB_MISMATCH;

	pair_numbers(a, b, wanted);
	pair_build(a, b, fit);
	pair_request(a, b, wanted);
}

static inline test_bytes
pair_collection(mutator *m)
{
	static test_bytes made[SETS_SAMPLES];
	uint64_t number = choose(m, SETS_SAMPLES);
	uint64_t other = choose(m, SETS_SAMPLES);
	test_bytes b;
	uint64_t i;

	for (i = 0; i < SETS_SAMPLES && made[i].data == NULL; i++)
	{
		static sets_numbers s;

		make_sets_sample(&s, i);
		made[i] = put_together(&s);
		set_field(&made[i], SETS_AT_BODY, 8, made[i].length - QSET_HEADER_BYTES);
	}
	b = test_bytes_of(made[number].data, made[number].length);
	pair_damage(m, &b, made[other], &pair_sets);
	if (choose(m, 2))
		set_field(&b, SETS_AT_BODY, 8, b.length - QSET_HEADER_BYTES);
	test_repair_crc(b.data, b.length);
	return b;
}

static inline bool
try_collection_pair(mutator *m)
{
	test_bytes a = pair_collection(m);
	test_bytes b = choose(m, 4) ? pair_collection(m) : test_bytes_of(a.data, a.length);
	qset_collection x, y;
	bool read = qset_read(&x, a.data, a.length, &test_heap) == QB_OK;
	bool valid = read && qset_read(&y, b.data, b.length, &test_heap) == QB_OK;

	if (valid)
	{
		pair_of_collections(&x, &y);
		pair_of_collections(&y, &x);
		qset_collection_free(&y);
	}
	if (read)
		qset_collection_free(&x);
	test_no_leak();
	free(a.data);
	free(b.data);
	return valid;
}

#endif
