/*
 * keyexpr.h
 *		What the expression of a call tells of its key.
 *
 * src/pgbase/keyexpr.h
 */
#ifndef QS_PG_KEYEXPR_H
#define QS_PG_KEYEXPR_H

#include "pgbase/keytype.h"

typedef struct KeyArgument
{
	Oid type;      /* whose equality decides */
	Oid collation; /* for hashing */
	bool literal;  /* text of a constant or parameter: may stand for any type */
} KeyArgument;

extern void KeyArgumentOf(KeyArgument *key, FunctionCallInfo fcinfo, int argument);
/* The type of a row's key, which is not null. */
extern void KeyTypeOfArgument(KeyType *key, FunctionCallInfo fcinfo, int argument);
extern bool KeyIsLiteral(FunctionCallInfo fcinfo, int argument);

#endif
