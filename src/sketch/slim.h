/*
 * slim.h
 *		Unbiased estimates from the device part of an sf sketch.
 *
 * A slim counter is the maximum of z cells, so that a heavy key hides what
 * others put into its sub-bucket: what it is told too much falls from the
 * noise of an absent key to that of its own cells.  With the fat table gone,
 * the cells' distribution is taken from that of the slim counters (the maximum
 * of z independent cells), and what a key of count f is told on average,
 * g(f), is computed and inverted.
 *
 * Approximate, unlike the other estimates: cells are taken as independent and
 * the same in all buckets, so a heavy neighbour is not seen, and where the
 * noise hides small counts the slim counters know next to nothing of them.  Up
 * to a third of the minimum's bias is left.  Derivation and measurements:
 * docs/accuracy.md.
 *
 * src/sketch/slim.h
 */
#ifndef QS_SLIM_H
#define QS_SLIM_H

#include "sketch/noise.h"

/* Is the estimate of this dense sketch made here? */
extern bool qs_slim_alone(const qs_sketch *sk);

/*
 * Fill noise->told for a device part, after its tails.  QB_NO_MEMORY is the
 * only error.
 */
extern qb_status qs_slim_measure(qs_noise *noise, const qs_sketch *sk);

/* The count for which a key is told "told" on average. */
extern double qs_slim_estimate(const qs_noise *noise, double told);

#endif
