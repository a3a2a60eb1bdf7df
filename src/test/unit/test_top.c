/*
 * test_top.c
 *		The most frequent keys of sketches: what is promised of them, against
 *		exact counts, for all structures and merge trees; their byte format, with
 *		hostile bytes behind checksums that fit.
 *
 * The text of a key is its fingerprint in hexadecimal digits, so that it tells
 * whether it is where it belongs.
 *
 * src/test/unit/test_top.c
 */
#include "support.h"

#include "engine/sketch_top.h"
#include "sketch/top_format.h"

#define KEYS 20000

/* Offsets of the format; see sketch/top_format.h. */
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

/* A sketch with candidates, and the truth. */
typedef struct counted
{
	qs_sketch sketch;
	qs_top top;
	int64_t *truth; /* of KEYS keys */
} counted;

static void
begin(counted *c, const qs_params *p, uint32_t n, bool texts)
{
	test_init(&c->sketch, p);
	qs_top_init(&c->top, n, &test_heap);
	c->top.texts = texts;
	c->top.encoding = texts ? 6 : 0;
	c->truth = calloc(KEYS, sizeof(*c->truth));
}

static void
end(counted *c)
{
	qs_free(&c->sketch);
	qs_top_free(&c->top);
	free(c->truth);
}

static void
text_of(uint64_t fingerprint, char *text)
{
	sprintf(text, "%llx", (unsigned long long) fingerprint);
}

/* A batch, as the layers above count it. */
static qs_status
try_batch(counted *c, const uint64_t *key, const int64_t *weight, size_t count)
{
	qs_status status = qs_engine_cpu.insert(&c->sketch, key, weight, count);
	char text[20];
	uint64_t i;

	if (status == QS_OK)
		status = qs_top_batch(&c->top, &c->sketch, key, weight, count);
	for (i = c->top.fresh; status == QS_OK && i < c->top.count; i++)
	{
		qs_top_key *k = &c->top.key[i];

		if (k->row == QS_TOP_NO_ROW)
			continue;
		REQUIRE(c->top.texts && k->row < count && key[k->row] == k->fingerprint);
		text_of(k->fingerprint, text);
		status = qs_top_set_text(&c->top, k, (const uint8_t *) text, (uint32_t) strlen(text));
	}
	if (status == QS_OK)
		qs_top_batch_done(&c->top);
	return status;
}

/* Rows in batches of any size, of "keys" keys from the first one on, the first ones more often. */
static void
fill(counted *c, test_rng *rng, uint64_t first, uint64_t keys, size_t rows)
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
		REQUIRE_OK(try_batch(c, key, weighted ? weight : NULL, n));
		rows -= n;
	}
}

/* Everything that top.h promises. */
static void
check(counted *c)
{
	uint64_t distinct = 0;
	uint64_t i;

	qs_top_finish(&c->top, &c->sketch);
	for (i = 0; i < KEYS; i++)
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
		REQUIRE(key.fingerprint == fingerprint && key.lower >= 1 && key.before >= 0);
		REQUIRE(key.lower <= c->truth[i] && c->truth[i] <= key.lower + key.before);
		REQUIRE(key.lower + key.before <= test_estimate(&c->sketch, fingerprint));
		text_of(fingerprint, text);
		REQUIRE(c->top.texts ? key.length == strlen(text) && memcmp(key.text, text, key.length) == 0
							 : key.length == 0);
	}
	if (c->sketch.form == QS_EXPLICIT)
		REQUIRE(c->top.count == distinct && c->top.bound == 0);
	else
		REQUIRE(c->top.count <= qs_top_capacity(c->top.n));
}

static test_bytes
write_top(counted *c)
{
	test_bytes b;

	qs_top_finish(&c->top, &c->sketch);
	b.length = qs_top_flat_size(&c->top, &c->sketch);
	b.data = malloc(b.length);
	memset(b.data, 0xA5, b.length);
	qs_top_write(&c->top, &c->sketch, b.data);
	return b;
}

static qs_params
params_of(int structure)
{
	return test_usual_params(structure, structure == QS_THREAD ? 3000 : 256);
}

/* n, keys and rows that give explicit, half full and overloaded sketches. */
static const struct
{
	uint32_t n;
	uint64_t keys;
	size_t rows;
} sizes[] = { { 1, 1, 1 },          { 10, 100, 300 },     { 10, KEYS, 100 },
			  { 10, KEYS, 60000 },  { 100, KEYS, 60000 }, { 3, KEYS / 2, 200000 },
			  { 5000, KEYS, 60000 } };

static void
promises_are_kept(void **state)
{
	int structure;
	size_t i;

	(void) state;
	for (structure = 1; structure < QS_STRUCTURES; structure++)
		for (i = 0; i < ALL_OF(sizes); i++)
		{
			qs_params p = params_of(structure);
			test_rng rng = test_seeded(i + 1);
			counted c;

			WHERE("structure %d, size %zu", structure, i);
			begin(&c, &p, sizes[i].n, i % 2 == 0);
			fill(&c, &rng, 0, sizes[i].keys, sizes[i].rows);
			check(&c);
			end(&c);
			test_no_leak();
		}
}

/* The candidates change nothing about the sketch. */
static void
sketches_are_the_same_without(void **state)
{
	qs_params p = params_of(QS_MULTILEVEL);
	test_rng rng = test_seeded(9);
	test_rng again = test_seeded(9);
	qs_sketch alone;
	counted c;
	size_t i;

	(void) state;
	begin(&c, &p, 10, false);
	test_init(&alone, &p);
	for (i = 0; i < 30000; i++)
	{
		uint64_t key = test_key(test_skewed(&rng, KEYS));

		REQUIRE_OK(try_batch(&c, &key, NULL, 1));
		test_insert(&alone, test_key(test_skewed(&again, KEYS)), 1);
	}
	REQUIRE(test_same(&c.sketch, &alone));
	qs_free(&alone);
	end(&c);
}

/* Frequent keys come early, so that nearly all of their rows are counted. */
static void
frequent_keys_are_nearly_exact(void **state)
{
	qs_params p = test_usual_params(QS_MULTILEVEL, 8192);
	test_rng rng = test_seeded(77);
	counted c;
	uint64_t i;

	(void) state;
	begin(&c, &p, 10, false);
	fill(&c, &rng, 0, KEYS, 400000);
	qs_top_finish(&c.top, &c.sketch);
	for (i = 0; i < 10; i++)
	{
		qs_top_key key;

		REQUIRE(qs_top_find(&c.top, test_key(i), &key));
		REQUIRE(key.before <= 3 && c.truth[i] > 500);
	}
	end(&c);
}

/* into += from through bytes or not; frees "from". */
static void
merge(counted *into, counted *from, bool flat)
{
	uint64_t i;

	if (flat)
	{
		test_bytes b = write_top(from);
		qs_sketch sketch;
		qs_top view;

		REQUIRE_OK(qs_top_validate(b.data, b.length));
		REQUIRE_OK(qs_top_open(&view, &sketch, b.data, b.length));
		REQUIRE_OK(qs_top_merge(&into->top, &into->sketch, &view, &sketch));
		free(b.data);
	}
	else
		REQUIRE_OK(qs_top_merge(&into->top, &into->sketch, &from->top, &from->sketch));
	for (i = 0; i < KEYS; i++)
		into->truth[i] += from->truth[i];
	end(from);
}

/* Parts of any size, of other keys, in any tree. */
static void
merged_lists_keep_promises(void **state)
{
	test_rng rng = test_seeded(5);
	int round;

	(void) state;
	for (round = 0; round < 40; round++)
	{
		qs_params p = params_of(1 + round % (QS_STRUCTURES - 1));
		counted part[8];
		int parts = 2 + (int) test_below(&rng, 7);
		int i;

		WHERE("round %d", round);
		for (i = 0; i < parts; i++)
		{
			begin(&part[i], &p, 10 + (uint32_t) test_below(&rng, 10), round % 2 == 0);
			fill(&part[i], &rng, test_below(&rng, KEYS / 2), test_below(&rng, 2) ? 50 : KEYS / 2,
				 1 + test_below(&rng, 20000));
		}
		for (; parts > 1; parts--)
		{
			int a = (int) test_below(&rng, (uint64_t) parts - 1);

			merge(&part[a], &part[parts - 1], test_below(&rng, 2));
			if (test_below(&rng, 2))
				fill(&part[a], &rng, 0, KEYS, test_below(&rng, 5000));
			check(&part[a]);
		}
		end(&part[0]);
		test_no_leak();
	}
}

/* While sketches are explicit the order of rows and merges means nothing. */
static void
explicit_lists_are_the_same_in_any_order(void **state)
{
	qs_params p = test_usual_params(QS_MULTILEVEL, 8192);
	test_rng rng = test_seeded(11);
	uint64_t key[3000];
	test_bytes first = { 0 };
	int round;
	size_t i;

	(void) state;
	for (i = 0; i < ALL_OF(key); i++)
		key[i] = test_key(test_skewed(&rng, 1500));
	for (round = 0; round < 10; round++)
	{
		counted a, b;
		test_bytes bytes;
		size_t cut = test_below(&rng, ALL_OF(key) - 1) + 1;

		begin(&a, &p, 5, true);
		begin(&b, &p, 5, true);
		test_shuffle(&rng, key, NULL, ALL_OF(key));
		REQUIRE_OK(try_batch(&a, key, NULL, cut));
		REQUIRE_OK(try_batch(&b, key + cut, NULL, ALL_OF(key) - cut));
		merge(&a, &b, round % 2);
		REQUIRE(a.sketch.form == QS_EXPLICIT);
		bytes = write_top(&a);
		if (round == 0)
			first = bytes;
		else
		{
			REQUIRE(test_equal_bytes(first, bytes));
			free(bytes.data);
		}
		end(&a);
	}
	free(first.data);
	test_no_leak();
}

static test_bytes
sample(int kind)
{
	static const size_t rows[] = { 0, 40, 20000, 40, 20000 };
	qs_params p = test_usual_params(kind > 2 ? QS_WARP : QS_MULTILEVEL, 64);
	test_rng rng = test_seeded(3);
	counted c;
	test_bytes b;

	begin(&c, &p, 4, kind % 2 == 1 || kind == 4);
	fill(&c, &rng, 0, rows[kind] > 40 ? KEYS : 20, rows[kind]);
	b = write_top(&c);
	REQUIRE_OK(qs_top_validate(b.data, b.length));
	end(&c);
	return b;
}

#define SAMPLES 5

static void
copies_are_the_same(void **state)
{
	int kind;

	(void) state;
	for (kind = 0; kind < SAMPLES; kind++)
	{
		test_bytes b = sample(kind);
		test_bytes again;
		qs_sketch sketch;
		qs_top view;
		counted c;

		WHERE("sample %d", kind);
		c.truth = NULL;
		REQUIRE_OK(qs_top_open(&view, &sketch, b.data, b.length));
		REQUIRE_OK(qs_copy(&c.sketch, &sketch, &test_heap));
		REQUIRE_OK(qs_top_copy(&c.top, &view, &test_heap));
		again = write_top(&c);
		REQUIRE(test_equal_bytes(b, again));
		free(again.data);
		free(b.data);
		end(&c);
		test_no_leak();
	}
}

/* All that is done with bytes from outside, once they are taken. */
static void
use(const uint8_t *bytes, uint64_t length)
{
	qs_sketch sketch;
	qs_top view;
	counted c;
	uint64_t i;
	uint64_t sum = 0;
	uint64_t key = test_key(1);

	if (qs_top_open(&view, &sketch, bytes, length) != QS_OK)
		return;
	for (i = 0; i < view.count; i++)
	{
		qs_top_key k = qs_top_get(&view, i);
		uint32_t j;

		for (j = 0; j < k.length; j++)
			sum += k.text[j];
		qs_top_find(&view, k.fingerprint + 1, &k);
	}
	REQUIRE(sum != 1);
	if (qs_top_validate(bytes, length) != QS_OK)
		return;
	c.truth = NULL;
	REQUIRE_OK(qs_copy(&c.sketch, &sketch, &test_heap));
	REQUIRE_OK(qs_top_copy(&c.top, &view, &test_heap));
	if (qs_keys_none(&c.sketch.keys))
		c.sketch.keys.family = TEST_FAMILY;
	if (qs_top_merge(&c.top, &c.sketch, &view, &sketch) == QS_OK &&
		qs_writable(&c.sketch) == QS_OK && try_batch(&c, &key, NULL, 1) == QS_OK)
	{
		test_bytes b = write_top(&c);

		REQUIRE_OK(qs_top_validate(b.data, b.length));
		free(b.data);
	}
	end(&c);
	test_no_leak();
}

/* Both checksums as they must be for what the bytes are now. */
static void
repair(uint8_t *bytes, uint64_t length)
{
	uint64_t sketch;

	if (length < QS_TOP_HEADER_BYTES)
		return;
	sketch = qs_load64(bytes + AT_SKETCH);
	if (sketch <= length - QS_TOP_HEADER_BYTES && sketch >= QS_HEADER_BYTES)
		test_repair_crc(bytes + QS_TOP_HEADER_BYTES, sketch);
	qs_store32(bytes + AT_CRC, qs_checksum(bytes, length, AT_CRC));
}

static void
damage_is_found(void **state)
{
	int kind;
	uint64_t i;

	(void) state;
	for (kind = 0; kind < SAMPLES; kind++)
	{
		test_bytes b = sample(kind);

		for (i = 0; i < b.length; i++)
		{
			test_bytes cut = test_bytes_of(b.data, i);

			REQUIRE(qs_top_validate(cut.data, cut.length) != QS_OK);
			use(cut.data, cut.length);
			repair(cut.data, cut.length);
			REQUIRE(qs_top_validate(cut.data, cut.length) != QS_OK);
			free(cut.data);
			b.data[i] ^= (uint8_t) (1 << i % 8);
			REQUIRE(qs_top_validate(b.data, b.length) != QS_OK);
			use(b.data, b.length);
			b.data[i] ^= (uint8_t) (1 << i % 8);
		}
		free(b.data);
	}
}

/* Changes in some bytes and fields, behind checksums that fit. */
static void
mutants_do_no_harm(void **state)
{
	static const uint64_t edges[] = { 0,
									  1,
									  127,
									  128,
									  255,
									  INT32_MAX,
									  UINT32_MAX,
									  INT64_MAX,
									  UINT64_MAX,
									  UINT64_MAX / 32,
									  UINT64_C(1) << 59 };
	test_rng rng = test_seeded(31);
	test_bytes sound[SAMPLES];
	int accepted = 0;
	int round;
	int i;

	(void) state;
	for (i = 0; i < SAMPLES; i++)
		sound[i] = sample(i);
	for (round = 0; round < 30000; round++)
	{
		const test_bytes *s = &sound[test_below(&rng, SAMPLES)];
		test_bytes m = test_bytes_of(s->data, s->length);
		uint64_t list = QS_TOP_HEADER_BYTES + qs_load64(m.data + AT_SKETCH);
		int changes = 1 + (int) test_below(&rng, 3);

		WHERE("round %d", round);
		while (changes-- > 0)
		{
			bool header = test_below(&rng, 2) || list == m.length;
			uint64_t at = header ? test_below(&rng, QS_TOP_HEADER_BYTES + QS_HEADER_BYTES)
								 : list + test_below(&rng, m.length - list);

			if (test_below(&rng, 2) && at / 8 * 8 + 8 <= m.length)
				qs_store64(m.data + at / 8 * 8, edges[test_below(&rng, ALL_OF(edges))]);
			else
				m.data[at] ^= (uint8_t) (1 << test_below(&rng, 8));
		}
		repair(m.data, m.length);
		accepted += qs_top_validate(m.data, m.length) == QS_OK;
		use(m.data, m.length);
		free(m.data);
	}
	for (i = 0; i < SAMPLES; i++)
		free(sound[i].data);
	REQUIRE(accepted > 100 && accepted < 15000);
}

/* Refused for this reason, though both checksums fit. */
static void
require_refused(int kind, uint64_t at, uint64_t value, int bytes, qs_status wanted)
{
	test_bytes b = sample(kind);

	WHERE("sample %d, offset %llu", kind, (unsigned long long) at);
	memcpy(b.data + at, &value, (size_t) bytes);
	repair(b.data, b.length);
	REQUIRE_STATUS(qs_top_validate(b.data, b.length), wanted);
	free(b.data);
}

static void
contradictions_are_refused(void **state)
{
	test_bytes b = sample(4);
	uint64_t list = QS_TOP_HEADER_BYTES + qs_load64(b.data + AT_SKETCH);
	uint64_t texts = qs_load64(b.data + AT_TEXT_BYTES);
	uint64_t last = list + (qs_load64(b.data + AT_COUNT) - 1) * QS_TOP_ENTRY_BYTES;

	(void) state;
	require_refused(4, 0, 'X', 1, QS_FORMAT_MAGIC);
	require_refused(4, 3, 2, 1, QS_FORMAT_VERSION);
	require_refused(4, AT_N, 0, 4, QS_FORMAT_PARAMS);
	require_refused(4, AT_N, QS_TOP_MAX + 1, 4, QS_FORMAT_PARAMS);
	require_refused(4, AT_N, 3, 4, QS_FORMAT_PARAMS); /* more candidates than that */
	require_refused(4, AT_TEXTS, 2, 1, QS_FORMAT_PARAMS);
	require_refused(2, AT_ENCODING, 6, 1, QS_FORMAT_PARAMS);
	require_refused(0, AT_TEXTS, 1, 1, QS_FORMAT_PARAMS);
	require_refused(4, 14, 1, 2, QS_FORMAT_RESERVED);
	require_refused(4, 63, 1, 1, QS_FORMAT_RESERVED);
	require_refused(4, AT_BOUND, (uint64_t) -1, 8, QS_FORMAT_PARAMS);
	require_refused(4, AT_BOUND, INT64_MAX, 8, QS_FORMAT_PARAMS);
	require_refused(1, AT_BOUND, 1, 8, QS_FORMAT_PARAMS); /* it is exact */
	require_refused(1, AT_COUNT, 1, 8, QS_FORMAT_PARAMS);
	require_refused(4, AT_SKETCH, UINT64_MAX, 8, QS_FORMAT_LENGTH);
	require_refused(4, AT_COUNT, 0, 8, QS_FORMAT_PARAMS);
	require_refused(4, AT_COUNT, 1, 8, QS_FORMAT_LENGTH);
	require_refused(4, AT_TEXT_BYTES, texts + 1, 8, QS_FORMAT_LENGTH);
	require_refused(4, AT_TEXT_BYTES, UINT64_MAX, 8, QS_FORMAT_LENGTH);
	require_refused(4, list + 24, UINT64_MAX, 8, QS_FORMAT_LENGTH);
	require_refused(4, last + 24, texts - 1, 8, QS_FORMAT_LENGTH);
	require_refused(4, list, UINT64_MAX, 8, QS_FORMAT_ENTRIES);
	require_refused(4, list + 8, 0, 8, QS_FORMAT_ENTRIES);
	require_refused(4, list + 8, INT64_MAX, 8, QS_FORMAT_ENTRIES);
	require_refused(4, list + 16, (uint64_t) -1, 8, QS_FORMAT_ENTRIES);
	require_refused(4, list + 16, INT64_MAX, 8, QS_FORMAT_ENTRIES);
	free(b.data);
}

/* Whatever allocation fails, the status says so and all is freed. */
static void
memory_may_run_out(void **state)
{
	long k;
	bool failed = true;

	(void) state;
	for (k = 1; failed; k++)
	{
		qs_params p = params_of(QS_MULTILEVEL);
		uint64_t key[600];
		counted a, b;
		size_t i;

		begin(&a, &p, 10, true);
		begin(&b, &p, 10, true);
		for (i = 0; i < ALL_OF(key); i++)
			key[i] = test_key(i * 7 % 900);
		test_fail_at(k);
		failed = try_batch(&a, key, NULL, ALL_OF(key)) == QS_NO_MEMORY ||
				 try_batch(&b, key, NULL, 200) == QS_NO_MEMORY ||
				 qs_top_merge(&a.top, &a.sketch, &b.top, &b.sketch) == QS_NO_MEMORY;
		test_fail_at(0);
		end(&a);
		end(&b);
		test_no_leak();
	}
	REQUIRE(k > 100);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(promises_are_kept),
		cmocka_unit_test(sketches_are_the_same_without),
		cmocka_unit_test(frequent_keys_are_nearly_exact),
		cmocka_unit_test(merged_lists_keep_promises),
		cmocka_unit_test(explicit_lists_are_the_same_in_any_order),
		cmocka_unit_test(copies_are_the_same),
		cmocka_unit_test(damage_is_found),
		cmocka_unit_test(mutants_do_no_harm),
		cmocka_unit_test(contradictions_are_refused),
		cmocka_unit_test(memory_may_run_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
