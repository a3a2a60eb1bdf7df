/*
 * theory.h
 *		The expected error of each structure, from formulas and by simulation.
 *
 * The model is the paper's Fig. 7: all keys are distinct, hashed uniformly, and added one time.
 * The number of other keys in a bucket is then Poisson distributed, with mean L = load * m / d
 * (multilevel: 8 in place of m).  For each subset of a key's counters, the number of keys that
 * share exactly this subset is Poisson distributed, too, and all these numbers are independent.
 * The error is the expected minimum of sums of these numbers.  No function reads a sketch.
 *
 * thread (section II-C of the paper): each of a key's counters counts Poisson(load) other keys,
 * independently.  The minimum reaches v if all counters reach v:
 *
 *	error = sum over v >= 1 of P(Poisson(load) >= v)^d
 *
 * Buckets of plain counters, d = 3 (III-A, III-B, IV-A): another key of the bucket meets the key in
 * exactly j of its counters with chance p_j = C(3, j) C(m-3, 3-j) / C(m, 3).  The numbers of keys
 * that meet the key in all three counters (A), in two given counters (B12, B13, B23) and in one
 * given counter (C1, C2, C3) have means L p_3, L p_2 / 3 and L p_1 / 3, and
 *
 *	error = E[A + min(B12 + B13 + C1, B12 + B23 + C2, B13 + B23 + C3)]
 *		  = sum over A, B, v of P(A) P(B12) P(B13) P(B23)
 *			* product over i of P(C_i >= v - shared_i)
 *
 * The fat table (IV-B) has cells in place of counters.  A key that shares a sub-bucket is in the
 * same cell with chance 1/z, which reduces the means of A, B and C.
 *
 * The slim table (IV-B): the estimate of a key of count 1 is min over i of max(1 + X_i, Y_i).  X_i
 * is the number of other keys in the key's cell, and Y_i is the greatest number of keys in one of
 * the z - 1 other cells.  The k other keys of a sub-bucket are distributed over its cells at
 * random.  The chance that at most v - 1 keys are in the key's cell and at most v in each other
 * cell is the coefficient of t^k in k!/z^k * e_(v-1)(t) * e_v(t)^(z-1), where e_v is the first v +
 * 1 terms of exp(t).
 *
 * bench/theory.h
 */
#ifndef QS_BENCH_THEORY_H
#define QS_BENCH_THEORY_H

#include "sketch/params.h"

/* Number of counters of a key in the exact formulas for buckets. */
#define THEORY_DEPTH 3

/*
 * Return the expected error of a key of count 1 with depth 3.  The load is the number of keys per
 * counter of a row of the thread sketch of equal device memory.  "fat": the host part of sf.  The
 * formulas assume all C(m, 3) masks.
 */
extern double theory_error(int structure, uint32_t z, bool fat, double load);

/*
 * Return the expected error in plain buckets of m counters with any depth, by simulation of
 * "buckets" buckets.  "keys" is the mean number of other keys in a bucket.  masks > 0: keys share
 * this number of masks, with a new table every 10,000 buckets.  masks = 0: all masks.  turned:
 * masks are also rotated by a random number of bits, as in params.h.
 */
extern double theory_simulate(uint32_t m, uint32_t depth, double keys, uint32_t masks, bool turned,
							  uint64_t buckets);

/* Return the expected error of the thread sketch with any depth. */
extern double theory_thread(uint32_t depth, double load);

/*
 * Return the exact expected number of memory transactions for one key.  The key has "depth" of m
 * neighbouring, aligned counters, and a transaction has "counters" counters.
 */
extern double theory_transactions(uint32_t m, uint32_t depth, uint32_t counters);

/*
 * Return the expected error with buckets of m counters, depth 3, and "keys" other keys in a bucket
 * on average.
 */
extern double theory_bucket(uint32_t m, double keys);

/* Return the mean number of keys in a bucket at a load. */
extern double theory_bucket_keys(int structure, uint32_t depth, double load);

#endif
