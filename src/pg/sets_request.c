/*
 * sets_request.c
 *		All pairs of sets: what the arguments of a call ask for.
 *
 * The prepared input may be as large as a hash table (work_mem,
 * hash_mem_multiplier).
 *
 * src/pg/sets_request.c
 */
#include "pg/sets_pairs.h"

#include "executor/nodeHash.h"
#include "miscadmin.h"
#include "optimizer/cost.h"
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
						errmsg("min_jaccard must be between 0 and 1, not %g", min_jaccard),
						errhint("It is a share: 0.8 is 80 %%.")));
}

/* What is asked for, but not of which collections. */
void
PairsArguments(FunctionCallInfo fcinfo, PairsForm form, qi_request *request)
{
	memset(request, 0, sizeof(*request));
	filter_arguments(fcinfo, form.options, &request->filter);
	request->method = method_argument(fcinfo, form.options + 3);
	request->memory_limit = get_hash_memory_limit();
	request->interrupt = &sets_interrupt;
}

/* The collections that it is asked of. */
void
PairsCollections(FunctionCallInfo fcinfo, PairsForm form, qi_request *request, SetsReader *reader)
{
	SetsRead(&reader[0], PG_GETARG_DATUM(0));
	request->rows = reader[0].collection;
	if (form.columns == 0)
		return;
	SetsRead(&reader[1], PG_GETARG_DATUM(form.columns));
	request->columns = reader[1].collection;
}

void
PairsCollectionsEnd(PairsForm form, SetsReader *reader)
{
	SetsReadEnd(&reader[0]);
	if (form.columns)
		SetsReadEnd(&reader[1]);
}

/* Two collections must have keys of one kind. */
void
PairsCheckKeys(const qi_request *request)
{
	if (request->columns)
		KeyFamilyCheckSame(&request->rows->keys, &request->columns->keys, &sets_key_holder);
}

/* Say how much memory the request would need. */
static void
raise_no_room(const qi_plan *plan, const qi_request *request)
{
	uint64 least = request->method ? plan->memory[request->method] : UINT64_MAX;
	int method;

	for (method = QI_MERGE; request->method == QI_AUTO && method < QI_METHODS; method++)
		least = Min(least, plan->memory[method]);
	ereport(ERROR, (errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
					errmsg("pairs of sets would need %llu kB, more than work_mem allows",
						   (unsigned long long) (least / 1024 + 1)),
					errdetail("With hash_mem_multiplier, it allows %llu kB.",
							  (unsigned long long) (request->memory_limit / 1024)),
					errhint("Set work_mem to at least %llukB, or set min_count or min_jaccard "
							"higher.",
							(unsigned long long) (least / 1024 / hash_mem_multiplier) + 1)));
}

/*
 * Measure and choose a method, or say why none will do.  With no_room_ok, false
 * and nothing else if it is memory that there is too little of.
 */
bool
PairsPrepare(qi_preparation *preparation, const qi_request *request, bool no_room_ok)
{
	qs_status status = qi_prepare(preparation, request);

	if (status == QS_NO_ROOM && no_room_ok)
	{
		qi_prepared_free(preparation);
		return false;
	}
	if (status == QS_NO_ROOM)
		raise_no_room(&preparation->plan, request);
	if (status == QS_MISMATCH)
		PairsCheckKeys(request);
	SetsCheck(status);
	return true;
}
