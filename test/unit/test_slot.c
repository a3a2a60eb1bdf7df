/*
 * test_slot.c
 *		Hash functions with a secret.
 *
 * Chosen values must spread like random values, and serialized bytes must not depend on
 * the secret.  Secrets and values are fixed, so each test either always passes or never
 * passes.
 *
 * test/unit/test_slot.c
 */
#include "sets_support.h"

#include "base/hash.h"
#include "base/slot.h"
#include "filter_support.h"
#include "top_support.h"
#include "unmix.h"

#define SECRETS 32
#define VALUES  16384
#define SLOTS   (2 * VALUES)

static void
use_secret(uint64_t number)
{
	test_rng rng = test_seeded(number);
	uint64_t random[QB_SECRET_WORDS];
	int i;

	for (i = 0; i < QB_SECRET_WORDS; i++)
		random[i] = test_random(&rng);
	qb_set_secret(random);
}

/* ---- spreading ---- */

/* Returns the i-th value of a kind. */
static uint64_t
value_of(int kind, uint64_t i)
{
	switch (kind)
	{
		case 0:
			return i;
		case 1:
			return i << 50;
		case 2:
			return i << 32 | i;
		case 3:
			return i * QB_ROW_STEP;
		case 4:
			return i * test_inverse_of(QB_ROW_STEP);
		case 5:
			return test_unmix(i); /* qb_mix64() of all values has equal high bits */
		case 6:
			return test_unmix(i << 32); /* qb_mix64() of all values has equal low bits */
		case 7:
			return ~UINT64_C(0) / 3 * i;
		default:
			return UINT64_C(1) << i % 64 | UINT64_C(1) << i / 64 % 64 | UINT64_C(1) << i / 4096;
	}
}

#define KINDS 9

/* Insert values by linear probing; returns the steps of the longest search. */
static uint64_t
longest_search(int kind, bool low, bool wide)
{
	uint8_t *taken = calloc(SLOTS, 1);
	uint64_t longest = 0;
	uint64_t i;

	for (i = 0; i < VALUES; i++)
	{
		uint64_t value = value_of(kind, i);
		uint64_t hash = wide ? qb_slot_hash_wide(7, value) : qb_slot_hash(value);
		uint64_t at = low ? hash % SLOTS : qb_slot_of(hash, SLOTS);
		uint64_t steps = 1;

		for (; taken[at]; at = (at + 1) % SLOTS)
			steps++;
		taken[at] = 1;
		longest = steps > longest ? steps : longest;
	}
	free(taken);
	return longest;
}

/*
 * The longest search takes about 30 steps with random slots, and would take 16384 steps with
 * equal slots.
 */
static void
chosen_values_spread(void **state)
{
	int secret;
	int kind;
	int way;

	(void) state;
	for (secret = 0; secret < SECRETS; secret++)
		for (kind = 0; kind < KINDS; kind++)
			for (way = 0; way < 4; way++)
			{
				use_secret(secret);
				WHERE("secret %d, kind %d, way %d", secret, kind, way);
				REQUIRE(longest_search(kind, way & 1, way & 2) < 120);
			}
}

/* Each bit of a value changes each bit of its hash with about half of the secrets. */
static void
bits_avalanche(void **state)
{
	uint32_t changed[64][64] = { { 0 } };
	int in;
	int out;
	int i;

	(void) state;
	for (i = 0; i < 4096; i++)
	{
		use_secret(i);
		for (in = 0; in < 64; in++)
		{
			uint64_t difference = qb_slot_hash(i) ^ qb_slot_hash(i ^ UINT64_C(1) << in);

			for (out = 0; out < 64; out++)
				changed[in][out] += difference >> out & 1;
		}
	}
	for (in = 0; in < 64; in++)
		for (out = 0; out < 64; out++)
		{
			WHERE("bit %d of the hash, by bit %d: %u", out, in, changed[in][out]);
			REQUIRE(changed[in][out] > 2048 - 6 * 32 && changed[in][out] < 2048 + 6 * 32);
		}
}

/* The hash depends on the length, on every byte, and on the secret. */
static void
bytes_hash(void **state)
{
	enum
	{
		MOST = 50
	};
	uint64_t seen[2 * MOST * MOST];
	size_t count = 0;
	size_t secret;
	size_t length;
	size_t i;

	(void) state;
	for (secret = 0; secret < 2; secret++)
		for (length = 0; length < MOST; length++)
		{
			/* the block ends where the bytes end */
			uint8_t *bytes = calloc(1, length > 0 ? length : 1);

			use_secret(secret);
			seen[count++] = qb_hash_bytes(bytes, length, qb_process_secret.word);
			for (i = 0; i < length; i++)
			{
				bytes[i] = 1;
				seen[count++] = qb_hash_bytes(bytes, length, qb_process_secret.word);
				bytes[i] = 0;
			}
			free(bytes);
		}
	for (i = 0; i < count; i++)
		for (length = 0; length < i; length++)
			REQUIRE(seen[i] != seen[length]);
}

/* ---- bytes ---- */

/* Insert "keys" keys, and remove a third of the keys; returns the bytes of the sketch. */
static test_bytes
sketch_bytes(uint64_t keys)
{
	qs_params p = test_usual_params(QS_MULTILEVEL, 64);
	qs_sketch sk;
	test_bytes b;
	uint64_t i;

	test_init(&sk, &p);
	for (i = 0; i < keys; i++)
		test_insert(&sk, i * i, (int64_t) (1 + i % 5));
	for (i = 0; i < keys; i += 3)
		REQUIRE_OK(test_try_remove(&sk, i * i, (int64_t) (1 + i % 5)));
	b = test_write(&sk);
	qs_free(&sk);
	return b;
}

static test_bytes
bytes_of_filter(uint64_t keys)
{
	qf_params p = filter_params(1 << 16, 7, 1, 0);
	qf_filter f;
	test_bytes b;
	uint64_t i;

	filter_init(&f, &p);
	for (i = 0; i < keys; i++)
		filter_insert(&f, &i, 1, i, 1);
	b = filter_bytes(&f);
	qf_free(&f);
	return b;
}

static test_bytes
sets_bytes(uint64_t rows, bool wide)
{
	qset_collection c;
	qset_builder b;
	test_bytes w;
	uint64_t i;

	test_builder(&b, wide);
	for (i = 0; i < rows; i++)
		test_add(&b, (int64_t) test_unmix(i % 97 << 30), i * i % 5003 * QB_ROW_STEP);
	REQUIRE_OK(qset_builder_finish(&b, &c));
	qset_builder_free(&b);
	w.length = qset_flat_size(&c);
	w.data = malloc(w.length);
	qset_write(&c, w.data);
	qset_collection_free(&c);
	return w;
}

static test_bytes
bytes_of_kind(int kind)
{
	switch (kind)
	{
		case 0:
			return sketch_bytes(60); /* explicit */
		case 1:
			return sketch_bytes(9000);
		case 2:
			return bytes_of_filter(40); /* explicit */
		case 3:
			return bytes_of_filter(9000);
		case 4:
			return sets_bytes(20000, false);
		case 5:
			return sets_bytes(20000, true);
		default:
			return top_sample(kind - 6);
	}
}

/* No written byte depends on the secret. */
static void
bytes_do_not_tell_the_secret(void **state)
{
	uint64_t secret;
	int kind;

	(void) state;
	for (kind = 0; kind < 6 + TOP_SAMPLES; kind++)
	{
		test_bytes first;

		use_secret(0);
		first = bytes_of_kind(kind);
		for (secret = 1; secret < 3; secret++)
		{
			test_bytes other;

			use_secret(secret);
			other = bytes_of_kind(kind);
			WHERE("kind %d, secret %d", kind, (int) secret);
			REQUIRE(test_equal_bytes(first, other));
			free(other.data);
		}
		free(first.data);
	}
	test_no_leak();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chosen_values_spread),
		cmocka_unit_test(bits_avalanche),
		cmocka_unit_test(bytes_hash),
		cmocka_unit_test(bytes_do_not_tell_the_secret),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
