/*
 * machine.h
 *		Random operations on three sketches, compared with exact counts.
 *
 * The machine draws parameters and operations from a source of choices: random numbers in
 * test_property.c, the fuzzer's bytes in fuzz_ops.c.  For each sketch, the machine keeps the
 * exact count of each key.  After each operation it checks that
 *
 * - no estimate is below the exact count, and explicit sketches are exact;
 * - a sketch with more distinct keys than the limit is dense; any other sketch is explicit,
 *   but may be dense after a removal or a forced qs_make_dense();
 * - the written bytes are valid;
 * - a refused operation changes nothing; only a refused subtraction may change the encoding.
 *
 * Sometimes the machine checks a stronger property: the sketch's bytes equal the bytes of a
 * sketch to which the exact counts are added in one batch.  This property covers the order
 * of keys, batches, merging, folding, widths and removing.
 *
 * test/unit/machine.h
 */
#ifndef QS_TEST_MACHINE_H
#define QS_TEST_MACHINE_H

#include "choices.h"

#include "engine/sketch_engine.h"
#include "sketch/merge.h"

#define MACHINE_SKETCHES 3
#define MACHINE_KEYS     400
#define MACHINE_BATCH    100

/* ---- state ---- */

typedef struct machine_sketch
{
	qs_sketch sk;
	bool shrunk; /* true after a removal or a forced qs_make_dense(), also of a merged sketch */
	int64_t count[MACHINE_KEYS];
} machine_sketch;

typedef struct machine
{
	choices from;
	qs_params params; /* parameters of an unfolded sketch */
	uint64_t keys;
	uint64_t salt; /* varies the fingerprints from run to run */
	machine_sketch unit[MACHINE_SKETCHES];
} machine;

static inline uint64_t
machine_key(const machine *m, uint64_t i)
{
	return i < 2 ? test_key(i) : i * m->salt;
}

static inline qs_params
machine_params(choices *c)
{
	static const int z[] = { 2, 3, 8, 64 };
	int structure = QS_THREAD + (int) choose(c, 6);
	uint64_t odd = 1 + 2 * choose(c, 3);
	uint64_t n = odd << choose(c, 6);
	int depth = 1 + (int) choose(c, 8);
	int most = (int) qs_depth_max(structure);
	int masks = choose(c, 20) == 0 ? 16 : (int) choose(c, 11);
	int cells = z[choose(c, 4)];
	qs_params p = test_params(structure, n, depth > 5 ? most : depth, cells, masks, choose(c, 100));

	if (structure == QS_SF && choose(c, 4) == 0)
		p.part = QS_PART_HOST;
	return p;
}

/* Replace the sketch by an empty sketch, with n divided by 1, 2 or 4. */
static inline void
machine_reset(machine *m, machine_sketch *u)
{
	qs_params p = m->params;
	uint64_t folds = choose(&m->from, 3);

	memset(u, 0, sizeof(*u));
	for (; folds > 0 && p.n % 2 == 0; folds--)
		p.n /= 2;
	test_init(&u->sk, &p);
}

static inline void
machine_start(machine *m, choices from)
{
	int i;

	m->from = from;
	m->params = machine_params(&m->from);
	m->keys = 1 + choose(&m->from, MACHINE_KEYS);
	m->salt = UINT64_C(0xD1342543DE82EF95) + 2 * choose(&m->from, 1 << 16);
	for (i = 0; i < MACHINE_SKETCHES; i++)
		machine_reset(m, &m->unit[i]);
}

static inline void
machine_stop(machine *m)
{
	int i;

	for (i = 0; i < MACHINE_SKETCHES; i++)
		qs_free(&m->unit[i].sk);
	qb_isa_use("auto");
	test_no_leak();
}

/* ---- checks ---- */

static inline uint64_t
machine_distinct(const machine *m, const machine_sketch *u)
{
	uint64_t distinct = 0;
	uint64_t i;

	for (i = 0; i < m->keys; i++)
		distinct += u->count[i] > 0;
	return distinct;
}

static inline void
machine_query(const machine *m, const qs_sketch *sk, int64_t *estimate)
{
	uint64_t key[MACHINE_KEYS];
	uint64_t i;

	for (i = 0; i < m->keys; i++)
		key[i] = machine_key(m, i);
	qs_query(sk, key, m->keys, estimate);
}

static inline void
machine_check(const machine *m, const machine_sketch *u)
{
	int64_t estimate[MACHINE_KEYS];
	bool few = machine_distinct(m, u) <= qs_explicit_limit(&u->sk.params);
	int64_t total = 0;
	uint64_t i;

	machine_query(m, &u->sk, estimate);
	for (i = 0; i < m->keys; i++)
	{
		REQUIRE(estimate[i] == qs_estimate(&u->sk, machine_key(m, i)));
		REQUIRE(estimate[i] >= u->count[i] && estimate[i] <= u->sk.total);
		REQUIRE(estimate[i] == u->count[i] || u->sk.encoding == QS_DENSE);
		total += u->count[i];
	}
	REQUIRE(total == u->sk.total);
	REQUIRE(u->sk.encoding == QS_EXPLICIT ? few : u->shrunk || !few);
	test_require_valid(&u->sk);
}

/* Check that a sketch built from the exact counts in one batch has the same bytes. */
static inline void
machine_check_rebuilt(const machine *m, const machine_sketch *u)
{
	uint64_t key[MACHINE_KEYS];
	qs_sketch fresh;
	uint64_t i;

	test_init(&fresh, &u->sk.params);
	for (i = 0; i < m->keys; i++)
		key[i] = machine_key(m, i);
	REQUIRE_OK(qs_engine_cpu.insert(&fresh, key, u->count, m->keys));
	if (u->shrunk && u->sk.encoding == QS_DENSE)
		REQUIRE_OK(qs_make_dense(&fresh));
	REQUIRE(test_same(&fresh, &u->sk));
	qs_free(&fresh);
}

/* For sf, check that count <= fat <= slim, and that the host part restores the full sketch. */
static inline void
machine_check_parts(const machine *m, const machine_sketch *u)
{
	int64_t fat[MACHINE_KEYS];
	int64_t slim[MACHINE_KEYS];
	int64_t full[MACHINE_KEYS];
	qs_sketch device;
	qs_sketch host;
	qs_sketch whole;
	uint64_t i;

	if (u->sk.params.structure != QS_SF || u->sk.params.part != QS_PART_FULL)
		return;
	REQUIRE_OK(qs_sf_part(&device, &u->sk, QS_PART_DEVICE, &test_heap));
	REQUIRE_OK(qs_sf_part(&host, &u->sk, QS_PART_HOST, &test_heap));
	REQUIRE_OK(qs_sf_part(&whole, &host, QS_PART_FULL, &test_heap));
	REQUIRE(test_same(&whole, &u->sk));
	test_require_valid(&host);
	test_require_valid(&device);
	machine_query(m, &device, slim);
	machine_query(m, &host, fat);
	machine_query(m, &whole, full);
	for (i = 0; i < m->keys; i++)
	{
		REQUIRE(u->count[i] <= fat[i] && fat[i] <= slim[i]);
		REQUIRE(full[i] == (whole.encoding == QS_DENSE ? slim[i] : fat[i]));
	}
	qs_free(&device);
	qs_free(&host);
	qs_free(&whole);
}

/* ---- operations ---- */

/* Returns a weight: usually 1 to 200, sometimes 0, sometimes up to 2^52. */
static inline int64_t
machine_weight(machine *m)
{
	uint64_t digits;

	switch (choose(&m->from, 32))
	{
		case 0:
			return 0;
		case 1:
			digits = choose(&m->from, 256);
			return (int64_t) (digits << choose(&m->from, 45));
		default:
			return 1 + (int64_t) choose(&m->from, 200);
	}
}

static inline void
machine_insert(machine *m, machine_sketch *u)
{
	uint64_t key[MACHINE_BATCH];
	int64_t weight[MACHINE_BATCH];
	uint64_t index[MACHINE_BATCH];
	uint64_t count = choose(&m->from, MACHINE_BATCH);
	bool unit = choose(&m->from, 3) == 0;
	int64_t sum = u->sk.total;
	bool fits = true;
	uint64_t i;

	for (i = 0; i < count; i++)
	{
		index[i] = choose(&m->from, m->keys);
		key[i] = machine_key(m, index[i]);
		weight[i] = unit ? 1 : machine_weight(m);
		fits = fits && weight[i] <= INT64_MAX - sum;
		sum += fits ? weight[i] : 0;
	}
	REQUIRE_STATUS(qs_engine_cpu.insert(&u->sk, key, unit ? NULL : weight, count),
				   fits ? QB_OK : QB_TOTAL_OVERFLOW);
	for (i = 0; i < count && fits; i++)
		u->count[index[i]] += weight[i];
}

/* Remove all or part of the counts of random keys. */
static inline void
machine_remove(machine *m, machine_sketch *u)
{
	uint64_t key[MACHINE_BATCH];
	int64_t weight[MACHINE_BATCH];
	uint64_t count = choose(&m->from, MACHINE_BATCH);
	uint64_t i;

	for (i = 0; i < count; i++)
	{
		uint64_t index = choose(&m->from, m->keys);
		int64_t *c = &u->count[index];

		key[i] = machine_key(m, index);
		weight[i] = choose(&m->from, 2) ? *c : (int64_t) choose(&m->from, (uint64_t) *c % 1000 + 1);
		*c -= weight[i];
	}
	REQUIRE_OK(qs_engine_cpu.remove(&u->sk, key, weight, count));
	u->shrunk = true;
}

/*
 * Try to remove the exact count of one key, and more than the estimate of a second key, in one
 * batch.  The refusal must change nothing.
 */
static inline void
machine_refuse(machine *m, machine_sketch *u)
{
	uint64_t first = choose(&m->from, m->keys);
	uint64_t second = choose(&m->from, m->keys);
	uint64_t key[2] = { machine_key(m, first), machine_key(m, second) };
	int64_t weight[2] = { u->count[first], test_estimate(&u->sk, key[1]) };
	test_bytes before = test_write(&u->sk);

	if (weight[1] < INT64_MAX - weight[0])
	{
		weight[1]++;
		REQUIRE_STATUS(qs_engine_cpu.remove(&u->sk, key, weight, 2), QB_UNDERFLOW);
	}
	REQUIRE(test_writes(&u->sk, before));
	free(before.data);
}

/* Merge a dense sketch slice by slice.  Each slice is merged in place or from a copy. */
static inline qb_status
machine_merge_slices(machine *m, qs_sketch *into, const qs_sketch *from)
{
	qb_status status = qs_merge_begin(into, from);
	uint64_t units, at, count;

	if (status != QB_OK)
		return status;
	units = qs_slice_units(&into->params);
	for (at = 0; at < units; at += count)
	{
		qs_slice to = { at, count = 1 + choose(&m->from, units - at) };
		qs_sketch taken;

		if (choose(&m->from, 2))
		{
			REQUIRE_OK(qs_merge_slice(into, to, from, to));
			continue;
		}
		REQUIRE_OK(qs_take_slice(&taken, from, to, &test_heap));
		REQUIRE_OK(qs_merge_slice(into, to, &taken, (qs_slice){ 0, count }));
		qs_free(&taken);
	}
	return QB_OK;
}

/* Merge in slices or as a whole.  Slices require two different dense sketches. */
static inline qb_status
machine_merge_any(machine *m, qs_sketch *into, const qs_sketch *from)
{
	bool sliced = from != into && from->encoding == QS_DENSE && into->encoding == QS_DENSE &&
				  choose(&m->from, 2);

	return sliced ? machine_merge_slices(m, into, from) : qs_merge(into, from);
}

/*
 * Check that merging and subtracting sketches of different sizes is refused and changes
 * nothing.  Then fold both sketches to the smaller size.
 */
static inline void
machine_same_size(machine_sketch *u, machine_sketch *v)
{
	uint64_t n = u->sk.params.n < v->sk.params.n ? u->sk.params.n : v->sk.params.n;
	test_bytes before = test_write(&u->sk);

	if (u->sk.params.n != v->sk.params.n)
	{
		REQUIRE_STATUS(qs_merge(&u->sk, &v->sk), QB_MISMATCH);
		REQUIRE_STATUS(qs_merge_begin(&u->sk, &v->sk), QB_MISMATCH);
		REQUIRE_STATUS(qs_merge_deferred(&u->sk, &v->sk), QB_MISMATCH);
		REQUIRE_STATUS(qs_subtract(&u->sk, &v->sk), QB_MISMATCH);
		REQUIRE(test_writes(&u->sk, before));
	}
	free(before.data);
	REQUIRE_OK(qs_fold(&u->sk, n));
	REQUIRE_OK(qs_fold(&v->sk, n));
}

/* Merge v, or a view of the bytes of v, into u.  u and v may be the same sketch. */
static inline void
machine_merge(machine *m, machine_sketch *u, machine_sketch *v)
{
	test_bytes bytes = test_write(&v->sk);
	bool fits = v->sk.total <= INT64_MAX - u->sk.total;
	qs_sketch view;
	uint64_t i;

	REQUIRE_OK(qs_open(&view, bytes.data, bytes.length));
	REQUIRE_STATUS(machine_merge_any(m, &u->sk, choose(&m->from, 2) ? &v->sk : &view),
				   fits ? QB_OK : QB_TOTAL_OVERFLOW);
	free(bytes.data);
	for (i = 0; i < m->keys && fits; i++)
		u->count[i] += v->count[i];
	u->shrunk |= v->shrunk;
}

/*
 * Merge the bytes of v into u one to four times by qs_merge_deferred(), and then call
 * qs_materialize().  Does nothing if the total would overflow.
 */
static inline void
machine_merge_often(machine *m, machine_sketch *u, machine_sketch *v)
{
	int64_t times = 1 + (int64_t) choose(&m->from, 4);
	test_bytes bytes = test_write(&v->sk);
	qs_sketch view;
	uint64_t i;
	int64_t t;

	REQUIRE_OK(qs_open(&view, bytes.data, bytes.length));
	if (view.total <= (INT64_MAX - u->sk.total) / times)
	{
		for (i = 0; i < m->keys; i++)
			u->count[i] += times * v->count[i];
		for (t = 0; t < times; t++)
			REQUIRE_OK(qs_merge_deferred(&u->sk, &view));
		REQUIRE_OK(qs_materialize(&u->sk));
		u->shrunk |= v->shrunk;
	}
	free(bytes.data);
}

/*
 * Subtract v from u.  If v counts a key more often than u, the call must be refused or leave a
 * valid sketch.
 */
static inline void
machine_subtract(machine *m, machine_sketch *u, machine_sketch *v)
{
	bool covered = true;
	qs_sketch copy;
	uint64_t i;

	for (i = 0; i < m->keys; i++)
		covered = covered && u->count[i] >= v->count[i];
	if (!covered)
	{
		REQUIRE_OK(qs_copy(&copy, &u->sk, &test_heap));
		if (qs_subtract(&copy, &v->sk) == QB_UNDERFLOW)
			REQUIRE(copy.encoding != u->sk.encoding || test_same(&u->sk, &copy));
		test_require_valid(&copy);
		qs_free(&copy);
		return;
	}
	REQUIRE_OK(qs_subtract(&u->sk, &v->sk));
	for (i = 0; i < m->keys; i++)
		u->count[i] -= v->count[i];
	u->shrunk = true;
}

static inline void
machine_copy(machine *m, machine_sketch *u)
{
	test_bytes bytes = test_write(&u->sk);
	qs_sketch view;
	qs_sketch copy;

	REQUIRE_OK(qs_open(&view, bytes.data, bytes.length));
	REQUIRE_OK(qs_copy(&copy, choose(&m->from, 2) ? &u->sk : &view, &test_heap));
	REQUIRE(test_writes(&copy, bytes));
	qs_free(&u->sk);
	u->sk = copy;
	free(bytes.data);
}

static inline void
machine_force_dense(machine_sketch *u)
{
	u->shrunk |= u->sk.encoding == QS_EXPLICIT;
	REQUIRE_OK(qs_make_dense(&u->sk));
}

static inline void
machine_fold(machine_sketch *u)
{
	if (u->sk.params.n % 2 == 0)
		REQUIRE_OK(qs_fold(&u->sk, u->sk.params.n / 2));
}

static inline void
machine_step(machine *m)
{
	static const char *const levels[] = { "scalar", "neon", "avx2", "avx512", "auto" };
	machine_sketch *u = &m->unit[choose(&m->from, MACHINE_SKETCHES)];
	machine_sketch *v = &m->unit[choose(&m->from, MACHINE_SKETCHES)];
	uint64_t what = choose(&m->from, 16);

	qb_isa_use(levels[choose(&m->from, sizeof(levels) / sizeof(*levels))]);
	if (what < 5)
		machine_insert(m, u);
	else if (what < 7)
		machine_remove(m, u);
	else if (what == 7)
		machine_refuse(m, u);
	else if (what <= 10)
	{
		machine_same_size(u, v);
		(what == 8 ? machine_merge : what == 9 ? machine_merge_often : machine_subtract)(m, u, v);
	}
	else if (what == 11)
		machine_copy(m, u);
	else if (what == 12)
		machine_fold(u);
	else if (what == 13)
		machine_check_parts(m, u);
	else if (what == 14)
		machine_check_rebuilt(m, u);
	else if (choose(&m->from, 4) == 0)
		machine_force_dense(u);
	else if (choose(&m->from, 4) == 0)
	{
		qs_free(&u->sk);
		machine_reset(m, u);
	}
	machine_check(m, u);
}

static inline void
machine_finish(machine *m)
{
	int i;

	for (i = 0; i < MACHINE_SKETCHES; i++)
	{
		machine_check_parts(m, &m->unit[i]);
		machine_check_rebuilt(m, &m->unit[i]);
	}
	machine_stop(m);
}

#endif
