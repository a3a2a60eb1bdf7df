/*
 * sets_data.h
 *		Sets and collections for the benchmark: generated after the paper's
 *		description, and real ones.
 *
 * src/bench/sets_data.h
 */
#ifndef QSET_SETS_DATA_H
#define QSET_SETS_DATA_H

#include <stdio.h>
#include <stdlib.h>

#include "sets/builder.h"

extern const qb_memory data_memory;
extern const qb_keys data_keys;

/* End the program unless the condition holds. */
static inline void
require(bool condition, const char *what)
{
	if (condition)
		return;
	fprintf(stderr, "%s\n", what);
	exit(1);
}

typedef enum distribution
{
	UNIFORM,
	NORMAL, /* standard deviation: draws / 10 */
	ZIPF    /* theta 0.9 */
} distribution;

/* The distinct ones of so many draws from 0 .. universe-1, ascending; free() them. */
extern uint32_t *
data_set(distribution d, uint64_t universe, uint64_t draws, uint64_t seed, uint64_t *count);

/* How to make a collection: sizes by a truncated Pareto distribution, elements by Zipf's. */
typedef struct recipe
{
	const char *name;
	uint64_t sets;
	uint64_t universe;
	double theta;
	double least;
	double most;
	double alpha; /* 0: "draws" draws a set */
	uint64_t draws;
} recipe;

extern void data_collection(qset_collection *c, const recipe *r, uint64_t seed);

/*
 * The same sets, made by so many threads, with the numbers that were drawn for
 * ranks, so that some elements of the universe may be in no set.
 */
extern void data_drawn(qset_collection *c, const recipe *r, uint64_t seed, int threads);

/* The first so many sessions of kosarak; the neighbours in email-Enron; false: not here. */
extern bool data_kosarak(qset_collection *c, uint64_t sessions);
extern bool data_enron(qset_collection *c);

#endif
