/*
 * support.h
 *		Memory, random numbers, sketches and bytes for all unit tests.
 *
 * Each test is a single source file, so this header defines static functions.  All
 * functions are deterministic.  Include this header before any other header.  Fuzzers
 * define TEST_WITHOUT_CMOCKA, and stop with a trap.
 *
 * A counting allocator fails on request.  Each block ends exactly at the requested size,
 * so AddressSanitizer reports accesses beyond it.  As in PostgreSQL, small blocks are
 * aligned to 8 bytes only.
 *
 * test/unit/support.h
 */
#ifndef QS_TEST_SUPPORT_H
#define QS_TEST_SUPPORT_H

#define _POSIX_C_SOURCE 200809L /* for posix_memalign() */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "sketch/explicit.h"
#include "sketch/format.h"
#include "sketch/sf.h"
#include "sketch/sketch.h"
#include "engine/sketch_engine.h"

#ifdef TEST_WITHOUT_CMOCKA
#define TEST_STOP() __builtin_trap()
#else
#include <cmocka.h>
#define TEST_STOP() (test_heap_state.live = 0, test_heap_state.fail_at = 0, fail())
#endif

#define ALL_OF(list) (sizeof(list) / sizeof((list)[0]))

/* Offsets of header fields that tests read or damage; see sketch/format.h. */
enum
{
	TEST_AT_FORM = 5,
	TEST_AT_COUNTER_BYTES = 7,
	TEST_AT_TEXT = 11,
	TEST_AT_CRC = 12,
	TEST_AT_N = 16,
	TEST_AT_TOTAL = 40,
	TEST_AT_USED = 48,
	TEST_AT_PRESENT = 56
};

/* Description of the current case, which REQUIRE prints after a failed condition. */
static char test_where[200] = "";

#define WHERE(...) snprintf(test_where, sizeof(test_where), __VA_ARGS__)

#define REQUIRE(condition)                                                                   \
	do                                                                                       \
	{                                                                                        \
		if (!(condition))                                                                    \
		{                                                                                    \
			fprintf(stderr, "%s:%d: %s [%s]\n", __FILE__, __LINE__, #condition, test_where); \
			TEST_STOP();                                                                     \
		}                                                                                    \
	}                                                                                        \
	while (0)

#define REQUIRE_STATUS(call, wanted)                                                      \
	do                                                                                    \
	{                                                                                     \
		qb_status got_ = (call);                                                          \
		if (got_ != (wanted))                                                             \
			fprintf(stderr, "%s:%d: %s: \"%s\", not \"%s\"\n", __FILE__, __LINE__, #call, \
					qb_status_text(got_), qb_status_text(wanted));                        \
		REQUIRE(got_ == (wanted));                                                        \
	}                                                                                     \
	while (0)

#define REQUIRE_OK(call) REQUIRE_STATUS(call, QB_OK)

/* ---- memory ---- */

typedef struct test_memory
{
	long live;    /* blocks not yet released */
	long asked;   /* allocations since the last test_fail_at() */
	long fail_at; /* first allocation that fails (later allocations fail, too); 0: none */
} test_memory;

static test_memory test_heap_state;

static inline void *
test_alloc(void *context, size_t bytes)
{
	test_memory *m = context;
	size_t before = bytes < 4096 ? 8 : 0;
	void *block;

	m->asked++;
	if (m->fail_at != 0 && m->asked >= m->fail_at)
		return NULL;
	REQUIRE(bytes > 0);
	if (posix_memalign(&block, 64, before + bytes) != 0)
		return NULL;
	memset(block, 0, before + bytes);
	m->live++;
	return (char *) block + before;
}

static inline void
test_release(void *context, void *pointer)
{
	test_memory *m = context;

	REQUIRE(pointer != NULL);
	m->live--;
	free((char *) pointer - (uintptr_t) pointer % 64);
}

static const qb_memory test_heap = { .alloc = test_alloc,
									 .release = test_release,
									 .context = &test_heap_state };

/* Let allocation number k and all later allocations fail; k = 0: none fails. */
static inline void
test_fail_at(long k)
{
	test_heap_state.asked = 0;
	test_heap_state.fail_at = k;
}

static inline void
test_no_leak(void)
{
	REQUIRE(test_heap_state.live == 0);
}

/* ---- random numbers: xorshift64*, which sketches do not use ---- */

typedef struct test_rng
{
	uint64_t state;
} test_rng;

static inline test_rng
test_seeded(uint64_t seed)
{
	return (test_rng){ seed * UINT64_C(0x2127599BF4325C37) + 0x9E1F3A5B7C2D4E61 };
}

static inline uint64_t
test_random(test_rng *rng)
{
	rng->state ^= rng->state >> 12;
	rng->state ^= rng->state << 25;
	rng->state ^= rng->state >> 27;
	return rng->state * UINT64_C(0x2545F4914F6CDD1D);
}

/* Returns a number from 0 to bound - 1. */
static inline uint64_t
test_below(test_rng *rng, uint64_t bound)
{
	return (test_random(rng) >> 16) % bound;
}

static inline void
test_shuffle(test_rng *rng, uint64_t *keys, int64_t *weights, size_t count)
{
	size_t i;

	for (i = count; i > 1; i--)
	{
		size_t j = (size_t) test_below(rng, i);
		uint64_t key = keys[i - 1];
		int64_t weight = weights ? weights[i - 1] : 0;

		keys[i - 1] = keys[j];
		keys[j] = key;
		if (!weights)
			continue;
		weights[i - 1] = weights[j];
		weights[j] = weight;
	}
}

/*
 * Returns the fingerprint of key number i.  Fingerprints are distinct, and include 0 and
 * UINT64_MAX.
 */
static inline uint64_t
test_key(uint64_t i)
{
	if (i == 0)
		return 0;
	return i == 1 ? UINT64_MAX : i * UINT64_C(0xD1342543DE82EF95);
}

/* Returns a random key number below "keys"; small numbers are more frequent. */
static inline uint64_t
test_skewed(test_rng *rng, uint64_t keys)
{
	uint64_t key = test_below(rng, keys);

	return key >> test_below(rng, 10);
}

/* ---- parameters and sketches ---- */

#define TEST_FAMILY    7
#define TEST_COLLATION 9

/* Returns parameters with this n.  "z" and "log2_masks" are ignored for structures without them. */
static inline qs_params
test_params(int structure, uint64_t n, int depth, int z, int log2_masks, uint64_t seed)
{
	qs_params p = { .seed = seed, .n = n };

	p.structure = (uint8_t) structure;
	p.depth = (uint8_t) depth;
	p.z = (uint8_t) (structure == QS_SF ? z : 0);
	p.log2_masks = (uint8_t) (structure == QS_THREAD ? 0 : log2_masks);
	REQUIRE_OK(qs_params_check(&p));
	return p;
}

/* Returns parameters with depth 3, z 8 and 1024 masks. */
static inline qs_params
test_usual_params(int structure, uint64_t n)
{
	return test_params(structure, n, 3, 8, 10, 42);
}

static inline void
test_init(qs_sketch *sk, const qs_params *p)
{
	qs_init(sk, p, &test_heap);
	sk->keys.family = TEST_FAMILY;
	sk->keys.collation = TEST_COLLATION;
}

static inline void
test_init_dense(qs_sketch *sk, const qs_params *p)
{
	test_init(sk, p);
	REQUIRE_OK(qs_make_dense(sk));
}

static inline qb_status
test_try_insert(qs_sketch *sk, uint64_t key, int64_t weight)
{
	return qs_engine_cpu.insert(sk, &key, &weight, 1);
}

static inline void
test_insert(qs_sketch *sk, uint64_t key, int64_t weight)
{
	REQUIRE_OK(test_try_insert(sk, key, weight));
}

static inline qb_status
test_try_remove(qs_sketch *sk, uint64_t key, int64_t weight)
{
	return qs_engine_cpu.remove(sk, &key, &weight, 1);
}

static inline int64_t
test_estimate(const qs_sketch *sk, uint64_t key)
{
	int64_t estimate;

	qs_query(sk, &key, 1, &estimate);
	return estimate;
}

/* Insert "count" rows of random skewed keys, each with weight 1. */
static inline void
test_fill(qs_sketch *sk, uint64_t seed, uint64_t keys, size_t count)
{
	test_rng rng = test_seeded(seed);
	uint64_t batch[256];
	size_t i;

	while (count > 0)
	{
		size_t n = count < ALL_OF(batch) ? count : ALL_OF(batch);

		for (i = 0; i < n; i++)
			batch[i] = test_key(test_skewed(&rng, keys));
		REQUIRE_OK(qs_engine_cpu.insert(sk, batch, NULL, n));
		count -= n;
	}
}

/* ---- bytes ---- */

typedef struct test_bytes
{
	uint8_t *data;
	uint64_t length;
} test_bytes;

/* Returns the serialized sketch, in a block that ends where the bytes end. */
static inline test_bytes
test_write(const qs_sketch *sk)
{
	test_bytes b;

	b.length = qs_flat_size(sk);
	b.data = malloc(b.length);
	REQUIRE(b.data != NULL);
	memset(b.data, 0xA5, b.length);
	qs_write(sk, b.data);
	return b;
}

static inline test_bytes
test_bytes_of(const uint8_t *data, uint64_t length)
{
	test_bytes b = { malloc(length > 0 ? length : 1), length };

	REQUIRE(b.data != NULL);
	if (length > 0)
		memcpy(b.data, data, length);
	return b;
}

/* Returns the size of the tables of a dense sketch, with counters as wide as its total requires. */
static inline uint64_t
test_table_bytes(const qs_sketch *sk)
{
	bool wide = sk->total >= QS_WIDE_TOTAL;
	uint64_t high = sk->ops->live_extra ? sk->ops->live_extra(sk) : 1;

	return qs_table_bytes(&sk->params, wide) + qs_extra_bytes(&sk->params, wide) * high;
}

/* Returns the tables of a dense sketch, in the byte layout of the dense encoding. */
static inline test_bytes
test_tables_of(const qs_sketch *sk)
{
	test_bytes b = { calloc(1, test_table_bytes(sk)), test_table_bytes(sk) };

	REQUIRE(b.data != NULL);
	sk->ops->write(sk, sk->total >= QS_WIDE_TOTAL, b.data);
	return b;
}

/* Returns the sketch in dense encoding, even if only compact is valid.  The checksum is wrong. */
static inline test_bytes
test_write_dense(const qs_sketch *sk)
{
	test_bytes b = test_write(sk);
	test_bytes tables = test_tables_of(sk);

	b.length = QS_HEADER_BYTES + tables.length;
	b.data = realloc(b.data, b.length);
	REQUIRE(b.data != NULL);
	memcpy(b.data + QS_HEADER_BYTES, tables.data, tables.length);
	free(tables.data);
	b.data[TEST_AT_FORM] = QS_DENSE;
	qb_store64(b.data + TEST_AT_USED, sk->ops->live_extra ? sk->ops->live_extra(sk) : 0);
	qb_store32(b.data + TEST_AT_PRESENT, 0);
	return b;
}

/* Open bytes as a view.  Compact bytes are copied to a sketch with tables. */
static inline void
test_dense(qs_sketch *sk, test_bytes b)
{
	qs_sketch view;

	REQUIRE_OK(qs_open(&view, b.data, b.length));
	*sk = view;
	if (view.encoding == QS_COMPACT)
		REQUIRE_OK(qs_copy(sk, &view, &test_heap));
}

static inline void
test_dense_free(qs_sketch *sk)
{
	if (!sk->view)
		qs_free(sk);
}

static inline bool
test_equal_bytes(test_bytes a, test_bytes b)
{
	return a.length == b.length && memcmp(a.data, b.data, a.length) == 0;
}

/* Returns the serialized sketch, which the validator must accept. */
static inline test_bytes
test_write_valid(const qs_sketch *sk)
{
	test_bytes b = test_write(sk);

	REQUIRE_OK(qs_validate(b.data, b.length));
	return b;
}

static inline void
test_require_valid(const qs_sketch *sk)
{
	free(test_write_valid(sk).data);
}

static inline bool
test_writes(const qs_sketch *sk, test_bytes wanted)
{
	test_bytes b = test_write(sk);
	bool same = test_equal_bytes(b, wanted);

	free(b.data);
	return same;
}

/* Check that "a" is valid; returns true if the bytes of both sketches are equal. */
static inline bool
test_same(const qs_sketch *a, const qs_sketch *b)
{
	test_bytes x = test_write_valid(a);
	bool same = test_writes(b, x);

	free(x.data);
	return same;
}

/* Repair the checksum of damaged bytes, so that validation reaches its later checks. */
static inline void
test_repair_crc(uint8_t *bytes, uint64_t length)
{
	qb_store32(bytes + TEST_AT_CRC, 0);
	qb_store32(bytes + TEST_AT_CRC, qb_crc32c(QB_CRC32C_INIT, bytes, length) ^ QB_CRC32C_INIT);
}

#endif
