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
#include "pgbase/keyexpr.h"
#include "pgbase/keytext.h"

#define KEY_ARGUMENT 1
#define ID_ARGUMENT  2

static Datum
expanded_result(FilterState *expanded)
{
	return StateDatum(&expanded->keyed);
}

/*
 * The fingerprint and the type of the key argument.  A literal gets the type of the
 * filter's other keys.
 */
static uint64
key_argument(FunctionCallInfo fcinfo, const FilterState *expanded, KeyType *key)
{
	Datum value = PG_GETARG_DATUM(KEY_ARGUMENT);
	KeyReader reader = { 0 };
	KeyArgument argument;
	uint64 fingerprint;

	KeyArgumentOf(&argument, fcinfo, KEY_ARGUMENT);
	KeyTypeInit(key, argument.type, argument.collation);
	KeyTypeLearn(key, value);
	if (!argument.literal || KeyFits(key, &expanded->filter.keys))
		return KeyFingerprint(key, value);
	fingerprint = KeyReadText(&reader, CurrentMemoryContext, &expanded->filter.keys,
							  FilterKeyHolder(&expanded->filter), key, value);
	*key = reader.key;
	return fingerprint;
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
	uint64 fingerprint;
	KeyType key;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	if (PG_ARGISNULL(KEY_ARGUMENT) || (input == FILTER_IDS && PG_ARGISNULL(ID_ARGUMENT)))
		PG_RETURN_DATUM(PG_GETARG_DATUM(0));
	expanded = FilterForUpdate(NULL, PG_GETARG_DATUM(0));
	FilterFlush(expanded);
	fingerprint = key_argument(fcinfo, expanded, &key);
	FilterSetInput(expanded, &key, input);
	FilterPut(expanded, fingerprint, input == FILTER_IDS ? PG_GETARG_INT64(ID_ARGUMENT) : 1);
	FilterFlush(expanded);
	expanded->keyed.key.type = InvalidOid;
	return expanded_result(expanded);
}

PG_FUNCTION_INFO_V1(qfilter_add);
Datum
qfilter_add(PG_FUNCTION_ARGS)
{
	return add_key(fcinfo, FILTER_ROWS);
}

PG_FUNCTION_INFO_V1(qfilter_add_row);
Datum
qfilter_add_row(PG_FUNCTION_ARGS)
{
	return add_key(fcinfo, FILTER_IDS);
}

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
	FilterSettle(expanded);
	most = qf_params_foldable(&expanded->filter.params);
	if (halvings < 0 || halvings > most)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("cannot fold filter of " UINT64_FORMAT " bits %d times",
							   expanded->filter.params.m, halvings),
						errhint("This one can be folded 0 to %d times.", most)));
	FilterCheck(qf_fold(&expanded->filter, expanded->filter.params.m >> halvings));
	return expanded_result(expanded);
}
