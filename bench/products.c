/*
 * products.c
 *		Checks that inner products and second moments are unbiased and have right standard errors.
 *
 * The program makes sketches of two days for each structure and 200 seeds.  The counts of the keys
 * are drawn from the same frequencies on both days (like days), or each key has another key's
 * frequency on the second day (unlike days).  The second moment is the product of one day with
 * itself.  Three claims must hold.  The mean error is 0 within chance, except for thread, whose
 * estimate is a median.  For uniform keys, the standard error differs by at most a fifth from the
 * root mean square of the errors.  For each distribution of keys, at least 0.57 of the estimates
 * are within one standard error, and at least 0.88 are within two.  A normal distribution would
 * have 0.68 and 0.95, but errors that mostly come from single pairs of heavy keys are not normal.
 * The table has the product of unlike days of the most skewed keys.
 *
 * bench/products.c
 */
#include <math.h>
#include <stdlib.h>

#include "accuracy.h"
#include "sketch/moments.h"
#include "workload.h"

#define KEYS  20000
#define ROWS  (20.0 * KEYS)
#define SEEDS 200
#define LOAD  100

/* On an unlike day, key i has the frequency of key OTHER(i). */
#define OTHER(i) (((i) *7919 + 11) % KEYS)

static const subject subjects[] = {
	{ "thread", QS_THREAD, 0, 1024 },         { "warp", QS_WARP, 0, 1024 },
	{ "half_warp", QS_HALF_WARP, 0, 1024 },   { "sub_warp", QS_SUB_WARP, 0, 1024 },
	{ "multilevel", QS_MULTILEVEL, 0, 1024 }, { "sf z=8", QS_SF, 8, 1024 },
};

static const double thetas[] = { 0, 0.8, 1.2 };
static const char *const theta_names[] = { "uniform", "Zipf 0.8", "Zipf 1.2" };

typedef enum pairing
{
	SELF,
	LIKE,
	UNLIKE,
	PAIRINGS
} pairing;

static const char *const pairing_names[] = { "second moment", "like days", "unlike days" };

#define COUNT_OF(list) (sizeof(list) / sizeof((list)[0]))

/* Results of all seeds, as fractions of the true product. */
typedef struct result
{
	double bias;
	double squares;  /* mean square of the errors */
	double reported; /* mean square of the standard errors */
	double within_one;
	double within_two;
} result;

static void
add(result *r, const qs_product *p, double truth)
{
	double error = p->estimate - truth;

	r->bias += error / truth / SEEDS;
	r->squares += error * error / truth / truth / SEEDS;
	r->reported += p->standard_error * p->standard_error / truth / truth / SEEDS;
	r->within_one += (fabs(error) <= p->standard_error) / (double) SEEDS;
	r->within_two += (fabs(error) <= 2 * p->standard_error) / (double) SEEDS;
}

static double
true_product(const int64_t *a, const int64_t *b)
{
	double sum = 0;
	uint32_t i;

	for (i = 0; i < KEYS; i++)
		sum += (double) a[i] * (double) b[i];
	return sum;
}

static qs_sketch
sketch_of(const subject *s, const workload *w, const int64_t *count, uint64_t seed)
{
	qs_sketch sk;

	subject_init(&sk, s, w->rows, LOAD, seed);
	bench_check(qs_engine_cpu.insert(&sk, w->fingerprint, count, KEYS));
	return sk;
}

static void
add_seed(result *r, const subject *s, double theta, pairing pair, uint64_t seed)
{
	int64_t *count = bench_alloc(KEYS, sizeof(int64_t));
	workload one, other;
	qs_sketch a, b;
	qs_product p;
	uint32_t i;

	workload_init(&one, KEYS, ROWS, theta, seed);
	workload_init(&other, KEYS, ROWS, theta, seed + SEEDS);
	for (i = 0; i < KEYS; i++)
		count[i] = pair == SELF   ? one.count[i]
				   : pair == LIKE ? other.count[i]
								  : other.count[OTHER(i)];
	a = sketch_of(s, &one, one.count, seed);
	b = sketch_of(s, &one, count, seed);
	bench_check(qs_inner_product(&a, &b, &bench_memory, &p));
	add(r, &p, true_product(one.count, count));
	qs_free(&a);
	qs_free(&b);
	workload_free(&one);
	workload_free(&other);
	free(count);
}

static bool
is_right(const subject *s, double theta, const result *r)
{
	double ratio = sqrt(r->reported / r->squares);

	if (s->structure != QS_THREAD && fabs(r->bias) > 4 * sqrt(r->squares / SEEDS))
		return false;
	if (theta == 0 && (ratio < 0.8 || ratio > 1.2))
		return false;
	return r->within_one >= 0.57 && r->within_two >= 0.88;
}

static void
report(FILE *out, const subject *s, size_t theta, pairing pair)
{
	result r = { 0 };
	uint64_t seed;

	for (seed = 1; seed <= SEEDS; seed++)
		add_seed(&r, s, thetas[theta], pair, seed);
	if (pair == UNLIKE && theta == COUNT_OF(thetas) - 1)
		fprintf(out, "| %s | %s | %s | %+.3f %% | %.3f %% | %.3f %% | %.3f | %.3f |\n",
				theta_names[theta], pairing_names[pair], s->name, 100 * r.bias,
				100 * sqrt(r.squares), 100 * sqrt(r.reported), r.within_one, r.within_two);
	report_check(is_right(s, thetas[theta], &r),
				 "%s of %s, %s: bias %+.4f %%, error %.4f %%, told %.4f %%, within one %.3f, two "
				 "%.3f",
				 pairing_names[pair], theta_names[theta], s->name, 100 * r.bias,
				 100 * sqrt(r.squares), 100 * sqrt(r.reported), r.within_one, r.within_two);
}

void
accuracy_products(void)
{
	FILE *out = report_open("products");
	size_t theta, i;
	int pair;

	fprintf(out, "| data | of | structure | bias | error | standard error | within one | within "
				 "two |\n|---|---|---|---|---|---|---|---|\n");
	for (theta = 0; theta < COUNT_OF(thetas); theta++)
		for (pair = SELF; pair < PAIRINGS; pair++)
			for (i = 0; i < COUNT_OF(subjects); i++)
				report(out, &subjects[i], theta, (pairing) pair);
	fclose(out);
}
