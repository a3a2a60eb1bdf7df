/*
 * groups_expr.c
 *		Expressions that rows are grouped by: ts::date, k % 100, lower(name).
 *
 * The executor evaluates them, on a slot that has only the columns that the expression
 * needs.  Quotients and rests of a column by a constant are computed here, since the
 * executor takes longer than all else that is done with a row.  Expressions are compiled without a parent node, since the executor would read
 * its tuples instead of the slot.
 *
 * src/scan/groups_expr.c
 */
#include "scan/columns.h"
#include "scan/groups.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"

struct GroupExpression
{
	KeyKind kind; /* of the expression's values */
	ExprState *state;
	ExprContext *context;
	TupleTableSlot *slot;
	GroupCache *cache;  /* NULL: it is no function of one integer with short values */
	KeyKind input_kind; /* of that integer */
	int64 divisor;      /* the expression is that integer divided by this one; 0: it is not */
	bool rest;          /* it is the rest of that division */
	int columns;
	ColumnPlace column[FLEXIBLE_ARRAY_MEMBER];
};

/* A slot whose values are set one by one. */
static TupleTableSlot *
create_slot(EState *estate, Relation relation)
{
	TupleTableSlot *slot =
		ExecInitExtraTupleSlot(estate, RelationGetDescr(relation), &TTSOpsVirtual);

	memset(slot->tts_isnull, true, slot->tts_tupleDescriptor->natts * sizeof(bool));
	slot->tts_tableOid = RelationGetRelid(relation);
	return ExecStoreVirtualTuple(slot);
}

/* The columns that the expression needs, each once.  The slot itself knows tableoid. */
static List *
needed_columns(Expr *expr)
{
	List *vars = pull_var_clause((Node *) expr, 0);
	List *columns = NIL;
	ListCell *cell;

	foreach (cell, vars)
		if (lfirst_node(Var, cell)->varattno > 0)
			columns = list_append_unique(columns, lfirst(cell));
	return columns;
}

/*
 * Is the expression a quotient or a rest of a column and a constant of the same width?
 * Neither can raise an error unless the divisor is 0 or -1.
 */
static void
match_division(GroupExpression *expression, const Expr *expr)
{
	const OpExpr *operation = (const OpExpr *) expr;
	Oid function = IsA(expr, OpExpr) ? operation->opfuncid : InvalidOid;
	const Const *divisor;
	KeyKind kind;
	int64 value;

	expression->rest = function == F_INT2MOD || function == F_INT4MOD || function == F_INT8MOD;
	if (!expression->rest && function != F_INT2DIV && function != F_INT4DIV &&
		function != F_INT8DIV)
		return;
	divisor = lsecond(operation->args);
	if (!IsA(linitial(operation->args), Var) || !IsA(divisor, Const) || divisor->constisnull ||
		!ScanGroupingKind((const Node *) divisor, &kind))
		return;
	value = (int64) KeyInteger(&(KeyType){ .kind = kind }, divisor->constvalue);
	expression->divisor = value == -1 ? 0 : value;
}

/* Set up the cache if the expression has one column, of integers, and no strings result. */
static void
init_cache(GroupExpression *expression, const Expr *expr, const List *columns)
{
	if (list_length(columns) != 1 || expression->kind == KEY_BYTES ||
		!ScanGroupingColumn(linitial(columns)) ||
		!ScanGroupingKind(linitial(columns), &expression->input_kind) ||
		expression->input_kind == KEY_BYTES)
		return;
	match_division(expression, expr);
	if (expression->divisor == 0)
		expression->cache = GroupCacheCreate(expr, expression);
}

GroupExpression *
GroupExpressionCreate(Expr *expr, KeyKind kind, EState *estate, Relation relation)
{
	List *columns = needed_columns(expr);
	GroupExpression *expression = palloc0(offsetof(GroupExpression, column) +
										  (Size) list_length(columns) * sizeof(ColumnPlace));
	ListCell *cell;

	expression->kind = kind;
	expression->state = ExecInitExpr(expr, NULL);
	expression->context = CreateExprContext(estate);
	expression->slot = create_slot(estate, relation);
	expression->context->ecxt_scantuple = expression->slot;
	foreach (cell, columns)
		ColumnPlaceInit(&expression->column[expression->columns++],
						lfirst_node(Var, cell)->varattno, RelationGetDescr(relation));
	init_cache(expression, expr, columns);
	return expression;
}

/* Prepare a run. */
void
GroupExpressionStart(GroupExpression *expression)
{
	ResetExprContext(expression->context);
	if (expression->cache)
		GroupCacheStart(expression->cache);
}

/* Take a string, which lies in the tuple or in the expression's context. */
static void
take_string(GroupExpression *expression, Datum string, GroupValue *value)
{
	MemoryContext old = MemoryContextSwitchTo(expression->context->ecxt_per_tuple_memory);

	value->string = PG_DETOAST_DATUM_PACKED(string);
	MemoryContextSwitchTo(old);
	value->bits = GroupStringBits(value->string);
}

/* Evaluate the expression for what is in the slot. */
static void
evaluate(GroupExpression *expression, GroupValue *value)
{
	Datum result;

	CHECK_FOR_INTERRUPTS();
	ResetExprContext(expression->context);
	result = ExecEvalExprSwitchContext(expression->state, expression->context, &value->null);
	value->bits = 0;
	if (value->null)
		return;
	if (expression->kind == KEY_BYTES)
		take_string(expression, result, value);
	else
		value->bits = (int64) KeyInteger(&(KeyType){ .kind = expression->kind }, result);
}

/* Evaluate an expression of one long integer for any input, which no row has to have. */
void
GroupExpressionAt(GroupExpression *expression, int64 input, GroupValue *value)
{
	int at = expression->column[0].attribute - 1;

	expression->slot->tts_values[at] = Int64GetDatum(input);
	expression->slot->tts_isnull[at] = false;
	evaluate(expression, value);
}

/* Evaluate the expression for a tuple. */
static void
evaluate_tuple(GroupExpression *expression, Relation relation, HeapTupleHeader tuple, uint16 length,
			   GroupValue *value)
{
	TupleTableSlot *slot = expression->slot;
	int i;

	for (i = 0; i < expression->columns; i++)
	{
		int at = expression->column[i].attribute - 1;

		slot->tts_isnull[at] =
			!ColumnGetAny(&expression->column[i], relation, tuple, length, &slot->tts_values[at]);
	}
	evaluate(expression, value);
}

/* The value of the expression, found in the cache or computed here; false: evaluate it. */
static inline bool
find(GroupExpression *expression, int64 input, GroupValue *value)
{
	if (expression->divisor == 0)
		return GroupCacheFind(expression->cache, input, value);
	value->bits = expression->rest ? input % expression->divisor : input / expression->divisor;
	value->null = false;
	return true;
}

/* The value of the expression for a tuple.  A string is valid until the next one is read. */
void
GroupExpressionRead(GroupExpression *expression, Relation relation, HeapTupleHeader tuple,
					uint16 length, GroupValue *value)
{
	GroupCache *cache = expression->cache;
	int64 input;

	if ((expression->divisor == 0 && (cache == NULL || !GroupCachePays(cache))) ||
		!ColumnGetInteger(&expression->column[0], expression->input_kind, relation, tuple, length,
						  &input))
	{
		evaluate_tuple(expression, relation, tuple, length, value);
		return;
	}
	if (find(expression, input, value))
		return;
	evaluate_tuple(expression, relation, tuple, length, value);
	GroupCacheKeep(cache, input, value);
}
