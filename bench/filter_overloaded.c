/*
 * filter_overloaded.c
 *		Measures filters beyond their design load and after merges, and Bloom filters.
 *
 * bench/filter_overloaded.c
 */
#include <math.h>
#include <stdlib.h>

#include "filter_workload.h"

#define ROWS      6e6
#define FREQUENCY 500.0
#define KEYS      2000
#define PARTS     8

/* Insert "load" times the design's number of rows into "parts" filters, and merge the filters. */
static void
fill(qf_filter *f, double load, int parts)
{
	int part;
	uint32_t i;

	filter_start(f, QF_BALANCED, ROWS, FREQUENCY, 0.1, 0);
	for (part = 0; part < parts; part++)
	{
		qf_filter one;
		feeder feed;

		qf_init(&one, &f->params, &bench_memory);
		one.keys.family = 1;
		feeder_start(&feed, &one, (uint64_t) part * 1000 + 1);
		for (i = 0; i < KEYS; i++)
			feed_rows(&feed, filter_key(1, i), (uint64_t) FREQUENCY / (uint64_t) parts);
		/*
		 * row numbers are the keys of the noise, so different numbers give each filter different
		 * noise
		 */
		feed.row += (uint64_t) part << 40;
		feed_noise(&feed, (uint64_t) (ROWS * load - KEYS * FREQUENCY) / (uint64_t) parts);
		feeder_end(&feed);
		bench_check(qf_engine_cpu.merge(f, &one));
		qf_free(&one);
	}
}

static void
report(double load, int parts, FILE *table)
{
	moments ours = { 0 }, paper = { 0 }, absent = { 0 };
	double truth = floor(FREQUENCY / parts) * parts;
	double theory, bias;
	qf_scale scale;
	qf_filter f;
	uint32_t i;

	fill(&f, load, parts);
	qf_scale_make(&scale, &f);
	for (i = 0; i < KEYS; i++)
	{
		uint32_t set = filter_set_of(&f, filter_key(1, i));

		moments_add(&ours, qf_estimate(&scale, set) / truth);
		moments_add(&paper, qf_estimate_paper(&scale, set) / truth);
	}
	for (i = 0; i < KEYS * 10; i++)
		moments_add(&absent, qf_estimate(&scale, filter_set_of(&f, filter_key(2, i))) / truth);
	theory = qf_relative_sd(&scale, truth);
	bias = moments_mean(&ours) - 1;
	report_check(fabs(bias) < 0.01 + 3 * theory / sqrt(KEYS) &&
					 fabs(moments_sd(&ours) / theory - 1) < 0.1,
				 "load %.0f in %d parts: bias %+.2f %%, relative sd %.4f (theory %.4f)", load,
				 parts, 100 * bias, moments_sd(&ours), theory);
	report_check(fabs(moments_mean(&absent)) < 4 * moments_sd(&absent) / sqrt(KEYS * 10) + 0.002,
				 "load %.0f in %d parts: absent keys %+.4f f", load, parts, moments_mean(&absent));
	fprintf(table, "| %.0f | %d | %.1f %% | %+.2f %% | %+.1f %% | %.1f %% | %.1f %% | %+.2f %% |\n",
			load, parts, 100 * (1 - scale.zero), 100 * bias, 100 * (moments_mean(&paper) - 1),
			100 * moments_sd(&ours), 100 * theory, 100 * moments_mean(&absent));
	qf_free(&f);
}

void
accuracy_overloaded(void)
{
	static const double loads[] = { 1, 3, 10 };
	FILE *table = report_open("filter-overloaded");
	size_t i;

	fprintf(table,
			"| rows / design | merged of | set bits | bias | bias of the paper's | relative sd | "
			"theory | absent keys / f |\n|---|---|---|---|---|---|---|---|\n");
	for (i = 0; i < sizeof(loads) / sizeof(loads[0]); i++)
	{
		report(loads[i], 1, table);
		report(loads[i], PARTS, table);
	}
	fclose(table);
}

/* ---- Bloom filters ---- */

#define BLOOM_KEYS   1000000
#define BLOOM_PROBES 8000000

static uint64_t
count_found(const qf_filter *f, uint32_t group, uint64_t keys)
{
	uint64_t key[QF_BATCH];
	bool found[QF_BATCH];
	uint64_t i, k, sum = 0;

	for (i = 0; i < keys; i += QF_BATCH)
	{
		uint64_t n = keys - i < QF_BATCH ? keys - i : QF_BATCH;

		for (k = 0; k < n; k++)
			key[k] = filter_key(group, i + k);
		qf_engine_cpu.contains(f, key, n, found);
		for (k = 0; k < n; k++)
			sum += found[k];
	}
	return sum;
}

/* Return the allowed deviation of a measured rate: 5 %, plus 3 standard deviations of the rate. */
static double
tolerance(double rate)
{
	return 0.05 + 3 / sqrt(rate * BLOOM_PROBES);
}

static void
report_bloom(qf_layout layout, double asked, FILE *table)
{
	const char *name = qf_layout_name(layout);
	uint64_t missed, i;
	qf_params p;
	qf_filter f;
	feeder feed;
	double rate;

	bench_check(qf_params_make_bloom(&p, BLOOM_KEYS, asked, 0, layout));
	qf_init(&f, &p, &bench_memory);
	f.keys.family = 1;
	feeder_start(&feed, &f, 0);
	for (i = 0; i < BLOOM_KEYS; i++)
		feed_rows(&feed, filter_key(1, i), 1 + i % 2);
	feeder_end(&feed);
	missed = BLOOM_KEYS - count_found(&f, 1, BLOOM_KEYS);
	rate = (double) count_found(&f, 2, BLOOM_PROBES) / BLOOM_PROBES;
	report_check(missed == 0, "%s, rate %g: %d false negatives", name, asked, (int) missed);
	report_check(fabs(rate / asked - 1) <= tolerance(asked), "%s, rate %g: %.7f measured", name,
				 asked, rate);
	report_check(fabs(qf_distinct(&f) / BLOOM_KEYS - 1) < 0.005, "%s, rate %g: %.0f distinct", name,
				 asked, qf_distinct(&f));
	fprintf(table, "| %s | %g | %u | %.2f | %d | %.6f | %.0f of %d |\n", name, asked, p.k,
			(double) p.m / BLOOM_KEYS, (int) missed, rate, qf_distinct(&f), BLOOM_KEYS);
	qf_free(&f);
}

void
accuracy_bloom(void)
{
	static const double rates[] = { 0.1, 0.01, 0.001, 0.0001 };
	FILE *table = report_open("filter-bloom");
	size_t r;
	int layout;

	fprintf(table, "| layout | rate asked | k | bits a key | false negatives | false positives | "
				   "distinct keys |\n|---|---|---|---|---|---|---|\n");
	for (r = 0; r < sizeof(rates) / sizeof(rates[0]); r++)
		for (layout = 0; layout < QF_LAYOUTS; layout++)
			report_bloom((qf_layout) layout, rates[r], table);
	fclose(table);
}
