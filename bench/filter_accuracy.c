/*
 * filter_accuracy.c
 *		"make filter-accuracy": compares filters with theory, the paper and sketches.
 *
 * Prints each claim with PASS or FAIL, and writes the tables into
 * docs/engineering/filter-measurements.md.  Fails if a claim does not hold.  An argument (theory,
 * overloaded, bloom, distributions, sketches) selects one program.  With an argument, no document
 * is written.
 *
 * bench/filter_accuracy.c
 */
#include "filter_workload.h"

#define DOCUMENT "docs/engineering/filter-measurements.md"

static const struct
{
	const char *name;
	void (*run)(void);
	const char *tables[4]; /* all tables, then NULL */
} parts[] = {
	{ "theory", accuracy_theory, { "filter-frequencies" } },
	{ "overloaded", accuracy_overloaded, { "filter-overloaded" } },
	{ "bloom", accuracy_bloom, { "filter-bloom" } },
	{ "distributions", accuracy_distributions, { NULL } },
	{ "sketches", accuracy_against_sketches, { "filter-sketches" } },
};

int
main(int argc, char **argv)
{
	size_t i, k;

	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (argc < 2 || strcmp(argv[1], parts[i].name) == 0)
		{
			parts[i].run();
			for (k = 0; argc < 2 && k < 4 && parts[i].tables[k]; k++)
				report_publish(parts[i].tables[k], DOCUMENT);
		}
	printf("%d failed\n", report_failures());
	return report_failures() > 0;
}
