/*
 * cached_match.c
 *		What cached columns can do for a query: which aggregates take keys from them and
 *		how, which conditions are tested there and as what, and how many pages need not be
 *		read, as far as the planner can know.
 *
 * Sketches, Bloom filters and collections of sets do not depend on the order of rows.  A
 * frequency filter draws which bits a row sets by the number of the row, so its rows are
 * read.  Counts beside these get the number of rows.  Elements of sets are the numbers that
 * cached columns have.  Elements of other types would be 128-bit fingerprints, of which
 * cached columns have half.
 *
 * The worker tests the conditions that are tests on the page against numbers or for NULL
 * (conditions.c), if all columns that they name can be cached.  If one condition of a
 * query is of another kind, the scan reads all pages.  Values that columns are compared with
 * are evaluated when the first keys are taken from cached columns.  The order of conditions
 * does not matter there: none raises an error or calls a function, and the worker tests all
 * of them before anybody sees a row.
 *
 * The worker keeps how many pages of each chunk were still true when a query looked at the
 * chunk last.  The visibility map says how many pages are all-visible now; pages that were
 * changed are not.  The planner's estimate for a chunk is the smaller of these two numbers.
 * It is too large in two cases: if the pages that had changed at the last look are not those
 * that have changed since, and if pages were changed and vacuumed since.
 *
 * src/scan/cached_match.c
 */
#include "scan/cached.h"
#include "scan/groups.h"

#include "access/table.h"
#include "gpu/sketch_gpu.h"
#include "nodes/makefuncs.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"
#include "pg/sets_elements.h"
#include "utils/rel.h"

static bool
is_sketch(const ColumnFamily *family)
{
	return family == &column_families[0];
}

static bool
is_filter(const ColumnFamily *family)
{
	return family == &column_families[1];
}

static bool
makes_sets(const ColumnFamily *family)
{
	return family == &column_families[2];
}

static bool
counts_rows(const ColumnFamily *family)
{
	return family == &column_count;
}

/* Why a family takes no keys from cached columns; NULL: it does.  "grouped": for each group. */
static const char *
family_refusal(const ColumnFamily *family, const Const *template, bool grouped)
{
	if (is_sketch(family))
		return NULL;
	if (!is_filter(family) && !makes_sets(family) && !counts_rows(family))
		return "an aggregate that takes no keys from cached columns";
	if (grouped)
		return "GROUP BY of an aggregate that makes no sketch";
	return is_filter(family) && ColumnFilterDraws(template)
			   ? "a filter whose rows draw by their numbers"
			   : NULL;
}

/*
 * Does a process of a parallel scan take keys of a family from cached columns?  Collections of sets
 * are built by all processes together, which need the rows here.
 */
bool
CachedTakesInParallel(const ColumnFamily *family)
{
	return !makes_sets(family);
}

/*
 * Why a collection's elements of this type, with ids of that column, cannot come from cached
 * columns.
 */
static const char *
sets_refusal(Relation relation, Oid type, AttrNumber id)
{
	Form_pg_attribute form = TupleDescAttr(RelationGetDescr(relation), id - 1);

	if (!KeyTypeIsNumber(type))
		return "elements of more than 64 bits";
	if (!CachedTakesKeys(form) || !KeyTypeIsNumber(form->atttypid))
		return "ids of sets of a type that is not cached as integers";
	return NULL;
}

/* What an aggregate has beside its keys: the column of the ids of its sets, or weights. */
static const char *
weight_refusal(Relation relation, const ColumnFamily *family, Oid type, AttrNumber weight)
{
	if (makes_sets(family))
		return sets_refusal(relation, type, weight);
	return weight ? "weights" : NULL;
}

/* Does an aggregate count the rows in which its column is not NULL? */
bool
CachedCountsValues(const ScanAggregate *aggregate)
{
	return counts_rows(aggregate->family) && aggregate->location.attribute != 0;
}

/* Why rows cannot be counted where this column is not NULL; 0: all rows are counted. */
static const char *
count_refusal(Relation relation, AttrNumber attribute)
{
	return attribute == 0 ||
				   CachedTakesKeys(TupleDescAttr(RelationGetDescr(relation), attribute - 1))
			   ? NULL
			   : "a count of a column of a type that is not cached";
}

/* Why the keys of an aggregate cannot come from a cached column; NULL: they can. */
const char *
CachedAggregateRefusal(Relation relation, const ScanAggregate *aggregate, bool grouped)
{
	const char *refusal;
	Form_pg_attribute form;

	if (aggregate->given)
		return "a template that is not a constant";
	refusal = family_refusal(aggregate->family, aggregate->template, grouped);
	if (refusal)
		return refusal;
	if (counts_rows(aggregate->family))
		return count_refusal(relation, aggregate->location.attribute);
	if (aggregate->row)
		return "a key of several columns";
	refusal = weight_refusal(relation, aggregate->family, aggregate->key_type,
							 aggregate->weight.attribute);
	if (refusal)
		return refusal;
	form = TupleDescAttr(RelationGetDescr(relation), aggregate->location.attribute - 1);
	if (!CachedTakesKeys(form) || form->atttypid != aggregate->key_type)
		return "keys of a type that is not cached";
	return NULL;
}

/* Why the state of an aggregate takes no keys from cached columns; NULL: it does. */
static const char *
state_refusal(const ScanAggregate *aggregate)
{
	const SketchState *sketch = ScanAggregateState(aggregate, &sketch_state_type);

	if (makes_sets(aggregate->family) || counts_rows(aggregate->family))
		return NULL;
	if (ScanAggregateIsOnCpu(aggregate))
		return sketch ? "the sketch is made on the CPU" : "the filter is made on the CPU";
	return sketch && GpuSketchOnlyOnCpu(&sketch->sketch.params)
			   ? "sketches of structure sf are made on the CPU"
			   : NULL;
}

/* Why states of a run take no keys from cached columns; NULL: they do. */
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

/* Count the rows of chunks of a column. */
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
 * Give an aggregate the keys of chunks of a column; pages that it got are taken off the chunks'
 * sets.
 */
void
CachedAddKeys(ScanAggregate *aggregate, const GpuColumnChunk *chunk, int chunks)
{
	if (is_sketch(aggregate->family))
		SketchAddColumn((SketchState *) aggregate->state, chunk, chunks);
	else if (makes_sets(aggregate->family))
		SetsAddColumns((SetsState *) aggregate->state, chunk, chunks);
	else if (counts_rows(aggregate->family))
		add_rows(aggregate, chunk, chunks);
	else
		FilterAddColumn((FilterState *) aggregate->state, chunk, chunks);
}

/* ---- while planning ---- */

/* May the keys of a call that has some come from cached columns, as far as it tells? */
static bool
takes_keys(Relation relation, const ColumnScanCall *call)
{
	AttrNumber weight = call->weight ? call->weight->varattno : 0;

	return !call->parameter && !call->row &&
		   weight_refusal(relation, call->family, call->key_type, weight) == NULL &&
		   call->key_type == call->key->vartype &&
		   !(is_sketch(call->family) && ColumnStaysOnCpu(call));
}

/* May an aggregate's keys come from cached columns, as far as its call tells? */
static bool
takes_call(Relation relation, const ColumnScanCall *call, bool grouped)
{
	if (family_refusal(call->family, call->template, grouped))
		return false;
	if (counts_rows(call->family))
		return count_refusal(relation, call->key ? call->key->varattno : 0) == NULL;
	return takes_keys(relation, call);
}

/* The collation of the cached column from which a column's keys or rows come. */
Oid
CachedKeyCollation(Relation relation, const ColumnFamily *family, AttrNumber attribute,
				   Oid collation)
{
	return counts_rows(family)
			   ? TupleDescAttr(RelationGetDescr(relation), attribute - 1)->attcollation
			   : collation;
}

/*
 * Why a test of this column's values of this kind, or for NULL, cannot be done on a cached
 * column.
 */
static const char *
column_refusal(Relation relation, AttrNumber attribute, KeyKind kind)
{
	Form_pg_attribute form = TupleDescAttr(RelationGetDescr(relation), attribute - 1);

	if (!CachedTakesKeys(form) || (kind != KEY_HASHED && KeyNumberKind(form->atttypid) != kind))
		return "a condition on a column of a type that is not cached as numbers";
	return NULL;
}

/* The kind of the values that are tested: KEY_HASHED for NULL. */
static KeyKind
kind_of(const ScanCondition *condition)
{
	return condition->test.kind == QB_TEST_NULL ? KEY_HASHED : condition->kind;
}

static const char *
condition_refusal(Relation relation, const ScanCondition *condition)
{
	if (condition->test.kind > QB_TEST_NULL)
		return "a condition that is no comparison of a column of numbers";
	return column_refusal(relation, condition->column->varattno, kind_of(condition));
}

static const char *
conditions_refusal(Relation relation, const ScanConditions *conditions)
{
	const char *refusal = NULL;
	int i;

	for (i = 0; conditions && i < conditions->count && refusal == NULL; i++)
		refusal = condition_refusal(relation, &conditions->condition[i]);
	return refusal;
}

/*
 * Why conditions cannot be tested on cached columns; NULL: they can, as far as is known before a
 * run.
 */
const char *
CachedConditionsRefusal(Relation relation, const WantedRows *rows)
{
	const char *refusal = conditions_refusal(relation, rows->conditions);
	int i;

	for (i = 0; i < rows->filters && refusal == NULL; i++)
		refusal = conditions_refusal(relation, rows->filtered[i].conditions);
	return refusal;
}

static int
count_of(const ScanConditions *conditions)
{
	return conditions ? conditions->count : 0;
}

/* The number of conditions, each of which names a column. */
int
CachedConditionsCount(const WantedRows *rows)
{
	int count = count_of(rows->conditions);
	int i;

	for (i = 0; i < rows->filters; i++)
		count += count_of(rows->filtered[i].conditions);
	return count;
}

/* ---- what is tested in a run ---- */

static GpuColumn
column_of(Relation relation, const ScanCondition *condition)
{
	AttrNumber attribute = condition->column->varattno;

	return CachedColumn(relation, attribute,
						TupleDescAttr(RelationGetDescr(relation), attribute - 1)->attcollation);
}

static void
add_columns(CachedColumns *copies, Relation relation, const ScanConditions *conditions)
{
	int i;

	for (i = 0; i < count_of(conditions); i++)
	{
		GpuColumn column = column_of(relation, &conditions->condition[i]);

		(void) CachedColumnNumber(copies, &column);
	}
}

/* Add the columns that conditions name to those that the scan needs. */
void
CachedConditionsColumns(CachedColumns *copies, Relation relation, const WantedRows *rows)
{
	int i;

	add_columns(copies, relation, rows->conditions);
	for (i = 0; i < rows->filters; i++)
		add_columns(copies, relation, rows->filtered[i].conditions);
}

/* The index of a column, by its number, among those of the selection; false: there are too many. */
bool
CachedTestsColumn(CachedTests *tests, int number, uint16 *place)
{
	qb_selection *selection = &tests->selection;
	uint32 i;

	for (i = 0; i < selection->columns && tests->column[i] != number; i++)
		;
	if (i == QB_SELECTION_COLUMNS)
		return false;
	tests->column[i] = number;
	selection->columns = Max(selection->columns, i + 1);
	*place = (uint16) i;
	return true;
}

/* Add a list; "*used" numbers are there already.  False: it is too long. */
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

/* Add a test of a column, by its number.  False: there is no room for it. */
bool
CachedTestsAdd(CachedTests *tests, int column, const qb_test *test)
{
	qb_selection *selection = &tests->selection;
	qb_test *added = &selection->test[selection->tests];
	uint16 place;

	if (selection->tests == QB_SELECTION_TESTS || !CachedTestsColumn(tests, column, &place))
		return false;
	*added = *test;
	added->column = place;
	selection->tests++;
	return true;
}

/*
 * Have the numbers of a column beside the keys, in rows in which it is not NULL.  False:
 * there is no room for the test.
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

/* Add a condition, whose operand is known.  False: there is no room for it. */
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

	for (i = 0; i < count_of(conditions) && fits; i++)
	{
		ScanCondition *condition = &conditions->condition[i];
		GpuColumn column = column_of(run->relation, condition);

		if (!condition->ready)
			ScanConditionEvaluate(conditions, condition);
		fits = add_condition(tests, CachedColumnNumber(run->copies, &column), condition);
	}
	return fits;
}

/* The tests of WHERE and of a filter (-1: none), in this run.  False: they are too many. */
bool
CachedConditionsTests(const CachedRun *run, int filter, CachedTests *tests)
{
	memset(tests, 0, sizeof(*tests));
	return add_conditions(run, run->rows->conditions, tests) &&
		   (filter < 0 || add_conditions(run, run->rows->filtered[filter].conditions, tests));
}

/* ---- while planning ---- */

/* The cached column that a condition needs; false: it cannot be tested on one. */
static bool
condition_column(Relation relation, Expr *clause, GpuColumn *column)
{
	ScanCondition condition;

	ScanConditionInit(&condition, clause);
	if (condition_refusal(relation, &condition))
		return false;
	*column = column_of(relation, &condition);
	return true;
}

/* What the cached columns of a table have. */
typedef struct Covered
{
	Relation relation;
	uint32 chunks;
	uint32 *pages; /* of each chunk: at most so many are in all columns */
} Covered;

/* One more column is needed. */
static void
need_column(Covered *covered, AttrNumber attribute, Oid collation)
{
	GpuColumn column = CachedColumn(covered->relation, attribute, collation);

	GpuColumnCover(&column, covered->pages, covered->chunks);
}

/* The columns of conditions are needed; false: one cannot be tested on cached columns. */
static bool
need_clauses(Covered *covered, List *clauses)
{
	ListCell *cell;

	foreach (cell, clauses)
	{
		GpuColumn column;

		if (!condition_column(covered->relation, lfirst(cell), &column))
			return false;
		GpuColumnCover(&column, covered->pages, covered->chunks);
	}
	return true;
}

/* The columns of an aggregate are needed; false: it takes no keys from cached columns. */
static bool
need_aggregate(Covered *covered, const Aggref *aggref, bool grouped, bool parallel)
{
	ColumnScanCall call;

	if (!ColumnScanMatch((Aggref *) aggref, &call) ||
		!takes_call(covered->relation, &call, grouped) ||
		(parallel && !CachedTakesInParallel(call.family)))
		return false;
	if (call.key)
		need_column(covered, call.key->varattno,
					CachedKeyCollation(covered->relation, call.family, call.key->varattno,
									   aggref->inputcollid));
	if (call.weight)
		need_column(covered, call.weight->varattno, InvalidOid);
	return need_clauses(covered, make_ands_implicit(aggref->aggfilter));
}

/* All columns that a scan with these clauses names are needed; false: it uses no cached columns. */
static bool
need_columns(Covered *covered, List *clauses, List *aggregates, bool grouped, bool parallel)
{
	ListCell *cell;

	if (CachedTableRefusal(covered->relation) || !need_clauses(covered, clauses))
		return false;
	foreach (cell, aggregates)
		if (!need_aggregate(covered, lfirst_node(Aggref, cell), grouped, parallel))
			return false;
	return true;
}

/* The grouping column is needed, for so many sketches; false: there are too many. */
static bool
need_group(Covered *covered, const Var *group, double states)
{
	if (states > CACHED_STATES_MAX || CachedGroupsRefusal(covered->relation, group))
		return false;
	need_column(covered, group->varattno, InvalidOid);
	return true;
}

/* How many pages that cached columns have are all-visible now? */
static double
visible_pages(const Covered *covered)
{
	double pages = 0;
	uint32 chunk;

	for (chunk = 0; chunk < covered->chunks; chunk++)
		if (covered->pages[chunk] > 0)
			pages += Min(covered->pages[chunk], CachedVisiblePages(covered->relation, chunk));
	return pages;
}

/*
 * Which fraction of a table's pages need not be read?  "group" is the grouping column or NULL,
 * of so many values.  "parallel": in a parallel plan.
 */
double
ScanCopiedFraction(PlannerInfo *root, const RelOptInfo *table, List *aggregates, const Var *group,
				   double groups, bool parallel)
{
	List *clauses = extract_actual_clauses(table->baserestrictinfo, false);
	Covered covered = { .chunks = CachedChunksOf(table->pages) };
	double pages = 0;

	if (!GpuColumnsExist() || covered.chunks == 0)
		return 0;
	covered.relation = table_open(planner_rt_fetch(table->relid, root)->relid, NoLock);
	covered.pages = palloc(covered.chunks * sizeof(uint32));
	memset(covered.pages, 0xff, covered.chunks * sizeof(uint32));
	if (need_columns(&covered, clauses, aggregates, group != NULL, parallel) &&
		(group == NULL || need_group(&covered, group, groups * list_length(aggregates))))
		pages = visible_pages(&covered);
	pfree(covered.pages);
	table_close(covered.relation, NoLock);
	return Min(pages / table->pages, 1);
}
