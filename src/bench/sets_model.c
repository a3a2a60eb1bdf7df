/*
 * sets_model.c
 *		All pairs: how far the method that "auto" chooses is from the fastest.
 *
 * src/bench/sets_model.c
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */

#include "sets_bench.h"

static void
model_case(const char *name, const qi_collection *c, int64_t min_count, double min_jaccard,
		   int *cases, int *right)
{
	qi_request r = request_of(c, min_count, min_jaccard, QI_AUTO, QI_VARIANT_AUTO);
	qi_preparation p;
	outcome chosen = best_pairs(&r, 1, 1, 3);
	double fastest = chosen.prepare + chosen.count;
	const char *winner = qi_method_name(chosen.method);
	size_t i;

	for (i = 0; i < METHOD_COUNT + 1; i++)
	{
		variant_name prefix = { QI_INDEX, QI_VARIANT_ON, false, "`index` of prefixes" };
		variant_name v = i < METHOD_COUNT ? bench_methods[i] : prefix;
		qi_request one = request_of(c, min_count, min_jaccard, v.method, v.variant);
		outcome o;
		double took;

		require(qi_prepare(&p, &one) == QS_OK, "could not prepare");
		took = p.plan.cost[v.method] * 1e-9;
		qi_prepared_free(&p);
		/* what is expected to be far behind is not run */
		if (took > 8 * (chosen.prepare + chosen.count) + 0.01)
			continue;
		o = best_pairs(&one, 1, 1, 3);
		if (o.prepare + o.count < fastest)
		{
			fastest = o.prepare + o.count;
			winner = v.name;
		}
	}
	(*cases)++;
	*right += chosen.prepare + chosen.count <= fastest * 1.1;
	printf("| %s | %lld | %.2g | %s | %.2f | %s | %.2f | %.2f |\n", name, (long long) min_count,
		   min_jaccard, qi_method_name(chosen.method), (chosen.prepare + chosen.count) * 1e3,
		   winner, fastest * 1e3, (chosen.prepare + chosen.count) / fastest);
	fflush(stdout);
}

void
bench_model(void)
{
	const recipe small[] = {
		{ "20 sets of up to 100,000", 20, 1000000, 0.6, 50000, 100000, 1, 0 },
		{ "100 sets of 10,000", 100, 1000000, 0.8, 0, 0, 0, 15000 },
		{ "100 sets of 1,000 of 3,000", 100, 3000, 0.3, 0, 0, 0, 1500 },
		{ "1,000 sets of 30 of 200", 1000, 200, 0.5, 0, 0, 0, 40 },
		{ "5,000 sets of 100", 5000, 100000, 0.7, 0, 0, 0, 110 },
		{ "20,000 sets of 100", 20000, 1000000, 0.5, 0, 0, 0, 100 },
		{ "50,000 sets of 20", 50000, 30000, 0.9, 0, 0, 0, 24 },
		{ "TWITTER-like", 10000, 37000, 0.8, 100, 2000, 3, 0 },
	};
	int cases = 0;
	int right = 0;
	size_t i;

	printf("\n## What `auto` chooses\n\n| data | least count | least Jaccard index | chosen | ms | "
		   "fastest | ms | ratio |\n|---|---:|---:|---|---:|---|---:|---:|\n");
	for (i = 0; i < sizeof(small) / sizeof(small[0]); i++)
	{
		qi_collection c;

		data_collection(&c, &small[i], i);
		model_case(small[i].name, &c, 1, 0, &cases, &right);
		model_case(small[i].name, &c, 10, 0, &cases, &right);
		model_case(small[i].name, &c, 1, 0.5, &cases, &right);
		model_case(small[i].name, &c, 1, 0.9, &cases, &right);
		qi_collection_free(&c);
	}
	printf("\nWithin a tenth of the fastest in %d of %d cases.\n", right, cases);
}
