/*
 * exercise.h
 *		Operations on bytes of unknown origin.
 *
 * exercise_opened() takes bytes that qs_open() accepted.  qs_open() checks only the header,
 * so the body may hold anything.  No function may read or write out of bounds.
 *
 * exercise_valid() takes bytes that qs_validate() accepted.  Every operation must work
 * with these bytes, and must leave valid bytes.
 *
 * Unit tests and the fuzzers run this file under AddressSanitizer and UBSan.
 *
 * test/unit/exercise.h
 */
#ifndef QS_TEST_EXERCISE_H
#define QS_TEST_EXERCISE_H

#include "support.h"

/* Larger sketches are not changed: a few bytes can describe an explicit sketch with huge tables. */
#define EXERCISE_MAX_BYTES (1 << 18)

static inline bool
exercise_is_small(const qs_params *p)
{
	return qs_dense_size(p, true) <= EXERCISE_MAX_BYTES;
}

/* Choose eight keys.  If the sketch is explicit, up to four of the keys are in the sketch. */
static inline void
exercise_keys(const qs_sketch *sk, uint64_t key[8])
{
	uint64_t position = 0;
	qs_entry e;
	uint64_t i;

	for (i = 0; i < 8; i++)
		key[i] = test_key(i);
	for (i = 0; i < 4 && sk->encoding == QS_EXPLICIT && qs_explicit_next(sk, &position, &e); i++)
		key[i] = e.fingerprint;
}

static inline void
exercise_queries(const qs_sketch *sk)
{
	uint64_t key[8];
	int64_t estimate[8];

	exercise_keys(sk, key);
	qs_query(sk, key, 8, estimate);
	REQUIRE(estimate[0] == qs_estimate(sk, key[0]));
}

/* Merge "from" into an empty sketch, make the result dense, and merge "from" into it again. */
static inline void
exercise_merge_into(const qs_sketch *from)
{
	qs_sketch into;

	test_init(&into, &from->params);
	into.keys = from->keys;
	REQUIRE_OK(qs_merge(&into, from));
	if (exercise_is_small(&from->params))
	{
		REQUIRE_OK(qs_make_dense(&into));
		if (from->total <= INT64_MAX - into.total)
			REQUIRE_OK(qs_merge(&into, from));
		free(test_write(&into).data);
	}
	exercise_queries(&into);
	qs_free(&into);
}

/* Check that all operations on a writable copy of a view are safe. */
static inline void
exercise_copy(const qs_sketch *from)
{
	uint64_t key[40];
	qs_sketch copy;
	uint64_t i;

	for (i = 0; i < ALL_OF(key); i++)
		key[i] = test_key(i);
	REQUIRE_OK(qs_copy(&copy, from, &test_heap));
	free(test_write(&copy).data);
	if (exercise_is_small(&copy.params))
	{
		for (i = 0; i < 8; i++)
			qs_engine_cpu.insert(&copy, key, NULL, ALL_OF(key));
		test_try_insert(&copy, key[3], 5000);
		qs_engine_cpu.remove(&copy, key, NULL, ALL_OF(key));
		qs_subtract(&copy, from);
		if (copy.params.n % 2 == 0)
			REQUIRE_OK(qs_fold(&copy, copy.params.n / 2));
		free(test_write(&copy).data);
	}
	exercise_queries(&copy);
	qs_free(&copy);
}

/* Check that qs_write() sets every byte of its output. */
static inline void
exercise_write(const qs_sketch *view)
{
	test_bytes a = test_write(view);
	test_bytes b = { malloc(a.length), a.length };

	REQUIRE(b.data != NULL);
	memset(b.data, 0x5A, b.length);
	qs_write(view, b.data);
	REQUIRE(test_equal_bytes(a, b));
	free(a.data);
	free(b.data);
}

/* Run all operations that must be safe with bytes that qs_open() accepted. */
static inline void
exercise_opened(test_bytes b)
{
	qs_sketch view;

	REQUIRE_OK(qs_open(&view, b.data, b.length));
	exercise_queries(&view);
	exercise_write(&view);
	if (exercise_is_small(&view.params) || view.encoding != QS_COMPACT)
		exercise_copy(&view);
	if (exercise_is_small(&view.params) || view.encoding == QS_EXPLICIT)
		exercise_merge_into(&view);
	test_no_leak();
}

/* ---- valid bytes ---- */

/* Check that a view and its copy write "b" again, and that they give the same answers. */
static inline void
exercise_identity(const qs_sketch *view, test_bytes b)
{
	uint64_t key[8];
	int64_t of_view[8];
	int64_t of_copy[8];
	qs_sketch copy;

	REQUIRE(test_writes(view, b));
	REQUIRE_OK(qs_copy(&copy, view, &test_heap));
	REQUIRE(test_writes(&copy, b));
	exercise_keys(view, key);
	qs_query(view, key, 8, of_view);
	qs_query(&copy, key, 8, of_copy);
	REQUIRE(memcmp(of_view, of_copy, sizeof(of_view)) == 0);
	qs_free(&copy);
}

/* Check that adding keys and then removing them restores the bytes. */
static inline void
exercise_insert_remove(const qs_sketch *view, test_bytes b)
{
	static const int64_t weight[8] = { 1, 255, 256, 0, 7, 1 << 20, INT64_C(1) << 32, 3 };
	uint64_t key[8];
	qs_sketch copy;
	qb_status status;

	exercise_keys(view, key);
	REQUIRE_OK(qs_copy(&copy, view, &test_heap));
	copy.keys.family = TEST_FAMILY; /* insert() does not set the family of the keys */
	status = qs_engine_cpu.insert(&copy, key, weight, 8);
	if (status == QB_OK)
	{
		test_require_valid(&copy);
		REQUIRE_OK(qs_engine_cpu.remove(&copy, key, weight, 8));
	}
	else
		REQUIRE(status == (view->params.part == QS_PART_DEVICE ? QB_READ_ONLY : QB_TOTAL_OVERFLOW));
	copy.keys.family = view->keys.family;
	if ((copy.encoding == QS_EXPLICIT) == (view->encoding == QS_EXPLICIT))
		REQUIRE(test_writes(&copy, b));
	qs_free(&copy);
}

/* Remove keys that may be absent.  Each removal must be refused or leave a valid sketch. */
static inline void
exercise_removals(const qs_sketch *view)
{
	qs_sketch copy;
	uint64_t i;

	REQUIRE_OK(qs_copy(&copy, view, &test_heap));
	for (i = 0; i < 12; i++)
	{
		uint64_t key = test_key(i);
		int64_t most = test_estimate(&copy, key);

		if (most > 0 && test_try_remove(&copy, key, i % 2 ? most : 1) == QB_OK)
			test_require_valid(&copy);
	}
	qs_free(&copy);
}

/*
 * Merge a sketch into its copy, and then subtract the sketch from the copy twice.  The copy
 * must be empty.  Device parts refuse to subtract.
 */
static inline void
exercise_merge_subtract(const qs_sketch *view, test_bytes b)
{
	qs_sketch copy;
	bool device = view->params.part == QS_PART_DEVICE;

	REQUIRE_OK(qs_copy(&copy, view, &test_heap));
	if (view->total > INT64_MAX / 2)
		REQUIRE_STATUS(qs_merge(&copy, view), QB_TOTAL_OVERFLOW);
	else
	{
		REQUIRE_OK(qs_merge(&copy, view));
		test_require_valid(&copy);
		REQUIRE_STATUS(qs_subtract(&copy, view), device ? QB_READ_ONLY : QB_OK);
	}
	if (!device)
	{
		REQUIRE(test_writes(&copy, b));
		REQUIRE_OK(qs_subtract(&copy, view));
		REQUIRE(copy.total == 0 && test_estimate(&copy, test_key(3)) == 0);
		test_require_valid(&copy);
	}
	qs_free(&copy);
}

static inline void
exercise_fold(const qs_sketch *view)
{
	qs_sketch copy;

	REQUIRE_OK(qs_copy(&copy, view, &test_heap));
	while (copy.params.n % 2 == 0 && exercise_is_small(&copy.params))
	{
		REQUIRE_OK(qs_fold(&copy, copy.params.n / 2));
		test_require_valid(&copy);
	}
	qs_free(&copy);
}

/*
 * Check that both parts of a full sf sketch are valid, and that the host part restores the full
 * sketch.
 */
static inline void
exercise_parts(const qs_sketch *view, test_bytes b)
{
	qs_sketch device;
	qs_sketch host;
	qs_sketch whole;

	if (view->params.structure != QS_SF || view->params.part != QS_PART_FULL)
		return;
	REQUIRE_OK(qs_sf_part(&device, view, QS_PART_DEVICE, &test_heap));
	test_require_valid(&device);
	exercise_fold(&device);
	REQUIRE_OK(qs_sf_part(&host, view, QS_PART_HOST, &test_heap));
	test_require_valid(&host);
	REQUIRE_OK(qs_sf_part(&whole, &host, QS_PART_FULL, &test_heap));
	REQUIRE(test_writes(&whole, b));
	qs_free(&device);
	qs_free(&host);
	qs_free(&whole);
}

/* Run all operations that must work with bytes that qs_validate() accepted. */
static inline void
exercise_valid(test_bytes b)
{
	qs_sketch view;

	REQUIRE_OK(qs_open(&view, b.data, b.length));
	exercise_identity(&view, b);
	if (exercise_is_small(&view.params))
	{
		exercise_insert_remove(&view, b);
		exercise_removals(&view);
		exercise_merge_subtract(&view, b);
		exercise_fold(&view);
		exercise_parts(&view, b);
	}
	test_no_leak();
}

#endif
