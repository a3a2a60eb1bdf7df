/*
 * hash.h
 *		The hash of a fingerprint, indexes computed from the hash, and the type of a value's keys.
 *
 * Sketches and filters receive each key as a 64-bit fingerprint.  The fingerprint is the key itself
 * as a number, for example for integers, or a 64-bit hash of the key.  One full-avalanche mix of
 * the fingerprint gives the hash hv, from which all indexes are computed.  An index below n is the
 * high part of a product, (hv * n) >> 64.  So indexes 2i and 2i + 1 both become index i if n is
 * halved.  Further indexes come from a second mix of hv.
 *
 * The code uses no floating point, so CPU and GPU compute the same bits.
 *
 * src/base/hash.h
 */
#ifndef QB_HASH_H
#define QB_HASH_H

#include "base/port.h"

/* An odd constant for streams of random numbers and for second mixes: 2^64 / golden ratio. */
#define QB_ROW_STEP UINT64_C(0x9E3779B97F4A7C15)

/* Full-avalanche bijection of 64 bits (the finalizer of splitmix64). */
QB_INLINE uint64_t
qb_mix64(uint64_t x)
{
	x ^= x >> 30;
	x *= UINT64_C(0xBF58476D1CE4E5B9);
	x ^= x >> 27;
	x *= UINT64_C(0x94D049BB133111EB);
	x ^= x >> 31;
	return x;
}

/* Returns the seed's contribution to each hash.  Callers compute it once for each value. */
QB_INLINE uint64_t
qb_seed_key(uint64_t seed)
{
	return qb_mix64(seed + QB_ROW_STEP);
}

/*
 * Returns hv of a fingerprint.  Distinct fingerprints have distinct hv, because the mix is a
 * bijection.
 */
QB_INLINE uint64_t
qb_hash(uint64_t fingerprint, uint64_t seed_key)
{
	return qb_mix64(fingerprint ^ seed_key);
}

/* Maps hv to 0 .. n-1 by its high bits. */
QB_INLINE uint64_t
qb_reduce(uint64_t hv, uint64_t n)
{
	return qb_mul_high(hv, n);
}

/*
 * ---- the type of a value's keys ----
 *
 * Fingerprints are comparable only if the same family of hash functions and the same collation made
 * them.  A value stores the numbers of family and collation when its first keys are added.  This
 * file does not interpret the numbers.  A function of two values returns QB_MISMATCH if
 * qb_keys_match() is false.  For lookups, the caller compares the value with the keys that it looks
 * up.
 */

/*
 * The encoding of the text in a value's keys.  Text in an unknown encoding is hashed by its bytes.
 * In a database with another encoding these bytes may be another text, unless all bytes are ASCII.
 */
typedef enum qb_text
{
	QB_TEXT_UTF8 = 0,  /* all text is in UTF-8, or there is no text */
	QB_TEXT_ASCII = 1, /* the encoding is unknown, but all text is ASCII */
	QB_TEXT_BYTES = 2  /* the encoding is unknown, and some text is not ASCII */
} qb_text;

typedef struct qb_keys
{
	uint32_t family;    /* the family of hash functions; 0 = no keys yet */
	uint32_t collation; /* number of the collation; 0 = no collation */
	uint32_t text;      /* qb_text; 0 without keys */
} qb_keys;

/* True if no keys were added yet. */
QB_INLINE bool
qb_keys_none(const qb_keys *keys)
{
	return keys->family == 0;
}

/* True if a and b have the same family and collation.  Encodings of text are not compared. */
QB_INLINE bool
qb_keys_same(const qb_keys *a, const qb_keys *b)
{
	return a->family == b->family && a->collation == b->collation;
}

/*
 * True if the text of one value is in UTF-8, and the text of the other value is in an unknown
 * encoding and not ASCII.
 */
QB_INLINE bool
qb_keys_clash(const qb_keys *a, const qb_keys *b)
{
	return (a->text ^ b->text) == (QB_TEXT_UTF8 ^ QB_TEXT_BYTES) && !qb_keys_none(a) &&
		   !qb_keys_none(b);
}

/* True if an operation may combine two values.  A value without keys matches every value. */
QB_INLINE bool
qb_keys_match(const qb_keys *a, const qb_keys *b)
{
	return qb_keys_none(a) || qb_keys_none(b) || (qb_keys_same(a, b) && !qb_keys_clash(a, b));
}

/*
 * Extends the key type of "into" by the key type of "from".  The caller has checked
 * qb_keys_match().
 */
QB_INLINE void
qb_keys_take(qb_keys *into, const qb_keys *from)
{
	if (qb_keys_none(into))
		*into = *from;
	else if (!qb_keys_none(from) && into->text != from->text)
		into->text =
			into->text == QB_TEXT_UTF8 || from->text == QB_TEXT_UTF8 ? QB_TEXT_UTF8 : QB_TEXT_BYTES;
}

/* True if the fields, read from a stored value, are consistent.  Without keys all fields are 0. */
QB_INLINE bool
qb_keys_valid(const qb_keys *keys)
{
	return keys->text <= QB_TEXT_BYTES &&
		   (!qb_keys_none(keys) || (keys->collation == 0 && keys->text == 0));
}

#endif
