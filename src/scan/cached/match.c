/*
 * match.c
 *		Which aggregates and conditions cached columns can serve, and for how many pages.
 *
 * Sketches, Bloom filters and collections of sets do not depend on the order of rows.  Lists of top
 * keys depend on this order, but receive exact counts.  A frequency filter draws the bits of a row
 * by the number of the row, so the scan reads its rows.  count also receives the number of rows
 * from cached columns.  Elements of sets come from cached columns if they are numbers.  Other
 * elements need fingerprints of 128 bits, but cached columns have only 64 bits.
 *
 * The worker tests conditions that compare a column with numbers, or test it for NULL
 * (conditions.c), if all columns of the conditions can be cached.  If a query has any other
 * condition, the scan reads all pages.  Operands are evaluated before any key is counted from
 * cached columns.  The order of the conditions does not matter: none of them raises an error or
 * calls a function, and the worker tests all of them before any row is used.
 *
 * The worker stores how many pages of each chunk were valid at the last check of the chunk.
 * The visibility map has the number of pages that are all-visible now, which excludes changed
 * pages.  The planner's estimate for a chunk is the smaller of the two numbers.  The estimate is
 * too large in two cases.  Since the check, some invalid pages may have become all-visible, while
 * valid pages changed.  Or pages may have been changed and vacuumed since the check.
 *
 * src/scan/cached/match.c
 */
#include "scan/cached/cached.h"
#include "scan/groups/groups.h"

#include "access/table.h"
#include "gpu/sketch_gpu.h"
#include "nodes/makefuncs.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"
#include "pg/filter_state.h"
#include "pg/sets_elements.h"
#include "pg/sets_state.h"
#include "pg/sketch_state.h"
#include "pg/top_state.h"
#include "utils/rel.h"

/*
 * Returns why a family receives no keys from cached columns; NULL: the family receives keys.
 * "grouped": the keys are counted for each group.
 */
static const char *
family_refusal(const ColumnFamily *family, const Const *template, bool grouped)
{
	bool filter = family == &column_families[FAMILY_FILTER];

	if (family == &column_families[FAMILY_SKETCH] || family == &column_families[FAMILY_TOP])
		return NULL;
	if (!filter && family != &column_families[FAMILY_SETS] &&
		family != &column_families[FAMILY_COUNT])
		return "an aggregate that takes no keys from cached columns";
	if (grouped)
		return "GROUP BY of an aggregate that makes no sketch";
	return filter && ColumnFilterDraws(template) ? "a filter whose rows draw by their numbers"
												 : NULL;
}

/* True if an aggregate counts the rows in which its column is not NULL. */
bool
CachedCountsValues(const ScanAggregate *aggregate)
{
	return aggregate->call->family == &column_families[FAMILY_COUNT] &&
		   aggregate->location.attribute != 0;
}

static Form_pg_attribute
attribute_of(Relation relation, const Var *column)
{
	return TupleDescAttr(RelationGetDescr(relation), column->varattno - 1);
}

/*
 * Returns why the keys of an aggregate, or its counts of values, cannot come from a cached
 * column; NULL: they can.
 */
static const char *
key_refusal(Relation relation, const ColumnScanCall *call)
{
	const Var *key = call->key ? ScanColumnOf(call->key) : NULL;
	const Var *number = call->weight ? ScanColumnOf(call->integer) : NULL;
	Form_pg_attribute form;
	Form_pg_attribute id;

	if (call->key == NULL)
		return NULL;
	if (call->row)
		return "a key of several columns";
	if (key == NULL || (call->weight && number == NULL))
		return "an expression";
	form = attribute_of(relation, key);
	if (call->family == &column_families[FAMILY_COUNT])
		return CachedTakesKeys(form) ? NULL : "a count of a column of a type that is not cached";
	if (call->weight && call->family != &column_families[FAMILY_SETS])
		return "weights";
	if (call->weight && !KeyTypeIsNumber(call->key_type))
		return "elements of more than 64 bits";
	if (call->family == &column_families[FAMILY_TOP] && !KeyTypeIsNumber(call->key_type))
		return "top keys of more than 64 bits";
	id = number ? attribute_of(relation, number) : NULL;
	if (id && (!CachedTakesKeys(id) || !KeyTypeIsNumber(id->atttypid)))
		return "ids of sets of a type that is not cached as integers";
	if (!CachedTakesKeys(form) || form->atttypid != call->key_type)
		return "keys of a type that is not cached";
	return NULL;
}

/*
 * Returns why a call receives no keys from cached columns, as far as the call shows; NULL: no
 * reason is known.
 */
static const char *
call_refusal(Relation relation, const ColumnScanCall *call, const CachedQuery *query)
{
	const char *refusal;

	if (call->parameter)
		return "a template that is not a constant";
	refusal = family_refusal(call->family, call->template, query->group != NULL);
	if (refusal == NULL)
		refusal = key_refusal(relation, call);
	/*
	 * A parallel plan forms no groups from cached columns.  It also builds no sets from cached
	 * columns, because each process builds sets from the rows in its own memory.
	 */
	if (refusal == NULL && query->parallel &&
		(query->group || call->family == &column_families[FAMILY_SETS]))
		refusal = "a parallel plan";
	return refusal;
}

/* Returns why an aggregate's state receives no keys from cached columns; NULL: it receives keys. */
static const char *
state_refusal(const ScanAggregate *aggregate)
{
	const SketchState *sketch = ScanAggregateState(aggregate, &sketch_state_type);
	const FilterState *filter = ScanAggregateState(aggregate, &filter_state_type);
	const TopState *top = ScanAggregateState(aggregate, &top_state_type);

	if (aggregate->call->family == &column_families[FAMILY_SETS] ||
		aggregate->call->family == &column_families[FAMILY_COUNT])
		return NULL;
	if (top)
		return TopMayTakeColumns(top, &aggregate->work) ? NULL : "the list is made on the CPU";
	if ((sketch == NULL || sketch->engine == &qs_engine_cpu) &&
		(filter == NULL || filter->engine == &qf_engine_cpu))
		return sketch ? "the sketch is made on the CPU" : "the filter is made on the CPU";
	return sketch && GpuSketchOnlyOnCpu(&sketch->sketch.params)
			   ? "sketches of structure sf are made on the CPU"
			   : NULL;
}

/* Returns why the states of a run receive no keys from cached columns; NULL: they do. */
const char *
CachedStatesRefusal(const ScanAggregate *aggregate, int count)
{
	const char *refusal = NULL;
	int i;

	for (i = 0; i < count && refusal == NULL; i++)
		refusal = state_refusal(&aggregate[i]);
	return refusal;
}

static bool
take_rows(void *column, const GpuKeyCounts *counts)
{
	if (counts->count > 0)
		((ScanAggregate *) column)->rows += counts->times[0];
	return true;
}

/* Add the number of rows of the chunks to a count. */
static void
add_rows(ScanAggregate *aggregate, const GpuColumnChunk *chunk, int chunks)
{
	GpuColumnChunk *of_rows = palloc(Max(chunks, 1) * sizeof(GpuColumnChunk));
	int i;

	for (i = 0; i < chunks; i++)
	{
		of_rows[i] = chunk[i];
		of_rows[i].projection = PROJECT_ROWS;
	}
	(void) GpuColumnCountsAll(of_rows, chunks, 1, take_rows, aggregate);
	pfree(of_rows);
}

/*
 * Count the keys of the chunks for an aggregate.  Pages whose keys were counted are removed
 * from the sets of the chunks.
 */
static void
add_keys(ScanAggregate *aggregate, const GpuColumnChunk *chunk, int chunks)
{
	if (aggregate->call->family == &column_families[FAMILY_SKETCH])
		SketchAddColumn((SketchState *) aggregate->state, chunk, chunks);
	else if (aggregate->call->family == &column_families[FAMILY_TOP])
		TopAddColumn((TopState *) aggregate->state, chunk, chunks);
	else if (aggregate->call->family == &column_families[FAMILY_SETS])
		SetsAddColumns((SetsState *) aggregate->state, chunk, chunks);
	else if (aggregate->call->family == &column_families[FAMILY_COUNT])
		add_rows(aggregate, chunk, chunks);
	else
		FilterAddColumn((FilterState *) aggregate->state, chunk, chunks);
}

/* ---- which columns a scan needs ---- */

/* Returns why a condition cannot be tested on a cached column; NULL: it can. */
static const char *
condition_refusal(Relation relation, const ScanCondition *condition)
{
	Form_pg_attribute form;

	if (condition->test.kind > QB_TEST_NULL)
		return "a condition that is no comparison of a column of numbers";
	form = attribute_of(relation, condition->column);
	if (!CachedTakesKeys(form) ||
		(condition->test.kind != QB_TEST_NULL && KeyNumberKind(form->atttypid) != condition->kind))
		return "a condition on a column of a type that is not cached as numbers";
	return NULL;
}

/* The number of a column among the columns that the scan needs.  Adds the column if it is new. */
static int
number_of(CachedColumns *cached, const GpuColumn *column)
{
	int i;

	for (i = 0; i < cached->columns; i++)
		if (memcmp(&cached->column[i], column, sizeof(*column)) == 0)
			return i;
	cached->column = cached->column ? repalloc(cached->column, (i + 1) * sizeof(*column))
									: palloc(sizeof(*column));
	cached->column[i] = *column;
	return cached->columns++;
}

/* The number of the column of a condition.  Adds the column if it is new. */
static int
number_of_condition(CachedColumns *cached, Relation relation, const ScanCondition *condition)
{
	Oid collation = attribute_of(relation, condition->column)->attcollation;
	GpuColumn column = CachedColumn(relation, condition->column->varattno, collation);

	return number_of(cached, &column);
}

/*
 * Add the columns of conditions to the columns that the scan needs.  Returns why one of the
 * conditions cannot be tested on cached columns; NULL: all can.
 */
static const char *
need_clauses(CachedColumns *cached, Relation relation, List *clauses)
{
	ListCell *cell;

	foreach (cell, clauses)
	{
		ScanCondition condition;
		const char *refusal;

		ScanConditionInit(&condition, lfirst(cell));
		refusal = condition_refusal(relation, &condition);
		if (refusal)
			return refusal;
		(void) number_of_condition(cached, relation, &condition);
	}
	return NULL;
}

/* The number of a column of integers, dates or times.  Adds the column if it is new. */
static int
need_integer(CachedColumns *cached, Relation relation, const Var *var)
{
	GpuColumn column = CachedColumn(relation, var->varattno, InvalidOid);

	return number_of(cached, &column);
}

/*
 * The number of the column of a call's keys.  count(*) has no column.  Any cached column shows
 * the number of rows, so count(*) uses the column of the first call that has a column.
 */
static int
need_key(CachedColumns *cached, Relation relation, List *calls, const ColumnScanCall *call)
{
	ListCell *cell = list_head(calls);
	const Var *key;
	GpuColumn column;
	Oid collation;

	for (; call->key == NULL; cell = lnext(calls, cell))
		call = lfirst(cell);
	key = ScanColumnOf(call->key);
	collation = call->aggref->inputcollid;
	if (call->family == &column_families[FAMILY_COUNT])
		collation = attribute_of(relation, key)->attcollation;
	column = CachedColumn(relation, key->varattno, collation);
	return number_of(cached, &column);
}

/*
 * Returns why a scan cannot form groups from cached columns, as far as is known before a run;
 * NULL: no reason is known.
 */
static const char *
group_refusal(Relation relation, const Var *group)
{
	Form_pg_attribute form = attribute_of(relation, group);
	KeyKind kind;

	if (!CachedTakesKeys(form) || !KeyTypeIsNumber(form->atttypid) ||
		!ScanGroupingKind((const Node *) group, &kind) || kind > KEY_INT8)
		return "GROUP BY of a column that is not cached as numbers";
	return NULL;
}

/*
 * Returns why a scan uses no cached columns; NULL: it may use them.  Adds its conditions' columns.
 */
static const char *
need_conditions(CachedColumns *cached, Relation relation, const CachedQuery *query)
{
	const char *refusal = CachedTableRefusal(relation);
	ListCell *cell;

	if (refusal == NULL && query->grouped)
		refusal = query->group ? group_refusal(relation, query->group)
							   : "GROUP BY of something other than a column";
	if (refusal == NULL)
		refusal = need_clauses(cached, relation, query->clauses);
	foreach (cell, query->calls)
	{
		const ColumnScanCall *call = lfirst(cell);

		if (refusal == NULL)
			refusal = need_clauses(cached, relation, make_ands_implicit(call->aggref->aggfilter));
	}
	return refusal;
}

/*
 * List the columns that a scan needs.  Returns why the scan uses no cached columns; NULL: it
 * may.
 */
const char *
CachedColumnsNeed(CachedColumns *cached, Relation relation, const CachedQuery *query)
{
	const char *refusal = need_conditions(cached, relation, query);
	int count = list_length(query->calls);
	int i;

	cached->key = palloc(count * sizeof(int));
	cached->id = palloc(count * sizeof(int));
	for (i = 0; i < count && refusal == NULL; i++)
		refusal = call_refusal(relation, list_nth(query->calls, i), query);
	for (i = 0; i < count && refusal == NULL; i++)
	{
		const ColumnScanCall *call = list_nth(query->calls, i);
		const Var *id = call->weight ? ScanColumnOf(call->integer) : NULL;

		cached->key[i] = need_key(cached, relation, query->calls, call);
		cached->id[i] = id ? need_integer(cached, relation, id) : -1;
	}
	cached->group =
		query->group && refusal == NULL ? need_integer(cached, relation, query->group) : -1;
	return refusal;
}

/* ---- the tests of a run ---- */

/*
 * Find or add a column in the selection of the tests.  "number": the column's number in the
 * scan.  *position: its index in the selection.  False: the selection has too many columns.
 */
bool
CachedTestsColumn(CachedTests *tests, int number, uint16 *position)
{
	qb_selection *selection = &tests->selection;
	uint32 i;

	for (i = 0; i < selection->columns && tests->column[i] != number; i++)
		;
	if (i == QB_SELECTION_COLUMNS)
		return false;
	tests->column[i] = number;
	selection->columns = Max(selection->columns, i + 1);
	*position = (uint16) i;
	return true;
}

/*
 * Add a condition's list of numbers to the selection, after the *used numbers of other lists.
 * False: the selection has no space for the list.
 */
static bool
add_list(qb_selection *selection, qb_test *test, const ScanCondition *condition, int *used)
{
	if (condition->count > QB_SELECTION_NUMBERS - *used)
		return false;
	test->first = (uint16) *used;
	test->count = (uint16) condition->count;
	memcpy(selection->number + *used, condition->number, condition->count * sizeof(int64));
	*used += condition->count;
	return true;
}

/* Add a test of the column with this number.  False: the selection has no space for the test. */
bool
CachedTestsAdd(CachedTests *tests, int column, const qb_test *test)
{
	qb_selection *selection = &tests->selection;
	qb_test *added = &selection->test[selection->tests];
	uint16 position;

	if (selection->tests == QB_SELECTION_TESTS || !CachedTestsColumn(tests, column, &position))
		return false;
	*added = *test;
	added->column = position;
	selection->tests++;
	return true;
}

/*
 * Let the worker return the numbers of a column together with the keys, for rows in which the
 * column is not NULL.  False: the selection has no space for this test.
 */
bool
CachedTestsPair(CachedTests *tests, int column)
{
	qb_test not_null = { .kind = QB_TEST_NULL, .negated = 1 };

	if (!CachedTestsAdd(tests, column, &not_null))
		return false;
	tests->pairs = true;
	tests->pair = tests->selection.test[tests->selection.tests - 1].column;
	return true;
}

/*
 * Add a condition whose operand was evaluated.  False: the selection has no space for the
 * condition.
 */
static bool
add_condition(CachedTests *tests, int column, const ScanCondition *condition)
{
	qb_selection *selection = &tests->selection;

	if (condition->none || condition->all)
	{
		tests->none |= condition->none;
		return true;
	}
	if (!CachedTestsAdd(tests, column, &condition->test))
		return false;
	return condition->test.kind != QB_TEST_LIST ||
		   add_list(selection, &selection->test[selection->tests - 1], condition, &tests->numbers);
}

static bool
add_conditions(const CachedRun *run, ScanConditions *conditions, CachedTests *tests)
{
	bool fits = true;
	int i;

	for (i = 0; i < conditions->count && fits; i++)
	{
		ScanCondition *condition = &conditions->condition[i];

		if (!condition->ready)
			ScanConditionEvaluate(conditions, condition);
		fits = add_condition(tests, number_of_condition(run->cached, run->relation, condition),
							 condition);
	}
	return fits;
}

/* Add this run's tests of WHERE and of a FILTER (0: none).  False: there are too many tests. */
bool
CachedConditionsTests(const CachedRun *run, int filter, CachedTests *tests)
{
	return add_conditions(run, &run->rows->of[0], tests) &&
		   (filter == 0 || add_conditions(run, &run->rows->of[filter], tests));
}

/* ---- chunks of columns ---- */

/* A chunk with the pages whose keys are requested, and the tests that rows must pass. */
GpuColumnChunk
CachedChunk(const CachedKeys *keys, uint32 chunk)
{
	GpuRef **ref = keys->run->ref;
	const CachedTests *tests = keys->tests;
	GpuColumnChunk wanted = { .ref = ref[keys->column][chunk], .pages = &keys->pages[chunk] };
	uint32 i;

	if (tests->selection.columns > 0)
		wanted.tests = &tests->selection;
	if (tests->pairs)
	{
		wanted.projection = PROJECT_PAIRS;
		wanted.pair = tests->pair;
	}
	for (i = 0; i < tests->selection.columns; i++)
		wanted.tested[i] = ref[tests->column[i]][chunk];
	return wanted;
}

/* Copy the page sets of a run, one for each chunk, into memory of the run. */
GpuPages *
CachedPages(const CachedRun *run)
{
	Size bytes = run->chunks * sizeof(GpuPages);
	GpuPages *pages = MemoryContextAllocHuge(run->cached->memory, Max(bytes, 1));

	memcpy(pages, run->pages, bytes);
	return pages;
}

/* The chunks of all tables that still have pages to count. */
GpuColumnChunk *
CachedChunks(const CachedKeys *keys, int tables, int *wanted_count)
{
	GpuColumnChunk *wanted;
	Size chunks = 0;
	uint32 chunk;
	int i;

	for (i = 0; i < tables; i++)
		chunks += keys[i].run->chunks;
	wanted = MemoryContextAllocHuge(CurrentMemoryContext, Max(chunks, 1) * sizeof(GpuColumnChunk));
	*wanted_count = 0;
	for (i = 0; i < tables; i++)
		for (chunk = 0; chunk < keys[i].run->chunks; chunk++)
			if (!GpuPagesAreNone(&keys[i].pages[chunk]))
				wanted[(*wanted_count)++] = CachedChunk(&keys[i], chunk);
	GpuColumnInterleave(wanted, *wanted_count);
	return wanted;
}

/*
 * Count the keys of all tables for an aggregate.  The chunks of all tables are requested
 * together.
 */
void
CachedTake(const CachedKeys *keys, int tables, ScanAggregate *aggregate)
{
	GpuColumnChunk *wanted;
	int wanted_count;
	int i;

	for (i = 0; i < tables; i++)
		if (keys[i].tests->none)
			memset(keys[i].pages, 0, keys[i].run->chunks * sizeof(GpuPages));
	wanted = CachedChunks(keys, tables, &wanted_count);
	add_keys(aggregate, wanted, wanted_count);
	pfree(wanted);
}

/* ---- while planning ---- */

/* True if at least one of the sketches is made on the CPU even if a GPU is used. */
static bool
stay_on_cpu(List *calls)
{
	ListCell *cell;

	foreach (cell, calls)
	{
		const ColumnScanCall *call = lfirst(cell);

		if ((call->family == &column_families[FAMILY_SKETCH] ||
			 call->family == &column_families[FAMILY_TOP]) &&
			ColumnStaysOnCpu(call))
			return true;
	}
	return false;
}

/* Estimate the number of pages that are all-visible now and cached in all needed columns. */
static double
visible_pages(Relation relation, const CachedColumns *needed, uint32 chunks)
{
	uint32 *most = palloc(chunks * sizeof(uint32));
	double pages = 0;
	uint32 chunk;
	int i;

	memset(most, 0xff, chunks * sizeof(uint32));
	for (i = 0; i < needed->columns; i++)
		GpuColumnCover(&needed->column[i], most, chunks);
	for (chunk = 0; chunk < chunks; chunk++)
		if (most[chunk] > 0)
			pages += Min(most[chunk], CachedVisiblePages(relation, chunk));
	pfree(most);
	return pages;
}

/*
 * Estimate the fraction of a table's pages that need not be read.  "group": the grouping
 * column, or NULL.  "groups": the expected number of groups.  "parallel": the plan is
 * parallel.
 */
double
ScanCopiedFraction(PlannerInfo *root, const RelOptInfo *table, List *calls, const Var *group,
				   double groups, bool parallel)
{
	CachedQuery query = { .clauses = extract_actual_clauses(table->baserestrictinfo, false),
						  .calls = calls,
						  .grouped = group != NULL,
						  .group = group,
						  .parallel = parallel };
	CachedColumns needed = { 0 };
	uint32 chunks = CachedChunksOf(table->pages);
	Relation relation;
	double pages = 0;

	if (!GpuColumnsExist() || chunks == 0 ||
		(group && groups * list_length(calls) > CACHED_STATES_MAX))
		return 0;
	relation = table_open(planner_rt_fetch(table->relid, root)->relid, NoLock);
	if (CachedColumnsNeed(&needed, relation, &query) == NULL && !stay_on_cpu(calls))
		pages = visible_pages(relation, &needed, chunks);
	table_close(relation, NoLock);
	return Min(pages / table->pages, 1);
}
