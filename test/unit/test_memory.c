/*
 * test_memory.c
 *		Out of memory: each allocation of each operation fails in turn.
 *
 * The operation must return QB_NO_MEMORY.  The remaining sketch must be safe to free,
 * without leaks (the allocator counts blocks) and without double frees.  If an operation
 * promises not to change its operand, the test checks this promise, too.
 *
 * test/unit/test_memory.c
 */
#include "samples.h"

/* An operation on "sk".  "other" is a second sketch of the same sample. */
typedef qb_status (*operation)(qs_sketch *sk, const qs_sketch *other);

static qb_status
insert_many(qs_sketch *sk, const qs_sketch *other)
{
	uint64_t key[600];
	uint64_t i;

	(void) other;
	for (i = 0; i < ALL_OF(key); i++)
		key[i] = test_key(200 + i / 3);
	return qs_engine_cpu.insert(sk, key, NULL, ALL_OF(key));
}

static qb_status
insert_heavy(qs_sketch *sk, const qs_sketch *other)
{
	(void) other;
	return test_try_insert(sk, test_key(2), QS_WIDE_TOTAL);
}

static qb_status
make_dense(qs_sketch *sk, const qs_sketch *other)
{
	(void) other;
	return qs_make_dense(sk);
}

static qb_status
merge(qs_sketch *sk, const qs_sketch *other)
{
	return qs_merge(sk, other);
}

static qb_status
merge_folding(qs_sketch *sk, const qs_sketch *other)
{
	qs_sketch small;
	qb_status status;

	/* the copy is part of the operation, since it can fail, too */
	status = qs_copy(&small, other, &test_heap);
	if (status != QB_OK)
		return status;
	status = qs_fold(&small, small.params.n / 2);
	if (status == QB_OK)
		status = qs_fold(sk, sk->params.n / 2);
	if (status == QB_OK)
		status = qs_merge(sk, &small);
	qs_free(&small);
	return status;
}

static qb_status
subtract(qs_sketch *sk, const qs_sketch *other)
{
	return qs_subtract(sk, other);
}

static qb_status
fold(qs_sketch *sk, const qs_sketch *other)
{
	(void) other;
	return qs_fold(sk, sk->params.n / 4);
}

static qb_status
copy(qs_sketch *sk, const qs_sketch *other)
{
	qs_sketch to;
	qb_status status = qs_copy(&to, other, &test_heap);

	(void) sk;
	if (status == QB_OK)
		qs_free(&to);
	return status;
}

static qb_status
part(qs_sketch *sk, qs_part which)
{
	qs_sketch to;
	qb_status status = qs_sf_part(&to, sk, which, &test_heap);

	if (status == QB_OK)
		qs_free(&to);
	return status;
}

static qb_status
device_part(qs_sketch *sk, const qs_sketch *other)
{
	(void) other;
	return part(sk, QS_PART_DEVICE);
}

static qb_status
host_part(qs_sketch *sk, const qs_sketch *other)
{
	(void) other;
	return part(sk, QS_PART_HOST);
}

static qb_status
whole_of_host(qs_sketch *sk, const qs_sketch *other)
{
	(void) other;
	return part(sk, QS_PART_FULL);
}

static const struct
{
	const char *name;
	operation run;
	bool changes; /* the operation may leave its operand half changed */
} operations[] = {
	{ "insert many", insert_many, true },
	{ "insert heavy", insert_heavy, true },
	{ "make dense", make_dense, false },
	{ "merge", merge, true },
	{ "merge, folding", merge_folding, true },
	{ "subtract", subtract, true },
	{ "fold", fold, false },
	{ "copy", copy, false },
	{ "device part", device_part, false },
	{ "host part", host_part, false },
	{ "whole of host part", whole_of_host, false },
};

/*
 * Repeat the operation until it does not return QB_NO_MEMORY; returns its last status.  In run k,
 * allocation k and all later allocations fail.
 */
static qb_status
run_failing(const sample *s, size_t o)
{
	long k;

	for (k = 1;; k++)
	{
		qs_sketch sk;
		qs_sketch other;
		qb_status status;
		test_bytes before;
		bool folds = operations[o].run == fold;

		WHERE("%s, %s, allocation %ld", s->name, operations[o].name, k);
		sample_build(&sk, s);
		sample_build(&other, s);
		before = test_write(&sk);
		test_fail_at(k);
		status = operations[o].run(&sk, &other);
		test_fail_at(0);
		if (status == QB_NO_MEMORY && !operations[o].changes &&
			!(folds && sk.encoding == QS_EXPLICIT))
			REQUIRE(test_writes(&sk, before));
		free(before.data);
		qs_free(&sk);
		qs_free(&other);
		test_no_leak();
		if (status != QB_NO_MEMORY)
			return status;
		REQUIRE(k < 1000);
	}
}

static void
every_allocation_can_fail(void **state)
{
	size_t i;
	size_t o;

	(void) state;
	for (i = 0; i < ALL_OF(samples); i++)
		for (o = 0; o < ALL_OF(operations); o++)
		{
			qb_status status = run_failing(&samples[i], o);

			REQUIRE(status == QB_OK || status == QB_READ_ONLY || status == QB_WRONG_PART);
		}
}

/* One bucket after another carries, so the table of high buckets grows several times. */
static void
high_buckets_can_fail_to_grow(void **state)
{
	qs_params p = test_usual_params(QS_MULTILEVEL, 256);
	qb_status status = QB_NO_MEMORY;
	uint64_t i;
	long k;

	(void) state;
	for (k = 1; status == QB_NO_MEMORY; k++)
	{
		qs_sketch a;
		qs_sketch b;

		qs_sketch twice;

		test_init_dense(&a, &p);
		test_init_dense(&b, &p);
		test_init_dense(&twice, &p);
		for (i = 0; i < 100; i++)
		{
			test_insert(&a, test_key(i), 200);
			test_insert(&b, test_key(i), 200);
			test_insert(&twice, test_key(i), 400);
		}
		REQUIRE(b.extra_used < 16);
		test_fail_at(k);
		status = qs_merge(&a, &b);
		test_fail_at(0);
		test_require_valid(&b);
		if (status == QB_OK)
			REQUIRE(a.extra_used > 64 && test_same(&a, &twice));
		qs_free(&a);
		qs_free(&b);
		qs_free(&twice);
		test_no_leak();
	}
	REQUIRE(status == QB_OK && k > 4);
}

/* A batch fails for lack of memory.  The sketch can still be queried and freed. */
static void
freeing_after_a_failed_batch(void **state)
{
	static uint64_t key[3 * QS_BATCH];
	uint64_t i;
	int s;
	long k;

	(void) state;
	for (i = 0; i < ALL_OF(key); i++)
		key[i] = test_key(i);
	for (s = QS_THREAD; s < QS_STRUCTURES; s++)
		for (k = 1; k < 20; k++)
		{
			qs_params p = test_usual_params(s, 128);
			qs_sketch sk;
			qb_status status;

			WHERE("%s, allocation %ld", qs_structure_name(s), k);
			test_init(&sk, &p);
			test_fail_at(k);
			status = qs_engine_cpu.insert(&sk, key, NULL, ALL_OF(key));
			test_fail_at(0);
			REQUIRE(status == QB_OK || status == QB_NO_MEMORY);
			REQUIRE(test_estimate(&sk, key[0]) >= (status == QB_OK));
			qs_free(&sk);
			test_no_leak();
		}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_allocation_can_fail),
		cmocka_unit_test(high_buckets_can_fail_to_grow),
		cmocka_unit_test(freeing_after_a_failed_batch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
