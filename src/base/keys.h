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
#ifndef QS_KEYS_H
#define QS_KEYS_H

#include "base/port.h"

typedef struct qs_keys
{
	uint32_t family;    /* whose fingerprints; 0 = no keys yet */
	uint32_t collation; /* that says which are equal; 0 = none does */
} qs_keys;

/* Are there no keys yet? */
QS_INLINE bool
qs_keys_none(const qs_keys *keys)
{
	return keys->family == 0;
}

/* Are fingerprints of the one comparable with those of the other? */
QS_INLINE bool
qs_keys_same(const qs_keys *a, const qs_keys *b)
{
	return a->family == b->family && a->collation == b->collation;
}

/* Take over the other's where there are none yet. */
QS_INLINE void
qs_keys_adopt(qs_keys *into, const qs_keys *from)
{
	if (qs_keys_none(into))
		*into = *from;
}

#endif
