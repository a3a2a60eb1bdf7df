/*
 * copy_conditions.c
 *		WHERE and FILTER on copies of columns: which can be tested there, and as what.
 *
 * The worker tests the conditions that are tests on the page against numbers or for NULL
 * (conditions.c), if all columns that they name can be copied.  If one condition of a
 * query is of another kind, the scan reads all pages.
 *
 * Values that columns are compared with are evaluated when the first keys are taken from
 * copies.  The order of conditions does not matter there: none raises an error or calls a
 * function, and the worker tests all of them before anybody sees a row.
 *
 * src/scan/copy_conditions.c
 */
#include "scan/copy.h"

#include "utils/rel.h"

/* Why a test of this column's values of this kind, or for NULL, cannot be done on a copy. */
static const char *
column_refusal(Relation relation, AttrNumber attribute, KeyKind kind)
{
	Form_pg_attribute form = TupleDescAttr(RelationGetDescr(relation), attribute - 1);

	if (!CopyTakesKeys(form) || (kind != KEY_HASHED && ScanKindOf(form->atttypid) != kind))
		return "a condition on a column of a type that is not copied as numbers";
	return NULL;
}

/* The kind of the values that are tested: KEY_HASHED for NULL. */
static KeyKind
kind_of(const ScanCondition *condition)
{
	return condition->test == TEST_NULL ? KEY_HASHED : condition->kind;
}

static const char *
condition_refusal(Relation relation, const ScanCondition *condition)
{
	if (condition->test == TEST_EXPRESSION || condition->test == TEST_STRING)
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

/* Why conditions cannot be tested on copies; NULL: they can, as far as is known before a run. */
const char *
CopyConditionsRefusal(Relation relation, const WantedRows *rows)
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
CopyConditionsCount(const WantedRows *rows)
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

	return CopyColumn(relation, attribute,
					  TupleDescAttr(RelationGetDescr(relation), attribute - 1)->attcollation);
}

static void
add_columns(ScanCopies *copies, Relation relation, const ScanConditions *conditions)
{
	int i;

	for (i = 0; i < count_of(conditions); i++)
	{
		GpuColumn column = column_of(relation, &conditions->condition[i]);

		(void) CopyColumnNumber(copies, &column);
	}
}

/* Add the columns that conditions name to those that the scan needs. */
void
CopyConditionsColumns(ScanCopies *copies, Relation relation, const WantedRows *rows)
{
	int i;

	add_columns(copies, relation, rows->conditions);
	for (i = 0; i < rows->filters; i++)
		add_columns(copies, relation, rows->filtered[i].conditions);
}

/* The place of a column, by its number, among those of the selection; false: there are too many. */
bool
CopyTestsColumn(CopyTests *tests, int number, uint16 *place)
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
	test->kind = QB_TEST_LIST;
	test->first = (uint16) *used;
	test->count = (uint16) condition->count;
	memcpy(selection->number + *used, condition->number, condition->count * sizeof(int64));
	*used += condition->count;
	return true;
}

/* Add a test of a column, by its number.  False: there is no room for it. */
bool
CopyTestsAdd(CopyTests *tests, int column, const qb_test *test)
{
	qb_selection *selection = &tests->selection;
	qb_test *added = &selection->test[selection->tests];
	uint16 place;

	if (selection->tests == QB_SELECTION_TESTS || !CopyTestsColumn(tests, column, &place))
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
CopyTestsPair(CopyTests *tests, int column)
{
	qb_test not_null = { .kind = QB_TEST_NULL, .negated = 1 };

	if (!CopyTestsAdd(tests, column, &not_null))
		return false;
	tests->pairs = true;
	tests->pair = tests->selection.test[tests->selection.tests - 1].column;
	return true;
}

/* Add a condition, whose operand is known.  False: there is no room for it. */
static bool
add_condition(CopyTests *tests, int column, const ScanCondition *condition)
{
	qb_selection *selection = &tests->selection;
	qb_test test = { .kind = condition->test == TEST_NULL ? QB_TEST_NULL : QB_TEST_RANGE,
					 .negated = condition->negated,
					 .low = condition->low,
					 .high = condition->high };

	if (condition->none || condition->all)
	{
		tests->none |= condition->none;
		return true;
	}
	if (!CopyTestsAdd(tests, column, &test))
		return false;
	return condition->test != TEST_LIST ||
		   add_list(selection, &selection->test[selection->tests - 1], condition, &tests->numbers);
}

static bool
add_conditions(const CopyRun *run, ScanConditions *conditions, CopyTests *tests)
{
	bool fits = true;
	int i;

	for (i = 0; i < count_of(conditions) && fits; i++)
	{
		ScanCondition *condition = &conditions->condition[i];
		GpuColumn column = column_of(run->relation, condition);

		if (!condition->ready)
			ScanConditionEvaluate(conditions, condition);
		fits = add_condition(tests, CopyColumnNumber(run->copies, &column), condition);
	}
	return fits;
}

/* The tests of WHERE and of a filter (-1: none), in this run.  False: they are too many. */
bool
CopyConditionsTests(const CopyRun *run, int filter, CopyTests *tests)
{
	memset(tests, 0, sizeof(*tests));
	return add_conditions(run, run->rows->conditions, tests) &&
		   (filter < 0 || add_conditions(run, run->rows->filtered[filter].conditions, tests));
}

/* ---- while planning ---- */

/* The column whose copy a condition needs; false: it cannot be tested on copies. */
bool
CopyConditionColumn(Relation relation, Expr *clause, GpuColumn *column)
{
	ScanCondition condition;

	ScanConditionInit(&condition, clause);
	if (condition_refusal(relation, &condition))
		return false;
	*column = column_of(relation, &condition);
	return true;
}
