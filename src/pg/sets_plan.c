/*
 * sets_plan.c
 *		All pairs of sets: the cost of each method, which method is chosen, and
 *		where it runs; planner support.
 *
 * Costs and the choice are those of the CPU.  A GPU knows its own costs only after it
 * has made the index.  The paper's techniques that "auto" never takes have no expected
 * time: their cost is a guess.
 *
 * src/pg/sets_plan.c
 */
#include "pg/sets_pairs.h"
#include "pgbase/row.h"

#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

/* Columns of qsets_pairs_plan(), in the order of its declaration. */
enum
{
	PLAN_METHOD,
	PLAN_CHOSEN,
	PLAN_MILLISECONDS,
	PLAN_MEMORY,
	PLAN_WORKERS,
	PLAN_NOTE,
	PLAN_DEVICE,
	PLAN_REASON,
	PLAN_COLUMNS
};

/* Further facts about a method. */
static char *
note_of(const qset_plan *plan, int method)
{
	if (method == QSET_INDEX)
		return psprintf("%llu events%s",
						(unsigned long long) (plan->prefix ? plan->prefix_events : plan->events),
						plan->prefix ? " of prefixes" : "");
	if (method == QSET_HYBRID)
		return psprintf("%llu heavy elements, %llu events of the others",
						(unsigned long long) plan->heavy, (unsigned long long) plan->light_events);
	return method == QSET_BITMAP && plan->resident ? "all bitmaps at once" : NULL;
}

/* Where pairs would be found, and the reason. */
typedef struct Place
{
	bool gpu;
	char why[GPU_TEXT_BYTES];
} Place;

static void
fill_plan(const qset_plan *plan, int method, const Place *place, Datum *values, bool *nulls)
{
	char *note = note_of(plan, method);

	memset(nulls, 0, PLAN_COLUMNS * sizeof(bool));
	values[PLAN_METHOD] = CStringGetTextDatum(qset_method_name(method));
	values[PLAN_CHOSEN] = BoolGetDatum(plan->method == method);
	values[PLAN_MILLISECONDS] = Float8GetDatum(plan->cost[method] / 1e6);
	nulls[PLAN_MILLISECONDS] = plan->cost[method] < 0 || method < QSET_BITMAP;
	values[PLAN_MEMORY] = Int64GetDatum((int64) plan->memory[method]);
	values[PLAN_WORKERS] = Int32GetDatum(place->gpu ? 0 : PairWorkersPlanned(plan, method));
	nulls[PLAN_WORKERS] = plan->cost[method] < 0;
	values[PLAN_NOTE] = note ? CStringGetTextDatum(note) : (Datum) 0;
	nulls[PLAN_NOTE] = note == NULL;
	values[PLAN_DEVICE] = CStringGetTextDatum(place->gpu ? "gpu" : "cpu");
	values[PLAN_REASON] = CStringGetTextDatum(place->why);
}

/* qsets_pairs_plan(qsets, min_count, min_jaccard, top, method): a row for each method */
PG_FUNCTION_INFO_V1(qsets_pairs_plan);
Datum
qsets_pairs_plan(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	const PairsForm form = { .options = 1 };
	qset_preparation preparation;
	SetsReader reader[2];
	qset_request request;
	qb_memory memory;
	Datum values[PLAN_COLUMNS];
	bool nulls[PLAN_COLUMNS];
	Place place;
	int method;

	ReturnRows(fcinfo);
	if (PG_ARGISNULL(0))
		return (Datum) 0;
	PairsArguments(fcinfo, &form, &request);
	PairsCollections(fcinfo, &form, &request, reader);
	place.gpu = GpuWantsPairs(request.rows->elements, place.why);
	request.memory = ContextMemory(CurrentMemoryContext, &memory);
	PairsPrepare(&preparation, &request);
	for (method = QSET_MERGE; method < QSET_METHODS; method++)
	{
		fill_plan(&preparation.plan, method, &place, values, nulls);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	qset_prepared_free(&preparation);
	PairsCollectionsEnd(&form, reader);
	return (Datum) 0;
}

/*
 * Planner support of qsets_pairs.  It gives no answer.  But the planner asks for the
 * number of rows before it makes paths.  That loads the module in time for its hook
 * (scan/pairs_plan.c) to see a session's first query.
 */
PG_FUNCTION_INFO_V1(qsets_pairs_support);
Datum
qsets_pairs_support(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(NULL);
}
