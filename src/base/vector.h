/*
 * vector.h
 *		AVX2, AVX-512 and ARM's NEON in one source: vectors of 32, 64 and 16 bytes.
 *
 * GCC and clang extend the operators of C to vectors of any width.  A comparison sets each lane to
 * all ones or to zero.  Subtracting a lane of all ones from a counter adds 1 to the counter.  This
 * file has the operations without a C operator, for each instruction set.  An operation that only
 * one loop needs is in that loop's file.
 *
 * The functions of this header, and functions marked QB_VECTOR_TARGET, are compiled for AVX2 on x86
 * and for NEON on ARM.  If a source file defines QB_VECTOR as 64 before the include, these
 * functions are compiled for AVX-512.  QB_VECTOR is the width of a vector in bytes, and is
 * undefined on other processors.  Loops use only vectors of this width.  NEON has no vectors of 32
 * bytes.  When code with vectors of 32 bytes was compiled for NEON, it stored vectors in memory
 * after nearly each operation (SIMDe 0.7.4 and 0.8.2, GCC 12 and 14).
 *
 * NEON has no instruction that collects one bit of each lane.  If a comparison is rarely true,
 * loops first test whether any lane is set, and collect bits only if a lane is set.
 *
 * src/base/vector.h
 */
#ifndef QB_VECTOR_H
#define QB_VECTOR_H

#include "base/isa.h"

#if defined(__x86_64__)
#include <immintrin.h>
#ifdef QB_VECTOR
#define QB_VECTOR_TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,popcnt")))
#else
#define QB_VECTOR        32
#define QB_VECTOR_TARGET __attribute__((target("avx2,popcnt")))
#define QB_ISA_VECTOR    QB_ISA_AVX2
#endif
#elif defined(__aarch64__)
#include <arm_neon.h>
#define QB_VECTOR 16
#define QB_VECTOR_TARGET
#define QB_ISA_VECTOR QB_ISA_NEON
#endif

#ifdef QB_VECTOR

#define QB_VECTOR_INLINE QB_VECTOR_TARGET QB_INLINE

typedef uint8_t qb_u8s __attribute__((vector_size(QB_VECTOR)));
typedef uint16_t qb_u16s __attribute__((vector_size(QB_VECTOR)));
typedef uint32_t qb_u32s __attribute__((vector_size(QB_VECTOR)));
typedef uint64_t qb_u64s __attribute__((vector_size(QB_VECTOR)));
typedef int32_t qb_i32s __attribute__((vector_size(QB_VECTOR)));
typedef int64_t qb_i64s __attribute__((vector_size(QB_VECTOR)));

/* Loads a vector from any address. */
QB_VECTOR_INLINE qb_u8s
qb_vector_load(const void *p)
{
	qb_u8s v;

	memcpy(&v, p, sizeof(v));
	return v;
}

QB_VECTOR_INLINE void
qb_vector_store(void *p, qb_u8s v)
{
	memcpy(p, &v, sizeof(v));
}

/* True if any bit is set. */
QB_VECTOR_INLINE bool
qb_vector_any(qb_u8s v)
{
#if QB_VECTOR == 64
	return _mm512_test_epi64_mask((__m512i) v, (__m512i) v) != 0;
#elif defined(__x86_64__)
	return !_mm256_testz_si256((__m256i) v, (__m256i) v);
#else
	return vmaxvq_u8(v) != 0;
#endif
}

/* True if all lanes are all ones.  A lane has at least 4 bytes, and is all ones or zero. */
QB_VECTOR_INLINE bool
qb_vector_all(qb_u8s lanes)
{
#if QB_VECTOR == 64
	return _mm512_movepi32_mask((__m512i) lanes) == UINT16_MAX;
#elif defined(__x86_64__)
	return _mm256_movemask_epi8((__m256i) lanes) == -1;
#else
	return vminvq_u32((qb_u32s) lanes) != 0;
#endif
}

#if QB_VECTOR != 64

/* Returns a bit for each byte.  Each byte is all ones or zero. */
QB_VECTOR_INLINE uint32_t
qb_vector_bits(qb_u8s lanes)
{
#ifdef __x86_64__
	return (uint32_t) _mm256_movemask_epi8((__m256i) lanes);
#else
	static const uint8_t bit[16] = { 1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128 };
	uint8x16_t own;

	if (!qb_vector_any(lanes))
		return 0;
	own = vandq_u8(lanes, vld1q_u8(bit));
	return vaddv_u8(vget_low_u8(own)) | (uint32_t) vaddv_u8(vget_high_u8(own)) << 8;
#endif
}

/* Returns a bit for each lane of 4 bytes.  Each lane is all ones or zero. */
QB_VECTOR_INLINE uint32_t
qb_vector_bits32(qb_u32s lanes)
{
#ifdef __x86_64__
	return (uint32_t) _mm256_movemask_ps((__m256) lanes);
#else
	return vaddvq_u32(lanes & (qb_u32s){ 1, 2, 4, 8 });
#endif
}

#endif

/* The number of set bits of each byte. */
QB_VECTOR_INLINE qb_u8s
qb_vector_ones(qb_u8s v)
{
#ifdef __x86_64__
	const __m128i of_four = _mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
	qb_u8s upper = (qb_u8s) ((qb_u16s) v >> 4) & 15;
	qb_u8s lower = v & 15;

#if QB_VECTOR == 64
	return (qb_u8s) _mm512_shuffle_epi8(_mm512_broadcast_i32x4(of_four), (__m512i) lower) +
		   (qb_u8s) _mm512_shuffle_epi8(_mm512_broadcast_i32x4(of_four), (__m512i) upper);
#else
	return (qb_u8s) _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(of_four), (__m256i) lower) +
		   (qb_u8s) _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(of_four), (__m256i) upper);
#endif
#else
	return vcntq_u8(v);
#endif
}

/* The sums of 8 neighbouring bytes, in lanes of 8 bytes. */
QB_VECTOR_INLINE qb_u64s
qb_vector_sum8(qb_u8s v)
{
#if QB_VECTOR == 64
	return (qb_u64s) _mm512_sad_epu8((__m512i) v, _mm512_setzero_si512());
#elif defined(__x86_64__)
	return (qb_u64s) _mm256_sad_epu8((__m256i) v, _mm256_setzero_si256());
#else
	return vpaddlq_u32(vpaddlq_u16(vpaddlq_u8(v)));
#endif
}

/* The sum of all lanes of 8 bytes. */
QB_VECTOR_INLINE uint64_t
qb_vector_sum64(qb_u64s v)
{
#if QB_VECTOR == 64
	return (uint64_t) _mm512_reduce_add_epi64((__m512i) v);
#elif defined(__x86_64__)
	__m128i two = _mm_add_epi64(_mm256_castsi256_si128((__m256i) v),
								_mm256_extracti128_si256((__m256i) v, 1));

	return (uint64_t) _mm_cvtsi128_si64(two) + (uint64_t) _mm_extract_epi64(two, 1);
#else
	return vaddvq_u64(v);
#endif
}

#endif

#endif
