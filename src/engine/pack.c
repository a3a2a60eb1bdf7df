/*
 * pack.c
 *		Packing with the instructions that isa.h chooses.
 *
 * With AVX2 the set bytes of a word are brought together, and apart again, by one
 * shuffle, in the order that a table has for each of the 256 cases.
 *
 * src/engine/pack.c
 */
#include "engine/pack.h"

#include "base/pack_loops.h"
#include "engine/isa.h"

#ifdef __x86_64__

#include <immintrin.h>

/* Every processor that has AVX2 has popcnt. */
#define AVX2 __attribute__((target("avx2,popcnt")))

/* What a shuffle makes zero. */
#define NONE 0x80

/* By which bytes of a word are set: where each of these is, and which of them each byte is. */
static uint8_t together[256][QS_PACK_WORD];
static uint8_t apart[256][QS_PACK_WORD];

/* At load. */
__attribute__((constructor)) static void
fill_orders(void)
{
	int set, byte;

	memset(together, NONE, sizeof(together));
	memset(apart, NONE, sizeof(apart));
	for (set = 0; set < 256; set++)
	{
		uint8_t rank = 0;

		for (byte = 0; byte < QS_PACK_WORD; byte++)
			if (set >> byte & 1)
			{
				together[set][rank] = (uint8_t) byte;
				apart[set][byte] = rank++;
			}
	}
}

AVX2 QS_INLINE unsigned
bytes_set(__m128i word)
{
	return ~(unsigned) _mm_movemask_epi8(_mm_cmpeq_epi8(word, _mm_setzero_si128())) & 0xFF;
}

AVX2 QS_INLINE __m128i
shuffled(__m128i word, const uint8_t *order)
{
	return _mm_shuffle_epi8(word, _mm_loadl_epi64((const void *) order));
}

AVX2 QS_INLINE uint8_t *
put_word(uint64_t word, uint8_t *out)
{
	__m128i bytes = _mm_cvtsi64_si128((long long) word);
	unsigned set = bytes_set(bytes);

	*out++ = (uint8_t) set;
	_mm_storel_epi64((void *) out, shuffled(bytes, together[set]));
	return out + __builtin_popcount(set) + (set == 0);
}

AVX2 QS_INLINE bool
get_word(unsigned set, const uint8_t *in, size_t left, uint64_t *word)
{
	__m128i bytes = _mm_cvtsi64_si128((long long) qs_pack_load(in, left));

	bytes = shuffled(bytes, apart[set]);
	*word = (uint64_t) _mm_cvtsi128_si64(bytes);
	return bytes_set(bytes) == set;
}

AVX2 static size_t
pack_avx2(const uint8_t *bytes, uint32_t count, uint8_t *packed, size_t room)
{
	return qs_pack_by(bytes, count, packed, room, put_word);
}

AVX2 static bool
unpack_avx2(const uint8_t *packed, size_t length, uint8_t *bytes, uint32_t count)
{
	return qs_unpack_by(packed, length, bytes, count, get_word);
}

#endif

size_t
qs_pack(const uint8_t *bytes, uint32_t count, uint8_t *packed, size_t room)
{
#ifdef __x86_64__
	if (qs_isa_now() >= QS_ISA_AVX2)
		return pack_avx2(bytes, count, packed, room);
#endif
	return qs_pack_plain(bytes, count, packed, room);
}

bool
qs_unpack(const uint8_t *packed, size_t length, uint8_t *bytes, uint32_t count)
{
#ifdef __x86_64__
	if (qs_isa_now() >= QS_ISA_AVX2)
		return unpack_avx2(packed, length, bytes, count);
#endif
	return qs_unpack_plain(packed, length, bytes, count);
}
