/*
 * gpu_kernels.h
 *		Kernels of the GPU benchmark: keys, ceilings, and a plain reference.
 *
 * A ceiling reads and hashes keys as the sketches do.  For each key it then does the least that any
 * sketch must do: it reads one sector, or does one atomic.  The reference is the simplest form of
 * each structure but sf, with 4-byte counters.  The estimates of each timed configuration but sf
 * are compared with the reference if the keys are in device memory.
 *
 * All functions run on the given stream (a cudaStream_t) and return a cudaError_t.
 *
 * bench/gpu_kernels.h
 */
#ifndef QS_GPU_KERNELS_H
#define QS_GPU_KERNELS_H

#ifdef __cplusplus
extern "C"
{
#endif

#include "sketch/params.h"

	/* Make the keys of key_at() in test/gpu/support.h; kind is a key_kind up to KEYS_EQUAL. */
	extern int gk_keys(void *stream, int kind, uint64_t seed, uint64_t *key, uint64_t count);

	typedef enum gk_ceiling
	{
		GK_READ_SECTOR,     /* reads one random sector of 32 bytes, writes an answer of 8 bytes */
		GK_READ_SECTOR_OF4, /* reads one random sector of 32 bytes, writes an answer of 4 bytes */
		GK_READ_SEQUENTIAL, /* reads neighbouring sectors for neighbouring keys */
		GK_ADD_RANDOM,      /* one random atomicAdd of 4 bytes */
		GK_ADD_SEQUENTIAL
	} gk_ceiling;

	/* Run a ceiling on "table" of "bytes" bytes.  "answer" has 8 bytes for each key. */
	extern int gk_run_ceiling(void *stream, gk_ceiling ceiling, const uint64_t *key, uint64_t count,
							  void *table, uint64_t bytes, int64_t *answer);

	/* Return the number of 4-byte counters that the reference needs for buckets below "limit". */
	extern uint64_t gk_reference_counters(const qs_params *p, uint64_t limit);

	/* Count the keys whose bucket is below "limit" (for thread, all keys). */
	extern int gk_reference_insert(void *stream, const qs_params *p, uint64_t limit,
								   const uint64_t *key, uint64_t count, uint32_t *counter);

	/* Add to *wrong the number of estimates that differ from the reference. */
	extern int gk_reference_compare(void *stream, const qs_params *p, uint64_t limit,
									const uint64_t *key, uint64_t count, const uint32_t *counter,
									const int64_t *estimate, uint64_t *wrong);

#ifdef __cplusplus
}
#endif

#endif
