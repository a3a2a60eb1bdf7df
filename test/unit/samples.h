/*
 * samples.h
 *		Small sketches of every structure, form, part and counter width.
 *
 * test/unit/samples.h
 */
#ifndef QS_TEST_SAMPLES_H
#define QS_TEST_SAMPLES_H

#include "support.h"

typedef enum sample_kind
{
	SAMPLE_EMPTY,        /* explicit, as qs_init() leaves it */
	SAMPLE_EXPLICIT,     /* a few keys */
	SAMPLE_COMPACT,      /* small counters */
	SAMPLE_COMPACT_WIDE, /* like SAMPLE_COMPACT, with some counters beyond 2^32 */
	SAMPLE_DENSE,        /* large 4-byte counters, or many 1-byte counters */
	SAMPLE_WIDE          /* 8-byte counters, most beyond 2^53 */
} sample_kind;

typedef struct sample
{
	const char *name;
	int structure;
	int part;
	sample_kind kind;
} sample;

static const sample samples[] = {
	{ "thread, empty", QS_THREAD, 0, SAMPLE_EMPTY },
	{ "thread, explicit", QS_THREAD, 0, SAMPLE_EXPLICIT },
	{ "thread, compact", QS_THREAD, 0, SAMPLE_COMPACT },
	{ "thread, compact wide", QS_THREAD, 0, SAMPLE_COMPACT_WIDE },
	{ "thread, dense", QS_THREAD, 0, SAMPLE_DENSE },
	{ "thread, wide", QS_THREAD, 0, SAMPLE_WIDE },
	{ "warp, explicit", QS_WARP, 0, SAMPLE_EXPLICIT },
	{ "warp, compact", QS_WARP, 0, SAMPLE_COMPACT },
	{ "warp, compact wide", QS_WARP, 0, SAMPLE_COMPACT_WIDE },
	{ "warp, dense", QS_WARP, 0, SAMPLE_DENSE },
	{ "warp, wide", QS_WARP, 0, SAMPLE_WIDE },
	{ "half_warp, explicit", QS_HALF_WARP, 0, SAMPLE_EXPLICIT },
	{ "half_warp, compact", QS_HALF_WARP, 0, SAMPLE_COMPACT },
	{ "half_warp, compact wide", QS_HALF_WARP, 0, SAMPLE_COMPACT_WIDE },
	{ "half_warp, dense", QS_HALF_WARP, 0, SAMPLE_DENSE },
	{ "half_warp, wide", QS_HALF_WARP, 0, SAMPLE_WIDE },
	{ "sub_warp, empty", QS_SUB_WARP, 0, SAMPLE_EMPTY },
	{ "sub_warp, explicit", QS_SUB_WARP, 0, SAMPLE_EXPLICIT },
	{ "sub_warp, compact", QS_SUB_WARP, 0, SAMPLE_COMPACT },
	{ "sub_warp, compact wide", QS_SUB_WARP, 0, SAMPLE_COMPACT_WIDE },
	{ "sub_warp, dense", QS_SUB_WARP, 0, SAMPLE_DENSE },
	{ "sub_warp, wide", QS_SUB_WARP, 0, SAMPLE_WIDE },
	{ "multilevel, empty", QS_MULTILEVEL, 0, SAMPLE_EMPTY },
	{ "multilevel, explicit", QS_MULTILEVEL, 0, SAMPLE_EXPLICIT },
	{ "multilevel, compact", QS_MULTILEVEL, 0, SAMPLE_COMPACT },
	{ "multilevel, compact wide", QS_MULTILEVEL, 0, SAMPLE_COMPACT_WIDE },
	{ "multilevel, dense", QS_MULTILEVEL, 0, SAMPLE_DENSE },
	{ "multilevel, wide", QS_MULTILEVEL, 0, SAMPLE_WIDE },
	{ "sf, empty", QS_SF, QS_PART_FULL, SAMPLE_EMPTY },
	{ "sf, explicit", QS_SF, QS_PART_FULL, SAMPLE_EXPLICIT },
	{ "sf, compact", QS_SF, QS_PART_FULL, SAMPLE_COMPACT },
	{ "sf, compact wide", QS_SF, QS_PART_FULL, SAMPLE_COMPACT_WIDE },
	{ "sf, dense", QS_SF, QS_PART_FULL, SAMPLE_DENSE },
	{ "sf, wide", QS_SF, QS_PART_FULL, SAMPLE_WIDE },
	{ "sf device, compact", QS_SF, QS_PART_DEVICE, SAMPLE_COMPACT },
	{ "sf device, compact wide", QS_SF, QS_PART_DEVICE, SAMPLE_COMPACT_WIDE },
	{ "sf device, dense", QS_SF, QS_PART_DEVICE, SAMPLE_DENSE },
	{ "sf device, wide", QS_SF, QS_PART_DEVICE, SAMPLE_WIDE },
	{ "sf host, explicit", QS_SF, QS_PART_HOST, SAMPLE_EXPLICIT },
	{ "sf host, compact", QS_SF, QS_PART_HOST, SAMPLE_COMPACT },
	{ "sf host, compact wide", QS_SF, QS_PART_HOST, SAMPLE_COMPACT_WIDE },
	{ "sf host, dense", QS_SF, QS_PART_HOST, SAMPLE_DENSE },
	{ "sf host, wide", QS_SF, QS_PART_HOST, SAMPLE_WIDE },
};

/*
 * Returns parameters for small samples: a few keys stay explicit, and dense bodies have a few
 * hundred bytes.
 */
static inline qs_params
sample_params(int structure)
{
	return test_params(structure, structure == QS_THREAD ? 20 : 4, 3, 3, 4, 8);
}

/* Returns a weight that fills most bytes of each counter. */
static inline int64_t
sample_weight(int structure, sample_kind kind)
{
	if (kind == SAMPLE_WIDE)
		return INT64_C(1) << 53;
	return qs_has_high(structure) ? 3 : 1 << 22;
}

static inline void
sample_fill(qs_sketch *sk, sample_kind kind)
{
	uint64_t i;

	if (kind == SAMPLE_EXPLICIT)
	{
		test_insert(sk, test_key(1), 900);
		test_insert(sk, test_key(5), 1);
		test_insert(sk, test_key(0), 70000);
	}
	if (kind == SAMPLE_COMPACT || kind == SAMPLE_COMPACT_WIDE)
		test_fill(sk, 13, 100, 600);
	if (kind == SAMPLE_COMPACT_WIDE)
	{
		test_insert(sk, test_key(3), INT64_C(1) << 33);
		test_insert(sk, test_key(8), INT64_C(0x123456789ABC));
	}
	for (i = 0; kind >= SAMPLE_DENSE && i < 150; i++)
		test_insert(sk, test_key(i), sample_weight(sk->params.structure, kind));
}

static inline qs_encoding
sample_form(sample_kind kind)
{
	if (kind < SAMPLE_COMPACT)
		return QS_EXPLICIT;
	return kind < SAMPLE_DENSE ? QS_COMPACT : QS_DENSE;
}

/* Build a sample, which the caller frees. */
static inline void
sample_build(qs_sketch *sk, const sample *s)
{
	qs_params p = sample_params(s->structure);
	qs_sketch whole;

	test_init(&whole, &p);
	sample_fill(&whole, s->kind);
	REQUIRE((whole.encoding == QS_DENSE) == (s->kind >= SAMPLE_COMPACT));
	REQUIRE(whole.wide == (s->kind == SAMPLE_WIDE || s->kind == SAMPLE_COMPACT_WIDE));
	if (s->part == QS_PART_FULL)
	{
		*sk = whole;
		return;
	}
	REQUIRE_OK(qs_sf_part(sk, &whole, (qs_part) s->part, &test_heap));
	qs_free(&whole);
}

#define STRUCTURES(s) for (s = QS_THREAD; s < QS_STRUCTURES; s++)

/* Initialize an empty dense sketch, so that its form does not change later. */
static inline void
sample_init_dense(qs_sketch *sk, int structure, uint64_t n, uint64_t seed)
{
	qs_params p = test_params(structure, n, 3, 3, 4, seed);

	test_init_dense(sk, &p);
}

static inline test_bytes
sample_bytes(const sample *s)
{
	qs_sketch sk;
	test_bytes b;

	sample_build(&sk, s);
	REQUIRE(qs_flat_of(&sk).encoding == sample_form(s->kind));
	b = test_write_valid(&sk);
	qs_free(&sk);
	return b;
}

/*
 * Check that the tables are valid if "right" is true, and invalid if "right" is false.  If "same"
 * is true, check the tables in compact encoding, too.
 */
static inline void
require_tables(test_bytes b, bool right, bool same)
{
	qs_sketch view, copy;
	test_bytes compact;

	test_repair_crc(b.data, b.length);
	REQUIRE_OK(qs_open(&view, b.data, b.length));
	REQUIRE(view.ops->check(&view) == right);
	if (!same)
		return;
	REQUIRE_OK(qs_copy(&copy, &view, &test_heap));
	REQUIRE(qs_flat_of(&copy).encoding == QS_COMPACT);
	compact = test_write(&copy);
	REQUIRE_STATUS(qs_validate(compact.data, compact.length), right ? QB_OK : QB_FORMAT_COUNTERS);
	free(compact.data);
	qs_free(&copy);
}

#endif
