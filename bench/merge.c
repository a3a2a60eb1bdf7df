/*
 * merge.c
 *		"make bench-merge": speed of merging multilevel and sub_warp sketches.
 *
 * Source and target of a merge are copies that were made from serialized bytes at an odd address.
 * The target has "parts" times the source's weight.  Each round measures four operations: a merge;
 * a subtraction, which restores the target; a fold of a copy to half its size; and a hundred merges
 * into a copy, as in aggregates, which read the sum only at the end.  The structures run
 * alternately.  Each round gives a ratio, and the median of all rounds is reported.  The last
 * columns are ratios to the floor, the time of a loop that only reads and writes as many bytes as
 * the sketches have, including high buckets.
 *
 * The results of multilevel are compared with sums that are computed counter by counter.
 *
 * bench/merge.c
 */
#define _POSIX_C_SOURCE 200809L

#include <stdlib.h>
#include <time.h>

#include "sketch/format.h"
#include "engine/sketch_engine.h"
#include "workload.h"

#define ROUNDS     21
#define BUCKET     32 /* bytes of a bucket in both structures, without high buckets */
#define KEYS       8  /* number of keys for each bucket */
#define STRUCTURES 2
#define MANY       100 /* number of merges of one aggregate */

enum
{
	MERGE,
	ONE_OF_MANY,
	SUBTRACT,
	FOLD,
	FLOOR,
	TIMES
};

static const int structures[STRUCTURES] = { QS_SUB_WARP, QS_MULTILEVEL };
static const uint64_t sizes[] = { 64 << 10, 1 << 20, 16 << 20 };

/*
 * The loads.  "rows" is the source's number of rows per bucket.  28 / 3 rows increase each counter
 * of a multilevel bucket by 1 on average.
 */
static const struct
{
	const char *name;
	double rows;
	double parts;
	double theta;
} loads[] = {
	{ "3 rows a bucket", 3, 1, 0 },
	{ "3, into 1000 times as many", 3, 1000, 0 },
	{ "300", 300, 1, 0 },
	{ "300, Zipf", 300, 1, 1 },
	{ "300, into 30 times as many", 300, 30, 0 },
	{ "300, into 1000 times as many", 300, 1000, 0 },
	{ "5000", 5000, 1, 0 },
	{ "5000, into 30 times as many", 5000, 30, 0 },
};

#define COUNT_OF(list) (sizeof(list) / sizeof((list)[0]))

/* A target and a source of merges. */
typedef struct subject_pair
{
	qs_sketch into;
	qs_sketch from;
	double ms[TIMES][ROUNDS];
} subject_pair;

/* Return the processor time of this process in ms. */
static double
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double) t.tv_sec * 1e3 + (double) t.tv_nsec / 1e6;
}

static void
build(qs_sketch *sk, int structure, uint64_t size, const workload *w)
{
	qs_params p;

	bench_check(qs_params_make(
		&p,
		&(qs_choice){
			.structure = structure, .size = size, .depth = 3, .z = 8, .masks = 1024, .seed = 7 }));
	qs_init(sk, &p, &bench_memory);
	sk->keys.family = 1;
	bench_check(qs_make_dense(sk));
	bench_check(qs_engine_cpu.insert(sk, w->fingerprint, w->count, w->keys));
}

/* Serialize a sketch to bytes at an odd address, free the sketch, and make a view of the bytes. */
static uint8_t *
serialize(qs_sketch *view, qs_sketch *sk)
{
	uint64_t length = qs_flat_size(sk);
	uint8_t *bytes = bench_alloc(length + 1, 1);

	qs_write(sk, bytes + 1);
	qs_free(sk);
	bench_check(qs_open(view, bytes + 1, length));
	return bytes;
}

/* Make a sketch: a copy that is made from serialized bytes. */
static void
make_sketch(qs_sketch *made, int structure, uint64_t size, const workload *w)
{
	qs_sketch sk;
	qs_sketch view;
	uint8_t *bytes;

	build(&sk, structure, size, w);
	bytes = serialize(&view, &sk);
	bench_check(qs_copy(made, &view, &bench_memory));
	free(bytes);
}

static void
make_pairs(subject_pair *pair, uint64_t size, size_t load)
{
	uint32_t keys = (uint32_t) (size / BUCKET * KEYS);
	double rows = loads[load].rows * (double) (size / BUCKET);
	workload w[2];
	size_t s;

	workload_init(&w[0], keys, rows, loads[load].theta, 1);
	workload_init(&w[1], keys, rows * loads[load].parts, loads[load].theta, 2);
	for (s = 0; s < STRUCTURES; s++)
	{
		make_sketch(&pair[s].from, structures[s], size, &w[0]);
		make_sketch(&pair[s].into, structures[s], size, &w[1]);
	}
	workload_free(&w[0]);
	workload_free(&w[1]);
}

static void
free_pairs(subject_pair *pair)
{
	size_t s;

	for (s = 0; s < STRUCTURES; s++)
	{
		qs_free(&pair[s].into);
		qs_free(&pair[s].from);
	}
}

/* ---- results ---- */

static uint64_t *
values_of(const qs_sketch *sk)
{
	uint64_t *value = bench_alloc(sk->params.n * QS_LOW_COUNTERS, sizeof(uint64_t));
	uint64_t b;

	for (b = 0; b < sk->params.n; b++)
		qs_multilevel_values(sk, b, value + b * QS_LOW_COUNTERS);
	return value;
}

/* True if the counters of "sk" are right: a + b or, if fold is 2, a folded.  b may be NULL. */
static bool
has_sums(const qs_sketch *sk, const uint64_t *a, const uint64_t *b, uint64_t fold)
{
	uint64_t *value = values_of(sk);
	uint64_t count = sk->params.n * QS_LOW_COUNTERS;
	bool right = true;
	uint64_t i;

	for (i = 0; i < count; i++)
	{
		uint64_t bucket = i / QS_LOW_COUNTERS;
		uint64_t first = (bucket * fold) * QS_LOW_COUNTERS + i % QS_LOW_COUNTERS;

		right &= value[i] == a[first] + (fold == 2 ? a[first + QS_LOW_COUNTERS] : b ? b[i] : 0);
	}
	free(value);
	return right;
}

static bool
is_right(subject_pair *pair)
{
	uint64_t *into = values_of(&pair->into);
	uint64_t *from = values_of(&pair->from);
	qs_sketch folded;
	bool right;

	bench_check(qs_copy(&folded, &pair->into, &bench_memory));
	bench_check(qs_fold(&folded, folded.params.n / 2));
	right = has_sums(&folded, into, NULL, 2);
	bench_check(qs_merge(&pair->into, &pair->from));
	right &= has_sums(&pair->into, into, from, 1);
	bench_check(qs_subtract(&pair->into, &pair->from));
	right &= has_sums(&pair->into, into, NULL, 1);
	qs_free(&folded);
	free(into);
	free(from);
	return right;
}

/* ---- times ---- */

static uint64_t
bytes_of(const qs_sketch *sk)
{
	return sk->params.n * BUCKET +
		   (sk->ops->live_extra ? sk->extra_used * qs_extra_bytes(&sk->params, sk->wide) : 0);
}

/* Read and write "into" bytes, and read "from" bytes.  Returns the ms. */
static double
floor_ms(uint8_t *memory, uint64_t into, uint64_t from)
{
	uint64_t *to = (uint64_t *) memory;
	const uint64_t *add = (const uint64_t *) (memory + into);
	double start = now_ms();
	uint64_t rest = 0;
	uint64_t i;

	for (i = 0; i < into / 8 && i < from / 8; i++)
		to[i] += add[i];
	for (; i < into / 8; i++)
		to[i] += i;
	for (; i < from / 8; i++)
		rest += add[i];
	to[0] += rest;
	return now_ms() - start;
}

/* Merge into a copy MANY times, as qsketch_merge_agg does.  Returns the ms of one merge. */
static double
many_ms(const subject_pair *pair)
{
	qs_sketch copy;
	double start;
	int i;

	bench_check(qs_copy(&copy, &pair->into, &bench_memory));
	start = now_ms();
	for (i = 0; i < MANY; i++)
		bench_check(qs_merge_deferred(&copy, &pair->from));
	bench_check(qs_materialize(&copy));
	start = now_ms() - start;
	qs_free(&copy);
	return start / MANY;
}

static void
time_pair(subject_pair *pair, uint8_t *memory, int round)
{
	uint64_t into = bytes_of(&pair->into);
	uint64_t from = bytes_of(&pair->from);
	qs_sketch copy;
	double start = now_ms();

	bench_check(qs_merge(&pair->into, &pair->from));
	pair->ms[MERGE][round] = now_ms() - start;
	start = now_ms();
	bench_check(qs_subtract(&pair->into, &pair->from));
	pair->ms[SUBTRACT][round] = now_ms() - start;
	bench_check(qs_copy(&copy, &pair->into, &bench_memory));
	start = now_ms();
	bench_check(qs_fold(&copy, copy.params.n / 2));
	pair->ms[FOLD][round] = now_ms() - start;
	qs_free(&copy);
	pair->ms[ONE_OF_MANY][round] = many_ms(pair);
	pair->ms[FLOOR][round] = floor_ms(memory, into, from);
}

static int
by_size(const void *a, const void *b)
{
	double x = *(const double *) a;
	double y = *(const double *) b;

	return (x > y) - (x < y);
}

/* Return the median over all rounds of ms / under or, if "under" is NULL, of ms. */
static double
median(const double *ms, const double *under)
{
	double list[ROUNDS];
	int i;

	for (i = 0; i < ROUNDS; i++)
		list[i] = under ? ms[i] / under[i] : ms[i];
	qsort(list, ROUNDS, sizeof(list[0]), by_size);
	return list[ROUNDS / 2];
}

static bool
report(uint64_t size, size_t load)
{
	subject_pair *pair = bench_alloc(STRUCTURES, sizeof(subject_pair));
	uint8_t *memory;
	bool right;
	int round;
	int what;

	make_pairs(pair, size, load);
	right = is_right(&pair[1]);
	memory = bench_alloc(bytes_of(&pair[1].into) + bytes_of(&pair[1].from), 1);
	for (round = 0; round < ROUNDS; round++)
	{
		time_pair(&pair[0], memory, round);
		time_pair(&pair[1], memory, round);
	}
	printf("| %llu kB | %s | %.1f + %.1f |", (unsigned long long) size >> 10, loads[load].name,
		   (double) bytes_of(&pair[1].into) / (double) size,
		   (double) bytes_of(&pair[1].from) / (double) size);
	for (what = MERGE; what <= FOLD; what++)
		printf(" %.3f / %.3f = %.2f |", median(pair[1].ms[what], NULL),
			   median(pair[0].ms[what], NULL), median(pair[1].ms[what], pair[0].ms[what]));
	printf(" %.2f | %.2f | %.2f |%s\n", median(pair[1].ms[MERGE], pair[1].ms[FLOOR]),
		   median(pair[1].ms[ONE_OF_MANY], pair[1].ms[FLOOR]),
		   median(pair[0].ms[MERGE], pair[0].ms[FLOOR]), right ? "" : " WRONG");
	fflush(stdout);
	free_pairs(pair);
	free(pair);
	free(memory);
	return right;
}

int
main(int argc, char **argv)
{
	bool right = true;
	size_t size;
	size_t load;

	if (!qb_isa_use(argc > 1 ? argv[1] : "auto"))
	{
		fprintf(stderr, "usage: merge [auto|avx512|avx2|scalar], as the processor has it\n");
		return 2;
	}
	printf(
		"Milliseconds of the processor, multilevel / sub_warp, with %s; bytes as multiples of the\n"
		"size, into + from.\n\n"
		"| size | load | bytes | merge | one of 100 merges | subtract | fold | merge / floor | of "
		"100 / "
		"floor | sub_warp's |\n"
		"|---|---|---|---|---|---|---|---|---|---|\n",
		qb_isa_name(qb_isa_now()));
	for (size = 0; size < COUNT_OF(sizes); size++)
		for (load = 0; load < COUNT_OF(loads); load++)
			right &= report(sizes[size], load);
	return right ? 0 : 1;
}
