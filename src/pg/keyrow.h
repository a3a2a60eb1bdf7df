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

extern bool KeyIsContent(uint32 id);
extern uint32 KeyContent(Oid base_type, Oid collation);
extern uint32 KeyRowContent(Oid type, int32 typmod);
extern uint32 KeyColumnsContent(TupleDesc descriptor);
extern uint64 KeyRowFingerprint(const KeyType *key, Datum value, uint64 seed);

#endif
