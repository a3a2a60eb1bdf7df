/*
 * sets_targets.c
 *		Compares the speed of the sets family with its targets.
 *
 * bench/sets_targets.c
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */

#include "sets_bench.h"

static const char *
rate(double measured, double bound)
{
	return measured <= bound ? "PASS" : "FAIL";
}

static void
print_target(const char *what, double measured, const char *unit, double bound)
{
	printf("| %s | %.4g %s | <= %.4g | %s |\n", what, measured, unit, bound, rate(measured, bound));
	fflush(stdout);
}

static void
target_single(void)
{
	two_sets s = make_two(UNIFORM, 100000000, 10000000);
	double best[SUBJECTS];

	time_subjects(&s, 9, best);
	print_target("one pair of 10 M of 1e8, against std::set_intersection",
				 best[QSET_MERGE] / best[STD], "", 1.0 / 8);
	print_target("the same against a branchless merge", best[QSET_MERGE] / best[BRANCHLESS], "",
				 1.0 / 3);
	free_two(&s);
}

static void
target_kosarak(void)
{
	qset_collection c;
	qset_request r;
	outcome index;
	outcome hybrid;
	outcome all;

	if (!data_kosarak(&c, 1000000))
	{
		qset_collection_free(&c);
		return;
	}
	r = request_of(&c, 20, 0, QSET_AUTO, 0);
	all = best_pairs(&r, 1, 2, 5);
	print_target("kosarak, all pairs with at least 20 in common, 2 threads, from memory",
				 all.prepare + all.count, "s", 1.0);
	/* the common elements of all sessions are counted, but few pairs are returned */
	r = request_of(&c, 1, 1, QSET_INDEX, QSET_VARIANT_OFF);
	index = best_pairs(&r, 1, 1, 5);
	r.method = QSET_HYBRID;
	hybrid = best_pairs(&r, 1, 1, 5);
	print_target("kosarak, all sessions, counting: hybrid against index",
				 (hybrid.prepare + hybrid.count) / (index.prepare + index.count), "", 0.6);
	r = request_of(&c, 3, 0, QSET_HYBRID, QSET_VARIANT_OFF);
	hybrid = best_pairs(&r, 1, 1, 5);
	printf("| kosarak, at least 3, pairs a second, one thread (%llu pairs) | %.3g M | >= 20 M | %s "
		   "|\n",
		   (unsigned long long) hybrid.pairs, (double) hybrid.pairs / hybrid.count / 1e6,
		   (double) hybrid.pairs / hybrid.count >= 20e6 ? "PASS" : "FAIL");
	qset_collection_free(&c);
	data_kosarak(&c, 6000);
	r = request_of(&c, 5, 0, QSET_AUTO, 0);
	all = best_pairs(&r, 1, 1, 9);
	printf("| kosarak's first 6,000 sessions, at least 5: %llu pairs, one thread | %.2f ms | | |\n",
		   (unsigned long long) all.pairs, (all.prepare + all.count) * 1e3);
	qset_collection_free(&c);
}

static void
target_enron(void)
{
	qset_collection c;
	qset_request r;
	outcome o;
	double std;

	data_collection(&c, &recipe_enron, 1);
	r = request_of(&c, 10, 0, QSET_AUTO, 0);
	o = best_pairs(&r, 1, 1, 5);
	std = std_pairs(&c, step_for(c.sets, 20));
	print_target("ENRON-like, counting, against std::set_intersection pairwise", o.count / std, "",
				 1.0 / 200);
	printf("| the same: std %.1f s, counting %.3f s (%s), preparing %.3f s | | | |\n", std, o.count,
		   qset_method_name(o.method), o.prepare);
	qset_collection_free(&c);
}

/* Measure a search in 100,000 sets of 100 elements with a least Jaccard index of 0.8. */
static void
target_alike(void)
{
	recipe many = { "alike", 100000, 1000000, 0.5, 0, 0, 0, 100 };
	qset_collection c;
	qset_request r;
	outcome o;

	data_collection(&c, &many, 9);
	r = request_of(&c, 1, 0.8, QSET_AUTO, 0);
	o = best_pairs(&r, 1, 1, 2);
	printf("| 100,000 sets of 100, Jaccard index 0.8, one thread: %.0f MB | %.3f s | | |\n",
		   (double) (o.bytes + qset_collection_memory(&c)) / 1e6, o.prepare + o.count);
	qset_collection_free(&c);
}

/* Return the seconds of a builder, without the time of generating its rows. */
static double
time_builder(uint64_t rows)
{
	enum
	{
		BATCH = 10000
	};
	static int64_t id[BATCH];
	static uint64_t low[BATCH];
	uint64_t state = 1;
	double took = 0;
	double start;
	qset_builder b;
	qset_collection c;
	uint64_t i;
	int r;

	qset_builder_init(&b, false, &data_keys, &data_memory);
	for (i = 0; i < rows; i += BATCH)
	{
		for (r = 0; r < BATCH; r++)
		{
			state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
			id[r] = (int64_t) (state >> 40) % 50000;
			low[r] = (state >> 20 & 0xFFFFF) * (state >> 50) >> 14;
		}
		start = now();
		require(qset_builder_add(&b, id, low, NULL, BATCH) == QB_OK, "out of memory");
		took += now() - start;
	}
	start = now();
	require(qset_builder_finish(&b, &c) == QB_OK, "out of memory");
	took += now() - start;
	qset_collection_free(&c);
	qset_builder_free(&b);
	return took;
}

static void
target_build(void)
{
	double best = time_builder(10000000);
	int run;

	for (run = 1; run < 3; run++)
	{
		double took = time_builder(10000000);

		best = took < best ? took : best;
	}
	printf("| a collection of 10 M rows, 50,000 sets, 1 M elements | %.3f s | | |\n", best);
}

void
bench_targets(void)
{
	printf("\n## Targets\n\n| what | measured | target | |\n|---|---:|---:|---|\n");
	target_single();
	target_kosarak();
	target_enron();
	target_alike();
	target_build();
}
