/*
 * sets_bench.c
 *		Speed of the sets family without PostgreSQL: the paper's figures, and the targets.
 *
 * Prints Markdown.  "make sets-bench" and "make sets-joins" copy all sections except "targets" into
 * docs/engineering/sets-performance.md.  Arguments select sections: single, multiple, targets,
 * model, joins.
 *
 * bench/sets_bench.c
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */

#include "sets_bench.h"

int
main(int argc, char **argv)
{
	static const struct
	{
		const char *name;
		void (*run)(void);
	} sections[] = {
		{ "targets", bench_targets }, { "single", bench_single }, { "multiple", bench_multiple },
		{ "model", bench_model },     { "joins", bench_joins },
	};
	size_t s;
	int i;

	for (s = 0; s < sizeof(sections) / sizeof(sections[0]); s++)
	{
		bool wanted = argc < 2;

		for (i = 1; i < argc; i++)
			wanted = wanted || strcmp(argv[i], sections[s].name) == 0;
		if (wanted)
			sections[s].run();
	}
	return 0;
}
