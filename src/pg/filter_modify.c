/*
 * filter_modify.c
 *		Adding to, merging and folding filters.
 *
 * Each function returns a read-write expanded object.  If its argument is one already,
 * it is changed in place; otherwise it is copied first.  Stored values never change.
 *
 * src/pg/filter_modify.c
 */
#include "pg/filter_state.h"
#include "pgbase/keyread.h"

#define KEY_ARGUMENT 1
#define ID_ARGUMENT  2

static Datum
expanded_result(FilterState *expanded)
{
	return StateDatum(&expanded->keyed);
}

/*
 * Insert the key in the arguments at once.  A NULL key or id changes nothing; a NULL
 * filter gives NULL.  The key's type is not recorded in the object: only states of
 * aggregates record it, for the keys that their transition function passes.
 */
static Datum
add_key(FunctionCallInfo fcinfo, FilterInput input)
{
	FilterState *expanded;
	NewKey key;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	if (PG_ARGISNULL(KEY_ARGUMENT) || (input == FILTER_IDS && PG_ARGISNULL(ID_ARGUMENT)))
		PG_RETURN_DATUM(PG_GETARG_DATUM(0));
	expanded = FilterForUpdate(NULL, PG_GETARG_DATUM(0));
	FilterFlush(expanded);
	KeyNewArgument(&key, fcinfo, KEY_ARGUMENT, &expanded->filter.keys,
				   FilterKeyHolder(&expanded->filter));
	FilterSetInput(expanded, &key.type, input);
	FilterPut(expanded, key.fingerprint, input == FILTER_IDS ? PG_GETARG_INT64(ID_ARGUMENT) : 1);
	FilterFlush(expanded);
	expanded->keyed.key.type = InvalidOid;
	return expanded_result(expanded);
}

SQL_FUNCTION(qfilter_add, add_key(fcinfo, FILTER_ROWS));
SQL_FUNCTION(qfilter_add_row, add_key(fcinfo, FILTER_IDS));

/* qfilter_merge(qfilter, qfilter): a filter with the bits of both. */
PG_FUNCTION_INFO_V1(qfilter_merge);
Datum
qfilter_merge(PG_FUNCTION_ARGS)
{
	FilterReader reader;
	FilterState *expanded;

	FilterRead(&reader, PG_GETARG_DATUM(1));
	expanded = FilterForUpdate(NULL, PG_GETARG_DATUM(0));
	FilterMerge(expanded, reader.filter);
	FilterReadEnd(&reader);
	return expanded_result(expanded);
}

/* qfilter_fold(qfilter, halvings): the filter with its bits halved so many times. */
PG_FUNCTION_INFO_V1(qfilter_fold);
Datum
qfilter_fold(PG_FUNCTION_ARGS)
{
	int32 halvings = PG_GETARG_INT32(1);
	FilterState *expanded;
	int most;

	expanded = FilterForUpdate(NULL, PG_GETARG_DATUM(0));
	FilterMaterialize(expanded);
	most = qf_params_foldable(&expanded->filter.params);
	if (halvings < 0 || halvings > most)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("cannot fold filter of " UINT64_FORMAT " bits %d times",
							   expanded->filter.params.m, halvings),
						errhint("This one can be folded 0 to %d times.", most)));
	FilterCheck(qf_fold(&expanded->filter, expanded->filter.params.m >> halvings));
	return expanded_result(expanded);
}
