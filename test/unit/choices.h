/*
 * choices.h
 *		A source of choices for random tests: random numbers, or a fuzzer's bytes.
 *
 * test/unit/choices.h
 */
#ifndef QS_TEST_CHOICES_H
#define QS_TEST_CHOICES_H

#include "support.h"

typedef struct choices
{
	const uint8_t *bytes; /* the fuzzer's bytes; NULL: choices are random numbers */
	size_t left;
	test_rng rng;
} choices;

/* Returns a number from 0 to below - 1, or 0 if all bytes are used. */
static inline uint64_t
choose(choices *c, uint64_t below)
{
	uint64_t v = 0;
	uint64_t range;

	if (!c->bytes)
		return test_below(&c->rng, below);
	for (range = 1; range < below && c->left > 0; range <<= 8, c->left--)
		v = v << 8 | *c->bytes++;
	return v % below;
}

#endif
