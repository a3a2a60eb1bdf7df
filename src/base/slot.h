/*
 * slot.h
 *		Hashes with a secret of the process, for hash tables in memory.
 *
 * An attacker who can compute slots can choose n values that share one slot.  Each lookup then
 * takes up to n steps.  Stored bytes depend on qb_mix64() (hash.h), so qb_mix64() has no secret,
 * and an attacker can invert qb_mix64().  So hash tables in memory use the functions of this file.
 * Nothing that outlives the process, or that another process reads, may depend on
 * qb_process_secret.
 *
 * How it works.  The words s[0] to s[3] of the secret are random, and s[1] is odd.  So the 128-bit
 * product of x ^ s[0] and s[1] has a different value for each x.  The halves of the product are
 * combined with s[2] and s[3] by xor, and then multiplied by each other.  The hash is the xor of
 * the halves of this second product.
 *
 * Why an attacker cannot choose values that share slots.  The attacker chooses two values x and y.
 * The difference of x ^ s[0] and y ^ s[0] depends on s[0], so it is unknown.  The first products
 * differ by this difference times s[1].  So for x and y both factors of the second product are
 * unknown and differ by unknown numbers.  For any two values, k bits of their hashes agree with a
 * chance of about 2^-k over all secrets.  Values that share a slot in one process are ordinary
 * values in all other processes.
 *
 * This is no cryptographic hash.  An attacker who can time single probes of a process may learn
 * about its secret, but every process has another secret.
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

	/* The secret of this process.  Before qb_set_secret() it has fixed numbers. */
	extern qb_secret qb_process_secret __attribute__((visibility("hidden")));

#ifdef __cplusplus
}
#endif

/* Returns the xor of both halves of the 128-bit product a * b. */
QB_INLINE uint64_t
qb_fold(uint64_t a, uint64_t b)
{
	return qb_mul_high(a, b) ^ (a * b);
}

/* Returns the hash of 64 bits with the given secret.  Kernels call this function, too. */
QB_INLINE uint64_t
qb_slot_hash_by(const qb_secret *secret, uint64_t x)
{
	const uint64_t *s = secret->word;
	uint64_t a = x ^ s[0];

	return qb_fold((a * s[1]) ^ s[2], qb_mul_high(a, s[1]) ^ s[3]);
}

/* Maps a hash to a slot 0 .. n-1.  n need not be a power of two. */
QB_INLINE uint64_t
qb_slot_of(uint64_t hash, uint64_t n)
{
	return qb_mul_high(hash, n);
}

#ifndef __CUDACC__

/*
 * Sets the secret to QB_SECRET_WORDS random words.  No hash table may exist that was filled with
 * another secret.
 */
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
