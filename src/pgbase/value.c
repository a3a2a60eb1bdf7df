/*
 * value.c
 *		Common code of our types: detoasts values, returns rows from functions, and raises
 *		errors.
 *
 * src/pgbase/value.c
 */
#include "pgbase/value.h"

#include "fmgr.h"
#include "access/htup_details.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/syscache.h"
#include "utils/tuplestore.h"

struct varlena *
ValueDetoast(Datum datum, struct varlena **detoasted)
{
	struct varlena *value = PG_DETOAST_DATUM(datum);

	*detoasted = (Pointer) value != DatumGetPointer(datum) ? value : NULL;
	return value;
}

/* ---- functions of two values ---- */

Datum
MergeUnlessNull(FunctionCallInfo fcinfo, PGFunction merge)
{
	if (PG_ARGISNULL(0))
	{
		fcinfo->isnull = PG_ARGISNULL(1);
		return PG_GETARG_DATUM(1);
	}
	return PG_ARGISNULL(1) ? PG_GETARG_DATUM(0) : merge(fcinfo);
}

Datum
SubtractUnlessNull(FunctionCallInfo fcinfo, PGFunction subtract)
{
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	return PG_ARGISNULL(1) ? PG_GETARG_DATUM(0) : subtract(fcinfo);
}

Datum
RaiseForm(const char *message, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_FUNCTION), errmsg("%s", message), errhint("%s", hint)));
}

/* ---- rows that functions return ---- */

/* Raise the error that a called function is not in the catalog. */
void
FunctionIsMissing(Oid function)
{
	ereport(ERROR, (errcode(ERRCODE_UNDEFINED_FUNCTION),
					errmsg("function with OID %u does not exist", function),
					errhint("It was dropped while a query called it.")));
}

static void
check_function(FunctionCallInfo fcinfo)
{
	Oid function = fcinfo->flinfo->fn_oid;

	if (!SearchSysCacheExists1(PROCOID, ObjectIdGetDatum(function)))
		FunctionIsMissing(function);
}

/* Return the type of the rows that a function returns. */
TupleDesc
RowType(FunctionCallInfo fcinfo)
{
	TupleDesc type;

	check_function(fcinfo);
	if (get_call_result_type(fcinfo, NULL, &type) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	return BlessTupleDesc(type);
}

static const bool no_nulls[16];

/* Return the result of a function that returns one row. */
Datum
ReturnRow(FunctionCallInfo fcinfo, const Datum *values, const bool *nulls)
{
	return HeapTupleGetDatum(
		heap_form_tuple(RowType(fcinfo), (Datum *) values, (bool *) (nulls ? nulls : no_nulls)));
}

/* Prepare to return rows.  All rows are stored before the first row is returned. */
void
ReturnRows(FunctionCallInfo fcinfo)
{
	check_function(fcinfo);
	InitMaterializedSRF(fcinfo, 0);
}

/* Store a row to be returned, after ReturnRows(). */
void
PutRow(FunctionCallInfo fcinfo, const Datum *values, const bool *nulls)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;

	tuplestore_putvalues(result->setResult, result->setDesc, (Datum *) values,
						 (bool *) (nulls ? nulls : no_nulls));
}

/* Set a column to a text, or to NULL if "text" is NULL. */
void
SetText(Datum *values, bool *nulls, int column, const char *text)
{
	values[column] = text ? CStringGetTextDatum(text) : (Datum) 0;
	nulls[column] = text == NULL;
}

/*
 * ---- status codes as errors of PostgreSQL ----
 *
 * All families have the same SQLSTATEs and messages for a status.  A family supplies the noun for
 * its values, and the hints.
 */

#define VERSION_AT 3

/* The SQLSTATE for a status that an operation returns. */
static int
sqlstate_of(qb_status status)
{
	switch (status)
	{
		case QB_NO_MEMORY:
			return ERRCODE_OUT_OF_MEMORY;
		case QB_TOTAL_OVERFLOW:
			return ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE;
		case QB_UNDERFLOW:
		case QB_MISMATCH:
			return ERRCODE_DATA_EXCEPTION;
		case QB_READ_ONLY:
		case QB_WRONG_PART:
			return ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE;
		case QB_NO_FOLD:
			return ERRCODE_INVALID_PARAMETER_VALUE;
		default:
			return ERRCODE_INTERNAL_ERROR;
	}
}

/* Raise the error of an operation; the hint may be NULL. */
void
StatusRaise(qb_status status, const char *noun, const char *hint)
{
	ereport(ERROR, (errcode(sqlstate_of(status)),
					errmsg("cannot change %s: %s", noun, qb_status_text(status)),
					hint ? errhint("%s", hint) : 0));
	pg_unreachable();
}

/*
 * Raise the error for bytes that are not a valid value.  Each format begins with a magic of three
 * letters and a version.  If the status is QB_FORMAT_VERSION, but the outer value has the right
 * version, the value within it has a wrong version.
 */
void
FormatRaise(const ValueFormat *format, qb_status status, int sqlstate, const uint8 *bytes,
			Size length)
{
	if (status == QB_FORMAT_VERSION && format->within && bytes[VERSION_AT] == format->version)
		FormatRaise(format->within, status, sqlstate, bytes + format->header,
					length - format->header);
	if (status == QB_FORMAT_VERSION)
		ereport(ERROR, (errcode(sqlstate),
						errmsg("unsupported %s format version %d", format->noun, bytes[VERSION_AT]),
						errdetail("This version of qsketch reads version %d.", format->version)));
	ereport(ERROR,
			(errcode(sqlstate), errmsg("invalid %s: %s", format->noun, qb_status_text(status)),
			 errdetail("The value has %llu bytes.", (unsigned long long) length)));
	pg_unreachable();
}

/*
 * Return the size of a value as a Size.  Raises an error if PostgreSQL cannot store a value of this
 * size; the hint may be NULL.
 */
Size
CheckSize(const char *noun, uint64 bytes, const char *hint)
{
	if (bytes > MaxAllocSize)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
						errmsg("%s would need %llu bytes, more than the limit of %llu", noun,
							   (unsigned long long) bytes, (unsigned long long) MaxAllocSize),
						hint ? errhint("%s", hint) : 0));
	return (Size) bytes;
}

/* If two values differ in "what", append "what A and B" to a list of differences. */
void
AppendDifference(StringInfo text, const char *what, const char *a, const char *b)
{
	if (strcmp(a, b) != 0)
		appendStringInfo(text, "%s%s %s and %s", text->len ? ", " : "", what, a, b);
}

/* Write a size in the syntax of our functions: "64kB". */
const char *
TextOfSize(uint64 bytes)
{
	if (bytes % (1024 * 1024) == 0)
		return psprintf(UINT64_FORMAT "MB", bytes / (1024 * 1024));
	if (bytes % 1024 == 0)
		return psprintf(UINT64_FORMAT "kB", bytes / 1024);
	return psprintf(UINT64_FORMAT, bytes);
}

/* Raise an error unless an integer from the caller is in its range; the hint may be NULL. */
void
CheckInteger(const char *what, int64 value, int64 least, int64 most, const char *hint)
{
	if (value < least || value > most)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("%s must be between " INT64_FORMAT " and " INT64_FORMAT
							   ", not " INT64_FORMAT,
							   what, least, most, value),
						hint ? errhint("%s", hint) : 0));
}

/* Check and return a confidence from the caller.  1 is allowed only if "certain" is true. */
double
CheckConfidence(double confidence, bool certain)
{
	if (!(confidence >= 0 && (certain ? confidence <= 1 : confidence < 1)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 certain ? errmsg("confidence must be between 0 and 1, not %g", confidence)
						 : errmsg("confidence must be at least 0 and below 1, not %g", confidence),
				 errhint("It is a share: 0.95 is 95 %%.")));
	return confidence;
}
