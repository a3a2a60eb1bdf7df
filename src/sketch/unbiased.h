/*
 * unbiased.h
 *		Estimates without the minimum's bias, from the same bucket.
 *
 * The minimum is never too small, hence on average too large, and in an overloaded
 * sketch by far.  But the noise can be seen next to the key.  The m - d counters of
 * its bucket that the key does not own hold what other keys put there.  Masks are
 * random, so these counters are exchangeable with the noise in the key's own
 * counters.
 *
 * The minimum of d such counters, averaged over all choices of d, is what an absent
 * key would be told.  It is an unbiased estimate of the error of the key's minimum.
 * In the same way, the mean of all such counters is an unbiased estimate of the
 * error of the mean of the key's counters.  The two corrected estimates are mixed by
 * a weight that each sketch chooses for itself (qs_noise): nearly the means alone
 * where many light keys make the noise, the minimum alone where few heavy keys do.
 *
 * Estimates are signed: rare keys come out below zero about as often as above, which
 * makes sums and averages of estimates right.  For a single key, clipping to 0 ..
 * minimum is the better guess.
 *
 * A sketch that tells most keys the truth gains nothing from this: there the minimum
 * is the better estimate.
 *
 * Derivations and measurements: docs/engineering/accuracy.md.
 *
 * src/sketch/unbiased.h
 */
#ifndef QS_UNBIASED_H
#define QS_UNBIASED_H

#include "sketch/measure.h"

/* Does qs_estimate_unbiased() of this sketch need it measured first? */
extern bool qs_unbiased_needs_noise(const qs_sketch *sk);

/*
 * The weight, 0 to 1, of the difference of means in the mixture; the minimum's
 * difference has the rest.  Part of measuring a sketch, see qs_noise.
 */
extern double qs_unbiased_weight(const qs_sketch *sk, double mean_noise);

/* "noise" may be NULL if qs_unbiased_needs_noise() is false.  Exact for explicit sketches. */
extern double
qs_estimate_unbiased(const qs_sketch *sk, const qs_noise *noise, uint64_t fingerprint);

/*
 * ---- unbiased estimates from the device part of an sf sketch ----
 *
 * A slim counter is the maximum of z cells, so a heavy key hides what other keys put
 * into its sub-bucket.  The overestimate of a key falls with its count, from the
 * noise of an absent key to the noise of its own cells.  Without the fat table, the
 * cells' distribution is derived from that of the slim counters, each the maximum of
 * z independent cells.  From it follows g(f), what a key of count f is told on
 * average; the estimate is the inverse of g.
 *
 * Unlike all other unbiased estimates this one is approximate.  Cells are taken as
 * independent and the same in all buckets, so a heavy neighbour is not noticed.
 * Where the noise hides small counts, the slim counters tell next to nothing about
 * them.  Up to a third of the minimum's bias is left.  Derivation and measurements:
 * docs/engineering/accuracy.md.
 */

/* Does the estimate of this dense sketch come from here? */
extern bool qs_slim_alone(const qs_sketch *sk);

/* Fill noise->told for a device part whose tails are there.  QB_NO_MEMORY is the only error. */
extern qb_status qs_slim_measure(qs_noise *noise, const qs_sketch *sk);

/* The count for which a key is told "told" on average: the inverse of g. */
extern double qs_slim_estimate(const qs_noise *noise, double told);

#endif
