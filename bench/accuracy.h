/*
 * accuracy.h
 *		The parts of "make accuracy"; each part prints its claims and whether
 *		they hold, and writes its tables for docs/engineering/accuracy.md and its data for
 *		gnuplot.
 *
 * bench/accuracy.h
 */
#ifndef QS_BENCH_ACCURACY_H
#define QS_BENCH_ACCURACY_H

/* Errors of all structures by load, against theory and paper (paper's Fig. 7). */
extern void accuracy_figure7(void);

/* Minimum and unbiased estimate in overloaded sketches. */
extern void accuracy_overload(void);

/* How often a confidence holds, over many seeds. */
extern void accuracy_calibration(void);

/* How often a confidence holds for many keys at once. */
extern void accuracy_probes(void);

/* Inner products and second moments, and their standard errors. */
extern void accuracy_products(void);

/* Distinct keys, beside HyperLogLog. */
extern void accuracy_distinct(void);

/* Structures of other papers and ours at equal bytes. */
extern void accuracy_peers(void);

#endif
