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

/* Errors of all structures by load, compared with theory and with the paper (its Fig. 7). */
extern void accuracy_figure7(void);

/* Minimum and unbiased estimates in overloaded sketches. */
extern void accuracy_overload(void);

/* How often errors are within the reported confidence, over many seeds. */
extern void accuracy_calibration(void);

/* How often errors are within the reported confidence for many keys at once. */
extern void accuracy_probes(void);

/* Inner products and second moments, and their standard errors. */
extern void accuracy_products(void);

/* Estimates of distinct keys, compared with HyperLogLog. */
extern void accuracy_distinct(void);

/* Structures of other papers, compared with ours at equal bytes. */
extern void accuracy_peers(void);

#endif
