/*
 * port.h
 *		What plain code needs of its compilers: gcc, clang and nvcc.
 *
 * Base, families and engines are plain C11 that is compiled into the PostgreSQL
 * module and whose inline functions are also included by CUDA kernels.  The
 * same bits must come out on both sides, so everything here is integer
 * arithmetic with one meaning.  Serialized values are little-endian and are
 * read in place, so a big-endian host is refused at build time rather than
 * wrong at run time.
 *
 * src/base/port.h
 */
#ifndef QS_PORT_H
#define QS_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "qsketch needs a little-endian host"
#endif

#ifdef __CUDACC__
#define QS_INLINE static __host__ __device__ __forceinline__
#else
#define QS_INLINE static inline __attribute__((always_inline, unused))
#endif

/* Bytes that a processor fetches at a time. */
#define QS_CACHE_LINE 64

/* Unaligned access: a serialized sketch may start at any address. */
QS_INLINE uint32_t
qs_load32(const void *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

QS_INLINE uint64_t
qs_load64(const void *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

QS_INLINE void
qs_store32(void *p, uint32_t v)
{
	memcpy(p, &v, sizeof(v));
}

QS_INLINE void
qs_store64(void *p, uint64_t v)
{
	memcpy(p, &v, sizeof(v));
}

/* Upper half of the 128-bit product. */
QS_INLINE uint64_t
qs_mul_high(uint64_t a, uint64_t b)
{
#ifdef __CUDA_ARCH__
	return __umul64hi(a, b);
#else
	return (uint64_t) (((unsigned __int128) a * b) >> 64);
#endif
}

/* Counter i of a table of 4-byte (wide: 8-byte) counters. */
QS_INLINE uint64_t
qs_counter_get(const uint8_t *table, uint64_t i, bool wide)
{
	return wide ? qs_load64(table + i * 8) : qs_load32(table + i * 4);
}

QS_INLINE void
qs_counter_set(uint8_t *table, uint64_t i, bool wide, uint64_t value)
{
	if (wide)
		qs_store64(table + i * 8, value);
	else
		qs_store32(table + i * 4, (uint32_t) value);
}

#endif
