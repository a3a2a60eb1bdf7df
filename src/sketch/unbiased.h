/*
 * unbiased.h
 *		Estimates without the minimum's bias, from the same bucket.
 *
 * The minimum is never too small, hence on average too large, and in an
 * overloaded sketch by far.  But the noise can be seen next to the key: of the
 * bucket's counters, the m - d that the key does not own hold what others put
 * there, and masks are random, so these counters are exchangeable with the
 * noise in the key's own.  What d of them would tell an absent key, averaged
 * over all choices of d, is an unbiased estimate of what the key is told too
 * much; so is, of the mean of the key's counters, their mean.  The two
 * corrected estimates are mixed by a weight that each sketch chooses for
 * itself (qs_noise): nearly the means where many light keys make the noise,
 * the minimum alone where few heavy ones do.
 *
 * Signed: rare keys come out below zero about as often as above, which is what
 * makes sums and averages of estimates right.  For a single key, clipping to
 * 0 .. minimum is the better guess.
 *
 * A sketch that tells most keys the truth gains nothing: there the minimum is
 * the better estimate.
 *
 * Derivations and measurements: docs/accuracy.md.
 *
 * src/sketch/unbiased.h
 */
#ifndef QS_UNBIASED_H
#define QS_UNBIASED_H

#include "sketch/noise.h"

/* Does qs_estimate_unbiased() of this sketch need it measured first? */
extern bool qs_unbiased_needs_noise(const qs_sketch *sk);

/*
 * Weight of the means' difference, 0 to 1, in the mixture; the rest is the
 * minimum's.  Part of measuring a sketch, see qs_noise.
 */
extern double qs_unbiased_weight(const qs_sketch *sk, double mean_noise);

/* "noise" may be NULL where it is not needed.  Exact for explicit sketches. */
extern double
qs_estimate_unbiased(const qs_sketch *sk, const qs_noise *noise, uint64_t fingerprint);

#endif
