/*
 * select.c
 *		Tests conditions on the tuples of a page: WHERE, and the FILTER of each aggregate.
 *
 * Each kind of condition has its own loop.  The loop writes every tuple to the next index of
 * the result, and increments the index only if the tuple passes.  So the loop does not branch on
 * the result of the test.  Such a branch would often be mispredicted.  Values at a fixed offset
 * are read in place, other values by heap_getattr().
 *
 * An operand is evaluated once in a run, when the first row has passed all earlier conditions.  The
 * ordinary plan evaluates the operand for the first time at the same row.  If cached columns are
 * used, the operand is evaluated before the first row is read.
 *
 * WHERE is tested first.  FILTERs are tested on the tuples that pass WHERE.  Aggregates with
 * equal FILTERs share the tuples that pass.
 *
 * src/scan/select.c
 */
#include "scan/groups/groups.h"
#include "scan/scan.h"

#include "access/detoast.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

/* Set the range of numbers that pass a comparison with "number". */
static void
set_range(ScanCondition *condition, int64 number)
{
	int strategy = condition->strategy;
	qb_test *test = &condition->test;

	test->low = PG_INT64_MIN;
	test->high = PG_INT64_MAX;
	if (strategy == BTEqualStrategyNumber || strategy == BTGreaterEqualStrategyNumber)
		test->low = number;
	if (strategy == BTEqualStrategyNumber || strategy == BTLessEqualStrategyNumber)
		test->high = number;
	if (strategy == BTLessStrategyNumber)
	{
		condition->none = number == PG_INT64_MIN;
		test->high = number - !condition->none;
	}
	if (strategy == BTGreaterStrategyNumber)
	{
		condition->none = number == PG_INT64_MAX;
		test->low = number + !condition->none;
	}
}

static void
set_string(ScanString *string, Datum value)
{
	struct varlena *bytes = PG_DETOAST_DATUM_PACKED(value);

	string->bytes = VARDATA_ANY(bytes);
	string->length = VARSIZE_ANY_EXHDR(bytes);
}

/*
 * Compare for qsort().  Checks for interrupts, because qsort() takes quadratic time for some
 * orders.
 */
int
ScanCompareNumbers(const void *a, const void *b)
{
	int64 x = *(const int64 *) a;
	int64 y = *(const int64 *) b;

	CHECK_FOR_INTERRUPTS();
	return x < y ? -1 : x > y;
}

/*
 * Read the array of a condition.  A NULL in the array equals no value.  No row passes NOT IN if the
 * array has a NULL.
 */
static void
set_list(ScanCondition *condition, ArrayType *array)
{
	Oid type = ARR_ELEMTYPE(array);
	int16 length;
	bool by_value;
	char align;
	Datum *value;
	bool *null;
	int total;
	int i;

	get_typlenbyvalalign(type, &length, &by_value, &align);
	deconstruct_array(array, type, length, by_value, align, &value, &null, &total);
	condition->count = 0;
	condition->number = palloc((total + 1) * sizeof(int64));
	condition->string = palloc((total + 1) * sizeof(ScanString));
	condition->all = condition->test.negated && total == 0;
	for (i = 0; i < total; i++)
	{
		if (null[i])
			condition->none |= condition->test.negated;
		else if (condition->kind == KEY_BYTES)
			set_string(&condition->string[condition->count++], value[i]);
		else
			condition->number[condition->count++] = KeyNumber(condition->operand_kind, value[i]);
	}
	if (condition->kind != KEY_BYTES)
		qsort(condition->number, condition->count, sizeof(int64), ScanCompareNumbers);
}

/* Set up a test against a single value. */
static void
set_value(ScanCondition *condition, Datum value)
{
	if (condition->kind != KEY_BYTES)
	{
		set_range(condition, KeyNumber(condition->operand_kind, value));
		return;
	}
	condition->count = 1;
	condition->string = palloc(sizeof(ScanString));
	set_string(condition->string, PointerGetDatum(PG_DETOAST_DATUM_COPY(value)));
}

static Datum
operand_value(const ScanConditions *conditions, const ScanCondition *condition, bool *null)
{
	const Const *constant = (const Const *) condition->operand;

	if (condition->state)
		return ExecEvalExpr(condition->state, conditions->context, null);
	*null = constant->constisnull;
	return constant->constvalue;
}

void
ScanConditionEvaluate(ScanConditions *conditions, ScanCondition *condition)
{
	MemoryContext old = MemoryContextSwitchTo(conditions->operands);
	bool null;
	Datum value = operand_value(conditions, condition, &null);

	condition->all = false;
	condition->none = null;
	if (!null && condition->operand_is_array)
		set_list(condition, DatumGetArrayTypePCopy(value));
	else if (!null)
		set_value(condition, value);
	condition->ready = true;
	MemoryContextSwitchTo(old);
}

/* True if a tuple passes a condition.  "kind" is the kind of the condition's column. */
typedef bool (*TupleTest)(const ScanCondition *condition, KeyKind kind, HeapTupleHeader tuple);

static pg_attribute_always_inline bool
is_in_range(const ScanCondition *condition, KeyKind kind, HeapTupleHeader tuple)
{
	int64 number;

	return ColumnGetNumber(&condition->location, kind, tuple, &number) &&
		   qb_in_range(&condition->test, number) != condition->test.negated;
}

static pg_attribute_always_inline bool
is_in_list(const ScanCondition *condition, KeyKind kind, HeapTupleHeader tuple)
{
	int64 number;

	return ColumnGetNumber(&condition->location, kind, tuple, &number) &&
		   qb_has_number(condition->number, condition->count, number) != condition->test.negated;
}

static bool
is_one_of(const ScanCondition *condition, const struct varlena *value)
{
	struct varlena *plain = NULL;
	Size length = toast_raw_datum_size(PointerGetDatum(value)) - VARHDRSZ;
	bool found = false;
	int i;

	for (i = 0; i < condition->count && !found; i++)
	{
		if (condition->string[i].length != length)
			continue;
		if (plain == NULL)
			plain = PG_DETOAST_DATUM_PACKED(PointerGetDatum(value));
		found = memcmp(VARDATA_ANY(plain), condition->string[i].bytes, length) == 0;
	}
	if (plain && plain != value)
		pfree(plain);
	return found;
}

static pg_attribute_always_inline bool
is_string(const ScanCondition *condition, KeyKind kind, HeapTupleHeader tuple)
{
	const struct varlena *value = ColumnGetString(&condition->location, tuple);

	return value && is_one_of(condition, value) != condition->test.negated;
}

static pg_attribute_always_inline bool
is_null(const ScanCondition *condition, KeyKind kind, HeapTupleHeader tuple)
{
	return ColumnIsNull(&condition->location, tuple) != condition->test.negated;
}

static pg_attribute_always_inline bool
is_true_step(const ScanCondition *condition, KeyKind kind, HeapTupleHeader tuple)
{
	GroupValue value = { 0 };

	GroupExpressionRead(condition->steps, tuple, &value);
	return !value.null && value.bits;
}

/*
 * Keep the tuples that pass.  "test" and, for frequent kinds, "kind" are constants in each call, so
 * the compiler makes a loop for each call.
 */
static pg_attribute_always_inline void
keep_if(TupleTest test, const ScanCondition *condition, KeyKind kind, PageTuples *tuples)
{
	int count = 0;
	int i;

	for (i = 0; i < tuples->count; i++)
	{
		HeapTupleHeader tuple = tuples->tuple[i];

		FetchAhead(tuples, i);
		tuples->tuple[count] = tuple;
		count += test(condition, kind, tuple);
	}
	tuples->count = count;
}

/* Keep the tuples that pass, with a loop for each frequent kind.  "test" is a constant. */
static pg_attribute_always_inline void
keep_numbers(TupleTest test, const ScanCondition *condition, PageTuples *tuples)
{
	switch (condition->kind)
	{
		case KEY_UINT1:
			keep_if(test, condition, KEY_UINT1, tuples);
			break;
		case KEY_INT2:
			keep_if(test, condition, KEY_INT2, tuples);
			break;
		case KEY_INT4:
			keep_if(test, condition, KEY_INT4, tuples);
			break;
		case KEY_FLOAT4:
			keep_if(test, condition, KEY_FLOAT4, tuples);
			break;
		case KEY_FLOAT8:
			keep_if(test, condition, KEY_FLOAT8, tuples);
			break;
		case KEY_INT8:
			keep_if(test, condition, KEY_INT8, tuples);
			break;
		default:
			keep_if(test, condition, condition->kind, tuples);
	}
}

/*
 * Keep the tuples for which the executor finds the clause true.  The executor reads a tuple's
 * data and its table's OID, never its length.
 */
static void
keep_if_true(const ScanConditions *conditions, const ScanCondition *condition, PageTuples *tuples)
{
	ExprContext *context = conditions->context;
	int count = 0;
	int i;

	context->ecxt_scantuple = conditions->slot;
	for (i = 0; i < tuples->count; i++)
	{
		HeapTupleData tuple = { .t_tableOid = conditions->table, .t_data = tuples->tuple[i] };

		CHECK_FOR_INTERRUPTS();
		FetchAhead(tuples, i);
		ItemPointerSetInvalid(&tuple.t_self);
		ExecStoreHeapTuple(&tuple, conditions->slot, false);
		tuples->tuple[count] = tuples->tuple[i];
		count += ExecQualAndReset(condition->state, context);
	}
	tuples->count = count;
}

/* Keep the tuples that pass one condition. */
static void
keep(const ScanConditions *conditions, const ScanCondition *condition, PageTuples *tuples)
{
	switch (condition->test.kind)
	{
		case QB_TEST_RANGE:
			keep_numbers(is_in_range, condition, tuples);
			break;
		case QB_TEST_LIST:
			keep_numbers(is_in_list, condition, tuples);
			break;
		case TEST_STRING:
			keep_if(is_string, condition, KEY_BYTES, tuples);
			break;
		case QB_TEST_NULL:
			keep_if(is_null, condition, KEY_HASHED, tuples);
			break;
		case TEST_STEPS:
			keep_if(is_true_step, condition, KEY_UINT1, tuples);
			break;
		case TEST_EXPRESSION:
			keep_if_true(conditions, condition, tuples);
			break;
	}
	tuples->stride = 0; /* reading the tuples has prefetched the whole next page */
}

/* Keep only the tuples that pass all conditions. */
static void
select_tuples(ScanConditions *conditions, PageTuples *tuples)
{
	int i;

	for (i = 0; i < conditions->count && tuples->count > 0; i++)
	{
		ScanCondition *condition = &conditions->condition[i];

		if (!condition->ready)
			ScanConditionEvaluate(conditions, condition);
		if (condition->none)
			tuples->count = 0;
		else if (!condition->all)
			keep(conditions, condition, tuples);
	}
}

static bool
collect_params(Node *node, void *params)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXEC)
		*(Bitmapset **) params = bms_add_member(*(Bitmapset **) params, ((Param *) node)->paramid);
	return expression_tree_walker(node, collect_params, params);
}

/*
 * Record the parameters in these expressions.  If a parameter changes, a rescan reads the table
 * again.
 */
void
WantedRowsAddParams(WantedRows *rows, List *exprs)
{
	(void) collect_params((Node *) exprs, &rows->params);
}

/* Add an AND of conditions; returns its index in rows->of. */
static int
add_conditions(WantedRows *rows, List *clauses)
{
	WantedRowsAddParams(rows, clauses);
	ScanConditionsInit(&rows->of[rows->count], clauses, rows->estate, rows->relation);
	return rows->count++;
}

/* Set the conditions of WHERE.  "most_filters": upper limit of the FILTERs to be added. */
void
WantedRowsInit(WantedRows *rows, EState *estate, Relation relation, List *clauses, int most_filters)
{
	memset(rows, 0, sizeof(*rows));
	rows->estate = estate;
	rows->relation = relation;
	rows->of = palloc0((1 + most_filters) * sizeof(ScanConditions));
	(void) add_conditions(rows, clauses);
}

/* Add a FILTER, or find an equal one.  Returns its index in rows->of; 0: all rows pass. */
int
WantedRowsAddFilter(WantedRows *rows, Expr *filter)
{
	List *clauses = make_ands_implicit(filter);
	int i;

	if (clauses == NIL)
		return 0;
	for (i = 1; i < rows->count; i++)
		if (equal(rows->of[i].filter, filter))
			return i;
	rows->of[i].filter = filter;
	rows->of[i].tuples = palloc(sizeof(PageTuples));
	return add_conditions(rows, clauses);
}

/* The number of conditions that are tested on the page or by steps; -1: there are no conditions. */
int
WantedRowsOnPage(const WantedRows *rows)
{
	int count = rows->of[0].count == 0 && rows->count == 1 ? -1 : 0;
	int i;
	int j;

	for (i = 0; i < rows->count; i++)
		for (j = 0; j < rows->of[i].count; j++)
			count += rows->of[i].condition[j].test.kind != TEST_EXPRESSION;
	return count;
}

/* Prepare a run, since parameters may have changed. */
void
WantedRowsStart(WantedRows *rows)
{
	int i;
	int j;

	for (i = 0; i < rows->count; i++)
	{
		ScanConditions *conditions = &rows->of[i];

		if (conditions->operands)
			MemoryContextReset(conditions->operands);
		for (j = 0; j < conditions->count; j++)
		{
			conditions->condition[j].ready = conditions->condition[j].operand == NULL;
			if (conditions->condition[j].steps)
				GroupExpressionStart(conditions->condition[j].steps);
		}
	}
}

/* Keep the tuples of a page that pass WHERE, and find the tuples that pass each FILTER. */
void
WantedRowsSelect(WantedRows *rows, PageTuples *tuples)
{
	int i;

	select_tuples(&rows->of[0], tuples);
	for (i = 1; i < rows->count; i++)
	{
		PageTuplesCopy(rows->of[i].tuples, tuples);
		tuples->stride = 0;
		select_tuples(&rows->of[i], rows->of[i].tuples);
	}
}

/* End a run: clear the slots, and free the caches of conditions on steps. */
void
WantedRowsEnd(WantedRows *rows)
{
	int i;
	int j;

	for (i = 0; i < rows->count; i++)
	{
		if (rows->of[i].context)
		{
			ExecClearTuple(rows->of[i].slot);
			ResetExprContext(rows->of[i].context);
		}
		for (j = 0; j < rows->of[i].count; j++)
			if (rows->of[i].condition[j].steps)
				GroupExpressionEnd(rows->of[i].condition[j].steps);
	}
}
