/*
 * sets_model.c
 *		All pairs: compares the method that "auto" chooses with the fastest method.
 *
 * "auto" chooses among index, hybrid and bitmaps of all sets.  The table also has the fastest of
 * the paper's other techniques, which "auto" never chooses.
 *
 * The constants of the cost model were fitted on other generated collections and on the real
 * collections.  The table has only the cases in which another method was faster than the choice
 * by more than a tenth.
 *
 * bench/sets_model.c
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */

#include "sets_bench.h"

/* The quality of the choices. */
typedef struct tally
{
	int cases;
	int right; /* number of choices at most 1.1 times as slow as the best possible choice */
	double worst;
} tally;

/* A method, or the choice of "auto", and the least times of its runs so far. */
typedef struct rival
{
	const char *name;
	qset_request request;
	outcome best;
} rival;

#define RIVALS (METHOD_COUNT + 2)

/* All rivals run alternately, LEAST_ROUNDS times, and up to MOST_ROUNDS times within SECONDS. */
#define LEAST_ROUNDS 5
#define MOST_ROUNDS  60
#define SECONDS      0.2

static double
total(const rival *r)
{
	return r->best.prepare + r->best.count;
}

static void
time_rivals(rival *r, int rivals)
{
	double start = now();
	int round;
	int i;

	for (round = 0; round < LEAST_ROUNDS || (round < MOST_ROUNDS && now() - start < SECONDS);
		 round++)
		for (i = 0; i < rivals; i++)
		{
			outcome o = best_pairs(&r[i].request, 1, 1, 1);

			if (round == 0)
				r[i].best = o;
			r[i].best.prepare = o.prepare < r[i].best.prepare ? o.prepare : r[i].best.prepare;
			r[i].best.count = o.count < r[i].best.count ? o.count : r[i].best.count;
		}
}

/*
 * Return the expected seconds.  For a technique between QSET_MERGE and QSET_BITMAP, cost[] has the
 * nanoseconds of method "bitmap" with a bitmap of one row at a time.  The technique takes about ten
 * times as long (the paper's Figs. 7 and 8).
 */
static double
expected(const qset_plan *p, int method)
{
	return p->cost[method] * (method > QSET_MERGE && method < QSET_BITMAP ? 1e-8 : 1e-9);
}

/*
 * Find the rivals that are not expected to take much longer than "auto", which is the first rival.
 */
static int
find_rivals(rival *r, const qset_collection *c, int64_t min_count, double min_jaccard)
{
	const outcome none = { .prepare = 0 };
	int rivals = 1;
	double limit;
	size_t i;

	r[0] = (rival){ "auto", request_of(c, min_count, min_jaccard, QSET_AUTO, QSET_VARIANT_AUTO),
					none };
	limit = 8 * best_pairs(&r[0].request, 1, 1, 2).count + 0.01;
	for (i = 0; i < METHOD_COUNT + 1; i++)
	{
		variant_name prefix = { QSET_INDEX, QSET_VARIANT_ON, false, "`index` of prefixes" };
		variant_name v = i < METHOD_COUNT ? bench_methods[i] : prefix;
		qset_request one = request_of(c, min_count, min_jaccard, v.method, v.variant);
		qset_preparation p;

		require(qset_prepare(&p, &one) == QB_OK, "could not prepare");
		if (expected(&p.plan, v.method) < limit)
			r[rivals++] = (rival){ v.name, one, none };
		qset_prepared_free(&p);
	}
	return rivals;
}

static const char *
choice_name(const qset_request *r)
{
	static char name[40];
	qset_preparation p;

	require(qset_prepare(&p, r) == QB_OK, "could not prepare");
	snprintf(name, sizeof(name), "`%s`%s", qset_method_name(p.plan.method),
			 p.plan.prefix     ? " of prefixes"
			 : p.plan.resident ? ", naive"
							   : "");
	qset_prepared_free(&p);
	return name;
}

/* True if the rival is one of the paper's techniques that "auto" does not consider. */
static bool
is_technique(const rival *r)
{
	return r->request.method < QSET_INDEX &&
		   (r->request.method != QSET_BITMAP || r->request.variant != QSET_VARIANT_ON);
}

/* Print a case.  If "technique" is NULL, none of the paper's other techniques has run. */
static void
print_case(const char *name, double min_jaccard, const rival *chosen, const rival *fastest,
		   const rival *technique)
{
	printf("| %s | %lld | %.2g | %s | %.2f | %s | %.2f | %.2f |", name,
		   (long long) chosen->request.filter.min_count, min_jaccard, choice_name(&chosen->request),
		   total(chosen) * 1e3, fastest == chosen ? "the same" : fastest->name,
		   total(fastest) * 1e3, total(chosen) / total(fastest));
	if (technique)
		printf(" %s | %.2f |\n", technique->name, total(technique) * 1e3);
	else
		printf(" - | |\n");
	fflush(stdout);
}

static void
model_case(const char *name, const qset_collection *c, int64_t min_count, double min_jaccard,
		   tally *t)
{
	rival r[RIVALS];
	int rivals = find_rivals(r, c, min_count, min_jaccard);
	const rival *fastest = &r[0];
	const rival *technique = NULL;
	double ratio;
	int i;

	time_rivals(r, rivals);
	for (i = 1; i < rivals; i++)
		if (is_technique(&r[i]))
			technique = technique && total(technique) <= total(&r[i]) ? technique : &r[i];
		else if (total(&r[i]) < total(fastest))
			fastest = &r[i];
	ratio = total(&r[0]) / total(fastest);
	t->cases++;
	t->right += ratio <= 1.1;
	t->worst = ratio > t->worst ? ratio : t->worst;
	if (ratio > 1.1 || (technique && total(technique) < 0.9 * total(&r[0])))
		print_case(name, min_jaccard, &r[0], fastest, technique);
}

static void
model_collection(const char *name, qset_collection *c, tally *t)
{
	model_case(name, c, 1, 0, t);
	model_case(name, c, 10, 0, t);
	model_case(name, c, 1, 0.5, t);
	model_case(name, c, 1, 0.9, t);
	qset_collection_free(c);
}

static void
end_table(const tally *t)
{
	printf(
		"\n`auto` took at most 1.1 times the time of *fastest* in %d of %d cases, and %.2f times "
		"in the worst case: %s (target: 90 %%, none beyond 1.5).\n",
		t->right, t->cases, t->worst,
		t->right * 10 >= t->cases * 9 && t->worst <= 1.5 ? "PASS" : "FAIL");
}

void
bench_model(void)
{
	const recipe recipes[] = {
		{ "20 sets of up to 100,000", 20, 1000000, 0.6, 50000, 100000, 1, 0 },
		{ "100 sets of 10,000", 100, 1000000, 0.8, 0, 0, 0, 15000 },
		{ "100 sets of 1,000 of 3,000", 100, 3000, 0.3, 0, 0, 0, 1500 },
		{ "1,000 sets of 30 of 200", 1000, 200, 0.5, 0, 0, 0, 40 },
		{ "5,000 sets of 100", 5000, 100000, 0.7, 0, 0, 0, 110 },
		{ "20,000 sets of 100", 20000, 1000000, 0.5, 0, 0, 0, 100 },
		{ "50,000 sets of 20", 50000, 30000, 0.9, 0, 0, 0, 24 },
		{ "TWITTER-like", 10000, 37000, 0.8, 100, 2000, 3, 0 },
		{ "50 sets of 50 to 20,000", 50, 300000, 0.7, 50, 20000, 0.5, 0 },
		{ "10 sets of 300,000", 10, 5000000, 0.4, 0, 0, 0, 320000 },
		{ "200 sets of 100 to 50,000", 200, 1000000, 0.8, 100, 50000, 0.8, 0 },
		{ "300 sets of 3,000", 300, 40000, 0.6, 0, 0, 0, 4000 },
		{ "800 sets of 15", 800, 5000, 0.4, 0, 0, 0, 16 },
		{ "1,200 sets of 5 to 800, skewed", 1200, 20000, 1.05, 5, 800, 1.5, 0 },
		{ "2,000 sets of 20 to 5,000", 2000, 200000, 0.75, 20, 5000, 1.1, 0 },
		{ "4,000 sets of 600", 4000, 60000, 0.85, 0, 0, 0, 900 },
		{ "8,000 sets of 250, hardly skewed", 8000, 400000, 0.2, 0, 0, 0, 250 },
		{ "15,000 sets of 60, skewed", 15000, 80000, 1.1, 0, 0, 0, 140 },
		{ "25,000 sets of 30 to 300", 25000, 500000, 0.95, 30, 300, 2, 0 },
		{ "40,000 sets of 10", 40000, 8000, 0.5, 0, 0, 0, 11 },
	};
	tally t = { 0 };
	qset_collection c;
	size_t i;

	printf("\n## What `auto` chooses\n\n");
	printf(
		"The table lists cases in which another method was faster than `auto` by more than a "
		"tenth. The column *fastest* has the\n"
		"fastest method that `auto` may choose, and *technique* the fastest of the paper's other "
		"methods (`-`: not run, because\n"
		"it would take more than eight times as long). Each collection was searched with a least "
		"count of 1 and 10, and with a\n"
		"least Jaccard index of 0.5 and 0.9.\n");
	printf("\n| data | least count | least Jaccard index | chosen | ms | fastest | ms | "
		   "ratio | technique | ms |\n"
		   "|---|---:|---:|---|---:|---|---:|---:|---|---:|\n");
	for (i = 0; i < sizeof(recipes) / sizeof(recipes[0]); i++)
	{
		data_collection(&c, &recipes[i], i);
		model_collection(recipes[i].name, &c, &t);
	}
	if (data_kosarak(&c, 1000000))
		model_collection("kosarak (real)", &c, &t);
	if (data_enron(&c))
		model_collection("email-Enron (real)", &c, &t);
	end_table(&t);
}
