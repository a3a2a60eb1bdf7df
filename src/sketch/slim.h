/*
 * slim.h
 *		Unbiased estimates from the device part of an sf sketch.
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
 *
 * src/sketch/slim.h
 */
#ifndef QS_SLIM_H
#define QS_SLIM_H

#include "sketch/noise.h"

/* Does the estimate of this dense sketch come from here? */
extern bool qs_slim_alone(const qs_sketch *sk);

/* Fill noise->told for a device part whose tails are there.  QB_NO_MEMORY is the only error. */
extern qb_status qs_slim_measure(qs_noise *noise, const qs_sketch *sk);

/* The count for which a key is told "told" on average: the inverse of g. */
extern double qs_slim_estimate(const qs_noise *noise, double told);

#endif
