/*
 * keyrow.h
 *		Keys that contain others: rows, arrays and ranges.
 *
 * src/pg/keyrow.h
 */
#ifndef QS_PG_KEYROW_H
#define QS_PG_KEYROW_H

#include "pg/keytype.h"

#include "access/tupdesc.h"

/* Names of collations have the highest bit set; others are small numbers. */
#define KEY_CONTENT       UINT32_C(0x40000000)
#define KEY_CONTENT_MARKS UINT32_C(0xC0000000)

/* Is this a hash of what a container contains? */
static inline bool
KeyIsContent(uint32 id)
{
	return (id & KEY_CONTENT_MARKS) == KEY_CONTENT;
}

extern uint32 KeyContent(Oid base_type, Oid collation);
extern uint32 KeyRowContent(Oid type, int32 typmod);
extern uint32 KeyColumnsContent(TupleDesc descriptor);
extern uint64 KeyRowFingerprint(const KeyType *key, Datum value, uint64 seed);

#endif
