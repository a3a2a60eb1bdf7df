/*
 * pack.c
 *		Packing bytes that are mostly zero: plain loops, and loops with the
 *		instructions that isa.h chooses.
 *
 * The places of zero words and of zero bytes are as good as random, so the plain
 * loops spend their time on mispredicted branches.  With AVX2 or NEON a block of 64 words
 * becomes a mask of 64 bits, whose ones are the words to be written, and one shuffle
 * moves a word's bytes to their places.  The plain loops pack what does not fill a
 * block.
 *
 * With NEON a word with n bytes that are not zero takes 30 instructions to pack and 25 to
 * unpack (GCC 12).  With the plain loops it takes 42 + 8 n and 34 + 9 n.  A word of zeros takes 2
 * to pack instead of 11.  The speed was not measured on an ARM processor.
 *
 * src/base/pack.c
 */
#include "base/pack.h"

#include "base/isa.h"

/* FAST: the least isa for which the fast loops are; TARGET: how they are compiled. */
#ifdef __x86_64__
#include <immintrin.h>
#define FAST   QB_ISA_AVX2
#define TARGET __attribute__((target("avx2,popcnt")))
#elif defined(__aarch64__)
#include "base/neon.h"
#define FAST QB_ISA_NEON
#define TARGET
#endif

#define WORD QB_PACK_WORD

static inline uint64_t
load_word(const uint8_t *bytes, size_t left)
{
	uint64_t word = 0;

	if (left >= WORD)
		return qb_load64(bytes);
	memcpy(&word, bytes, left);
	return word;
}

/* A mask of the bytes of a word that are not zero. */
static inline unsigned
bytes_set(uint64_t word)
{
	const uint64_t low = UINT64_C(0x7F7F7F7F7F7F7F7F);
	uint64_t high = ((word & low) + low) | word;

	/* one bit for each byte, then all bits gathered in the highest byte */
	return (
		unsigned) (((high >> 7 & UINT64_C(0x0101010101010101)) * UINT64_C(0x0102040810204080)) >>
				   56);
}

/* How many words from here on are zero, at most QB_PACK_RUN. */
static inline size_t
zero_run(const uint8_t *bytes, size_t left)
{
	size_t run = 0;

	while (run < QB_PACK_RUN && left > run * WORD &&
		   load_word(bytes + run * WORD, left - run * WORD) == 0)
		run++;
	return run;
}

static inline uint8_t *
put_word(uint64_t word, uint8_t *out)
{
	unsigned set = bytes_set(word);

	*out++ = (uint8_t) set;
	for (; set != 0; set &= set - 1)
		*out++ = (uint8_t) (word >> (8 * __builtin_ctz(set)));
	return out;
}

/* Pack "count" bytes to "out", and stop once "out" is beyond the end.  Returns where it stopped. */
static uint8_t *
pack_words(const uint8_t *bytes, size_t count, uint8_t *out, const uint8_t *end)
{
	while (count > 0 && out <= end)
	{
		size_t words = zero_run(bytes, count);
		size_t taken;

		if (words > 0)
		{
			*out++ = 0;
			*out++ = (uint8_t) (words - 1);
		}
		else
		{
			out = put_word(load_word(bytes, count), out);
			words = 1;
		}
		taken = words * WORD < count ? words * WORD : count;
		bytes += taken;
		count -= taken;
	}
	return out;
}

size_t
qb_pack_plain(const uint8_t *bytes, uint32_t count, uint8_t *packed, size_t room)
{
	const uint8_t *end = packed + room;
	uint8_t *out = pack_words(bytes, count, packed + QB_PACK_HEADER, end);

	qb_store32(packed, count);
	return out <= end ? (size_t) (out - packed) : 0;
}

bool
qb_unpacked_count(const uint8_t *packed, size_t length, uint32_t *count)
{
	if (length < QB_PACK_HEADER)
		return false;
	*count = qb_load32(packed);
	return *count <= (uint64_t) (length - QB_PACK_HEADER) / 2 * QB_PACK_RUN * WORD;
}

/*
 * A word from its nonzero bytes.  The caller has checked that as many bytes as "set"
 * has ones are there.
 */
static inline uint64_t
get_word(unsigned set, const uint8_t *in)
{
	uint64_t word = 0;

	for (; set != 0; set &= set - 1)
		word |= (uint64_t) *in++ << (8 * __builtin_ctz(set));
	return word;
}

/* Unpack "words" words; false unless these are exactly what is packed. */
static bool
unpack_words(const uint8_t *in, const uint8_t *end, uint8_t *bytes, size_t words)
{
	while (words > 0 && end - in >= 2)
	{
		unsigned set = *in++;
		size_t run = 1;

		if (set == 0)
		{
			run = (size_t) *in++ + 1;
			if (run > words)
				return false;
			memset(bytes, 0, run * WORD);
		}
		else
		{
			uint64_t word;

			if (end - in < __builtin_popcount(set))
				return false;
			word = get_word(set, in);
			if (bytes_set(word) != set)
				return false;
			qb_store64(bytes, word);
			in += __builtin_popcount(set);
		}
		bytes += run * WORD;
		words -= run;
	}
	return words == 0 && in == end;
}

bool
qb_unpack_plain(const uint8_t *packed, size_t length, uint8_t *bytes, uint32_t count)
{
	return unpack_words(packed + QB_PACK_HEADER, packed + length, bytes,
						((size_t) count + WORD - 1) / WORD);
}

#ifdef FAST

#define BLOCK_WORDS 64
#define BLOCK_BYTES (BLOCK_WORDS * WORD)

/*
 * Shuffles for each set of nonzero bytes of a word: gather moves them together,
 * spread moves them back.
 */
static uint8_t gather[256][WORD];
static uint8_t spread[256][WORD];

/* A shuffle writes zero where the index has its high bit set. */
#define NOWHERE 0x80

__attribute__((constructor)) static void
fill_shuffles(void)
{
	unsigned set;
	unsigned i;

	memset(gather, NOWHERE, sizeof(gather));
	memset(spread, NOWHERE, sizeof(spread));
	for (set = 0; set < 256; set++)
	{
		unsigned n = 0;

		for (i = 0; i < WORD; i++)
			if (set >> i & 1)
			{
				gather[set][n] = (uint8_t) i;
				spread[set][i] = (uint8_t) n++;
			}
	}
}

#ifdef __x86_64__

TARGET static inline uint64_t
shuffled(uint64_t word, const uint8_t *places)
{
	__m128i bytes = _mm_cvtsi64_si128((long long) word);

	return (uint64_t) _mm_cvtsi128_si64(
		_mm_shuffle_epi8(bytes, _mm_loadl_epi64((const void *) places)));
}

/* A mask of the bytes of a word that are not zero. */
TARGET static inline unsigned
bytes_set_fast(uint64_t word)
{
	__m128i zero = _mm_cmpeq_epi8(_mm_cvtsi64_si128((long long) word), _mm_setzero_si128());

	return ~(unsigned) _mm_movemask_epi8(zero) & 0xFF;
}

/* A mask of the words of a block that are not zero. */
TARGET static inline uint64_t
words_set(const uint8_t *bytes)
{
	uint64_t zero = 0;
	int i;

	for (i = 0; i < BLOCK_WORDS; i += 4)
	{
		__m256i words = _mm256_loadu_si256((const void *) (bytes + i * WORD));
		__m256i equal = _mm256_cmpeq_epi64(words, _mm256_setzero_si256());

		zero |= (uint64_t) _mm256_movemask_pd(_mm256_castsi256_pd(equal)) << i;
	}
	return ~zero;
}

#else

static inline uint64_t
shuffled(uint64_t word, const uint8_t *places)
{
	return vget_lane_u64(vreinterpret_u64_u8(vtbl1_u8(vcreate_u8(word), vld1_u8(places))), 0);
}

/* A mask of the bytes of a word that are not zero. */
static inline unsigned
bytes_set_fast(uint64_t word)
{
	uint8x8_t bytes = vcreate_u8(word);

	return qb_neon_bits8(vtst_u8(bytes, bytes));
}

/* Which of four words are not zero: all ones or zero in lanes of 32 bits. */
static inline uint16x8_t
words_set4(const uint8_t *bytes)
{
	uint64x2_t a = vreinterpretq_u64_u8(vld1q_u8(bytes));
	uint64x2_t b = vreinterpretq_u64_u8(vld1q_u8(bytes + 2 * WORD));

	return vreinterpretq_u16_u32(
		vuzp1q_u32(vreinterpretq_u32_u64(vtstq_u64(a, a)), vreinterpretq_u32_u64(vtstq_u64(b, b))));
}

/* The same of eight, in lanes of 16 bits. */
static inline uint8x16_t
words_set8(const uint8_t *bytes)
{
	return vreinterpretq_u8_u16(vuzp1q_u16(words_set4(bytes), words_set4(bytes + 4 * WORD)));
}

/* A mask of the words of a block that are not zero. */
static inline uint64_t
words_set(const uint8_t *bytes)
{
	uint64_t set = 0;
	int i;

	for (i = 0; i < BLOCK_WORDS; i += 16, bytes += 16 * WORD)
	{
		uint8x16_t lanes = vuzp1q_u8(words_set8(bytes), words_set8(bytes + 8 * WORD));

		set |= (uint64_t) qb_neon_bits(lanes) << i;
	}
	return set;
}

#endif

/* Writes eight bytes, but advances only past those that count. */
TARGET static inline uint8_t *
put_word_fast(uint64_t word, uint8_t *out)
{
	unsigned set = bytes_set_fast(word);

	*out++ = (uint8_t) set;
	qb_store64(out, shuffled(word, gather[set]));
	return out + __builtin_popcount(set);
}

/* Runs of zero words. */
TARGET static inline uint8_t *
put_zeros(size_t words, uint8_t *out)
{
	while (words > 0)
	{
		size_t run = words < QB_PACK_RUN ? words : QB_PACK_RUN;

		*out++ = 0;
		*out++ = (uint8_t) (run - 1);
		words -= run;
	}
	return out;
}

/*
 * Pack whole blocks, but not the zeros at their end, as more zeros may follow:
 * *taken tells how many bytes were packed.  No word is begun beyond the end.  A word
 * begun before it, with the zeros that precede it, writes less than QB_PACK_SLACK
 * bytes beyond.
 */
TARGET static uint8_t *
pack_blocks(const uint8_t *bytes, size_t blocks, uint8_t *out, const uint8_t *end, size_t *taken)
{
	size_t done = 0; /* words */
	size_t block;

	for (block = 0; block < blocks && out <= end; block++)
	{
		uint64_t set = words_set(bytes + block * BLOCK_BYTES);

		for (; set != 0 && out <= end; set &= set - 1)
		{
			size_t place = block * BLOCK_WORDS + (size_t) __builtin_ctzll(set);

			out = put_zeros(place - done, out);
			out = put_word_fast(qb_load64(bytes + place * WORD), out);
			done = place + 1;
		}
		if ((block + 1) * BLOCK_WORDS - done > QB_PACK_RUN && out <= end)
		{
			out = put_zeros(QB_PACK_RUN, out);
			done += QB_PACK_RUN;
		}
	}
	*taken = done * WORD;
	return out;
}

static size_t
pack_fast(const uint8_t *bytes, uint32_t count, uint8_t *packed, size_t room)
{
	const uint8_t *end = packed + room;
	size_t taken;
	uint8_t *out = pack_blocks(bytes, count / BLOCK_BYTES, packed + QB_PACK_HEADER, end, &taken);

	qb_store32(packed, count);
	out = pack_words(bytes + taken, count - taken, out, end);
	return out <= end ? (size_t) (out - packed) : 0;
}

/*
 * Unpack words into bytes that are zero, as long as the longest word could still be
 * read; *in and *words tell how far it came.
 */
TARGET static bool
unpack_words_fast(const uint8_t **in, const uint8_t *end, uint8_t *bytes, size_t *words)
{
	const uint8_t *next = *in;
	size_t left = *words;

	while (left > 0 && end - next > WORD)
	{
		unsigned set = *next++;

		if (set == 0)
		{
			size_t run = (size_t) *next++ + 1;

			if (run > left)
				return false;
			bytes += run * WORD;
			left -= run;
		}
		else
		{
			uint64_t word = shuffled(qb_load64(next), spread[set]);

			if (bytes_set_fast(word) != set)
				return false;
			qb_store64(bytes, word);
			next += __builtin_popcount(set);
			bytes += WORD;
			left--;
		}
	}
	*in = next;
	*words = left;
	return true;
}

static bool
unpack_fast(const uint8_t *packed, size_t length, uint8_t *bytes, uint32_t count)
{
	const uint8_t *in = packed + QB_PACK_HEADER;
	size_t words = ((size_t) count + WORD - 1) / WORD;
	size_t left = words;

	memset(bytes, 0, words * WORD);
	return unpack_words_fast(&in, packed + length, bytes, &left) &&
		   unpack_words(in, packed + length, bytes + (words - left) * WORD, left);
}

#endif

size_t
qb_pack(const uint8_t *bytes, uint32_t count, uint8_t *packed, size_t room)
{
#ifdef FAST
	if (qb_isa_now() >= FAST)
		return pack_fast(bytes, count, packed, room);
#endif
	return qb_pack_plain(bytes, count, packed, room);
}

bool
qb_unpack(const uint8_t *packed, size_t length, uint8_t *bytes, uint32_t count)
{
#ifdef FAST
	if (qb_isa_now() >= FAST)
		return unpack_fast(packed, length, bytes, count);
#endif
	return qb_unpack_plain(packed, length, bytes, count);
}
