/*
 * keyfamily.h
 *		Families of keys, as a value records them, by name and by type.
 *
 * src/pgbase/keyfamily.h
 */
#ifndef QS_PGBASE_KEYFAMILY_H
#define QS_PGBASE_KEYFAMILY_H

#include "postgres.h"

extern uint32 KeyNameId(const char *name);
extern uint32 KeyFamilyId(Oid opfamily, Oid base_type);
extern bool KeyFamilyIsOther(uint32 family);
extern char *KeyFamilyName(uint32 family);
extern Oid KeyFamilyType(uint32 family);
extern char *KeyFamilyTypes(uint32 family);
extern bool KeyFamilyHasType(uint32 family, Oid type);

#endif
