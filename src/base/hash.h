/*
 * hash.h
 *		Computes the hash of a key's fingerprint, and indexes from the hash.  Describes the kind of
 *		keys that a value was made from.
 *
 * A key reaches a family of values (sketches, filters, sets) as a 64-bit fingerprint.  The
 * fingerprint is the key itself if it has at most 64 bits, else a 64-bit hash.
 * One full-avalanche mix of the fingerprint gives the hash hv, and every choice is taken from hv.
 * An index below n is the high part of a product, (hv * n) >> 64, so halving n joins neighbours.
 * Further indexes come from a second mix of hv.
 *
 * No modulo and no floating point: CPU and GPU compute the same bits.
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

/* What a seed contributes to each hash; computed once for each value. */
QB_INLINE uint64_t
qb_seed_key(uint64_t seed)
{
	return qb_mix64(seed + QB_ROW_STEP);
}

/* hv of a fingerprint.  A bijection, so distinct fingerprints never share hv. */
QB_INLINE uint64_t
qb_hash(uint64_t fingerprint, uint64_t seed_key)
{
	return qb_mix64(fingerprint ^ seed_key);
}

/* hv mapped to 0 .. n-1 by its high bits. */
QB_INLINE uint64_t
qb_reduce(uint64_t hv, uint64_t n)
{
	return qb_mul_high(hv, n);
}

/*
 * ---- which keys a value was made from ----
 *
 * Fingerprints of keys are comparable only if they come from one family of hash
 * functions and one collation.  A value records both when it takes its first keys;
 * here family and collation are opaque numbers.  A function of two values first checks that they
 * match, and returns QB_MISMATCH if not.  For lookups, the caller compares the value with the keys
 * that it looks up.
 */

/*
 * The encoding of the text in a value's keys.  Text in an unknown encoding is hashed by its bytes.
 * In a database with another encoding the same bytes may be other text, unless they are ASCII.
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
	uint32_t collation; /* decides which keys are equal; 0 = no collation */
	uint32_t text;      /* qb_text; 0 without keys */
} qb_keys;

/* True if there are no keys yet. */
QB_INLINE bool
qb_keys_none(const qb_keys *keys)
{
	return keys->family == 0;
}

/* True if the keys of a and b are of one kind.  Their text may be in different encodings. */
QB_INLINE bool
qb_keys_same(const qb_keys *a, const qb_keys *b)
{
	return a->family == b->family && a->collation == b->collation;
}

/*
 * True if the text of one is in UTF-8, and the text of the other is in an unknown encoding and not
 * ASCII.
 */
QB_INLINE bool
qb_keys_clash(const qb_keys *a, const qb_keys *b)
{
	return (a->text ^ b->text) == (QB_TEXT_UTF8 ^ QB_TEXT_BYTES) && !qb_keys_none(a) &&
		   !qb_keys_none(b);
}

/* True if two values may be used together.  One of them may have no keys yet. */
QB_INLINE bool
qb_keys_match(const qb_keys *a, const qb_keys *b)
{
	return qb_keys_none(a) || qb_keys_none(b) || (qb_keys_same(a, b) && !qb_keys_clash(a, b));
}

/* Add the kind of the keys of "from" to "into".  Both are of one kind and do not clash. */
QB_INLINE void
qb_keys_take(qb_keys *into, const qb_keys *from)
{
	if (qb_keys_none(into))
		*into = *from;
	else if (!qb_keys_none(from) && into->text != from->text)
		into->text =
			into->text == QB_TEXT_UTF8 || from->text == QB_TEXT_UTF8 ? QB_TEXT_UTF8 : QB_TEXT_BYTES;
}

/* True if these fields of a stored value are consistent.  Without keys all are 0. */
QB_INLINE bool
qb_keys_valid(const qb_keys *keys)
{
	return keys->text <= QB_TEXT_BYTES &&
		   (!qb_keys_none(keys) || (keys->collation == 0 && keys->text == 0));
}

#endif
