/*
 * test_peers_list.c
 *		Streams with exact counts, and lists of keys, for the reference structures.
 *
 * test/unit/test_peers_list.c
 */
#include "support.h"

#include "bench/peers.h"
#include "bench/peers_list.h"

/* ---- streams ---- */

static void
streams_tell_the_truth(void **state)
{
	stream s;
	size_t i;

	(void) state;
	for (i = 0; i < 2; i++)
	{
		int64_t sum = 0;
		uint32_t k;

		stream_zipf(&s, 20000, 100000, 1.0, i == 1, 7);
		for (k = 0; k < s.keys; k++)
		{
			REQUIRE(k == 0 || s.count[k] <= s.count[k - 1]);
			REQUIRE(peer_truth(&s, s.key[k]) == s.count[k]);
			sum += s.count[k];
		}
		REQUIRE(sum == s.total && (i == 1 || s.total == (int64_t) s.rows));
		REQUIRE(peer_truth(&s, 1) == 0);
		stream_free(&s);
	}
	REQUIRE(stream_command(&s, "printf 'a b\\nc\\na b\\n'"));
	REQUIRE(s.rows == 3 && s.keys == 2 && s.count[0] == 2 && s.key[0] == s.row[2]);
	stream_free(&s);
	REQUIRE(!stream_command(&s, "true"));
}

/* ---- lists ---- */

static void
check_list(const peer_list *list, const uint32_t *count, uint32_t keys)
{
	uint32_t used = 0;
	uint32_t i;

	for (i = 0; i < keys; i++)
	{
		int64_t at = peer_list_find(list, i);

		REQUIRE((at >= 0) == (count[i] > 0));
		REQUIRE(at < 0 ||
				(list->key[at] == i && list->count[at] == count[i] && list->error[at] == i));
		REQUIRE(at < 0 || list->count[at] >= list->count[0]);
		used += at >= 0;
	}
	REQUIRE(used == list->used);
}

static void
lists_hold_their_keys(void **state)
{
	enum
	{
		LISTED_KEYS = 60
	};
	uint32_t count[LISTED_KEYS] = { 0 };
	test_rng rng = test_seeded(5);
	peer_list list;
	int i;

	(void) state;
	peer_list_init(&list, 17, true);
	for (i = 0; i < 20000; i++)
	{
		uint32_t key = (uint32_t) test_below(&rng, LISTED_KEYS);
		int64_t at = peer_list_find(&list, key);

		if (at < 0 && peer_list_full(&list))
		{
			count[list.key[0]] = 0;
			peer_list_drop_least(&list);
		}
		count[key] = 1 + (uint32_t) test_below(&rng, 50);
		if (at >= 0)
			peer_list_set(&list, (uint32_t) at, count[key]);
		else
			peer_list_add(&list, key, count[key], key);
		check_list(&list, count, LISTED_KEYS);
	}
	peer_list_free(&list);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(streams_tell_the_truth),
		cmocka_unit_test(lists_hold_their_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
