/*
 * test_entry_sort.c
 *		Entries of explicit sketches are written in the order of their fingerprints.
 *
 * test/unit/test_entry_sort.c
 */
#include "support.h"

#include "sketch/explicit.h"

typedef uint64_t (*shape)(test_rng *rng, uint32_t i);

static uint64_t
hashed(test_rng *rng, uint32_t i)
{
	(void) i;
	return test_random(rng);
}

static uint64_t
of_both_signs(test_rng *rng, uint32_t i)
{
	(void) i;
	return test_below(rng, 3000) - 1500;
}

static uint64_t
far_apart(test_rng *rng, uint32_t i)
{
	return i % 100 == 0 ? test_random(rng) : test_below(rng, 4000);
}

/*
 * Returns a key with a random number of bits.  Each pass of the sort by digits separates only a
 * few of such keys.
 */
static uint64_t
ever_closer(test_rng *rng, uint32_t i)
{
	(void) i;
	return test_random(rng) >> test_below(rng, 64);
}

static uint64_t
in_order(test_rng *rng, uint32_t i)
{
	(void) rng;
	return 1000000 + i;
}

static uint64_t
backwards(test_rng *rng, uint32_t i)
{
	(void) rng;
	return UINT64_MAX - i;
}

static int
by_fingerprint(const void *a, const void *b)
{
	const qs_entry *x = a;
	const qs_entry *y = b;

	return (x->fingerprint > y->fingerprint) - (x->fingerprint < y->fingerprint);
}

/* Sort the entries and remove duplicate fingerprints; returns the number of remaining entries. */
static uint32_t
distinct(qs_entry *entry, uint32_t count)
{
	uint32_t kept = 0;
	uint32_t i;

	qsort(entry, count, sizeof(*entry), by_fingerprint);
	for (i = 0; i < count; i++)
		if (kept == 0 || entry[kept - 1].fingerprint != entry[i].fingerprint)
			entry[kept++] = entry[i];
	return kept;
}

static void
shuffle(test_rng *rng, qs_entry *entry, uint32_t count)
{
	for (; count > 1; count--)
	{
		uint32_t other = (uint32_t) test_below(rng, count);
		qs_entry e = entry[other];

		entry[other] = entry[count - 1];
		entry[count - 1] = e;
	}
}

static void
any_entries_are_sorted(void **state)
{
	static const shape shapes[] = { hashed,      of_both_signs, far_apart,
									ever_closer, in_order,      backwards };
	static const uint32_t counts[] = { 0, 1, 2, 16, 17, 100, 1000, QS_EXPLICIT_MAX };
	static qs_entry sorted[QS_EXPLICIT_MAX], entry[QS_EXPLICIT_MAX], spare[QS_EXPLICIT_MAX];
	test_rng rng = test_seeded(11);
	size_t s, c;
	uint32_t i;

	(void) state;
	for (s = 0; s < ALL_OF(shapes); s++)
		for (c = 0; c < ALL_OF(counts); c++)
		{
			uint32_t count = counts[c];

			WHERE("shape %d, %d entries", (int) s, (int) count);
			for (i = 0; i < count; i++)
				sorted[i] = (qs_entry){ shapes[s](&rng, i), 1 + (int64_t) i };
			count = distinct(sorted, count);
			memcpy(entry, sorted, sizeof(entry));
			shuffle(&rng, entry, count);
			qs_sort_entries(entry, spare, count);
			REQUIRE(memcmp(entry, sorted, count * sizeof(*entry)) == 0);
		}
}

/* An explicit sketch writes the entries of its table of slots to unaligned bytes. */
static void
written_entries_are_valid(void **state)
{
	static const uint32_t counts[] = { 1, 17, 500, QS_EXPLICIT_MAX };
	test_rng rng = test_seeded(12);
	size_t c;

	(void) state;
	for (c = 0; c < ALL_OF(counts); c++)
	{
		qs_params p = test_usual_params(QS_MULTILEVEL, 1 << 15);
		qs_sketch sk, view;
		test_bytes b;
		uint32_t i;

		test_init(&sk, &p);
		for (i = 0; i < counts[c]; i++)
			test_insert(&sk, test_random(&rng), 1 + i);
		b = test_write(&sk);
		REQUIRE_OK(qs_validate(b.data, b.length));
		REQUIRE_OK(qs_open(&view, b.data, b.length));
		REQUIRE(view.encoding == QS_EXPLICIT && view.used == counts[c]);
		free(b.data);
		qs_free(&sk);
	}
	test_no_leak();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_entries_are_sorted),
		cmocka_unit_test(written_entries_are_valid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
