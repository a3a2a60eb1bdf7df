/*
 * kernels.cuh
 *		Small functions and names that the kernels of all families use.
 *
 * cuda/kernels.cuh
 */
#ifndef QS_KERNELS_CUH
#define QS_KERNELS_CUH

extern "C"
{
#include "base/hash.h"
}

#define QS_ALL_LANES 0xffffffffu

typedef unsigned long long qs_u64; /* the type that atomicAdd() takes */

__device__ __forceinline__ uint32_t
qs_lane()
{
	return threadIdx.x % 32;
}

/* qb_reduce() for n below 2^32, as n always is on the device: half the work. */
__device__ __forceinline__ uint32_t
qs_reduce_short(uint64_t hv, uint64_t n)
{
	uint64_t low = (hv & UINT32_MAX) * (uint32_t) n;

	return (uint32_t) (((hv >> 32) * (uint32_t) n + (low >> 32)) >> 32);
}

/*
 * The group of a key, where keys lie side by side by group: the first group whose "end" is
 * behind the key.
 */
template <typename Group>
__device__ __forceinline__ uint32_t
qs_group_at(const Group *group, uint32_t groups, uint64_t key)
{
	uint32_t low = 0, high = groups - 1;

	while (low < high)
	{
		uint32_t middle = (low + high) / 2;

		if (group[middle].end > key)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

#endif
