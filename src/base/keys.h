/*
 * keys.h
 *		Which keys a value was made from.
 *
 * Fingerprints of keys are comparable only if they come from one family of hash
 * functions and one collation.  A value records both when it takes its first keys;
 * here they are opaque numbers.  The caller refuses to merge or look up anything
 * else.
 *
 * src/base/keys.h
 */
#ifndef QB_KEYS_H
#define QB_KEYS_H

#include "base/port.h"

typedef struct qb_keys
{
	uint32_t family;    /* whose fingerprints; 0 = no keys yet */
	uint32_t collation; /* decides which keys are equal; 0 = no collation */
} qb_keys;

/* Are there no keys yet? */
QB_INLINE bool
qb_keys_none(const qb_keys *keys)
{
	return keys->family == 0;
}

/* Are the fingerprints of a and b comparable? */
QB_INLINE bool
qb_keys_same(const qb_keys *a, const qb_keys *b)
{
	return a->family == b->family && a->collation == b->collation;
}

/* Take over family and collation of "from" if "into" has no keys yet. */
QB_INLINE void
qb_keys_take(qb_keys *into, const qb_keys *from)
{
	if (qb_keys_none(into))
		*into = *from;
}

#endif
