/*
 * theory.h
 *		Expected error of each structure, from formulas alone.
 *
 * Model of the paper's Fig. 7: all keys distinct, each added once, hashed
 * uniformly.  Then the number of other keys in a bucket is Poisson
 * distributed, with mean L = load * m / d (multilevel: 8 in place of m).  For
 * each subset of a key's counters, the number of keys that share exactly this
 * subset is Poisson distributed, too, and all these numbers are independent.
 * The error is the expected minimum of sums of such numbers.  Nothing here
 * reads a sketch.
 *
 * thread (section II-C of the paper): each of a key's counters holds
 * Poisson(load) others, independently, and a minimum reaches v if all of them do:
 *
 *	error = sum over v >= 1 of P(Poisson(load) >= v)^d
 *
 * Buckets of plain counters, d = 3 (III-A, III-B, IV-A): another key of the bucket
 * meets the key in exactly j of its counters with chance
 * p_j = C(3, j) C(m-3, 3-j) / C(m, 3).  The numbers of keys that meet it in all
 * three counters (A), in a given two (B12, B13, B23) and in a given one (C1, C2,
 * C3) have means L p_3, L p_2 / 3 and L p_1 / 3, and
 *
 *	error = E[A + min(B12 + B13 + C1, B12 + B23 + C2, B13 + B23 + C3)]
 *		  = sum over A, B, v of P(A) P(B12) P(B13) P(B23)
 *			* product over i of P(C_i >= v - shared_i)
 *
 * The fat table (IV-B): the same with cells.  A key that shares a sub-bucket hits
 * the same cell with chance 1/z, so the kinds are thinned once more.
 *
 * The slim table (IV-B): a key of count 1 is told min over i of max(1 + X_i, Y_i).
 * X_i keys are in its own cell, Y_i is the fullest of the z - 1 others.  Given how
 * many keys fell into a sub-bucket, they spread over its cells like balls over
 * boxes.  The chance that at most v - 1 are in the own cell and at most v in each
 * other is the coefficient of t^k in k!/z^k * e_(v-1)(t) * e_v(t)^(z-1), e_v being
 * the first v + 1 terms of exp(t).
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
