/*
 * accuracy.c
 *		"make accuracy": compares measured errors with theory, the paper and documented bounds.
 *
 * Prints each claim with PASS or FAIL, writes the tables into docs/engineering/accuracy.md, and the
 * data of the figures to build/bench.  Fails if a claim does not hold.  Takes about twenty minutes
 * and 2 GB of memory.  An argument (figure7, overload, calibration, probes, products, distinct,
 * peers) selects one of the programs.
 *
 * bench/accuracy.c
 */
#include "accuracy.h"
#include "workload.h"

#define DOCUMENT "docs/engineering/accuracy.md"

static const struct
{
	const char *name;
	void (*run)(void);
	const char *tables[7]; /* all tables of this program in the document, then NULL */
} parts[] = {
	{ "figure7", accuracy_figure7, { "loads" } },
	{ "overload", accuracy_overload, { "overload-all" } },
	{ "calibration", accuracy_calibration, { NULL } },
	{ "probes", accuracy_probes, { "probes-many" } },
	{ "products", accuracy_products, { "products" } },
	{ "distinct", accuracy_distinct, { "distinct" } },
	{ "peers", accuracy_peers, { "peers", "peers-stored", "peers-top" } },
};

int
main(int argc, char **argv)
{
	size_t i, k;

	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (argc < 2 || strcmp(argv[1], parts[i].name) == 0)
		{
			parts[i].run();
			for (k = 0; parts[i].tables[k]; k++)
				report_publish(parts[i].tables[k], DOCUMENT);
		}
	printf("%d failed\n", report_failures());
	return report_failures() > 0;
}
