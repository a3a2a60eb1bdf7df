/*
 * accuracy.h
 *		The programs of "make accuracy", which print claims, and write tables and data of figures.
 *
 * bench/accuracy.h
 */
#ifndef QS_BENCH_ACCURACY_H
#define QS_BENCH_ACCURACY_H

/* Compare errors of all structures by load with theory and with the paper's Fig. 7. */
extern void accuracy_figure7(void);

/* Compare minimum and unbiased estimates in overloaded sketches. */
extern void accuracy_overload(void);

/* Check how often error bounds hold, over many seeds. */
extern void accuracy_calibration(void);

/* Check how often an error bound holds for many keys together. */
extern void accuracy_probes(void);

/* Check inner products and second moments, and their standard errors. */
extern void accuracy_products(void);

/* Compare estimates of distinct keys with HyperLogLog. */
extern void accuracy_distinct(void);

/* Compare structures of other papers with qsketch's structures at equal bytes. */
extern void accuracy_peers(void);

#endif
