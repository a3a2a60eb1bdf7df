/*
 * support.h
 *		Functions that GPU tests and benchmarks share: memory, keys, and comparisons.
 *
 * CHECK ends a test program that cannot go on.  Differences are counted and reported, and the
 * program continues.
 *
 * test/gpu/support.h
 */
#ifndef QS_GPU_SUPPORT_H
#define QS_GPU_SUPPORT_H

#include <stdio.h>
#include <stdlib.h>

#include <cuda_runtime_api.h>

#include "sketch/format.h"
#include "sketch/sf.h"
#include "engine/sketch_engine.h"
#include "sketch_cuda.h"

/* Stop the program if the test itself cannot go on. */
#define CHECK(condition)                                                    \
	do                                                                      \
	{                                                                       \
		if (!(condition))                                                   \
		{                                                                   \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			exit(2);                                                        \
		}                                                                   \
	}                                                                       \
	while (0)

#define CHECK_CUDA(call) CHECK((call) == cudaSuccess)

/* Distributions of keys. */
typedef enum key_kind
{
	KEYS_UNIFORM,
	KEYS_ZIPF_11,
	KEYS_ZIPF_12,
	KEYS_ZIPF_15,
	KEYS_EQUAL,
	KEYS_SORTED,
	KEYS_TWO,
	KEYS_FEW, /* a hundred distinct keys */
	KEYS_KINDS
} key_kind;

extern const char *const key_kind_names[KEYS_KINDS];

/* Returns key number i of a distribution: a function of kind, seed and i. */
extern uint64_t key_at(key_kind kind, uint64_t seed, uint64_t i);

/* Fill an array with the keys number first .. first + count - 1, using up to 64 cores. */
extern void make_keys(uint64_t *key, key_kind kind, uint64_t seed, uint64_t first, uint64_t count);

/* Allocates from the C library, zeroed and aligned for sketches. */
extern const qb_memory test_memory;

/* Copy to memory of the device.  Work queued on any stream afterwards sees the data. */
extern void copy_to_device(void *to, const void *from, size_t bytes);

/* Copy keys to new memory of the device.  The caller frees the memory with cudaFree(). */
extern uint64_t *keys_to_device(qs_cuda *gpu, const void *key, size_t count);

/*
 * Wait until the device has finished its work, and copy keys into its memory, or from its memory.
 */
extern void keys_put(qs_cuda *gpu, uint64_t *to, const uint64_t *from, size_t count);
extern void keys_get(qs_cuda *gpu, uint64_t *to, const uint64_t *from, size_t count);

extern double seconds(void);

/* Number of cores of this machine. */
extern int cores(void);

/*
 * Open a second device, and join both devices.  If the host has only one device, open this device
 * again, with separate streams.
 */
extern qs_cuda *open_second(qs_cuda *first);

/* Make a dense empty sketch on the host. */
extern void dense_init(qs_sketch *sk, const qs_params *p);

/* True if the serialized bytes of both sketches are equal. */
extern bool same_bytes(const qs_sketch *a, const qs_sketch *b);

/*
 * True if totals and tables are equal.  Not for multilevel and sf sketches, which have a second
 * table.  Faster than same_bytes().
 */
extern bool same_tables(const qs_sketch *a, const qs_sketch *b);

/* ---- programs that test random cases ---- */

/* Returns a random number below "below", and changes the state. */
extern uint64_t draw_below(uint64_t *state, uint64_t below);

/* Count and report a difference of a case, unless "good". */
extern void expect_case(uint64_t number, bool good, const char *what);

/*
 * A run of PROGRAM [first case [number of cases]], or of PROGRAM time [argument...].  begin_cases()
 * opens the device, or ends the program if no device is usable.  end_cases() closes the device.
 */
typedef struct case_run
{
	qs_cuda *gpu;
	bool timed;
	uint64_t first, end; /* cases first .. end - 1 are tested; none if timed */
	int argc;
	char **argv;
} case_run;

extern case_run begin_cases(int argc, char **argv, uint64_t cases);

/*
 * Returns the number given as argument i of the command, or "otherwise" if the argument is missing.
 */
extern uint64_t case_argument(const case_run *run, int i, uint64_t otherwise);

/* Report the numbers of cases and of differences.  Returns the exit status. */
extern int end_cases(const case_run *run, const char *program);

#endif
