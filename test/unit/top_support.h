/*
 * top_support.h
 *		Sketches with candidates and exact counts, for tests and fuzzers of top keys.
 *
 * The text of a key is its fingerprint in hexadecimal digits, so a text at a wrong key is
 * noticed.
 *
 * test/unit/top_support.h
 */
#ifndef QS_TEST_TOP_SUPPORT_H
#define QS_TEST_TOP_SUPPORT_H

#include "support.h"

#include "engine/sketch_engine.h"
#include "sketch/top.h"

#define TOP_KEYS 20000

/* Offsets of header fields; see sketch/top.h. */
enum
{
	AT_N = 4,
	AT_CRC = 8,
	AT_TEXTS = 12,
	AT_ENCODING = 13,
	AT_BOUND = 16,
	AT_SKETCH = 24,
	AT_COUNT = 32,
	AT_TEXT_BYTES = 40
};

/* A sketch with candidates, and the exact counts of its keys. */
typedef struct top_counted
{
	qs_sketch sketch;
	qs_top top;
	int64_t *truth; /* exact counts of TOP_KEYS keys */
} top_counted;

static inline void
top_begin(top_counted *c, const qs_params *p, uint32_t n, bool texts)
{
	test_init(&c->sketch, p);
	qs_top_init(&c->top, n, &test_heap);
	c->top.texts = texts;
	c->truth = calloc(TOP_KEYS, sizeof(*c->truth));
}

static inline void
top_end(top_counted *c)
{
	qs_free(&c->sketch);
	qs_top_free(&c->top);
	free(c->truth);
}

static inline void
top_text(uint64_t fingerprint, char *text)
{
	sprintf(text, "%llx", (unsigned long long) fingerprint);
}

/* Count a batch, and set the texts of new candidates. */
static inline qb_status
top_try_batch(top_counted *c, const uint64_t *key, const int64_t *weight, size_t count)
{
	qb_status status = qs_top_insert(&c->top, &c->sketch, key, weight, count);
	char text[20];
	uint64_t i;

	for (i = c->top.fresh; status == QB_OK && i < c->top.count; i++)
	{
		qs_top_key *k = &c->top.key[i];

		if (k->row == QS_TOP_NO_ROW)
			continue;
		REQUIRE(c->top.texts && k->row < count && key[k->row] == k->fingerprint);
		top_text(k->fingerprint, text);
		status = qs_top_set_text(&c->top, k, (const uint8_t *) text, (uint32_t) strlen(text));
	}
	if (status == QB_OK)
		qs_top_batch_done(&c->top);
	return status;
}

/*
 * Add random rows in random batches.  Key numbers start at "first", and small numbers are more
 * frequent.
 */
static inline void
top_fill(top_counted *c, test_rng *rng, uint64_t first, uint64_t keys, size_t rows)
{
	static uint64_t key[QS_BATCH];
	static int64_t weight[QS_BATCH];

	while (rows > 0)
	{
		size_t n = 1 + test_below(rng, QS_BATCH);
		bool weighted = test_below(rng, 4) == 0;
		size_t i;

		n = n < rows ? n : rows;
		for (i = 0; i < n; i++)
		{
			uint64_t number = first + test_skewed(rng, keys);

			key[i] = test_key(number);
			weight[i] = weighted ? (int64_t) test_below(rng, 4) : 1;
			c->truth[number] += weight[i];
		}
		REQUIRE_OK(top_try_batch(c, key, weighted ? weight : NULL, n));
		rows -= n;
	}
}

/* Check all promises of top.h. */
static inline void
top_check(top_counted *c)
{
	uint64_t distinct = 0;
	uint64_t i;

	qs_top_finish(&c->top, &c->sketch);
	for (i = 0; i < TOP_KEYS; i++)
	{
		uint64_t fingerprint = test_key(i);
		qs_top_key key;
		char text[20];

		distinct += c->truth[i] > 0;
		if (!qs_top_find(&c->top, fingerprint, &key))
		{
			REQUIRE(c->truth[i] <= c->top.bound);
			continue;
		}
		REQUIRE(key.fingerprint == fingerprint && key.lower >= 0 && key.before >= 0);
		REQUIRE(key.lower <= c->truth[i] && c->truth[i] <= key.lower + key.before);
		REQUIRE(key.lower + key.before <= test_estimate(&c->sketch, fingerprint));
		top_text(fingerprint, text);
		REQUIRE(c->top.texts ? key.length == strlen(text) && memcmp(key.text, text, key.length) == 0
							 : key.length == 0);
	}
	if (c->sketch.encoding == QS_EXPLICIT)
		REQUIRE(c->top.count == distinct && c->top.bound == 0);
	else
		REQUIRE(c->top.count <= qs_top_capacity(c->top.n));
}

static inline test_bytes
top_write(top_counted *c)
{
	qs_flat flat;
	test_bytes b;

	qs_top_finish(&c->top, &c->sketch);
	flat = qs_flat_listed(&c->sketch);
	b.length = qs_top_flat_size(&c->top, &flat);
	b.data = malloc(b.length);
	memset(b.data, 0xA5, b.length);
	qs_top_write(&c->top, &c->sketch, &flat, b.data);
	return b;
}

static inline test_bytes
top_sample(int kind)
{
	static const size_t rows[] = { 0, 40, 20000, 40, 20000 };
	qs_params p = test_usual_params(kind > 2 ? QS_WARP : QS_MULTILEVEL, 64);
	test_rng rng = test_seeded(3);
	top_counted c;
	test_bytes b;

	top_begin(&c, &p, 4, kind == 1 || kind == 4);
	top_fill(&c, &rng, 0, rows[kind] > 40 ? TOP_KEYS : 20, rows[kind]);
	b = top_write(&c);
	REQUIRE_OK(qs_top_validate(b.data, b.length));
	top_end(&c);
	return b;
}

#define TOP_SAMPLES 5

/* Read, merge and subtract the bytes, as far as the checks accept them. */
static inline void
top_use(const uint8_t *bytes, uint64_t length)
{
	qs_sketch sketch;
	qs_top view;
	top_counted c;
	qs_top_position position = { 0 };
	qs_top_key k;
	uint64_t sum = 0;
	uint64_t key = test_key(1);

	if (qs_top_open(&view, &sketch, bytes, length) != QB_OK)
		return;
	while (qs_top_next(&view, &position, &k))
	{
		uint32_t j;

		for (j = 0; j < k.length; j++)
			sum += k.text[j];
		qs_top_find(&view, k.fingerprint + 1, &k);
	}
	REQUIRE(sum != UINT64_MAX);
	if (qs_top_validate(bytes, length) != QB_OK)
		return;
	c.truth = NULL;
	REQUIRE_OK(qs_copy(&c.sketch, &sketch, &test_heap));
	REQUIRE_OK(qs_top_copy(&c.top, &view, &test_heap));
	if (qb_keys_none(&c.sketch.keys))
		c.sketch.keys.family = TEST_FAMILY;
	if (qs_top_merge(&c.top, &c.sketch, &view, &sketch) == QB_OK &&
		qs_writable(&c.sketch) == QB_OK && top_try_batch(&c, &key, NULL, 1) == QB_OK)
	{
		test_bytes b = top_write(&c);

		REQUIRE_OK(qs_top_validate(b.data, b.length));
		free(b.data);
		if (qs_top_subtract(&c.top, &c.sketch, &view, &sketch) == QB_OK)
		{
			b = top_write(&c);
			REQUIRE_OK(qs_top_validate(b.data, b.length));
			free(b.data);
		}
	}
	top_end(&c);
	test_no_leak();
}

/* Repair the checksums of the list and of its sketch. */
static inline void
top_repair(uint8_t *bytes, uint64_t length)
{
	uint64_t sketch;

	if (length < QS_TOP_HEADER_BYTES)
		return;
	sketch = qb_load64(bytes + AT_SKETCH);
	if (sketch <= length - QS_TOP_HEADER_BYTES && sketch >= QS_HEADER_BYTES)
		test_repair_crc(bytes + QS_TOP_HEADER_BYTES, sketch);
	qb_store32(bytes + AT_CRC, qb_checksum(bytes, length, AT_CRC));
}

#endif
