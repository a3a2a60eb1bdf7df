/*
 * sketch_avx512.h
 *		What the files of inner loops of sketches with AVX-512 share.
 *
 * src/engine/sketch_avx512.h
 */
#ifndef QS_SKETCH_AVX512_H
#define QS_SKETCH_AVX512_H

#include "engine/sketch_kernels.h"

#ifdef __x86_64__

#include <immintrin.h>

/* gcc uses vectors of 512 bits in loops only when asked to; clang does not know the option. */
#ifdef __clang__
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#else
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")))
#endif

/* sketch_avx512_multilevel.c: see the members of qs_kernels. */
extern void
qs_avx512_add_low(qs_sketch *sk, const uint64_t *hv, const int64_t *weight, size_t count);
extern size_t qs_avx512_select(const qs_sketch *sk, const uint64_t *hv, size_t count,
							   uint64_t least, uint32_t *found);
extern size_t qs_avx512_add_select(qs_sketch *sk, const uint64_t *hv, const int64_t *weight,
								   size_t count, uint64_t least, uint32_t *found);
extern qb_status qs_avx512_accumulate(qs_sketch *into, const qs_sketch *from, bool negative);

#endif

#endif
