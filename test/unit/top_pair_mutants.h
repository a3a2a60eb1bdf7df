/*
 * top_pair_mutants.h
 *		Pairs of lists of top keys that need not match each other.
 *
 * See pair_mutants.h.
 *
 * test/unit/top_pair_mutants.h
 */
#ifndef QS_TEST_TOP_PAIR_MUTANTS_H
#define QS_TEST_TOP_PAIR_MUTANTS_H

#include "mutator.h"
#include "top_support.h"

/*
 * Header fields of the list (n, texts, encoding, bound, sizes) and of its sketch (structure,
 * family, collation, n, seed).
 */
static const struct
{
	uint64_t at;
	uint32_t width;
} top_fields[] = { { 4, 4 },  { 12, 1 }, { 13, 1 }, { 16, 8 },  { 24, 8 }, { 32, 8 },
				   { 40, 8 }, { 68, 1 }, { 96, 4 }, { 100, 4 }, { 80, 8 }, { 88, 8 } };

/* Returns a list.  Two of three lists have a field of another list or a changed field. */
static inline test_bytes
pair_list(mutator *m)
{
	static test_bytes made[TOP_SAMPLES];
	uint64_t number = choose(m, TOP_SAMPLES);
	uint64_t other = choose(m, TOP_SAMPLES);
	uint64_t field = choose(m, ALL_OF(top_fields));
	uint64_t at = top_fields[field].at;
	uint32_t width = top_fields[field].width;
	test_bytes b;
	int i;

	for (i = 0; i < TOP_SAMPLES && made[i].data == NULL; i++)
		made[i] = top_sample(i);
	b = test_bytes_of(made[number].data, made[number].length);
	switch (choose(m, 3))
	{
		case 0:
			set_field(&b, at, width, get_field(&made[other], at, width));
			break;
		case 1:
			set_field(&b, at, width, changed(m, get_field(&b, at, width)));
			break;
		default:
			break;
	}
	top_repair(b.data, b.length);
	return b;
}

/*
 * Merge b into a, or subtract b from a.  Mismatched lists must be refused, and a must stay
 * valid.
 */
static inline void
pair_of_lists(const test_bytes *a, const test_bytes *b, bool subtract)
{
	qs_sketch sketch, from_sketch;
	qs_top view, from;
	top_counted c = { .truth = NULL };
	qb_status status;
	test_bytes after;
	bool fit;

	REQUIRE_OK(qs_top_open(&view, &sketch, a->data, a->length));
	REQUIRE_OK(qs_top_open(&from, &from_sketch, b->data, b->length));
	REQUIRE_OK(qs_copy(&c.sketch, &sketch, &test_heap));
	REQUIRE_OK(qs_top_copy(&c.top, &view, &test_heap));
	fit = qs_mergeable(&sketch, &from_sketch) && view.n == from.n &&
		  (view.count == 0 || from.count == 0 || view.texts == from.texts);
	status = subtract ? qs_top_subtract(&c.top, &c.sketch, &from, &from_sketch)
					  : qs_top_merge(&c.top, &c.sketch, &from, &from_sketch);
	REQUIRE((status == QB_MISMATCH) == !fit);
	if (status == QB_OK || status == QB_MISMATCH)
	{
		after = top_write(&c);
		REQUIRE_OK(qs_top_validate(after.data, after.length));
		free(after.data);
	}
	top_end(&c);
}

static inline bool
try_list_pair(mutator *m)
{
	test_bytes a = pair_list(m);
	test_bytes b = choose(m, 4) ? pair_list(m) : test_bytes_of(a.data, a.length);
	bool valid =
		qs_top_validate(a.data, a.length) == QB_OK && qs_top_validate(b.data, b.length) == QB_OK;

	if (valid)
	{
		pair_of_lists(&a, &b, choose(m, 2));
		pair_of_lists(&b, &a, choose(m, 2));
	}
	test_no_leak();
	free(a.data);
	free(b.data);
	return valid;
}

#endif
