/*
 * gpu_sets.h
 *		Common definitions of the benchmark of sets on the GPU.
 *
 * bench/gpu_sets.h
 */
#ifndef QSET_GPU_SETS_H
#define QSET_GPU_SETS_H

#include "gpu_extra.h"
#include "device.cuh"
#include "sets.cuh"

extern "C"
{
#include "engine/sets_kernels.h"
#include "sets_single_pair.h"
#include "sets_data.h"
}

#define RUNS 5

typedef struct measured
{
	double product, rows; /* ms on the device, in the fastest of RUNS runs */
	uint64_t pairs;
	qset_cuda_report report;
} measured;

/* ---- gpu_sets.cu ---- */

extern double seconds(void);
extern void line(const char *section, const char *what, double figure, const char *unit);

/* End the program unless the status is QB_OK. */
extern void must(qb_status status, qs_cuda *gpu, const char *what);

/* If the numbers differ, print the difference, and let the program end with status 1. */
extern void check(const char *section, const char *what, uint64_t got, uint64_t want);

/* Count all pairs; the times exclude fetching the pairs. */
extern measured count_gpu(qs_cuda *gpu, const qset_cuda_request *r);

/* ---- gpu_sets_parts.cu ---- */

extern void bench_single(qs_cuda *gpu);

/* Print rows of a table: the ms of each method on one CPU core and on the GPU. */
extern void bench_figure6(qs_cuda *gpu);

extern void bench_product(qs_cuda *gpu);

#endif
