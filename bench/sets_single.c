/*
 * sets_single.c
 *		Speed of the paper's methods for one pair of sets (the paper's Fig. 6).
 *
 * bench/sets_single.c
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */

#include "sets_bench.h"
#include "sets_single_pair.h"

static bool
usable(int subject)
{
	return subject < QSET_INDEX ||
		   (subject >= STD && subject < SUBJECTS && (subject != AVX2_ONLY || qb_isa_use("avx2")));
}

static uint64_t
intersect(int subject, const two_sets *s)
{
	const qset_kernels *k = qset_kernels_now();
	uint64_t common = 0;

	switch (subject)
	{
		case STD:
			return std_set_intersection(s->a, s->n, s->b, s->m, s->out);
		case BRANCHLESS:
			return qset_merge_count32((int32_t *) s->a, s->n, (int32_t *) s->b, s->m);
		case MATERIALIZED:
			return qset_intersect32(k, (int32_t *) s->a, s->n, (int32_t *) s->b, s->m,
									(int32_t *) s->out);
		case AVX2_ONLY:
			subject = QSET_MERGE;
			break;
	}
	require(qset_single_count(k, subject, s->a, s->n, s->b, s->m, &data_memory, &common) == QB_OK,
			"out of memory");
	return common;
}

void
time_subjects(two_sets *s, int runs, double *best)
{
	int subject;

	s->common = intersect(STD, s);
	for (subject = 0; subject < SUBJECTS; subject++)
		best[subject] = 1e9;
	for (; runs > 0; runs--)
		for (subject = 0; subject < SUBJECTS; subject++)
		{
			double start;
			double took;

			if (!usable(subject))
				continue;
			qb_isa_use(subject == AVX2_ONLY ? "avx2" : "auto");
			start = now();
			require(intersect(subject, s) == s->common, "wrong count");
			took = now() - start;
			best[subject] = took < best[subject] ? took : best[subject];
		}
	qb_isa_use("auto");
}

two_sets
make_two(distribution d, uint64_t universe, uint64_t draws)
{
	two_sets s;

	s.a = data_set(d, universe, draws, 1, &s.n);
	s.b = data_set(d, universe, draws, 2, &s.m);
	s.out = malloc(((s.n < s.m ? s.n : s.m) + QSET_SLACK) * sizeof(*s.out));
	require(s.out != NULL, "out of memory");
	return s;
}

void
free_two(two_sets *s)
{
	free(s->a);
	free(s->b);
	free(s->out);
}

static void
print_single(const char *name, const two_sets *s, const double *best)
{
	const int columns[] = {
		STD,         BRANCHLESS,        QSET_MERGE, AVX2_ONLY,       MATERIALIZED,
		QSET_SEARCH, QSET_MERGE_SEARCH, QSET_HASH,  QSET_MERGE_HASH, QSET_BITMAP
	};
	size_t i;

	printf("| %s | %llu | %llu |", name, (unsigned long long) (s->n + s->m),
		   (unsigned long long) s->common);
	for (i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		printf(" %.2f |", best[columns[i]] * 1e3);
	printf("\n");
	fflush(stdout);
}

void
bench_single(void)
{
	static const char *const names[] = { "uniform", "normal", "Zipf" };
	const uint64_t universes[] = { 100000000, 1000000000 };
	int d;
	int u;

	printf(
		"\n## One pair of sets (the paper's Fig. 6), ms\n\nA set has the distinct numbers among "
		"10 million random numbers of a universe. The normal distribution\nhas a standard "
		"deviation of a million, and Zipf's has theta 0.9. Times are of one processor.\n\n"
		"| data: universe | elements of both | common | "
		"std::set_intersection | branchless merge | `merge` (%s) | `merge` (AVX2) | elements, not "
		"only their number | `search` | `merge_search` | `hash` | `merge_hash` | `bitmap` |\n"
		"|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
		qset_kernels_now()->name);
	for (d = UNIFORM; d <= ZIPF; d++)
		for (u = 0; u < 2; u++)
		{
			two_sets s = make_two((distribution) d, universes[u], 10000000);
			double best[SUBJECTS];
			char name[80];

			snprintf(name, sizeof(name), "%s 1e%d", names[d], 8 + u);
			time_subjects(&s, 2, best);
			print_single(name, &s, best);
			free_two(&s);
		}
}
