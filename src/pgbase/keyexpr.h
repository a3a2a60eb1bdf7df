/*
 * keyexpr.h
 *		What the expression of a call says about its key.
 *
 * src/pgbase/keyexpr.h
 */
#ifndef QS_PGBASE_KEYEXPR_H
#define QS_PGBASE_KEYEXPR_H

#include "pgbase/keytype.h"

typedef struct KeyArgument
{
	Oid type;      /* its equality decides which keys are the same */
	Oid collation; /* for hashing */
	bool literal;  /* text of a constant or parameter: may stand for any type */
} KeyArgument;

extern void KeyArgumentOf(KeyArgument *key, FunctionCallInfo fcinfo, int argument);
/* Describe the key of a row, which is not null. */
extern void KeyTypeOfArgument(KeyType *key, FunctionCallInfo fcinfo, int argument);
extern bool KeyIsLiteral(FunctionCallInfo fcinfo, int argument);

#endif
