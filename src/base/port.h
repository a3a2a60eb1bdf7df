/*
 * port.h
 *		Macros and memory access that plain C code needs with gcc, clang and nvcc.
 *
 * The code in src/base, src/engine and the families is C11 with extensions of GCC and clang.  The
 * PostgreSQL module contains this code, and CUDA kernels include its inline functions.  CPU and GPU
 * must compute the same bits, so the inline functions that kernels call use only integer
 * arithmetic.  Serialized values are little-endian and are read in place.  So the build refuses a
 * big-endian host, which would read wrong numbers.
 *
 * src/base/port.h
 */
#ifndef QB_PORT_H
#define QB_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "qsketch needs a little-endian host"
#endif

#ifdef __CUDACC__
#define QB_INLINE static __host__ __device__ __forceinline__
#else
#define QB_INLINE static inline __attribute__((always_inline, unused))
#endif

/* Bytes of a cache line. */
#define QB_CACHE_LINE 64

/* Unaligned loads and stores, because a serialized value may start at any address. */
QB_INLINE uint32_t
qb_load32(const void *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

QB_INLINE uint64_t
qb_load64(const void *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

QB_INLINE void
qb_store32(void *p, uint32_t v)
{
	memcpy(p, &v, sizeof(v));
}

QB_INLINE void
qb_store64(void *p, uint64_t v)
{
	memcpy(p, &v, sizeof(v));
}

/* Returns the upper half of the 128-bit product a * b. */
QB_INLINE uint64_t
qb_mul_high(uint64_t a, uint64_t b)
{
#ifdef __CUDA_ARCH__
	return __umul64hi(a, b);
#else
	return (uint64_t) (((unsigned __int128) a * b) >> 64);
#endif
}

/* Returns counter i of a table.  A counter has 4 bytes, or 8 if "wide". */
QB_INLINE uint64_t
qb_counter_get(const uint8_t *table, uint64_t i, bool wide)
{
	return wide ? qb_load64(table + i * 8) : qb_load32(table + i * 4);
}

QB_INLINE void
qb_counter_set(uint8_t *table, uint64_t i, bool wide, uint64_t value)
{
	if (wide)
		qb_store64(table + i * 8, value);
	else
		qb_store32(table + i * 4, (uint32_t) value);
}

#endif
