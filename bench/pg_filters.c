/*
 * pg_filters.c
 *		SQL functions that measure baselines of filters inside a server.
 *
 *	filter_bench_bloom(keys bigint, megabytes int, rounds int)
 *		Measures Bloom filters of one size and PostgreSQL's lib/bloomfilter.c, which only
 *		the server contains.  Returns a row for each filter: the least times of "rounds"
 *		rounds, in which the filters run alternately, and the numbers of found keys.
 *	filter_bench_coins(internal, bigint, int, float8, bigint), ..._final(internal)
 *		An aggregate that inserts like the paper: each row draws a random number for each of
 *		k positions.  The result is the number of set bits.
 *
 * bench/pg_filters.c
 */
#include "postgres.h"

#include <math.h>
#include <time.h>

#include "engine/filter_engine.h"
#include "fmgr.h"
#include "funcapi.h"
#include "lib/bloomfilter.h"
#include "miscadmin.h"
#include "pgbase/memory.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

PG_MODULE_MAGIC;

/* ---- Bloom filters ---- */

/* A filter of the first "keys" keys; the next "keys" keys are absent. */
typedef struct Subject
{
	const char *name;
	bloom_filter *theirs;
	qf_filter ours;
	bool one_by_one;
	double ns[3]; /* insertion, present keys, absent keys; 0: not measured */
	uint64 found[2];
} Subject;

static double
cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static void
keep_best(double *best, double ns)
{
	if (*best == 0 || ns < *best)
		*best = ns;
}

static uint64
insert_keys(Subject *s, const uint64 *key, int64 keys)
{
	int64 i;

	for (i = 0; s->theirs && i < keys; i++)
		bloom_add_element(s->theirs, (unsigned char *) (uintptr_t) (key + i), sizeof(uint64));
	for (; i < keys; i += QF_BATCH)
	{
		qf_batch batch = { .fingerprint = key + i, .count = Min(QF_BATCH, keys - i) };

		if (qf_engine_cpu.insert(&s->ours, &batch) != QB_OK)
			elog(ERROR, "could not insert");
	}
	return 0;
}

static uint64
find_keys(Subject *s, const uint64 *key, int64 keys)
{
	static bool answer[QF_BATCH];
	uint64 found = 0;
	int64 i, b;

	for (i = 0; s->theirs && i < keys; i++)
		found += !bloom_lacks_element(s->theirs, (unsigned char *) (uintptr_t) (key + i),
									  sizeof(uint64));
	for (; s->one_by_one && i < keys; i++)
		found += qf_has(&s->ours, key[i]);
	for (; i < keys; i += QF_BATCH)
	{
		int64 count = Min(QF_BATCH, keys - i);

		qf_engine_cpu.contains(&s->ours, key + i, count, answer);
		for (b = 0; b < count; b++)
			found += answer[b];
	}
	return found;
}

static uint64
timed(Subject *s, int what, uint64 (*work)(Subject *, const uint64 *, int64), const uint64 *key,
	  int64 keys)
{
	double start = cpu_ns();
	uint64 found = work(s, key, keys);

	keep_best(&s->ns[what], (cpu_ns() - start) / keys);
	CHECK_FOR_INTERRUPTS();
	return found;
}

static void
start_ours(Subject *s, uint64 bytes, uint32 k, qf_layout layout)
{
	qf_params params = { .m = bytes * 8, .k = k, .layout = layout };
	qb_memory *memory = palloc(sizeof(qb_memory));

	qf_init(&s->ours, &params, ContextMemory(CurrentMemoryContext, memory));
	if (qf_make_dense(&s->ours) != QB_OK)
		elog(ERROR, "out of memory");
}

static void
put_subject(ReturnSetInfo *result, const Subject *s)
{
	Datum values[6] = { CStringGetTextDatum(s->name),       Float8GetDatum(s->ns[0]),
						Float8GetDatum(s->ns[1]),           Float8GetDatum(s->ns[2]),
						Int64GetDatum((int64) s->found[0]), Int64GetDatum((int64) s->found[1]) };
	bool nulls[6] = { false, s->one_by_one };

	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/*
 * Create a row for each filter.  For 10 million keys in 16 MB, k is the number of hash functions
 * that lib/bloomfilter.c chooses.
 */
PG_FUNCTION_INFO_V1(filter_bench_bloom);
Datum
filter_bench_bloom(PG_FUNCTION_ARGS)
{
	int64 keys = PG_GETARG_INT64(0);
	int megabytes = PG_GETARG_INT32(1);
	uint64 bytes = (uint64) megabytes << 20;
	uint32 k = (uint32) rint(log(2.0) * bytes * 8 / keys);
	Subject subject[] = { { .name = "lib/bloomfilter.c" },
						  { .name = "standard" },
						  { .name = "blocked" },
						  { .name = "blocked, one key a call", .one_by_one = true } };
	uint64 *key = MemoryContextAllocHuge(CurrentMemoryContext, keys * 2 * sizeof(uint64));
	int round, s;
	int64 i;

	InitMaterializedSRF(fcinfo, 0);
	for (i = 0; i < keys * 2; i++)
		key[i] = qb_mix64((uint64) i * QB_ROW_STEP + 1);
	start_ours(&subject[1], bytes, k, QF_STANDARD);
	start_ours(&subject[2], bytes, k, QF_BLOCKED);
	for (round = 0; round < PG_GETARG_INT32(2); round++)
	{
		subject[0].theirs = bloom_create(keys, megabytes * 1024, 0);
		for (s = 1; s <= 2; s++)
			memset(subject[s].ours.bits, 0, bytes);
		subject[3].ours = subject[2].ours;
		for (s = 0; s < lengthof(subject); s++)
		{
			if (!subject[s].one_by_one)
				timed(&subject[s], 0, insert_keys, key, keys);
			subject[s].found[0] = timed(&subject[s], 1, find_keys, key, keys);
			subject[s].found[1] = timed(&subject[s], 2, find_keys, key + keys, keys);
		}
		bloom_free(subject[0].theirs);
	}
	for (s = 0; s < lengthof(subject); s++)
		put_subject((ReturnSetInfo *) fcinfo->resultinfo, &subject[s]);
	return (Datum) 0;
}

/* ---- the paper's insertion ---- */

typedef struct Coins
{
	qf_filter filter;
	uint64 p; /* probability of setting a position, times 2^64 */
	uint64 row;
} Coins;

/* filter_bench_coins(state, key, k, p, bits) */
PG_FUNCTION_INFO_V1(filter_bench_coins);
Datum
filter_bench_coins(PG_FUNCTION_ARGS)
{
	Coins *state = PG_ARGISNULL(0) ? NULL : (Coins *) PG_GETARG_POINTER(0);
	uint64 h, base;
	uint32 j;

	if (state == NULL)
	{
		MemoryContext context, old;
		qf_params params = { .m = (uint64) PG_GETARG_INT64(4), .k = (uint32) PG_GETARG_INT32(2) };

		if (!AggCheckCallContext(fcinfo, &context))
			elog(ERROR, "not called by an aggregate");
		old = MemoryContextSwitchTo(context);
		state = palloc0(sizeof(Coins));
		state->p = (uint64) ldexp(PG_GETARG_FLOAT8(3), 64);
		qf_init(&state->filter, &params, ContextMemory(context, palloc(sizeof(qb_memory))));
		if (qf_make_dense(&state->filter) != QB_OK)
			elog(ERROR, "out of memory");
		MemoryContextSwitchTo(old);
	}
	h = qf_hash((uint64) PG_GETARG_INT64(1), state->filter.seed_key);
	base = qf_draw_base(1, state->row++);
	for (j = 0; j < state->filter.params.k; j++)
		if (qf_draw(base, j) < state->p)
			state->filter.ones +=
				qf_set_bit(state->filter.bits, qf_position(h, j, state->filter.params.m));
	PG_RETURN_POINTER(state);
}

PG_FUNCTION_INFO_V1(filter_bench_coins_final);
Datum
filter_bench_coins_final(PG_FUNCTION_ARGS)
{
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	PG_RETURN_INT64((int64) ((Coins *) PG_GETARG_POINTER(0))->filter.ones);
}
