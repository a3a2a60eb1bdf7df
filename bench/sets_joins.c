/*
 * sets_joins.c
 *		All pairs above a Jaccard index: method "auto" compared with AllPairs and PPJoin.
 *
 * All three joins read the same collection and return the same pairs with the same counts, which a
 * sum of hashes checks for every input.  The time includes ordering, indexing and the choice of the
 * method.  The joins run alternately, on one thread.
 *
 * Prints a table by least Jaccard index.  Writes its times, and times by number of sets, to
 * build/bench/sets-joins.dat for gnuplot.
 *
 * bench/sets_joins.c
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */

#include "sets_allpairs.h"
#include "sets_bench.h"
#include "sets_ppjoin.h"

enum
{
	AUTO,
	ALLPAIRS,
	PPJOIN,
	JOINS
};

static const char *const join_names[JOINS] = { "`auto`", "AllPairs", "PPJoin" };

/* A column of a table: the value on the x-axis, milliseconds, and the method that "auto" chose. */
typedef struct figures
{
	double x;
	double ms[JOINS];
	char method;
	bool wrong;
} figures;

#define MOST_FIGURES 6
#define ROUNDS       2

static pair_sink sink;
static FILE *plotted;
static bool any_wrong;

/* Run one join.  Returns its seconds, and sets *o to its pairs. */
static double
run_join(const qset_collection *c, double jaccard, int join, bool summing, outcome *o)
{
	double start = now();

	if (join == AUTO)
	{
		qset_request r = request_of(c, 1, jaccard, QSET_AUTO, QSET_VARIANT_AUTO);

		*o = summing ? summed_pairs(&r) : best_pairs(&r, 1, 1, 1);
		return o->prepare + o->count;
	}
	sink.pairs = sink.sum = 0;
	sink.summing = summing;
	if (join == ALLPAIRS)
		allpairs_join(c, jaccard, &sink);
	else
		ppjoin_join(c, jaccard, &sink);
	*o = (outcome){ .pairs = sink.pairs, .sum = sink.sum };
	return now() - start;
}

/* Check that all joins find the same pairs, and return the least times of ROUNDS rounds. */
static figures
measure(const qset_collection *c, double jaccard)
{
	figures f = { 0 };
	outcome own;
	outcome o;
	int join;
	int round;

	run_join(c, jaccard, AUTO, true, &own);
	f.method = own.method == QSET_HYBRID ? 'h' : own.prefix ? 'p' : 'i';
	for (join = ALLPAIRS; join < JOINS; join++)
	{
		run_join(c, jaccard, join, true, &o);
		f.wrong = f.wrong || o.pairs != own.pairs || o.sum != own.sum;
	}
	for (round = 0; round < ROUNDS; round++)
		for (join = 0; join < JOINS; join++)
		{
			double ms = run_join(c, jaccard, join, false, &o) * 1e3;

			f.ms[join] = round == 0 || ms < f.ms[join] ? ms : f.ms[join];
		}
	any_wrong = any_wrong || f.wrong;
	return f;
}

/* Write a block of data for gnuplot. */
static void
plot_figures(const figures *f, int count)
{
	int i;

	for (i = 0; i < count; i++)
		fprintf(plotted, "%g %g %g %g\n", f[i].x, f[i].ms[AUTO], f[i].ms[ALLPAIRS],
				f[i].ms[PPJOIN]);
	fprintf(plotted, "\n\n");
}

/* Print the line of each join for one collection. */
static void
print_figures(const char *name, const figures *f, int count)
{
	int join;
	int i;

	for (join = 0; join < JOINS; join++)
	{
		printf("| %s | %s |", join == 0 ? name : "", join_names[join]);
		for (i = 0; i < count; i++)
		{
			printf(f[i].ms[join] < 10 ? " %.1f" : " %.0f", f[i].ms[join]);
			if (join == AUTO)
				printf(" %c%s", f[i].method, f[i].wrong ? " WRONG" : "");
			printf(" |");
		}
		printf("\n");
	}
	fflush(stdout);
}

/* ---- by least Jaccard index ---- */

static void
by_jaccard(const char *name, qset_collection *c)
{
	static const double least[MOST_FIGURES] = { 0.5, 0.6, 0.7, 0.8, 0.9, 0.95 };
	figures f[MOST_FIGURES];
	int i;

	for (i = 0; i < MOST_FIGURES; i++)
	{
		f[i] = measure(c, least[i]);
		f[i].x = least[i];
	}
	print_figures(name, f, MOST_FIGURES);
	plot_figures(f, MOST_FIGURES);
	qset_collection_free(c);
}

static void
all_by_jaccard(void)
{
	static const recipe generated[] = {
		{ "50,000 sets of 20, skewed", 50000, 30000, 0.9, 0, 0, 0, 24 },
		{ "20,000 sets of 100", 20000, 1000000, 0.5, 0, 0, 0, 100 },
		{ "TWITTER-like", 10000, 37000, 0.8, 100, 2000, 3, 0 },
	};
	qset_collection c;
	size_t i;

	printf("| ms at a least Jaccard index of | | 0.5 | 0.6 | 0.7 | 0.8 | 0.9 | 0.95 |\n"
		   "|---|---|---:|---:|---:|---:|---:|---:|\n");
	if (data_kosarak(&c, 1000000))
		by_jaccard("kosarak (real)", &c);
	if (data_enron(&c))
		by_jaccard("email-Enron (real)", &c);
	for (i = 0; i < sizeof(generated) / sizeof(generated[0]); i++)
	{
		data_collection(&c, &generated[i], i + 1);
		by_jaccard(generated[i].name, &c);
	}
}

/* ---- by number of sets ---- */

#define LEAST_SETS  5000
#define SIZES       5
#define SET_JACCARD 0.8

static void
all_by_sets(void)
{
	recipe skewed = { "sets of 20, skewed", 0, 30000, 0.9, 0, 0, 0, 24 };
	figures f[SIZES];
	qset_collection c;
	int i;

	for (i = 0; i < SIZES; i++)
	{
		skewed.sets = LEAST_SETS << i;
		data_collection(&c, &skewed, 7);
		f[i] = measure(&c, SET_JACCARD);
		f[i].x = (double) skewed.sets;
		qset_collection_free(&c);
	}
	plot_figures(f, SIZES);
}

void
bench_joins(void)
{
	plotted = fopen("build/bench/sets-joins.dat", "w");
	require(plotted != NULL, "could not write build/bench/sets-joins.dat");
	all_by_jaccard();
	all_by_sets();
	fclose(plotted);
	require(!any_wrong, "pairs differ: WRONG");
}
