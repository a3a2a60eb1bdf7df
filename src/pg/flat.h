/*
 * flat.h
 *		Types whose values are the bytes of a format: text, binary, comparison.
 *
 * A family describes its type: its names, and what is valid.  The functions that SQL
 * needs for every type come from here.
 *
 * src/pg/flat.h
 */
#ifndef QS_PG_FLAT_H
#define QS_PG_FLAT_H

#include "postgres.h"
#include "pgbase/memory.h"
#include "pgbase/value.h"

typedef struct FlatType
{
	const char *name;          /* the type's name in SQL, which is the prefix of its text */
	const ValueFormat *format; /* the byte format of its values */

	/* The status of bytes from outside: QB_OK if they are a valid value. */
	qb_status (*validate)(const uint8 *bytes, size_t length, const qb_memory *memory);

	/*
	 * Raise an error of this SQLSTATE if a valid value is refused for another reason.  NULL: none
	 * is refused.
	 */
	void (*check)(struct varlena *value, int sqlstate);

	/* A hint for a short text that is not a value.  It says what to write instead.  May return NULL. */
	char *(*hint)(const char *text);
} FlatType;

extern Datum FlatIn(const FlatType *type, FunctionCallInfo fcinfo);
extern Datum FlatOut(const FlatType *type, FunctionCallInfo fcinfo);
extern Datum FlatReceive(const FlatType *type, FunctionCallInfo fcinfo);
extern Datum FlatSend(FunctionCallInfo fcinfo);
extern Datum FlatToBytea(FunctionCallInfo fcinfo);
extern Datum FlatFromBytea(const FlatType *type, FunctionCallInfo fcinfo);
extern int FlatCompare(FunctionCallInfo fcinfo);
extern Datum FlatHash(FunctionCallInfo fcinfo);

#define FLAT_COMPARISON(name, relation) \
	SQL_FUNCTION(name, BoolGetDatum(FlatCompare(fcinfo) relation 0))

/* The functions of a type as SQL calls them, from NAME_in on.  NAME is its FlatType. */
#define FLAT_FUNCTIONS(name)                                       \
	SQL_FUNCTION(name##_in, FlatIn(&name, fcinfo));                \
	SQL_FUNCTION(name##_out, FlatOut(&name, fcinfo));              \
	SQL_FUNCTION(name##_recv, FlatReceive(&name, fcinfo));         \
	SQL_FUNCTION(name##_send, FlatSend(fcinfo));                   \
	SQL_FUNCTION(name##_to_bytea, FlatToBytea(fcinfo));            \
	SQL_FUNCTION(name##_from_bytea, FlatFromBytea(&name, fcinfo)); \
	FLAT_COMPARISON(name##_eq, ==);                                \
	FLAT_COMPARISON(name##_ne, !=);                                \
	FLAT_COMPARISON(name##_lt, <);                                 \
	FLAT_COMPARISON(name##_le, <=);                                \
	FLAT_COMPARISON(name##_ge, >=);                                \
	FLAT_COMPARISON(name##_gt, >);                                 \
	SQL_FUNCTION(name##_cmp, Int32GetDatum(FlatCompare(fcinfo)));  \
	SQL_FUNCTION(name##_hash, FlatHash(fcinfo))

#endif
