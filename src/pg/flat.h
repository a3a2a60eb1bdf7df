/*
 * flat.h
 *		Text form, binary form and comparison of types whose values are the bytes of a format.
 *
 * A family describes its type by a FlatType.  FLAT_FUNCTIONS() defines the functions that SQL needs
 * for the type.
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
	const char *name;          /* the type's name in SQL, and the prefix of its values' text */
	const ValueFormat *format; /* the byte format of the type's values */

	/* Validates bytes from a user.  QB_OK: the bytes are a valid value. */
	qb_status (*validate)(const uint8 *bytes, size_t length, const qb_memory *memory);

	/*
	 * Raises an error of this SQLSTATE if a value passed validate() but is invalid for another
	 * reason.  NULL: the type has no further check.
	 */
	void (*check)(struct varlena *value, int sqlstate);

	/*
	 * Returns a hint for a short text that is not a value, or NULL: no hint.  The hint names a
	 * correct call.
	 */
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

/* Defines the SQL functions of a type, from NAME_in to NAME_hash.  NAME is the type's FlatType. */
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
