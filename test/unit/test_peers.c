/*
 * test_peers.c
 *		Reference implementations of structures from other papers.
 *
 * The tests compare exact counts with the bounds that the papers prove.  If two structures
 * must agree, the tests compare the two structures.
 *
 * test/unit/test_peers.c
 */
#include "support.h"

#include "bench/peers.h"
#include "bench/peers_list.h"
#include "sketch/format.h"
#include "sketch/top.h"

#define BYTES 16384

static const peer_kind *const kinds[] = { &peer_conservative,
										  &peer_count_sketch,
										  &peer_salsa,
										  &peer_salsa_conservative,
										  &peer_sublime,
										  &peer_space_saving,
										  &peer_topn,
										  &peer_thread,
										  &peer_multilevel_3,
										  &peer_multilevel_4,
										  &peer_multilevel_5,
										  &peer_qtop,
										  &peer_qtop_thread,
										  &peer_listed_salsa,
										  &peer_listed_thread,
										  &peer_listed_count_sketch,
										  &peer_thread_unbiased,
										  &peer_multilevel_unbiased,
										  &peer_listed_conservative,
										  &peer_listed_salsa_conservative };

static void
make_stream(stream *s, bool weighted)
{
	stream_zipf(s, 20000, 100000, 1.0, weighted, 7);
}

/* ---- properties of each structure ---- */

/* A structure takes at most the requested bytes, and more than 90 % of them. */
static void
bytes_are_kept(void **state)
{
	stream s;
	size_t i, w;

	(void) state;
	for (w = 0; w < 2; w++)
	{
		make_stream(&s, w == 1);
		for (i = 0; i < ALL_OF(kinds); i++)
		{
			peer_order order = { .bytes = BYTES, .keys = 50, .seed = 1, .input = &s };
			void *peer;

			WHERE("%s", kinds[i]->name);
			peer = peer_fill(kinds[i], &order);
			REQUIRE(kinds[i]->bytes(peer) <= BYTES && kinds[i]->bytes(peer) > BYTES * 9 / 10);
			kinds[i]->free(peer);
		}
		stream_free(&s);
	}
}

static void
few_keys_are_exact(void **state)
{
	stream s;
	size_t i;
	uint32_t k;

	(void) state;
	stream_zipf(&s, 20, 3000, 1.0, false, 1);
	for (i = 0; i < ALL_OF(kinds); i++)
	{
		peer_order order = { .bytes = 1 << 20, .keys = 50, .seed = 1, .input = &s };
		void *peer = peer_fill(kinds[i], &order);

		WHERE("%s", kinds[i]->name);
		for (k = 0; k < s.keys; k++)
			REQUIRE(kinds[i]->estimate(peer, s.key[k]) == s.count[k]);
		REQUIRE(kinds[i]->estimate(peer, 12345) == 0);
		kinds[i]->free(peer);
	}
	stream_free(&s);
}

/*
 * Check that counts of named keys are within their bounds, and that all keys with counts above
 * the general bound are named.
 */
static void
check_bounds(const stream *s, const peer_kind *kind, void *peer)
{
	uint32_t entries;
	peer_entry *entry = peer_named(kind, peer, &entries);
	int64_t bound = kind->bound(peer);
	uint32_t i, k;

	for (i = 0; i < entries; i++)
	{
		int64_t truth = peer_truth(s, entry[i].key);

		REQUIRE(entry[i].lower <= truth && truth <= entry[i].estimate);
		REQUIRE(i == 0 || entry[i].estimate <= entry[i - 1].estimate);
	}
	for (k = 0; k < s->keys && s->count[k] > bound; k++)
		for (i = 0; i <= entries; i++)
		{
			REQUIRE(i < entries);
			if (entry[i].key == s->key[k])
				break;
		}
	free(entry);
}

/* Space-Saving: the m counts add up to the total, so the least count is at most total / m. */
static void
space_saving_is_bounded(void **state)
{
	stream s;
	size_t w;

	(void) state;
	for (w = 0; w < 2; w++)
	{
		peer_order order = { .bytes = BYTES, .keys = 50, .seed = 1, .input = &s };
		peer_list *list;
		int64_t sum = 0;
		uint32_t i;

		make_stream(&s, w == 1);
		list = peer_fill(&peer_space_saving, &order);
		for (i = 0; i < list->used; i++)
			sum += list->count[i];
		REQUIRE(sum == s.total && peer_space_saving.bound(list) <= s.total / list->room);
		check_bounds(&s, &peer_space_saving, list);
		peer_space_saving.free(list);
		stream_free(&s);
	}
}

/* ---- merging ---- */

/* True if a merged structure must give the estimates of a structure that is made from all rows. */
static bool
merges_exactly(const peer_kind *kind)
{
	const peer_kind *sketch = kind->within ? kind->within : kind;

	return strcmp(sketch->merges, "yes") == 0 && !kind->bound;
}

/* True if the estimate of a merged structure keeps the structure's promise. */
static bool
is_kept(const peer_kind *kind, int64_t estimate, int64_t truth, int64_t bound)
{
	if (kind == &peer_topn)
		return estimate <= truth;
	return kind == &peer_space_saving ? estimate >= truth || truth <= bound : estimate >= truth;
}

static void
check_merged(const stream *s, const peer_kind *kind)
{
	peer_order order = { .bytes = BYTES, .keys = 50, .seed = 1, .input = s };
	void *whole = peer_fill(kind, &order);
	void *merged = peer_fill_shards(kind, &order, 7);
	int64_t bound = kind->bound ? kind->bound(merged) : 0;
	uint32_t i;

	for (i = 0; i < s->keys; i++)
	{
		int64_t estimate = kind->estimate(merged, s->key[i]);

		REQUIRE(merges_exactly(kind) ? estimate == kind->estimate(whole, s->key[i])
									 : is_kept(kind, estimate, s->count[i], bound));
	}
	REQUIRE(kind->bytes(merged) == kind->bytes(whole));
	if (kind->bound)
		check_bounds(s, kind, merged);
	kind->free(whole);
	kind->free(merged);
}

static void
merged_structures_keep_promises(void **state)
{
	stream s;
	size_t i, w;

	(void) state;
	for (w = 0; w < 2; w++)
	{
		make_stream(&s, w == 1);
		for (i = 0; i < ALL_OF(kinds); i++)
		{
			WHERE("%s, weights %zu", kinds[i]->name, w);
			if (kinds[i]->merge)
				check_merged(&s, kinds[i]);
		}
		stream_free(&s);
	}
}

/* ---- against Count-Min ---- */

/* Returns the Count-Min estimate, with the counter positions of the reference structures. */
static int64_t
count_min(const uint32_t *cell, uint64_t width, uint64_t seed, uint64_t group, uint64_t key)
{
	int64_t least = INT64_MAX;
	uint32_t i;

	for (i = 0; i < 3; i++)
	{
		int64_t value = cell[i * width + peer_cell(key, seed, i, width) / group * group];

		least = value < least ? value : least;
	}
	return least;
}

/*
 * Check that estimates are at least the exact count and at most the Count-Min estimate, and that
 * some estimates are below the Count-Min estimate.  A row of Count-Min has "width" positions, and
 * "group" neighbouring positions share one counter.
 */
static void
check_below_count_min(const peer_kind *kind, uint64_t bytes, uint64_t width, uint64_t group,
					  bool weighted)
{
	uint32_t *cell = calloc(3 * width, sizeof(*cell));
	stream s;
	peer_order order = { .bytes = bytes, .seed = 9, .input = &s };
	bool better = false;
	void *peer;
	size_t r;
	uint32_t i;

	make_stream(&s, weighted);
	peer = peer_fill(kind, &order);
	for (r = 0; r < s.rows; r++)
		for (i = 0; i < 3; i++)
			cell[i * width + peer_cell(s.row[r], order.seed, i, width) / group * group] +=
				s.weight ? (uint32_t) s.weight[r] : 1;
	for (i = 0; i < s.keys; i++)
	{
		int64_t estimate = kind->estimate(peer, s.key[i]);
		int64_t most = count_min(cell, width, order.seed, group, s.key[i]);

		REQUIRE(estimate >= s.count[i] && estimate <= most);
		better |= estimate < most;
	}
	REQUIRE(better);
	kind->free(peer);
	stream_free(&s);
	free(cell);
}

static void
conservative_is_below_count_min(void **state)
{
	(void) state;
	check_below_count_min(&peer_conservative, 12000, 1000, 1, false);
	check_below_count_min(&peer_conservative, 12000, 1000, 1, true);
}

/* A SALSA counter has at most four bytes, so four bytes share one counter of Count-Min. */
static void
salsa_is_below_count_min(void **state)
{
	(void) state;
	check_below_count_min(&peer_salsa, 27000, 8000, 4, false);
	check_below_count_min(&peer_salsa, 27000, 8000, 4, true);
	check_below_count_min(&peer_salsa_conservative, 27000, 8000, 4, false);
	check_below_count_min(&peer_salsa_conservative, 27000, 8000, 4, true);
}

/* While no counter overflows, SALSA equals Count-Min with counters of one byte. */
static void
salsa_without_overflow_is_count_min(void **state)
{
	uint32_t cell[3 * 80] = { 0 };
	peer_order order = { .bytes = 270, .seed = 3 };
	void *peer = peer_salsa.make(&peer_salsa, &order);
	uint64_t key;
	uint32_t i;

	(void) state;
	for (key = 1; key <= 1000; key++)
	{
		peer_salsa.add(peer, &key, NULL, 1);
		for (i = 0; i < 3; i++)
			cell[i * 80 + peer_cell(key, order.seed, i, 80)]++;
	}
	for (key = 1; key <= 1000; key++)
		REQUIRE(peer_salsa.estimate(peer, key) == count_min(cell, 80, order.seed, 1, key));
	peer_salsa.free(peer);
}

/* Check that two structures write the same bytes. */
static void
check_same_bytes(const peer_kind *kind, void *a, void *b)
{
	size_t size, other;
	uint8_t *bytes = kind->write(a, &size);
	uint8_t *others = kind->write(b, &other);

	REQUIRE(size == other && memcmp(bytes, others, size) == 0);
	free(bytes);
	free(others);
}

/* A counter moves from its stub to an extension, and back. */
static void
sublime_counts(void **state)
{
	peer_order order = { .bytes = 64 * 3, .seed = 1 };
	void *peer = peer_sublime.make(&peer_sublime, &order);
	void *empty = peer_sublime.make(&peer_sublime, &order);
	uint64_t key = 42;
	int64_t weight[] = { 1, 1000000, -1000000, -1 };
	uint64_t i;
	size_t w;

	(void) state;
	for (w = 0; w < ALL_OF(weight); w++)
		for (i = 1; i <= 3000; i++)
		{
			static const int64_t before[] = { 0, 3000, 3000003000, 3000 };

			peer_sublime.add(peer, &key, weight + w, 1);
			REQUIRE(peer_sublime.estimate(peer, key) == before[w] + weight[w] * (int64_t) i);
		}
	check_same_bytes(&peer_sublime, peer, empty);
	peer_sublime.free(peer);
	peer_sublime.free(empty);
}

/*
 * Sublime gives the estimates of Count-Min, also in chunks with tails (see peers_sublime.c).
 * Its bytes do not depend on the order or the split of the rows.  Removing all rows restores its
 * size.
 */
static void
sublime_is_count_min(void **state)
{
	uint32_t cell[3 * 1360] = { 0 };
	peer_order order = { .bytes = 60 * 64, .seed = 3 };
	void *peer = peer_sublime.make(&peer_sublime, &order);
	void *reverse = peer_sublime.make(&peer_sublime, &order);
	void *half = peer_sublime.make(&peer_sublime, &order);
	stream s;
	size_t r;
	uint32_t i;

	(void) state;
	make_stream(&s, true);
	for (r = 0; r < s.rows; r++)
	{
		size_t back = s.rows - 1 - r;

		for (i = 0; i < 3; i++)
			cell[i * 1360 + peer_cell(s.row[r], order.seed, i, 1360)] += (uint32_t) s.weight[r];
		peer_sublime.add(peer, s.row + r, s.weight + r, 1);
		peer_sublime.add(r % 2 ? reverse : half, s.row + back, s.weight + back, 1);
	}
	REQUIRE(peer_sublime.bytes(peer) > order.bytes);
	for (i = 0; i < s.keys; i++)
		REQUIRE(peer_sublime.estimate(peer, s.key[i]) ==
				count_min(cell, 1360, order.seed, 1, s.key[i]));
	peer_sublime.merge(reverse, half);
	check_same_bytes(&peer_sublime, peer, reverse);
	for (r = 0; r < s.rows; r++)
	{
		int64_t minus = -s.weight[r];

		peer_sublime.add(peer, s.row + r, &minus, 1);
	}
	REQUIRE(peer_sublime.bytes(peer) == order.bytes);
	for (i = 0; i < s.keys; i++)
		REQUIRE(peer_sublime.estimate(peer, s.key[i]) == 0);
	peer_sublime.free(peer);
	peer_sublime.free(reverse);
	peer_sublime.free(half);
	stream_free(&s);
}

/* Removing all rows sets all estimates to 0. */
static void
count_sketch_is_linear(void **state)
{
	stream s;
	peer_order order = { .bytes = BYTES, .seed = 2, .input = &s };
	void *peer;
	size_t i;

	(void) state;
	make_stream(&s, false);
	peer = peer_fill(&peer_count_sketch, &order);
	for (i = 0; i < s.rows; i++)
	{
		int64_t minus = -1;

		peer_count_sketch.add(peer, s.row + i, &minus, 1);
	}
	for (i = 0; i < s.keys; i++)
		REQUIRE(peer_count_sketch.estimate(peer, s.key[i]) == 0);
	peer_count_sketch.free(peer);
	stream_free(&s);
}

/*
 * A written structure takes at most its bytes in memory, plus up to 256 bytes for the headers
 * of our structures.
 */
static void
written_bytes_are_few(void **state)
{
	stream s;
	size_t i;

	(void) state;
	make_stream(&s, false);
	for (i = 0; i < ALL_OF(kinds); i++)
	{
		peer_order order = { .bytes = BYTES, .keys = 50, .seed = 1, .input = &s };
		void *peer = peer_fill(kinds[i], &order);
		size_t size = 0;
		uint8_t *bytes = kinds[i]->write ? kinds[i]->write(peer, &size) : NULL;

		WHERE("%s", kinds[i]->name);
		REQUIRE(size <= kinds[i]->bytes(peer) + (kinds[i]->compact ? 256 : 0));
		if (kinds[i]->compact)
			REQUIRE((kinds[i]->list ? qs_top_validate(bytes, size) : qs_validate(bytes, size)) ==
					QB_OK);
		free(bytes);
		kinds[i]->free(peer);
	}
	stream_free(&s);
}

/* The count of a dropped key is lost.  A new key starts at count 1. */
static void
topn_forgets(void **state)
{
	peer_order order = { .bytes = 6 * PEER_LIST_BYTES, .seed = 1 };
	void *peer = peer_topn.make(&peer_topn, &order);
	uint64_t heavy[] = { 101, 102, 103, 101, 102, 103, 101, 102 };
	uint64_t key;
	uint32_t entries;
	peer_entry *entry;

	(void) state;
	peer_topn.add(peer, heavy, NULL, ALL_OF(heavy));
	for (key = 1; key <= 4; key++)
		peer_topn.add(peer, &key, NULL, 1);
	REQUIRE(peer_topn.estimate(peer, 101) == 3 && peer_topn.estimate(peer, 103) == 2);
	REQUIRE(peer_topn.estimate(peer, 1) == 0 && peer_topn.estimate(peer, 4) == 1);
	entry = peer_named(&peer_topn, peer, &entries);
	REQUIRE(entries == 2 && entry[0].key == 101 && entry[1].key == 102);
	free(entry);
	peer_topn.free(peer);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_are_kept),
		cmocka_unit_test(few_keys_are_exact),
		cmocka_unit_test(space_saving_is_bounded),
		cmocka_unit_test(merged_structures_keep_promises),
		cmocka_unit_test(conservative_is_below_count_min),
		cmocka_unit_test(salsa_is_below_count_min),
		cmocka_unit_test(salsa_without_overflow_is_count_min),
		cmocka_unit_test(sublime_counts),
		cmocka_unit_test(sublime_is_count_min),
		cmocka_unit_test(count_sketch_is_linear),
		cmocka_unit_test(written_bytes_are_few),
		cmocka_unit_test(topn_forgets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
