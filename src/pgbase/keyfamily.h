/*
 * keyfamily.h
 *		What a value records about its keys, and whether the keys of two values can be compared.
 *
 * src/pgbase/keyfamily.h
 */
#ifndef QS_PGBASE_KEYFAMILY_H
#define QS_PGBASE_KEYFAMILY_H

#include "postgres.h"

#include "base/hash.h"

#include "access/tupdesc.h"

extern char *KeyFamilyName(uint32 family);
extern char *KeysName(const qb_keys *keys);
extern Oid KeyFamilyType(uint32 family);
extern char *KeyFamilyTypes(uint32 family);
extern bool KeyFamilyHasType(uint32 family, Oid type);
extern bool KeyFamilyIsBuiltIn(uint32 family);
extern bool KeyFamilyIsKnown(uint32 family);

/* ---- errors when values hold different kinds of keys ---- */

/* Words for a type's values in messages about keys. */
typedef struct KeyHolder
{
	const char *one;
	const char *many;
	const char *lookup; /* for a hint: a function that takes an array as one key */
} KeyHolder;

extern void KeyFamilyCheckMaking(uint32 family, const KeyHolder *holder);
extern void KeyFamilyCheckSame(const qb_keys *a, const qb_keys *b, const KeyHolder *holder);

/* ---- what a value records about its keys ---- */

/*
 * The mark of content hashes in qb_keys.collation.  The hash of a collation's name has the highest
 * bit set.  If qb_keys.collation is 0, the keys have neither a nondeterministic collation nor
 * content.
 */
#define KEY_CONTENT       UINT32_C(0x40000000)
#define KEY_CONTENT_MARKS UINT32_C(0xC0000000)

/* True if this is the hash of a container's content. */
static inline bool
KeyIsContent(uint32 id)
{
	return (id & KEY_CONTENT_MARKS) == KEY_CONTENT;
}

extern bool KeyIsForeignText(Oid base_type);
extern bool KeyTextIsUnknown(Oid type);
extern bool KeyRowTextIsUnknown(Oid type, int32 typmod);
extern qb_keys KeysOf(Oid type, Oid collation);
extern uint32 KeyRowContent(Oid type, int32 typmod);
extern uint32 KeyColumnsContent(TupleDesc descriptor);

#endif
