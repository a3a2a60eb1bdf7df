/*
 * filter_support.h
 *		What the tests of filters share beside support.h: filters, rows, bytes.
 *
 * src/test/unit/filter_support.h
 */
#ifndef QF_TEST_SUPPORT_H
#define QF_TEST_SUPPORT_H

#include "support.h"

#include "engine/filter_engine.h"
#include "filter/estimate.h"
#include "filter/format.h"

static inline qf_params
filter_params(uint64_t m, uint32_t k, double p, uint64_t seed)
{
	qf_params params = { .seed = seed, .m = m, .k = k };

	params.q = p < 1 ? -(uint64_t) (p * 18446744073709551616.0) : 0;
	REQUIRE_OK(qf_params_check(&params));
	return params;
}

/* Parameters of a Bloom filter with this layout. */
static inline qf_params
filter_bloom_params(uint64_t m, uint32_t k, uint32_t layout, uint64_t seed)
{
	qf_params params = { .seed = seed, .m = m, .k = k, .layout = layout };

	REQUIRE_OK(qf_params_check(&params));
	return params;
}

static inline void
filter_init(qf_filter *f, const qf_params *p)
{
	qf_init(f, p, &test_heap);
	f->keys.family = TEST_FAMILY;
	f->keys.collation = TEST_COLLATION;
}

/* Insert "count" rows of keys, numbered from "first" on. */
static inline void
filter_insert(qf_filter *f, const uint64_t *keys, size_t count, uint64_t first, uint64_t nonce)
{
	qf_batch b = { .fingerprint = keys, .count = count, .first_row = first, .nonce = nonce };

	REQUIRE_OK(qf_engine_cpu.insert(f, &b));
}

/* Insert rows with ids of their own. */
static inline void
filter_insert_ids(qf_filter *f, const uint64_t *keys, const uint64_t *ids, size_t count)
{
	qf_batch b = { .fingerprint = keys, .count = count, .row = ids };

	REQUIRE_OK(qf_engine_cpu.insert(f, &b));
}

/* Insert "count" rows of one stream: row i has key i % keys. */
static inline void
filter_fill(qf_filter *f, uint64_t keys, size_t count, uint64_t nonce)
{
	uint64_t batch[500];
	size_t done, i;

	for (done = 0; done < count; done += ALL_OF(batch))
	{
		size_t n = count - done < ALL_OF(batch) ? count - done : ALL_OF(batch);

		for (i = 0; i < n; i++)
			batch[i] = test_key((done + i) % keys);
		filter_insert(f, batch, n, done, nonce);
	}
}

static inline uint32_t
filter_query(const qf_filter *f, uint64_t key)
{
	uint32_t set;

	qf_engine_cpu.query(f, &key, 1, &set);
	return set;
}

static inline test_bytes
filter_bytes(const qf_filter *f)
{
	test_bytes b = { malloc(qf_flat_size(f)), qf_flat_size(f) };

	REQUIRE(b.data != NULL);
	memset(b.data, 0xA5, b.length);
	qf_write(f, b.data);
	REQUIRE_OK(qf_validate(b.data, b.length));
	return b;
}

/* Are both the same to the last byte, and valid? */
static inline bool
filter_same(const qf_filter *a, const qf_filter *b)
{
	test_bytes x = filter_bytes(a);
	test_bytes y = filter_bytes(b);
	bool same = test_equal_bytes(x, y);

	free(x.data);
	free(y.data);
	return same;
}

static inline void
filter_merge(qf_filter *into, const qf_filter *from)
{
	REQUIRE_OK(qf_engine_cpu.merge(into, from));
}

/* Merging works, unless there are more rows than can be counted. */
static inline void
filter_merge_any(qf_filter *into, const qf_filter *from)
{
	qb_status status = qf_engine_cpu.merge(into, from);

	REQUIRE(status == QB_OK || (status == QB_TOTAL_OVERFLOW && from->rows > INT64_MAX / 2));
}

/*
 * What must work, and harm nothing, with any bytes that qf_open() accepts, valid or
 * not: looking up, merging, copying, writing.
 */
static inline void
filter_exercise(test_bytes b)
{
	qf_filter view, copy, merged;
	qf_params p;
	uint64_t keys[20];
	uint32_t set[ALL_OF(keys)];
	bool found[ALL_OF(keys)];
	size_t i;

	REQUIRE_OK(qf_open(&view, b.data, b.length));
	p = view.params;
	for (i = 0; i < ALL_OF(keys); i++)
		keys[i] = test_key(i);
	qf_engine_cpu.query(&view, keys, ALL_OF(keys), set);
	qf_engine_cpu.contains(&view, keys, ALL_OF(keys), found);
	for (i = 0; i < ALL_OF(keys); i++)
	{
		REQUIRE(set[i] == qf_count(&view, keys[i]));
		REQUIRE(found[i] == (set[i] == p.k));
	}
	REQUIRE_OK(qf_copy(&copy, &view, &test_heap));
	filter_init(&merged, &p);
	filter_merge_any(&merged, &copy);
	filter_merge_any(&merged, &view);
	if (qf_params_foldable(&p) > 0)
	{
		REQUIRE_OK(qf_fold(&copy, p.m / 2));
		filter_merge_any(&copy, &view);
	}
	qf_free(&merged);
	qf_free(&copy);
}

/* What must hold for valid bytes: the filter in them writes the same bytes, from any form. */
static inline void
filter_exercise_valid(test_bytes b)
{
	qf_filter view, copy;
	test_bytes again;

	REQUIRE_OK(qf_open(&view, b.data, b.length));
	REQUIRE_OK(qf_copy(&copy, &view, &test_heap));
	again = filter_bytes(&copy);
	REQUIRE(test_equal_bytes(again, b));
	free(again.data);
	if (copy.form == QF_EXPLICIT)
		REQUIRE_OK(qf_make_dense(&copy));
	again = filter_bytes(&copy);
	REQUIRE(test_equal_bytes(again, b));
	free(again.data);
	filter_merge_any(&copy, &view);
	REQUIRE(copy.ones == view.ones);
	qf_free(&copy);
}

#endif
