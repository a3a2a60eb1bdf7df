/*
 * mutator.h
 *		Choices and small changes of numbers, for making damaged values.
 *
 * The files mutants.h and *_mutants.h make valid values, change a few positions of the values,
 * and repair the checksums.
 *
 * Unit tests and fuzzers run this file under AddressSanitizer and UBSan.
 *
 * test/unit/mutator.h
 */
#ifndef QS_TEST_MUTATOR_H
#define QS_TEST_MUTATOR_H

#include "support.h"

#define MOST_CHANGES 4

/* A source of choices: first the bytes of a fuzzer's input, then random numbers. */
typedef struct mutator
{
	const uint8_t *data;
	size_t left;
	test_rng rng;
} mutator;

static inline uint64_t
choose(mutator *m, uint64_t bound)
{
	uint64_t value = 0;
	int i;

	if (m->left == 0)
		return test_below(&m->rng, bound);
	for (i = 0; i < 2 && m->left > 0; i++, m->left--)
		value = value << 8 | *m->data++;
	return value % bound;
}

/* Returns a value near a limit of a type or of a field. */
static inline uint64_t
edge(mutator *m)
{
	static const uint64_t edges[] = { 0,
									  1,
									  2,
									  127,
									  128,
									  255,
									  256,
									  1023,
									  1024,
									  65535,
									  INT32_MAX,
									  UINT32_MAX,
									  INT64_MAX,
									  UINT64_MAX,
									  UINT64_MAX / 3,
									  UINT64_C(1) << 32 };

	return edges[choose(m, ALL_OF(edges))] + choose(m, 3) - 1;
}

static inline uint64_t
get_field(const test_bytes *b, uint64_t at, uint32_t width)
{
	uint64_t value = 0;

	memcpy(&value, b->data + at, width);
	return value;
}

static inline void
set_field(test_bytes *b, uint64_t at, uint32_t width, uint64_t value)
{
	memcpy(b->data + at, &value, width);
}

static inline uint64_t
changed(mutator *m, uint64_t old)
{
	switch (choose(m, 4))
	{
		case 0:
			return edge(m);
		case 1:
			return old ^ UINT64_C(1) << choose(m, 64);
		case 2:
			return old + 1 + choose(m, 300);
		default:
			return old - 1 - choose(m, 300);
	}
}

#endif
