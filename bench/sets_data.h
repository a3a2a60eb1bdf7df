/*
 * sets_data.h
 *		Sets and collections for the benchmark: generated after the paper's description, and real.
 *
 * bench/sets_data.h
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

/*
 * Return the distinct numbers among "draws" random numbers of 0 .. universe - 1, ascending.  The
 * caller frees the result.
 */
extern uint32_t *
data_set(distribution d, uint64_t universe, uint64_t draws, uint64_t seed, uint64_t *count);

/* A recipe for a collection: sizes by a truncated Pareto distribution, elements by Zipf's law. */
typedef struct recipe
{
	const char *name;
	uint64_t sets;
	uint64_t universe;
	double theta;
	double least;
	double most;
	double alpha; /* 0: each set is made of "draws" draws */
	uint64_t draws;
} recipe;

extern void data_collection(qset_collection *c, const recipe *r, uint64_t seed);

/*
 * Make the sets of data_collection() with "threads" threads.  The drawn numbers are the ranks, so
 * some elements of the universe may be in no set.
 */
extern void data_drawn(qset_collection *c, const recipe *r, uint64_t seed, int threads);

/*
 * Load the first "sessions" sessions of kosarak, or the neighbours in email-Enron.  Returns false
 * if the data do not exist.
 */
extern bool data_kosarak(qset_collection *c, uint64_t sessions);
extern bool data_enron(qset_collection *c);

#endif
