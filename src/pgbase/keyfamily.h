/*
 * keyfamily.h
 *		What a value records about its keys, by name and by type, and errors where keys differ.
 *
 * src/pgbase/keyfamily.h
 */
#ifndef QS_PGBASE_KEYFAMILY_H
#define QS_PGBASE_KEYFAMILY_H

#include "pgbase/keytype.h"

#include "access/tupdesc.h"

extern qb_keys KeysOf(Oid type, Oid collation);
extern uint32 KeyRowContent(Oid type, int32 typmod);
extern uint32 KeyColumnsContent(TupleDesc descriptor);

extern char *KeyFamilyName(uint32 family);
extern Oid KeyFamilyType(uint32 family);
extern char *KeyFamilyTypes(uint32 family);

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
