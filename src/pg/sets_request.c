/*
 * sets_request.c
 *		What the arguments of functions on pairs of sets ask for.
 *
 * Filter and method, with errors that name what is out of range.  The memory
 * that the prepared input may take is that of a hash table.
 *
 * src/pg/sets_request.c
 */
#include "pg/sets_request.h"

#include "miscadmin.h"
#include "utils/builtins.h"

static int
method_argument(FunctionCallInfo fcinfo, int argument)
{
	char *name;
	int method;

	if (PG_ARGISNULL(argument))
		return QI_AUTO;
	name = text_to_cstring(PG_GETARG_TEXT_PP(argument));
	method = qi_method_of(name);
	if (method < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("unknown method \"%s\"", name),
				 errhint("Methods are auto, merge, search, merge_search, hash, merge_hash, "
						 "bitmap, index and hybrid.")));
	return method;
}

static uint64
top_argument(FunctionCallInfo fcinfo, int argument)
{
	int32 top;

	if (PG_ARGISNULL(argument))
		return 0;
	top = PG_GETARG_INT32(argument);
	if (top < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("top must be at least 1, not %d", top), errhint("NULL gives all pairs.")));
	return (uint64) top;
}

static void
filter_arguments(FunctionCallInfo fcinfo, int first, qi_filter *filter)
{
	int64 min_count = PG_ARGISNULL(first) ? 1 : PG_GETARG_INT64(first);
	double min_jaccard = PG_ARGISNULL(first + 1) ? 0 : PG_GETARG_FLOAT8(first + 1);

	if (min_count < 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("min_count must not be negative, but is " INT64_FORMAT, min_count)));
	if (qi_filter_init(filter, min_count, min_jaccard, top_argument(fcinfo, first + 2)) != QS_OK)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("min_jaccard must be between 0 and 1, not %g", min_jaccard)));
}

void
SetsRequestRead(FunctionCallInfo fcinfo, SetsForm form, qi_request *request, SetsReader *reader)
{
	memset(request, 0, sizeof(*request));
	filter_arguments(fcinfo, form.options, &request->filter);
	request->method = method_argument(fcinfo, form.options + 3);
	request->memory_limit = get_hash_memory_limit();
	request->interrupt = &sets_interrupt;
	SetsRead(&reader[0], PG_GETARG_DATUM(0));
	request->rows = reader[0].collection;
	if (form.columns == 0)
		return;
	SetsRead(&reader[1], PG_GETARG_DATUM(form.columns));
	request->columns = reader[1].collection;
}

void
SetsRequestEnd(SetsForm form, SetsReader *reader)
{
	SetsReadEnd(&reader[0]);
	if (form.columns)
		SetsReadEnd(&reader[1]);
}
