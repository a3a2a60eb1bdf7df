/*
 * sets_support.h
 *		Tables of loops, random collections and naive answers, for the tests of sets.
 *
 * test/unit/sets_support.h
 */
#ifndef QSET_TEST_SUPPORT_H
#define QSET_TEST_SUPPORT_H

#include "isa_support.h"

#include "engine/sets_kernels.h"
#include "sets/builder.h"
#include "sets/collection.h"
#include "sets/pairs.h"

/* Collect the tables of inner loops for this processor; returns their number. */
static inline size_t
test_tables(const qset_kernels *table[3])
{
	size_t count = 0;
	size_t i;

	for (i = 0; i < ALL_OF(test_isas); i++)
		if (qb_isa_use(test_isas[i]))
		{
			table[count] = qset_kernels_now();
			REQUIRE(strcmp(table[count]->name, test_isas[i]) == 0);
			count++;
		}
	qb_isa_use("auto");
	return count;
}

/*
 * The memory blocks of code that longjmp() may interrupt at a pause.  test_drop() releases the
 * remaining blocks, as a reset of a memory context does in PostgreSQL.
 */
typedef struct test_context
{
	void *block[64];
	uint64_t paused;
	uint64_t jump_at; /* number of the pause that jumps; 0: none */
	jmp_buf jump;
} test_context;

static test_context test_pausing;

static inline void
test_replace(void *from, void *to)
{
	size_t i = 0;

	while (test_pausing.block[i] != from)
		REQUIRE(++i < ALL_OF(test_pausing.block));
	test_pausing.block[i] = to;
}

static inline void *
test_pausing_alloc(void *context, size_t bytes)
{
	void *block = test_alloc(context, bytes);

	if (block)
		test_replace(NULL, block);
	return block;
}

static inline void
test_pausing_release(void *context, void *block)
{
	test_replace(block, NULL);
	test_release(context, block);
}

static inline void
test_pause(void)
{
	if (++test_pausing.paused == test_pausing.jump_at)
		longjmp(test_pausing.jump, 1);
}

static const qb_memory test_pausing_heap = { .alloc = test_pausing_alloc,
											 .release = test_pausing_release,
											 .context = &test_heap_state,
											 .pause = test_pause };

static inline void
test_drop(void)
{
	size_t i;

	for (i = 0; i < ALL_OF(test_pausing.block); i++)
		if (test_pausing.block[i])
			test_pausing_release(&test_heap_state, test_pausing.block[i]);
}

/*
 * Run "work", and jump out of it at pause number "jump_at" (0: never).  Returns true if the
 * work finished.  Releases all remaining blocks.
 */
static inline bool
test_until(void (*work)(void *context), void *context, uint64_t jump_at)
{
	volatile bool done = false;

	test_pausing.paused = 0;
	test_pausing.jump_at = jump_at;
	if (setjmp(test_pausing.jump) == 0)
	{
		work(context);
		done = true;
	}
	test_drop();
	return done;
}

/*
 * Allocate exactly "count" items, so that AddressSanitizer reports accesses beyond the last
 * item.
 */
static inline void *
test_array(uint64_t count, size_t size)
{
	void *p = malloc(count * size > 0 ? count * size : 1);

	REQUIRE(p != NULL);
	return p;
}

/*
 * Fill "out" with up to n ascending distinct random numbers, which are at least "base" and below
 * base + universe; returns the number of numbers.
 */
static inline uint64_t
test_set(test_rng *rng, uint64_t n, uint64_t universe, int64_t base, int64_t *out)
{
	uint64_t i;

	for (i = 0; i < n; i++)
		out[i] = (int64_t) ((uint64_t) base + test_below(rng, universe));
	for (i = 1; i < n; i++)
	{
		int64_t x = out[i];
		uint64_t j = i;

		for (; j > 0 && out[j - 1] > x; j--)
			out[j] = out[j - 1];
		out[j] = x;
	}
	universe = n;
	n = 0;
	for (i = 0; i < universe; i++)
		if (i == 0 || out[i] != out[n - 1])
			out[n++] = out[i];
	return n;
}

/*
 * Returns the number of common elements of two arrays.  Compares all pairs of elements, in O(n
 * m).
 */
static inline uint64_t
test_naive_count(const uint32_t *a, uint64_t n, const uint32_t *b, uint64_t m)
{
	uint64_t common = 0;
	uint64_t i;
	uint64_t j;

	for (i = 0; i < n; i++)
		for (j = 0; j < m; j++)
			common += a[i] == b[j];
	return common;
}

/* ---- collections ---- */

#define TEST_QI_FAMILY 1976

static const qb_keys test_qi_keys = { .family = TEST_QI_FAMILY };

/* Returns an upper half for the wide element with this lower half. */
static inline uint64_t
test_upper(uint64_t low)
{
	return low % 3; /* many elements have the same upper half */
}

static inline void
test_add(qset_builder *b, int64_t id, uint64_t low)
{
	uint64_t high = test_upper(low);

	REQUIRE_OK(qset_builder_add(b, &id, &low, b->elements.wide ? &high : NULL, 1));
}

static inline void
test_builder(qset_builder *b, bool wide)
{
	qset_builder_init(b, wide, &test_qi_keys, &test_heap);
}

/* Make a random collection from a seed. */
static inline void
test_collection(qset_collection *c, uint64_t seed, bool wide)
{
	test_rng rng = test_seeded(seed);
	uint64_t sets = test_below(&rng, 40);
	uint64_t universe = 1 + test_below(&rng, 1 + (UINT64_C(1) << test_below(&rng, 9)));
	uint64_t most = 1 + test_below(&rng, 60);
	uint64_t common = test_below(&rng, 3); /* 0: all sets have one common element */
	int64_t base = (int64_t) test_random(&rng);
	qset_builder b;
	uint64_t set;

	test_builder(&b, wide);
	for (set = 0; set < sets; set++)
	{
		int64_t id = (int64_t) (test_random(&rng) >> test_below(&rng, 64));
		uint64_t size = test_below(&rng, most) + (common > 0);
		uint64_t i;

		if (common == 0)
			test_add(&b, id, (uint64_t) base);
		for (i = 0; i < size; i++)
			test_add(&b, id, (uint64_t) base + test_skewed(&rng, universe));
	}
	REQUIRE_OK(qset_builder_finish(&b, c));
	qset_builder_free(&b);
}

static inline bool
test_same_collection(const qset_collection *a, const qset_collection *b)
{
	return a->wide == b->wide && qb_keys_same(&a->keys, &b->keys) && a->sets == b->sets &&
		   a->elements == b->elements && a->universe == b->universe &&
		   memcmp(a->id, b->id, a->sets * sizeof(*a->id)) == 0 &&
		   memcmp(a->offset, b->offset, (a->sets + 1) * sizeof(*a->offset)) == 0 &&
		   memcmp(a->rank, b->rank, a->elements * sizeof(*a->rank)) == 0 &&
		   memcmp(a->low, b->low, a->universe * sizeof(*a->low)) == 0 &&
		   (!a->wide || memcmp(a->high, b->high, a->universe * sizeof(*a->high)) == 0);
}

/* Check the rules of collection.h. */
static inline void
test_require_collection(const qset_collection *c)
{
	uint8_t *seen = test_array(c->universe, 1);
	uint64_t i;
	uint64_t set;

	memset(seen, 0, c->universe);
	REQUIRE(c->offset[0] == 0 && c->offset[c->sets] == c->elements);
	for (set = 0; set < c->sets; set++)
	{
		REQUIRE(set == 0 || c->id[set - 1] < c->id[set]);
		REQUIRE(c->offset[set] < c->offset[set + 1]);
		for (i = c->offset[set]; i < c->offset[set + 1]; i++)
		{
			REQUIRE(c->rank[i] < c->universe);
			REQUIRE(i == c->offset[set] || c->rank[i - 1] < c->rank[i]);
			seen[c->rank[i]] = 1;
		}
	}
	for (i = 0; i < c->universe; i++)
		REQUIRE(seen[i] && (i == 0 || qset_element_compare(c, i - 1, c, i) < 0));
	free(seen);
}

static inline test_bytes
test_flat(const qset_collection *c)
{
	test_bytes b;

	b.length = qset_flat_size(c);
	b.data = test_array(b.length, 1);
	memset(b.data, 0xA5, b.length);
	qset_write(c, b.data);
	return b;
}

/* ---- pairs ---- */

#define TEST_MOST_PAIRS 4096

/*
 * Find up to TEST_MOST_PAIRS pairs with a method.  Four bytes choose the filter, the variant
 * and the direction.
 */
static inline uint64_t
test_pairs(const qset_collection *c, const uint8_t *choice, int method, qset_pair *out)
{
	qset_request r = { .rows = c, .method = method, .memory = &test_heap };
	qset_preparation p;
	uint64_t count;
	void *block;
	qset_job job;

	REQUIRE_OK(qset_filter_init(&r.filter, choice[0] % 4, choice[1] / 255.0, choice[2] % 3));
	r.variant = choice[3] % 3;
	r.directed = choice[3] & 128;
	REQUIRE_OK(qset_prepare(&p, &r));
	block = calloc(p.plan.bytes, 1);
	REQUIRE(block != NULL);
	REQUIRE_OK(qset_fill(&p, block));
	qset_prepared_free(&p);
	REQUIRE_OK(qset_job_open(&job, block, qset_kernels_now(), &test_heap, NULL));
	qset_job_shard(&job, 0, qset_job_rows(&job), 1);
	REQUIRE_OK(qset_job_next(&job, out, TEST_MOST_PAIRS, &count));
	qset_job_close(&job);
	free(block);
	return count;
}

static inline void
test_methods_agree(const qset_collection *c, const uint8_t *choice)
{
	static qset_pair wanted[TEST_MOST_PAIRS];
	static qset_pair got[TEST_MOST_PAIRS];
	uint64_t count = test_pairs(c, choice, QSET_MERGE, wanted);
	int method;

	for (method = QSET_AUTO; method < QSET_METHODS; method++)
	{
		REQUIRE(test_pairs(c, choice, method, got) == count);
		REQUIRE(memcmp(wanted, got, count * sizeof(*got)) == 0);
	}
}

#endif
