/*
 * slot.c
 *		The secret of the process, and the hash of bytes.
 *
 * src/base/slot.c
 */
#include "base/slot.h"

qb_secret qb_process_secret = { {
	UINT64_C(0xA0761D6478BD642F),
	UINT64_C(0xE7037ED1A0B428DB),
	UINT64_C(0x8EBC6AF09C88C6E3),
	UINT64_C(0x589965CC75374CC3),
} };

void
qb_set_secret(const uint64_t *random)
{
	memcpy(qb_process_secret.word, random, sizeof(qb_process_secret.word));
	qb_process_secret.word[1] |= 1;
}

/*
 * Reads up to 15 bytes into two words.  The loads may overlap, which is faster than copying single
 * bytes.
 */
static inline void
read_rest(const uint8_t *bytes, size_t length, uint64_t word[2])
{
	size_t middle = length / 8 * 4;

	if (length >= 4)
	{
		const uint8_t *last = bytes + length - 4;

		word[0] = (uint64_t) qb_load32(bytes) << 32 | qb_load32(bytes + middle);
		word[1] = (uint64_t) qb_load32(last) << 32 | qb_load32(last - middle);
	}
	else if (length > 0)
		word[0] = (uint64_t) bytes[0] << 16 | bytes[length / 2] << 8 | bytes[length - 1];
}

/*
 * Multiplies and folds 16 bytes in each step.  The length changes the initial hash by an unknown
 * amount.  So an attacker cannot choose bytes of different lengths that have the same hash.
 */
uint64_t
qb_hash_bytes(const uint8_t *bytes, size_t length, const uint64_t *secret)
{
	uint64_t hash = secret[0] + length * secret[1];
	uint64_t last[2] = { 0 };
	size_t i;

	for (i = 0; i + 16 <= length; i += 16)
	{
		uint64_t a = qb_load64(bytes + i) ^ hash;

		hash = qb_fold(a, qb_load64(bytes + i + 8) ^ secret[1]) ^ a;
	}
	read_rest(bytes + i, length - i, last);
	last[0] ^= hash;
	return qb_fold(last[0], last[1] ^ secret[1]) ^ last[0];
}
