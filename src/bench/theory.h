/*
 * theory.h
 *		Expected error of each structure, from formulas alone.
 *
 * Model of the paper's Fig. 7: all keys distinct, each added once, hashed
 * uniformly.  The other keys of a bucket are then a Poisson number, and those
 * that meet a key in exactly a given subset of its counters are independent
 * Poisson numbers, one per subset; the error is the expected minimum of sums
 * of these.  Nothing here reads a sketch.  Derivation: docs/accuracy.md.
 *
 * src/bench/theory.h
 */
#ifndef QS_BENCH_THEORY_H
#define QS_BENCH_THEORY_H

#include "sketch/params.h"

/* Counters per key in the exact formulas for buckets. */
#define THEORY_DEPTH 3

/*
 * Expected error of a key of count 1 at a load (keys per counter of a row of
 * the thread sketch of equal device memory) with depth 3.  "fat" asks for the
 * host part of sf.  Masks are taken to be all of C(m, 3).
 */
extern double theory_error(int structure, uint32_t z, bool fat, double load);

/*
 * The same for plain buckets of m counters, any depth, by simulation of
 * "buckets" buckets; "keys" is the mean number of other keys in a bucket.
 * masks > 0: keys share that many masks, a new table every 10,000 buckets;
 * turned: masks are also turned by a random number of places, as in masks.h.
 */
extern double theory_simulate(uint32_t m, uint32_t depth, double keys, uint32_t masks, bool turned,
							  uint64_t buckets);

/* The thread sketch, any depth. */
extern double theory_thread(uint32_t depth, double load);

/*
 * Expected number of memory transactions for the counters of one key: d of m
 * neighbouring counters, aligned, so many counters to a transaction.  Exact.
 */
extern double theory_transactions(uint32_t m, uint32_t depth, uint32_t counters);

/* Chance that the first and the last counter of a key are at most "span" apart. */
extern double theory_span(uint32_t m, uint32_t depth, uint32_t span);

/* Expected error with buckets of m counters, depth 3, "keys" others in a bucket. */
extern double theory_bucket(uint32_t m, double keys);

/* Mean number of keys in a bucket at a load. */
extern double theory_bucket_keys(int structure, uint32_t depth, double load);

#endif
