/*
 * keys.h
 *		Which keys a value was made from.
 *
 * Fingerprints of keys are comparable only if they come from one family of hash
 * functions and one collation.  A value records both when it takes its first
 * keys, and merging or looking up anything else is for the caller to refuse:
 * here they are opaque numbers.
 *
 * src/base/keys.h
 */
#ifndef QB_KEYS_H
#define QB_KEYS_H

#include "base/port.h"

typedef struct qb_keys
{
	uint32_t family;    /* whose fingerprints; 0 = no keys yet */
	uint32_t collation; /* that says which are equal; 0 = none does */
} qb_keys;

/* Are there no keys yet? */
QB_INLINE bool
qb_keys_none(const qb_keys *keys)
{
	return keys->family == 0;
}

/* Are fingerprints of the one comparable with those of the other? */
QB_INLINE bool
qb_keys_same(const qb_keys *a, const qb_keys *b)
{
	return a->family == b->family && a->collation == b->collation;
}

/* Take over the other's where there are none yet. */
QB_INLINE void
qb_keys_adopt(qb_keys *into, const qb_keys *from)
{
	if (qb_keys_none(into))
		*into = *from;
}

#endif
