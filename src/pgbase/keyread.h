/*
 * keyread.h
 *		Reading a key that is given as text as the type of a value's keys.
 *
 * src/pgbase/keyread.h
 */
#ifndef QS_PGBASE_KEYREAD_H
#define QS_PGBASE_KEYREAD_H

#include "pgbase/keycheck.h"

/* A zeroed reader is not prepared for any type. */
typedef struct KeyReader
{
	KeyType key;    /* what the text is read as */
	FmgrInfo input; /* of that type */
	Oid parameter;  /* of the input function */
	Datum value;    /* the last key that was read */
} KeyReader;

extern uint64 KeyReadText(KeyReader *reader, MemoryContext context, const qb_keys *held,
						  const KeyHolder *holder, const KeyType *given, Datum value);

#endif
