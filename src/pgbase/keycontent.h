/*
 * keycontent.h
 *		What a value records about its keys.
 *
 * src/pgbase/keycontent.h
 */
#ifndef QS_PGBASE_KEYCONTENT_H
#define QS_PGBASE_KEYCONTENT_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "base/keys.h"

/*
 * The mark of content hashes.  Names of collations have the highest bit set; other ids
 * are small.
 */
#define KEY_CONTENT       UINT32_C(0x40000000)
#define KEY_CONTENT_MARKS UINT32_C(0xC0000000)

/* Is this the hash of a container's content? */
static inline bool
KeyIsContent(uint32 id)
{
	return (id & KEY_CONTENT_MARKS) == KEY_CONTENT;
}

extern qb_keys KeysOf(Oid type, Oid collation);
extern uint32 KeyRowContent(Oid type, int32 typmod);
extern uint32 KeyColumnsContent(TupleDesc descriptor);

#endif
