/*
 * slot.h
 *		Chooses a value's slot in a table in memory, by a secret of the process.
 *
 * An attacker who can compute slots can choose values that all share one slot.  With n such values,
 * each lookup takes up to n steps.  qb_mix64() (hash.h) can be inverted and has no secret, since
 * bytes that are stored depend on it.  So tables in memory take their slots from here.  Nothing
 * that outlives the process, or that another process reads, may depend on these hashes.
 *
 * How it works.  The words s[0] to s[3] of the secret are random, and s[1] is odd, so
 * that the 128-bit product of x ^ s[0] and s[1] differs for all x.  Its halves are joined
 * with s[2] and s[3] by xor, and multiplied by each other.  The hash is the xor of the
 * halves of that second product.
 *
 * Why nobody can choose values that share slots.  An attacker can choose only the difference of two
 * values.  The first product turns the difference into a multiple of s[1], and carries in x ^ s[0]
 * decide into which multiple.  So the second product has two unknown factors, which differ by
 * unknown numbers from those of the other value.  Any k bits of two hashes agree with a chance of
 * about 2^-k over all secrets, whatever the values are.  Values that share a slot in one process
 * are ordinary values in all others.
 *
 * This is no cryptographic hash.  An attacker who can time single probes of a process may learn
 * about its secret, but every process has its own secret.
 *
 * src/base/slot.h
 */
#ifndef QB_SLOT_H
#define QB_SLOT_H

#include "base/port.h"

#define QB_SECRET_WORDS 4

typedef struct qb_secret
{
	uint64_t word[QB_SECRET_WORDS];
} qb_secret;

#ifdef __cplusplus
extern "C"
{
#endif

	/* The secret of this process.  It is fixed numbers until qb_set_secret() is called. */
	extern qb_secret qb_process_secret __attribute__((visibility("hidden")));

#ifdef __cplusplus
}
#endif

/* Exclusive-or of both halves of the 128-bit product. */
QB_INLINE uint64_t
qb_fold(uint64_t a, uint64_t b)
{
	return qb_mul_high(a, b) ^ (a * b);
}

/* The hash of 64 bits by a given secret; also for kernels. */
QB_INLINE uint64_t
qb_slot_hash_by(const qb_secret *secret, uint64_t x)
{
	const uint64_t *s = secret->word;
	uint64_t a = x ^ s[0];

	return qb_fold((a * s[1]) ^ s[2], qb_mul_high(a, s[1]) ^ s[3]);
}

/* Maps a hash to a slot among n, for any n. */
QB_INLINE uint64_t
qb_slot_of(uint64_t hash, uint64_t n)
{
	return qb_mul_high(hash, n);
}

#ifndef __CUDACC__

/* Set the secret.  No table may exist that was filled with another secret. */
extern void qb_set_secret(const uint64_t *random);

/* The hash of 64 bits. */
QB_INLINE uint64_t
qb_slot_hash(uint64_t x)
{
	return qb_slot_hash_by(&qb_process_secret, x);
}

/* The hash of 128 bits. */
QB_INLINE uint64_t
qb_slot_hash_wide(uint64_t low, uint64_t high)
{
	return qb_slot_hash(low ^ qb_slot_hash(high));
}

/* The hash of bytes, with a secret of two random words. */
extern uint64_t qb_hash_bytes(const uint8_t *bytes, size_t length, const uint64_t *secret);

#endif

#endif
