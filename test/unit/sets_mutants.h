/*
 * sets_mutants.h
 *		Slightly damaged collections of sets with a valid checksum.
 *
 * The body of a collection is a sequence of numbers of different lengths, so the body is
 * decoded first.  Numbers are changed, inserted and removed, or part of a number moves to
 * a later number.  Counts in the header change, too.  Then all numbers are encoded again.
 * Sometimes a bit of the encoded bytes is flipped.
 *
 * A mutant that the reader accepts must keep the rules of collection.h, and all operations
 * must work.  mutants.h has the mutants of sketches.
 *
 * test/unit/sets_mutants.h
 */
#ifndef QSET_TEST_MUTANTS_H
#define QSET_TEST_MUTANTS_H

#include "mutator.h"
#include "sets_support.h"

#define SETS_SAMPLES 24
#define SETS_NUMBERS 16384
#define SETS_BODY    (SETS_NUMBERS * 10)

/* Header fields to change; the counts come first.  See sets/collection.h. */
static const struct
{
	uint64_t at;
	uint32_t width;
} sets_fields[] = { { 24, 8 }, { 32, 8 }, { 40, 8 }, { 4, 1 },
					{ 5, 1 },  { 16, 4 }, { 20, 4 }, { 56, 8 } };

#define SETS_COUNTS  3 /* number of counts in sets_fields */
#define SETS_AT_BODY 48

typedef struct sets_number
{
	uint64_t value;
	bool fixed; /* true: 8 bytes; false: as few bytes as possible */
} sets_number;

/* A decoded collection. */
typedef struct sets_numbers
{
	uint8_t header[QSET_HEADER_BYTES];
	sets_number number[SETS_NUMBERS];
	uint64_t numbers;
} sets_numbers;

static inline void
add_number(sets_numbers *s, bool fixed, uint64_t value)
{
	REQUIRE(s->numbers < SETS_NUMBERS);
	s->number[s->numbers++] = (sets_number){ value, fixed };
}

static inline void
take_apart(sets_numbers *s, const qset_collection *c)
{
	test_bytes b = test_flat(c);
	uint64_t set;
	uint64_t i;

	memcpy(s->header, b.data, QSET_HEADER_BYTES);
	free(b.data);
	s->numbers = 0;
	for (i = 0; i < c->universe; i++)
	{
		if (c->wide)
			add_number(s, true, c->high[i]);
		add_number(s, c->wide || i == 0, c->low[i] - (c->wide || i == 0 ? 0 : c->low[i - 1] + 1));
	}
	for (set = 0; set < c->sets; set++)
	{
		uint64_t at = c->offset[set];

		add_number(s, set == 0,
				   (uint64_t) c->id[set] - (set == 0 ? 0 : (uint64_t) c->id[set - 1] + 1));
		add_number(s, false, c->offset[set + 1] - at - 1);
		for (i = at; i < c->offset[set + 1]; i++)
			add_number(s, false, i == at ? c->rank[i] : c->rank[i] - c->rank[i - 1] - UINT64_C(1));
	}
}

static inline test_bytes
put_together(const sets_numbers *s)
{
	static uint8_t body[SETS_BODY];
	uint64_t length = 0;
	uint64_t i;
	test_bytes b;

	for (i = 0; i < s->numbers; i++)
	{
		uint64_t x = s->number[i].value;

		if (s->number[i].fixed)
		{
			qb_store64(body + length, x);
			length += 8;
			continue;
		}
		for (; x >= 128; x >>= 7)
			body[length++] = (uint8_t) (x | 128);
		body[length++] = (uint8_t) x;
	}
	b.length = QSET_HEADER_BYTES + length;
	b.data = test_array(b.length, 1);
	memcpy(b.data, s->header, QSET_HEADER_BYTES);
	memcpy(b.data + QSET_HEADER_BYTES, body, length);
	return b;
}

/* Change a field of the header, in most cases a count, and often only by 1. */
static inline void
mutate_header(mutator *m, sets_numbers *s)
{
	test_bytes header = { s->header, QSET_HEADER_BYTES };
	uint64_t field = choose(m, choose(m, 4) ? SETS_COUNTS : ALL_OF(sets_fields));
	uint64_t old = get_field(&header, sets_fields[field].at, sets_fields[field].width);

	set_field(&header, sets_fields[field].at, sets_fields[field].width,
			  choose(m, 2) ? old + choose(m, 3) - 1 : changed(m, old));
}

/* Insert or remove a number.  In half of the cases a count of the header changes by 1, too. */
static inline void
mutate_length(mutator *m, sets_numbers *s)
{
	test_bytes header = { s->header, QSET_HEADER_BYTES };
	uint64_t at = choose(m, s->numbers);
	uint64_t field = choose(m, SETS_COUNTS);
	uint64_t old = get_field(&header, sets_fields[field].at, 8);
	bool more = choose(m, 2) && s->numbers < SETS_NUMBERS;

	if (more)
		memmove(&s->number[at + 1], &s->number[at], (s->numbers - at) * sizeof(*s->number));
	else
		memmove(&s->number[at], &s->number[at + 1], (s->numbers - at - 1) * sizeof(*s->number));
	s->numbers = more ? s->numbers + 1 : s->numbers - 1;
	if (choose(m, 2))
		set_field(&header, sets_fields[field].at, 8, more ? old + 1 : old - 1);
}

/* Move part of a number to one of the next four numbers. */
static inline void
pass_on(mutator *m, sets_numbers *s)
{
	uint64_t at = choose(m, s->numbers);
	uint64_t to = at + 1 + choose(m, 4);
	uint64_t some = choose(m, 2) ? 1 : choose(m, 5);

	if (to >= s->numbers)
		return;
	s->number[at].value -= some;
	s->number[to].value += some;
}

static inline void
mutate_sets(mutator *m, sets_numbers *s)
{
	uint64_t at = s->numbers > 0 ? choose(m, s->numbers) : 0;

	switch (s->numbers > 0 ? choose(m, 6) : 0)
	{
		case 0:
			mutate_header(m, s);
			break;
		case 1:
			mutate_length(m, s);
			break;
		case 2:
			s->number[at].value = changed(m, s->number[at].value);
			break;
		case 3:
			s->number[at].value += choose(m, 3) - 1;
			break;
		default:
			pass_on(m, s);
	}
}

/* Build a subset from two sets of "c".  Merge "c" with itself and with the subset. */
static inline void
exercise_parts_of_collection(const qset_collection *c)
{
	int64_t id[2] = { c->sets > 0 ? c->id[0] : 0, c->sets > 0 ? c->id[c->sets - 1] : 0 };
	uint32_t *map;
	qset_collection some;
	qset_collection all;
	qset_builder b;

	REQUIRE_OK(qset_collection_subset(&some, c, id, 2, &test_heap));
	test_require_collection(&some);
	map = test_array(some.universe, sizeof(*map));
	REQUIRE_OK(qset_collection_map(&some, c, map));
	free(map);
	qset_builder_init(&b, c->wide, &c->keys, &test_heap);
	REQUIRE_OK(qset_builder_add_collection(&b, c));
	REQUIRE_OK(qset_builder_add_collection(&b, &some));
	REQUIRE_OK(qset_builder_add_collection(&b, c));
	REQUIRE_OK(qset_builder_finish(&b, &all));
	REQUIRE(test_same_collection(&all, c));
	qset_builder_free(&b);
	qset_collection_free(&all);
	qset_collection_free(&some);
}

/* Check a collection that the reader accepted.  If "pairs", compare all methods for pairs. */
static inline void
exercise_collection(const qset_collection *c, test_bytes b, bool pairs)
{
	test_bytes again = test_flat(c);

	REQUIRE(test_equal_bytes(b, again));
	free(again.data);
	test_require_collection(c);
	exercise_parts_of_collection(c);
	if (pairs)
		test_methods_agree(c, b.data);
}

static inline void
make_sets_sample(sets_numbers *s, uint64_t number)
{
	uint64_t seed = number * 10;
	qset_collection c;

	do
		test_collection(&c, seed++, number % 2);
	while (number > 1 && (c.elements < 5 || c.elements > 400) && (qset_collection_free(&c), true));
	take_apart(s, &c);
	qset_collection_free(&c);
}

/* Tests one mutant; returns true if the mutant was valid. */
static inline bool
try_sets_mutant(mutator *m)
{
	static sets_numbers made[SETS_SAMPLES];
	static bool known[SETS_SAMPLES];
	static sets_numbers s;
	uint64_t number = choose(m, SETS_SAMPLES);
	uint64_t changes = choose(m, MOST_CHANGES + 1);
	qset_collection c;
	test_bytes b;
	bool valid;

	if (!known[number])
		make_sets_sample(&made[number], number);
	known[number] = true;
	s = made[number];
	for (; changes > 0; changes--)
		mutate_sets(m, &s);
	b = put_together(&s);
	if (choose(m, 4) == 0)
		b.data[choose(m, b.length)] ^= (uint8_t) (1 << choose(m, 8));
	set_field(&b, SETS_AT_BODY, 8, b.length - QSET_HEADER_BYTES);
	test_repair_crc(b.data, b.length);
	valid = qset_read(&c, b.data, b.length, &test_heap) == QB_OK;
	if (valid)
	{
		exercise_collection(&c, b, choose(m, 16) == 0);
		qset_collection_free(&c);
	}
	test_no_leak();
	free(b.data);
	return valid;
}

#endif
