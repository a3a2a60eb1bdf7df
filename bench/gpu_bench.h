/*
 * gpu_bench.h
 *		Common definitions of the files of the GPU benchmark.
 *
 * bench/gpu_bench.h
 */
#ifndef QS_GPU_BENCH_H
#define QS_GPU_BENCH_H

#include "gpu_kernels.h"
#include "gpu_extra.h"
#include "test/gpu/support.h"

#define RUNS     5
#define KEYS     (UINT64_C(1) << 28)
#define MB       (UINT64_C(1) << 20)
#define GB       (UINT64_C(1) << 30)
#define DEPTH    3
#define REF_MOST (40 * GB) /* largest device memory of the reference, in bytes */

/* The device and the memory that all sections use. */
struct bench
{
	qs_cuda *gpu;
	void *stream;
	uint64_t *key; /* KEYS keys on the device */
	int64_t *estimate;
	uint64_t *wrong;
	key_kind kind; /* distribution of the keys */
	cudaEvent_t begin, end;
	uint64_t mistakes;
};

extern struct bench g;

/* One sketch or ceiling, and the batch that is timed. */
typedef struct job
{
	qs_cuda_sketch *sk;
	uint64_t keys;
	gk_ceiling ceiling;
	void *table;
	uint64_t bytes;
} job;

typedef void (*timed)(void *argument);

/* Print one line of output. */
extern void print(const char *section, const char *structure, uint64_t bytes, uint64_t keys,
				  const char *what, double value, const char *unit);

/*
 * Return the median milliseconds of a run.  measure() uses events on the stream.  measure_host()
 * uses the host's clock, and includes qs_cuda_sync().
 */
extern double measure(timed run, void *argument);
extern double measure_host(timed run, void *argument);

extern double gkeys(uint64_t keys, double ms);

/* Fill g.key with keys of a distribution. */
extern void use_keys(key_kind kind);

extern qs_params params_of(int structure, uint64_t bytes, int depth);

/* Insert or query the keys of a job. */
extern void run_insert(void *argument);
extern void run_query(void *argument);

/*
 * Create a sketch, check inserts in one mode, and time inserts and queries whose name is not NULL.
 */
extern void
time_sketch(const char *section, int structure, uint64_t bytes, int depth, uint64_t keys,
			qs_cuda_bulk bulk, const char *insert_name, const char *query_name);

extern void time_ceiling(const char *section, gk_ceiling ceiling, uint64_t bytes, uint64_t keys,
						 const char *name);

/* The sections, defined in gpu_sections.c. */
extern void section_device(void);
extern void section_sizes(void);
extern void section_bulk(void);
extern void section_batches(void);
extern void section_skew(void);
extern void section_depth(void);
extern void section_host(void);
extern void section_sf(void);
extern void section_profile(void);

#endif
