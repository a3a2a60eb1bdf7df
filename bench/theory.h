/*
 * theory.h
 *		Expected error of each structure, from formulas alone.
 *
 * Model of the paper's Fig. 7: all keys distinct, each added once, hashed
 * uniformly.  Then the number of other keys in a bucket is Poisson
 * distributed.  For each subset of a key's counters, the number of keys that
 * share exactly this subset is Poisson distributed, too, and all these numbers
 * are independent.  The error is the expected minimum of sums of such numbers.
 * Nothing here reads a sketch.  Derivation: docs/engineering/accuracy.md.
 *
 * bench/theory.h
 */
#ifndef QS_BENCH_THEORY_H
#define QS_BENCH_THEORY_H

#include "sketch/params.h"

/* Counters per key in the exact formulas for buckets. */
#define THEORY_DEPTH 3

/*
 * Expected error of a key of count 1 with depth 3.  The load is keys per
 * counter of a row of the thread sketch of equal device memory.  "fat" asks
 * for the host part of sf.  Masks are taken to be all of C(m, 3).
 */
extern double theory_error(int structure, uint32_t z, bool fat, double load);

/*
 * Expected error in plain buckets of m counters with any depth, by simulation
 * of "buckets" buckets; "keys" is the mean number of other keys in a bucket.
 * masks > 0: keys share that many masks, with a new table every 10,000
 * buckets. turned: masks are also turned by a random number of places, as in
 * params.h.
 */
extern double theory_simulate(uint32_t m, uint32_t depth, double keys, uint32_t masks, bool turned,
							  uint64_t buckets);

/* Expected error of the thread sketch with any depth. */
extern double theory_thread(uint32_t depth, double load);

/*
 * Expected number of memory transactions for one key, exactly.  The key has d
 * of m neighbouring, aligned counters, and a transaction has "counters"
 * counters.
 */
extern double theory_transactions(uint32_t m, uint32_t depth, uint32_t counters);

/* Expected error with buckets of m counters, depth 3 and "keys" other keys in a bucket. */
extern double theory_bucket(uint32_t m, double keys);

/* Mean number of keys in a bucket at a load. */
extern double theory_bucket_keys(int structure, uint32_t depth, double load);

#endif
