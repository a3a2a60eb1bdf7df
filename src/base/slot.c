/*
 * slot.c
 *		The secret of the process, and the hash of bytes.
 *
 * src/base/slot.c
 */
#include "base/slot.h"

qb_secret qb_own_secret = { {
	UINT64_C(0xA0761D6478BD642F),
	UINT64_C(0xE7037ED1A0B428DB),
	UINT64_C(0x8EBC6AF09C88C6E3),
	UINT64_C(0x589965CC75374CC3),
} };

void
qb_set_secret(const uint64_t *random)
{
	memcpy(qb_own_secret.word, random, sizeof(qb_own_secret.word));
	qb_own_secret.word[1] |= 1;
}

/* Multiply and fold, 16 bytes at a time. */
uint64_t
qb_hash_bytes(const uint8_t *bytes, size_t length, const uint64_t *secret)
{
	uint64_t hash = secret[0] ^ length;
	uint64_t last[2] = { 0 };
	size_t i;

	for (i = 0; i + 16 <= length; i += 16)
	{
		uint64_t a = qb_load64(bytes + i) ^ hash;

		hash = qb_fold(a, qb_load64(bytes + i + 8) ^ secret[1]) ^ a;
	}
	memcpy(last, bytes + i, length - i);
	last[0] ^= hash;
	return qb_fold(last[0], last[1] ^ secret[1]) ^ last[0];
}
