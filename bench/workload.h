/*
 * workload.h
 *		Keys, sketches and reports of the accuracy programs.
 *
 * Everything is made from fixed seeds, so that a run prints the same numbers
 * on every machine.  A failed operation ends the program, but a failed check does not.
 *
 * bench/workload.h
 */
#ifndef QS_BENCH_WORKLOAD_H
#define QS_BENCH_WORKLOAD_H

#include <stdio.h>

#include "sketch/measure.h"
#include "sketch/sf.h"
#include "engine/sketch_engine.h"

/* Memory that is zeroed and aligned to 64 bytes. */
extern const qb_memory bench_memory;

/* Allocate "count" zeroed elements; the caller frees them. */
extern void *bench_alloc(size_t count, size_t bytes);

/* ---- random numbers: one state per stream ---- */

extern uint64_t bench_random(uint64_t *state);
extern double bench_unit(uint64_t *state); /* a number in 0 <= x < 1 */
extern int64_t bench_poisson(uint64_t *state, double mean);

/* ---- a stream of weighted keys ---- */

typedef struct workload
{
	uint32_t keys;
	uint64_t *fingerprint; /* distinct fingerprints */
	int64_t *count;        /* number of occurrences of each key; may be 0 */
	double rows;           /* sum of the counts */
} workload;

/*
 * Make "keys" keys that occur about "rows" times in total.  The frequency of key i is proportional
 * to (i + 1) ^ -theta; theta = 0 is uniform.  Counts are Poisson distributed, as if rows were drawn
 * one by one.
 */
extern void workload_init(workload *w, uint32_t keys, double rows, double theta, uint64_t seed);
extern void workload_free(workload *w);

/* ---- sketches ---- */

/* A type of sketch, and its name in reports. */
typedef struct subject
{
	const char *name;
	int structure;
	uint32_t z;
	uint32_t masks;
} subject;

/*
 * Make an empty sketch of depth 3 whose device memory follows from "rows", the total weight, and
 * from the load: the weight per counter in one row of the thread sketch with equal memory.
 */
extern void subject_init(qs_sketch *sk, const subject *s, double rows, double load, uint64_t seed);

extern void bench_check(qb_status status);

/*
 * Return the host part of a full sf sketch.  Both use the same tables, so free only the full
 * sketch.
 */
extern qs_sketch bench_host(const qs_sketch *sk);

/* ---- reports ---- */

/* Print a line with "PASS" or "FAIL", and count failures.  Returns ok. */
extern bool report_check(bool ok, const char *format, ...) __attribute__((format(printf, 2, 3)));
extern int report_failures(void);

/* Open a file under build/bench for writing. */
extern FILE *report_open(const char *name);

/* Copy the file "name" between the lines <!-- name --> and <!-- end --> of a Markdown file. */
extern void report_publish(const char *name, const char *document);

#endif
