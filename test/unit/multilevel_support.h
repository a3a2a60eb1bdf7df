/*
 * multilevel_support.h
 *		Multilevel sketches with given counters, for the tests of merging and subtracting.
 *
 * At depth 1 a key owns one counter, so keys can be chosen to set any counters.
 *
 * test/unit/multilevel_support.h
 */
#ifndef QS_TEST_MULTILEVEL_H
#define QS_TEST_MULTILEVEL_H

#include "isa_support.h"

#include "sketch/multilevel.h"
#include "engine/sketch_engine.h"

/*
 * The loops add a limited number of buckets at a time.  BUCKETS and BUCKETS / 2 exceed this
 * limit and are no multiples of it.
 */
#define BUCKETS 272
#define MOST    (BUCKETS * QS_LOW_COUNTERS)

/* Values near powers of two.  A low counter carries into its high bucket from 256 on. */
static const uint64_t edges[] = { 0,   1,   127, 128, 254,   255,   256,           257,
								  510, 511, 512, 513, 65535, 65536, (1 << 24) - 1, 1 << 24 };

#define EDGES ALL_OF(edges)

/* Parameters of depth 1, and a key for each counter. */
typedef struct counters
{
	qs_params p;
	uint64_t count; /* number of counters: n * 28 */
	uint64_t key[MOST];
} counters;

/* Returns the counter of a key, computed from the definitions of bucket and mask. */
static inline uint64_t
counter_of(const qs_params *p, uint64_t key)
{
	uint64_t seed_key = qb_seed_key(p->seed);
	uint64_t hv = qb_hash(key, seed_key);
	uint32_t index = (uint32_t) hv & (qs_mask_count(p) - 1);
	uint32_t mask =
		qs_mask_rotation(qs_mask(seed_key, QS_LOW_COUNTERS, 1, index), QS_LOW_COUNTERS, hv);

	return qb_reduce(hv, p->n) * QS_LOW_COUNTERS + (uint32_t) __builtin_ctz(mask);
}

static inline void
find_keys(counters *c, uint64_t n)
{
	uint64_t found = 0;
	uint64_t i;

	c->p = test_params(QS_MULTILEVEL, n, 1, 0, 10, n);
	c->count = n * QS_LOW_COUNTERS;
	memset(c->key, 0, sizeof(c->key));
	for (i = 2; found < c->count; i++)
	{
		uint64_t *key = &c->key[counter_of(&c->p, test_key(i))];

		found += *key == 0;
		*key = test_key(i);
	}
}

/* Build a dense sketch whose counters have the given values. */
static inline void
build(qs_sketch *sk, const counters *c, const uint64_t *value)
{
	uint64_t i;

	test_init_dense(sk, &c->p);
	for (i = 0; i < c->count; i++)
		if (value[i] > 0)
			test_insert(sk, c->key[i], (int64_t) value[i]);
}

/*
 * Open a view of the sketch's bytes, "offset" bytes after an aligned address.  Returns the
 * block, which the caller releases.
 */
static inline uint8_t *
view_at(qs_sketch *view, const qs_sketch *sk, size_t offset)
{
	uint64_t length = qs_flat_size(sk);
	uint8_t *block = test_alloc(&test_heap_state, 4096 + offset + length);
	uint8_t *bytes = block + 4096 + offset;

	qs_write(sk, bytes);
	REQUIRE_OK(qs_validate(bytes, length));
	REQUIRE_OK(qs_open(view, bytes, length));
	return block;
}

#endif
