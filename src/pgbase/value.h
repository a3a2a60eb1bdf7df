/*
 * value.h
 *		Common code of our types: detoasts values, returns rows from functions, and raises
 *		errors.
 *
 * src/pgbase/value.h
 */
#ifndef QS_PGBASE_VALUE_H
#define QS_PGBASE_VALUE_H

#include "postgres.h"

#include "base/status.h"
#include "pgbase/version.h"

#include "fmgr.h"
#include "lib/stringinfo.h"
#include "access/tupdesc.h"

/* Define a function that SQL calls and that returns the expression "result". */
#define SQL_FUNCTION(name, result) \
	PG_FUNCTION_INFO_V1(name);     \
	Datum name(PG_FUNCTION_ARGS)   \
	{                              \
		return result;             \
	}                              \
	extern Datum name(PG_FUNCTION_ARGS)

/* Return the flat value of a datum.  *detoasted is a copy that the caller must free, or NULL. */
extern struct varlena *ValueDetoast(Datum datum, struct varlena **detoasted);

/*
 * ---- rows that functions return ----
 *
 * The row's type is read from the catalog, where the function may be missing, because a query can
 * drop a function that it calls.  The argument "nulls" may be NULL for a row without NULLs
 * that has at most 16 columns.
 */

extern TupleDesc RowType(FunctionCallInfo fcinfo);
extern Datum ReturnRow(FunctionCallInfo fcinfo, const Datum *values, const bool *nulls);
extern void ReturnRows(FunctionCallInfo fcinfo);
extern void PutRow(FunctionCallInfo fcinfo, const Datum *values, const bool *nulls);
extern void SetText(Datum *values, bool *nulls, int column, const char *text);
extern void FunctionIsMissing(Oid function) __attribute__((noreturn));

/*
 * ---- functions of two values ----
 *
 * NULL stands for a value without keys, because an aggregate without rows returns NULL.  Merging a
 * value with NULL, or subtracting NULL from a value, returns the value.  NULL minus a value is
 * NULL.
 */

extern Datum MergeUnlessNull(FunctionCallInfo fcinfo, PGFunction merge);
extern Datum SubtractUnlessNull(FunctionCallInfo fcinfo, PGFunction subtract);

/*
 * ---- wrong calls that people often write first ----
 *
 * Such a call raises an error that names the right call.  RaiseForm() has the result type Datum so
 * that SQL_FUNCTION() can use it.
 */
extern Datum RaiseForm(const char *message, const char *hint) __attribute__((noreturn));

/* ---- status codes as errors, and common errors of several families ---- */

/* The byte format of a type's values. */
typedef struct ValueFormat
{
	const char *noun;                 /* the noun for a value in messages */
	int version;                      /* the format version that this library reads */
	uint32 header;                    /* bytes of a value's header */
	const struct ValueFormat *within; /* format of a value that follows the header, or NULL */
} ValueFormat;

extern void
StatusRaise(qb_status status, const char *noun, const char *hint) __attribute__((noreturn));
extern void FormatRaise(const ValueFormat *format, qb_status status, int sqlstate,
						const uint8 *bytes, Size length) __attribute__((noreturn));
extern Size CheckSize(const char *noun, uint64 bytes, const char *hint);

extern void AppendDifference(StringInfo text, const char *what, const char *a, const char *b);
extern const char *TextOfSize(uint64 bytes);
extern void CheckInteger(const char *what, int64 value, int64 least, int64 most, const char *hint);
extern double CheckConfidence(double confidence, bool certain);

#endif
