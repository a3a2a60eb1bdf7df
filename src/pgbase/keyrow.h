/*
 * keyrow.h
 *		Keys that are anonymous rows.
 *
 * src/pgbase/keyrow.h
 */
#ifndef QS_PGBASE_KEYROW_H
#define QS_PGBASE_KEYROW_H

#include "postgres.h"

#include "access/htup_details.h"

/* Type and typmod together name a row type of the session. */
typedef struct KeyRow
{
	Oid type;
	int32 typmod;
} KeyRow;

static inline KeyRow
KeyRowOf(HeapTupleHeader row)
{
	return (KeyRow){ HeapTupleHeaderGetTypeId(row), HeapTupleHeaderGetTypMod(row) };
}

extern uint64 KeyRowFingerprint(const KeyRow *first, uint32 content, Datum value, uint64 seed);

#endif
