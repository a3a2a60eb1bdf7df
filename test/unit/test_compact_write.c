/*
 * test_compact_write.c
 *		Writing the compact encoding, with all instruction sets and with a presence bitmap.
 *
 * test/unit/test_compact_write.c
 */
#include "samples.h"
#include "isa_support.h"

#include "sketch/compact_write.h"

/* ---- instruction sets ---- */

/* Write counters of one to six bytes.  Most tables end within a word of 64 blocks. */
static void
all_instructions_write_the_same(void **state)
{
	static const uint64_t sizes[] = { 1, 7, 64, 65, 1000, 8192 };
	static const int64_t weights[] = { 1, 40, 300, 1 << 20, INT64_C(1) << 35 };
	test_rng rng = test_seeded(13);
	size_t n, w;
	int s;

	(void) state;
	STRUCTURES(s)
	for (n = 0; n < ALL_OF(sizes); n++)
		for (w = 0; w < ALL_OF(weights); w++)
		{
			qs_sketch sk;
			uint64_t keys;

			WHERE("%s of %d, weight %d", qs_structure_name(s), (int) sizes[n], (int) w);
			sample_init_dense(&sk, s, sizes[n], 3);
			for (keys = 0; keys < sizes[n]; keys++)
			{
				if ((keys & (keys - 1)) == 0)
					free(test_bytes_by_all(&sk, test_write).data);
				test_insert(&sk, test_random(&rng),
							(int64_t) test_below(&rng, (uint64_t) weights[w]) + 1);
			}
			free(test_bytes_by_all(&sk, test_write).data);
			qs_free(&sk);
		}
	test_no_leak();
}

/* In damaged bytes a low bucket may name a missing high bucket. */
static void
damaged_indexes_are_no_counters(void **state)
{
	qs_sketch sk, view;
	test_bytes b;
	int i;

	(void) state;
	sample_init_dense(&sk, QS_MULTILEVEL, 1000, 3);
	for (i = 0; i < 100; i++)
		test_insert(&sk, (uint64_t) i, i == 50 ? 1000 : 1);
	b = test_write_dense(&sk);
	for (i = 0; i < 1000; i += 3)
		qb_store32(b.data + QS_HEADER_BYTES + 32 * i + 28, (uint32_t) (1023 + i));
	REQUIRE_OK(qs_open(&view, b.data, b.length));
	free(test_bytes_by_all(&view, test_write).data);
	free(b.data);
	qs_free(&sk);
}

/* ---- presence bitmaps ---- */

static void
require_same_by_presence(const qs_sketch *sk, const uint64_t *presence)
{
	test_bytes b = test_write(sk);
	qs_flat flat = qs_flat_present(sk, presence);
	uint8_t *marked = malloc(flat.bytes);

	REQUIRE(marked != NULL && flat.bytes == b.length);
	qs_write_flat(sk, &flat, marked);
	REQUIRE(memcmp(marked, b.data, b.length) == 0);
	free(marked);
	free(b.data);
}

static void
remove_again(qs_sketch *sk, const uint64_t *key, size_t count)
{
	size_t k;

	for (k = 0; k < count; k++)
		REQUIRE_OK(test_try_remove(sk, key[k], 1 + (int64_t) (key[k] % 300)));
}

/* A bitmap that is updated after each batch of keys must equal a newly computed bitmap. */
static void
presence_follows_keys(const char *set, int structure, uint64_t n, bool wide)
{
	static const uint64_t keys[] = { 1, 30, 900 };
	static uint64_t key[900];
	test_rng rng = test_seeded(14);
	qs_sketch sk;
	uint64_t words;
	uint64_t *presence;
	uint64_t *anew;
	size_t i, k;

	sample_init_dense(&sk, structure, n, 3);
	if (wide)
		test_insert(&sk, 1, INT64_C(1) << 40);
	words = qs_presence_words(&sk.params);
	presence = calloc(words, sizeof(*presence));
	anew = calloc(words, sizeof(*anew));
	REQUIRE(presence != NULL && anew != NULL && qb_isa_use(set));
	qs_presence_all(&sk, presence);
	for (i = 0; i < 2 * ALL_OF(keys); i++)
	{
		for (k = 0; k < keys[i / 2]; k++)
			key[k] = test_below(&rng, 700);
		for (k = 0; k < keys[i / 2]; k++)
			test_insert(&sk, key[k], 1 + (int64_t) (key[k] % 300));
		if (i % 2)
			remove_again(&sk, key, keys[i / 2]);
		qs_presence_keys(&sk, presence, key, keys[i / 2]);
		qs_presence_all(&sk, anew);
		REQUIRE(memcmp(presence, anew, words * sizeof(*presence)) == 0);
		require_same_by_presence(&sk, presence);
	}
	free(anew);
	free(presence);
	qs_free(&sk);
}

static void
presence_gives_the_same_bytes(void **state)
{
	static const uint64_t sizes[] = { 1, 65, 1000, 8192 };
	size_t n, i;
	int s;

	(void) state;
	for (i = 0; i < ALL_OF(test_isas); i++)
		STRUCTURES(s)
	for (n = 0; n < ALL_OF(sizes) && qb_isa_use(test_isas[i]); n++)
	{
		WHERE("%s, %s of %d", test_isas[i], qs_structure_name(s), (int) sizes[n]);
		presence_follows_keys(test_isas[i], s, sizes[n], false);
		presence_follows_keys(test_isas[i], s, sizes[n], true);
	}
	qb_isa_use("auto");
	test_no_leak();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_instructions_write_the_same),
		cmocka_unit_test(damaged_indexes_are_no_counters),
		cmocka_unit_test(presence_gives_the_same_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
