/*
 * keycontent.h
 *		What a value records of the keys whose fingerprints it holds.
 *
 * src/pgbase/keycontent.h
 */
#ifndef QS_PG_KEYCONTENT_H
#define QS_PG_KEYCONTENT_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "base/keys.h"

/* Names of collations have the highest bit set; others are small numbers. */
#define KEY_CONTENT       UINT32_C(0x40000000)
#define KEY_CONTENT_MARKS UINT32_C(0xC0000000)

/* Is this a hash of what a container contains? */
static inline bool
KeyIsContent(uint32 id)
{
	return (id & KEY_CONTENT_MARKS) == KEY_CONTENT;
}

extern qb_keys KeysOf(Oid type, Oid collation);
extern uint32 KeyRowContent(Oid type, int32 typmod);
extern uint32 KeyColumnsContent(TupleDesc descriptor);

#endif
