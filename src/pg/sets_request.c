/*
 * sets_request.c
 *		All pairs of sets: what the arguments of a call ask for.
 *
 * The prepared input may be as large as a hash table (work_mem, hash_mem_multiplier),
 * or a few times as large as the collections, which are in memory anyway.  So there is
 * always a method that fits, as there is always memory for one group of a hash
 * aggregate.
 *
 * src/pg/sets_request.c
 */
#include "pg/sets_pairs.h"

#include "executor/nodeHash.h"
#include "miscadmin.h"
#include "utils/builtins.h"

static int
method_argument(FunctionCallInfo fcinfo, int argument)
{
	char *name;
	int method;

	if (PG_ARGISNULL(argument))
		return QSET_AUTO;
	name = text_to_cstring(PG_GETARG_TEXT_PP(argument));
	method = qset_method_of(name);
	if (method < 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("unrecognized method: \"%s\"", name),
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

/* Read the arguments min_count, min_jaccard and top, of which the first is given. */
void
PairsFilter(FunctionCallInfo fcinfo, int first, qset_filter *filter)
{
	int64 min_count = PG_ARGISNULL(first) ? 1 : PG_GETARG_INT64(first);
	double min_jaccard = PG_ARGISNULL(first + 1) ? 0 : PG_GETARG_FLOAT8(first + 1);

	if (min_count < 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("min_count must not be negative, but is " INT64_FORMAT, min_count)));
	if (qset_filter_init(filter, min_count, min_jaccard, top_argument(fcinfo, first + 2)) != QB_OK)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("min_jaccard must be between 0 and 1, not %g", min_jaccard),
						errhint("It is a share: 0.8 is 80 %%.")));
}

/* Read the argument order_by. */
qset_order
PairsOrder(FunctionCallInfo fcinfo, int argument)
{
	char *name;
	int order;

	if (PG_ARGISNULL(argument))
		return QSET_BY_JACCARD;
	name = text_to_cstring(PG_GETARG_TEXT_PP(argument));
	order = qset_order_of(name);
	if (order < 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("unrecognized order: \"%s\"", name),
						errhint("Orders are jaccard, common, overlap and lift.")));
	return (qset_order) order;
}

/* Read the arguments of a request, but not its collections and memory limit. */
void
PairsArguments(FunctionCallInfo fcinfo, const PairsForm *form, qset_request *request)
{
	memset(request, 0, sizeof(*request));
	PairsFilter(fcinfo, form->options, &request->filter);
	request->method = method_argument(fcinfo, form->options + 3);
	request->directed = form->ranked;
	if (form->ranked)
		request->filter.order = PairsOrder(fcinfo, form->options + 4);
	request->interrupt = &sets_interrupt;
}

/* Read the collections of a request, and set its memory limit. */
void
PairsCollections(FunctionCallInfo fcinfo, const PairsForm *form, qset_request *request,
				 SetsReader *reader)
{
	SetsRead(&reader[0], PG_GETARG_DATUM(0));
	request->rows = reader[0].collection;
	if (form->columns)
	{
		SetsRead(&reader[1], PG_GETARG_DATUM(form->columns));
		request->columns = reader[1].collection;
	}
	request->memory_limit = Max(get_hash_memory_limit(), qset_memory_enough(request));
}

void
PairsCollectionsEnd(const PairsForm *form, SetsReader *reader)
{
	SetsReadEnd(&reader[0]);
	if (form->columns)
		SetsReadEnd(&reader[1]);
}

/* Raise an error unless both collections have keys of one kind. */
void
PairsCheckKeys(const qset_request *request)
{
	if (request->columns)
		KeyFamilyCheckSame(&request->rows->keys, &request->columns->keys, &sets_key_holder);
}

/* Measure the input and choose a method. */
void
PairsPrepare(qset_preparation *preparation, const qset_request *request)
{
	qb_status status = qset_prepare(preparation, request);

	if (status == QB_MISMATCH)
		PairsCheckKeys(request);
	SetsCheck(status);
}
