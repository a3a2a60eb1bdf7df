/*
 * keycheck.h
 *		Errors when keys are not of the kind that a value holds.
 *
 * src/pgbase/keycheck.h
 */
#ifndef QS_PGBASE_KEYCHECK_H
#define QS_PGBASE_KEYCHECK_H

#include "pgbase/keytype.h"

/* How messages about keys name the values that hold them. */
typedef struct KeyHolder
{
	const char *one;
	const char *many;
	const char *lookup; /* our function that takes keys of any type without a cast */
} KeyHolder;

extern void KeyFamilyCheckMaking(uint32 family, const KeyHolder *holder);
extern void KeyFamilyCheckProbe(const qb_keys *held, const KeyType *key, const KeyHolder *holder);
extern void KeyFamilyCheckSame(const qb_keys *a, const qb_keys *b, const KeyHolder *holder);

#endif
