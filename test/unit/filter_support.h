/*
 * filter_support.h
 *		Filters, rows and bytes for the tests of filters, in addition to support.h.
 *
 * test/unit/filter_support.h
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

/* Returns the parameters of a Bloom filter. */
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

/* Insert "count" keys as rows first, first + 1, and so on. */
static inline void
filter_insert(qf_filter *f, const uint64_t *keys, size_t count, uint64_t first, uint64_t nonce)
{
	qf_batch b = { .fingerprint = keys, .count = count, .first_row = first, .nonce = nonce };

	REQUIRE_OK(qf_engine_cpu.insert(f, &b));
}

/* Insert rows with the given ids. */
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
	qf_flat flat = qf_flat_of(f);
	test_bytes b = { malloc(flat.bytes), flat.bytes };

	REQUIRE(b.data != NULL);
	memset(b.data, 0xA5, b.length);
	qf_write(f, &flat, b.data);
	REQUIRE_OK(qf_validate(b.data, b.length, NULL));
	return b;
}

/* Check that both filters are valid; returns true if their bytes are equal. */
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

/* Merge filters of equal parameters.  Only an overflow of the row count may make the merge fail. */
static inline void
filter_merge_any(qf_filter *into, const qf_filter *from)
{
	qb_status status;

	into->keys = from->keys;
	status = qf_engine_cpu.merge(into, from);

	REQUIRE(status == QB_OK || (status == QB_TOTAL_OVERFLOW && from->rows > INT64_MAX / 2));
}

/* Set the header's number of set bits to the number of bits that the body sets. */
static inline void
filter_repair_ones(test_bytes b)
{
	qf_filter view;
	uint64_t ones = 0;
	uint64_t i;

	if (qf_open(&view, b.data, b.length) != QB_OK)
		return;
	if (view.encoding == QF_DENSE)
		ones = qf_ones(view.bits, qf_words(&view.params));
	else
		for (i = qf_group_table(&view.params, view.ones); i < view.compact_bytes; i++)
			ones += view.compact[i] < 0x80;
	qb_store32(b.data + 56, (uint32_t) ones);
}

/*
 * Look up, copy, merge and fold bytes that qf_open() accepts, valid or not.  All calls must be
 * safe.
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
		REQUIRE_STATUS(qf_engine_cpu.merge(&copy, &view), QB_MISMATCH);
	}
	qf_free(&merged);
	qf_free(&copy);
}

/* The bytes of a stored value, with counts of the reads and of the bytes read. */
typedef struct filter_reads
{
	test_bytes bytes;
	uint64_t count;
	uint64_t sum;
} filter_reads;

static inline void
filter_read(void *context, uint64_t offset, uint32_t bytes, uint8_t *out)
{
	filter_reads *reads = context;

	REQUIRE(bytes > 0 && offset + bytes <= reads->bytes.length);
	memcpy(out, reads->bytes.data + offset, bytes);
	reads->count++;
	reads->sum += bytes;
}

/* Check that lookups of stored bytes read few bytes and give the answers of a copy in memory. */
static inline void
filter_require_lookups(test_bytes b, const qf_filter *copy)
{
	filter_reads reads = { .bytes = b };
	qf_source source = { .read = filter_read, .context = &reads };
	qf_filter header;
	uint64_t parts, i;

	REQUIRE_OK(qf_open(&header, b.data, b.length));
	header.bits = NULL;
	header.compact = NULL;
	parts = header.params.layout == QF_BLOCKED ? 1 : header.params.k;
	for (i = 0; i < 20; i++)
	{
		uint64_t h = qf_hash(test_key(i), header.seed_key);
		uint32_t set = qf_count(copy, test_key(i));

		reads.count = reads.sum = 0;
		REQUIRE(qf_count_stored(&header, h, false, &source) == set);
		REQUIRE(reads.count <= parts * 2 && reads.sum <= parts * (QF_GROUP_BYTES + 8));
		REQUIRE((qf_count_stored(&header, h, true, &source) == header.params.k) ==
				qf_has(copy, test_key(i)));
	}
}

/* Check that a copy of a valid filter writes the same bytes, also after the copy becomes dense. */
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
	filter_require_lookups(b, &copy);
	if (copy.encoding == QF_EXPLICIT)
		REQUIRE_OK(qf_make_dense(&copy));
	again = filter_bytes(&copy);
	REQUIRE(test_equal_bytes(again, b));
	free(again.data);
	filter_require_lookups(b, &copy);
	filter_merge_any(&copy, &view);
	REQUIRE(copy.ones == view.ones);
	qf_free(&copy);
}

#endif
