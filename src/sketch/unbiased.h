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

#include "sketch/noise.h"

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

#endif
