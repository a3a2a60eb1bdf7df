/*
 * port.h
 *		What plain code needs of its compilers: gcc, clang and nvcc.
 *
 * Base, families and engines are plain C11.  They are compiled into the PostgreSQL
 * module, and CUDA kernels include their inline functions.  The same bits must come
 * out on both sides, so everything here is integer arithmetic with one meaning.
 * Serialized values are little-endian and are read in place, so the build refuses a
 * big-endian host, where results would be wrong.
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

/* Unaligned loads, because a serialized value may start at any address. */
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

/* Upper half of the 128-bit product. */
QB_INLINE uint64_t
qb_mul_high(uint64_t a, uint64_t b)
{
#ifdef __CUDA_ARCH__
	return __umul64hi(a, b);
#else
	return (uint64_t) (((unsigned __int128) a * b) >> 64);
#endif
}

/* Counter i of a table of counters of 4 bytes, or of 8 bytes if "wide". */
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
