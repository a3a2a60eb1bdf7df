/*
 * gpu_filter.cuh
 *		What the sections of the benchmark of filters on a GPU share.
 *
 * bench/gpu_filter.cuh
 */
#ifndef QF_GPU_FILTER_CUH
#define QF_GPU_FILTER_CUH

#include "device.cuh"
#include "gpu_extra.h"
#include "gpu_filter.h"

#define RUNS 7
#define ROWS (UINT64_C(1) << 28)
#define KEYS (UINT64_C(1) << 22) /* keys whose answers are compared with the CPU's */

extern qs_cuda *gpu;
extern cudaStream_t stream;
extern uint64_t *device_key, *host_key; /* ROWS keys, the same in both arrays */

/*
 * line() prints a line.  rate() prints an amount divided by a time, in 10^9 a second.  must_agree()
 * reports errors.
 */
extern void
line(const char *section, uint64_t bytes, const char *what, double figure, const char *unit);
extern void
rate(const char *section, uint64_t bytes, const char *what, uint64_t count, double took);
extern void must_agree(const char *section, uint64_t bytes, const char *what, bool agrees);

/* Measure reads and atomics a second on a table of "bytes" bytes. */
extern void ceilings(const char *section, uint64_t bytes, double *reads, double *atomics);

/*
 * rows_of() makes a batch of the rows of an array.  time_insert() returns the seconds that
 * inserting the rows into an empty filter takes.  same_bits() compares a filter with the CPU's.
 */
extern qf_batch rows_of(const uint64_t *key, uint64_t rows);
extern double time_insert(qf_cuda_filter *f, const uint64_t *key, uint64_t rows);
extern bool same_bits(qf_cuda_filter *f, const qf_filter *cpu);

/* gpu_filter_bloom.cu */
extern void section_bloom(void);

static inline int
gf_compare(const void *a, const void *b)
{
	double x = *(const double *) a, y = *(const double *) b;

	return (x > y) - (x < y);
}

/* Return the median seconds of run() on the stream, without prepare(), which precedes each run. */
template <typename Prepare, typename Run>
static double
measure(Prepare prepare, Run run)
{
	cudaEvent_t begin, end;
	double took[RUNS];

	CHECK_CUDA(cudaEventCreate(&begin));
	CHECK_CUDA(cudaEventCreate(&end));
	for (int i = -1; i < RUNS; i++)
	{
		float ms;

		prepare();
		CHECK_CUDA(cudaEventRecord(begin, stream));
		run();
		CHECK_CUDA(cudaEventRecord(end, stream));
		CHECK_CUDA(cudaEventSynchronize(end));
		CHECK_CUDA(cudaEventElapsedTime(&ms, begin, end));
		took[i < 0 ? 0 : i] = ms * 1e-3;
	}
	cudaEventDestroy(begin);
	cudaEventDestroy(end);
	qsort(took, RUNS, sizeof(*took), gf_compare);
	return took[RUNS / 2];
}

static inline void
nothing(void)
{
}

#endif
