/*
 * workload.c
 *		Keys, sketches and reports of the accuracy programs.
 *
 * bench/workload.c
 */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

#include "workload.h"

#define REPORT_FOLDER "build/bench"
#define LINE          4096

#define TWO_PI 6.283185307179586

/* ---- memory ---- */

static void
give_up(const char *what, const char *which)
{
	fprintf(stderr, "%s: %s\n", what, which);
	exit(2);
}

static void *
alloc_zeroed(void *context, size_t bytes)
{
	size_t room = (bytes + 63) / 64 * 64;
	void *p = aligned_alloc(64, room);

	(void) context;
	return p ? memset(p, 0, room) : NULL;
}

static void
release(void *context, void *pointer)
{
	(void) context;
	free(pointer);
}

const qb_memory bench_memory = { .alloc = alloc_zeroed, .release = release };

void *
bench_alloc(size_t count, size_t bytes)
{
	void *p = calloc(count, bytes);

	if (!p)
		give_up("out of memory", "");
	return p;
}

/* ---- random numbers ---- */

uint64_t
bench_random(uint64_t *state)
{
	return qb_mix64(*state += QB_ROW_STEP);
}

double
bench_unit(uint64_t *state)
{
	return (double) (bench_random(state) >> 11) * 0x1p-53;
}

/* Multiply uniform numbers or, for a large mean, round a normal number. */
int64_t
bench_poisson(uint64_t *state, double mean)
{
	double limit = exp(-mean);
	double product = bench_unit(state);
	int64_t k = 0;

	if (mean > 50)
	{
		double radius = sqrt(-2 * log(1 - product));

		k = llround(mean + sqrt(mean) * radius * cos(TWO_PI * bench_unit(state)));
		return k > 0 ? k : 0;
	}
	for (; product > limit; k++)
		product *= bench_unit(state);
	return k;
}

/* ---- keys ---- */

void
workload_init(workload *w, uint32_t keys, double rows, double theta, uint64_t seed)
{
	uint64_t state = qb_mix64(seed + 1);
	double sum = 0;
	uint32_t i;

	w->keys = keys;
	w->fingerprint = bench_alloc(keys, sizeof(uint64_t));
	w->count = bench_alloc(keys, sizeof(int64_t));
	w->rows = 0;
	for (i = 0; i < keys; i++)
		sum += pow(i + 1, -theta);
	for (i = 0; i < keys; i++)
	{
		w->fingerprint[i] = bench_random(&state);
		w->count[i] = bench_poisson(&state, rows * pow(i + 1, -theta) / sum);
		w->rows += (double) w->count[i];
	}
}

void
workload_free(workload *w)
{
	free(w->fingerprint);
	free(w->count);
}

/* ---- sketches ---- */

void
bench_check(qb_status status)
{
	if (status != QB_OK)
		give_up("operation failed", qb_status_text(status));
}

void
subject_init(qs_sketch *sk, const subject *s, double rows, double load, uint64_t seed)
{
	uint64_t bytes = (uint64_t) (rows * 3 / load * 4 + 0.5);
	qs_params p;

	bench_check(qs_params_make(&p, &(qs_choice){ .structure = s->structure,
												 .size = bytes,
												 .depth = 3,
												 .z = s->z ? s->z : 8,
												 .masks = s->masks,
												 .seed = qb_mix64(seed) }));
	qs_init(sk, &p, &bench_memory);
}

qs_sketch
bench_host(const qs_sketch *sk)
{
	qs_sketch host = *sk;

	host.params.part = QS_PART_HOST;
	host.table = NULL;
	return host;
}

/* ---- reports ---- */

static int failures;

bool
report_check(bool ok, const char *format, ...)
{
	va_list args;

	printf("%s  ", ok ? "PASS" : "FAIL");
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
	failures += !ok;
	return ok;
}

int
report_failures(void)
{
	return failures;
}

static FILE *
open_file(const char *path, const char *mode)
{
	FILE *file = fopen(path, mode);

	if (!file)
		give_up("could not open file", path);
	return file;
}

FILE *
report_open(const char *name)
{
	char path[LINE];

	snprintf(path, sizeof(path), REPORT_FOLDER "/%s", name);
	return open_file(path, "w");
}

/*
 * Copy lines up to the line "stop" or the end.  Returns true if "stop" was found or is NULL.
 * "silent": copy only the line "stop".
 */
static bool
copy_lines(FILE *from, FILE *to, const char *stop, bool silent)
{
	char line[LINE];

	while (fgets(line, sizeof(line), from))
	{
		bool last = stop && strcmp(line, stop) == 0;

		if (!silent || last)
			fputs(line, to);
		if (last)
			return true;
	}
	return !stop;
}

void
report_publish(const char *name, const char *document)
{
	char path[LINE], marker[LINE], fresh[LINE];
	FILE *from = open_file(document, "r");
	FILE *to, *table;
	bool found;

	snprintf(path, sizeof(path), REPORT_FOLDER "/%s", name);
	snprintf(fresh, sizeof(fresh), "%s.new", document);
	snprintf(marker, sizeof(marker), "<!-- %s -->\n", name);
	table = open_file(path, "r");
	to = open_file(fresh, "w");
	found = copy_lines(from, to, marker, false);
	if (found)
	{
		fputc('\n', to);
		copy_lines(table, to, NULL, false);
		fputc('\n', to);
		found = copy_lines(from, to, "<!-- end -->\n", true) && copy_lines(from, to, NULL, false);
	}
	fclose(table);
	fclose(from);
	if (fclose(to) != 0 || !found || rename(fresh, document) != 0)
		give_up("could not write the table into the document", name);
}
