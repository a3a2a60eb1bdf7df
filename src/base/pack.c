/*
 * pack.c
 *		Bytes most of which are zero, in fewer: byte by byte.
 *
 * src/base/pack.c
 */
#include "base/pack_loops.h"

/* The bits of those bytes of a word that are not zero. */
static inline unsigned
bytes_set(uint64_t word)
{
	const uint64_t low = UINT64_C(0x7F7F7F7F7F7F7F7F);
	uint64_t high = ((word & low) + low) | word;

	/* one bit for each byte, then all of them in the highest byte */
	return (
		unsigned) (((high >> 7 & UINT64_C(0x0101010101010101)) * UINT64_C(0x0102040810204080)) >>
				   56);
}

QS_INLINE uint8_t *
put_word(uint64_t word, uint8_t *out)
{
	unsigned set = bytes_set(word);

	*out++ = (uint8_t) set;
	for (; set != 0; set &= set - 1)
		*out++ = (uint8_t) (word >> (8 * __builtin_ctz(set)));
	if (word == 0)
		*out++ = 0;
	return out;
}

QS_INLINE bool
get_word(unsigned set, const uint8_t *in, size_t left, uint64_t *word)
{
	unsigned rest = set;

	(void) left;
	*word = 0;
	for (; rest != 0; rest &= rest - 1)
		*word |= (uint64_t) *in++ << (8 * __builtin_ctz(rest));
	return bytes_set(*word) == set;
}

size_t
qs_pack_plain(const uint8_t *bytes, uint32_t count, uint8_t *packed, size_t room)
{
	return qs_pack_by(bytes, count, packed, room, put_word);
}

bool
qs_unpacked_count(const uint8_t *packed, size_t length, uint32_t *count)
{
	if (length < QS_PACK_COUNT_BYTES)
		return false;
	*count = qs_load32(packed);
	return *count <=
		   (uint64_t) (length - QS_PACK_COUNT_BYTES) / 2 * QS_PACK_LONGEST_RUN * QS_PACK_WORD;
}

bool
qs_unpack_plain(const uint8_t *packed, size_t length, uint8_t *bytes, uint32_t count)
{
	return qs_unpack_by(packed, length, bytes, count, get_word);
}
