/*
 * columns.c
 *		Values of columns, and of expressions of columns, in the tuples of a page.
 *
 * PostgreSQL's executor evaluates the expressions, such as coalesce(user_id, 0), lower(url)
 * and CASE.  So permissions, domains and errors are the same as in an ordinary plan.
 * Expressions are compiled without a parent node.  With a parent node, they would be compiled for
 * the node's own slot, which differs from the slot that ColumnExpressionRead() fills.
 *
 * The slot has only the columns that the expression needs.  A column behind columns of
 * variable width must be found by a walk through the tuple.  If an expression needs several
 * such columns, the slot has the whole tuple, and the executor extracts all columns in one
 * walk.
 *
 * write_digits() converts an integer that is cast to text, with the same result as the output
 * function of the type.  The executor would call two functions and allocate two strings for
 * each row.
 *
 * src/scan/columns.c
 */
#include "scan/columns.h"

#include "access/transam.h"
#include "catalog/pg_type_d.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/typcache.h"

struct ColumnExpression
{
	struct varlena *digits; /* last text, if an integer column is cast to text; else NULL */
	KeyKind integer;        /* kind of the integer column, if "digits" is set */
	ExprState *state;
	ExprContext *context;
	TupleTableSlot *slot;
	bool whole;          /* the slot has the whole tuple, not single columns */
	HeapTupleData tuple; /* the tuple in the slot */
	int columns;
	ColumnLocation column[FLEXIBLE_ARRAY_MEMBER];
};

/*
 * The column if the expression is only a column of the table, perhaps below RelabelType nodes; else
 * NULL.
 */
Var *
ScanColumnOf(Expr *expr)
{
	while (IsA(expr, RelabelType))
		expr = ((RelabelType *) expr)->arg;
	if (!IsA(expr, Var) || ((Var *) expr)->varattno <= 0 || ((Var *) expr)->varlevelsup != 0)
		return NULL;
	return (Var *) expr;
}

/*
 * Offset of an attribute in tuples without NULLs; -1: it varies.  For a varlena, this is the offset
 * at which its padding begins, because only the tuple's bytes show the length of the padding.
 */
static int
fixed_offset(TupleDesc descriptor, AttrNumber attribute)
{
	int offset = 0;
	int i;

	for (i = 0; i < attribute; i++)
	{
		Form_pg_attribute form = TupleDescAttr(descriptor, i);

		if (i == attribute - 1 && form->attlen == -1)
			return offset;
		offset = att_align_nominal(offset, form->attalign);
		if (i == attribute - 1)
			return offset;
		if (form->attlen < 0)
			return -1;
		offset += form->attlen;
	}
	return -1;
}

/* Set the position of a column. */
void
ColumnLocationInit(ColumnLocation *location, AttrNumber attribute, TupleDesc descriptor)
{
	Form_pg_attribute form = TupleDescAttr(descriptor, attribute - 1);

	*location = (ColumnLocation){ .attribute = attribute,
								  .length = form->attlen,
								  .by_value = form->attbyval,
								  .offset = fixed_offset(descriptor, attribute),
								  .align = (uint8) att_align_nominal(1, form->attalign),
								  .descriptor = descriptor };
}

/* Set the position of a column, or prepare an expression. */
void
ColumnLocationOf(ColumnLocation *location, Expr *expr, EState *estate, Relation relation)
{
	const Var *column = ScanColumnOf(expr);

	if (column)
	{
		ColumnLocationInit(location, column->varattno, RelationGetDescr(relation));
		return;
	}
	*location = (ColumnLocation){ .attribute = COLUMN_NOWHERE, .offset = -1 };
	location->expression = ColumnExpressionCreate(expr, estate, relation);
}

/*
 * Evaluate an expression, or read a column by heap_getattr(), which reads only t_data of the
 * tuple.  False: NULL.  The value of an expression lasts until its next evaluation.
 */
pg_noinline bool
ColumnGetAny(const ColumnLocation *location, HeapTupleHeader header, Datum *value)
{
	HeapTupleData tuple;
	bool null;

	if (location->expression)
		return ColumnExpressionRead(location->expression, header, value);
	tuple = (HeapTupleData){ .t_data = header };
	*value = heap_getattr(&tuple, location->attribute, location->descriptor, &null);
	CHECK_FOR_INTERRUPTS();
	return !null;
}

/* ---- expressions ---- */

/*
 * The columns that the expression needs, without duplicates.  The slot always has tableoid, so
 * tableoid is not among them.
 */
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
 * The number of columns that a walk through a tuple passes to find all columns of the
 * expression; 0: all of them have fixed offsets.
 */
int
ColumnWalk(Expr *expr, TupleDesc descriptor)
{
	List *vars = pull_var_clause((Node *) expr, 0);
	ListCell *cell;
	int walk = 0;

	foreach (cell, vars)
	{
		AttrNumber attribute = lfirst_node(Var, cell)->varattno;

		if (attribute == 0)
			return descriptor->natts;
		if (attribute > walk && fixed_offset(descriptor, attribute) < 0)
			walk = attribute;
	}
	return walk;
}

/*
 * True if the slot must have the whole tuple: for a whole-row reference, or because finding
 * the columns one by one takes several walks.
 */
static bool
needs_tuple(const ColumnExpression *expression, Expr *expr)
{
	List *vars = pull_var_clause((Node *) expr, 0);
	ListCell *cell;
	int walks = 0;
	int i;

	foreach (cell, vars)
		if (lfirst_node(Var, cell)->varattno == 0)
			return true;
	for (i = 0; i < expression->columns; i++)
		walks += expression->column[i].offset < 0;
	return walks > 1;
}

/* Make a slot for tuples, or for values that are set one by one. */
static TupleTableSlot *
create_slot(bool whole, EState *estate, Relation relation)
{
	TupleTableSlot *slot = ExecInitExtraTupleSlot(estate, RelationGetDescr(relation),
												  whole ? &TTSOpsHeapTuple : &TTSOpsVirtual);

	if (whole)
		return slot;
	memset(slot->tts_isnull, true, slot->tts_tupleDescriptor->natts * sizeof(bool));
	slot->tts_tableOid = RelationGetRelid(relation);
	return ExecStoreVirtualTuple(slot);
}

/*
 * Prepare write_digits() if the expression casts an integer column directly to text.  If the
 * column is first cast to another type, such as oid, the digits may differ, so the executor
 * evaluates the expression.
 */
static void
init_digits(ColumnExpression *expression, const Expr *expr)
{
	const CoerceViaIO *cast = (const CoerceViaIO *) expr;
	const Var *column = IsA(expr, CoerceViaIO) ? (const Var *) cast->arg : NULL;

	if (column == NULL || !IsA(column, Var) || column->varattno <= 0 ||
		(cast->resulttype != TEXTOID && cast->resulttype != VARCHAROID))
		return;
	switch (column->vartype)
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
			expression->integer = KeyNumberKind(column->vartype);
			expression->digits = palloc(VARHDRSZ + MAXINT8LEN + 1);
	}
}

/* Prepare an expression.  Raises an error unless the user may call its functions. */
ColumnExpression *
ColumnExpressionCreate(Expr *expr, EState *estate, Relation relation)
{
	List *columns = needed_columns(expr);
	ColumnExpression *expression = palloc0(offsetof(ColumnExpression, column) +
										   (Size) list_length(columns) * sizeof(ColumnLocation));
	ListCell *cell;

	foreach (cell, columns)
		ColumnLocationInit(&expression->column[expression->columns++],
						   lfirst_node(Var, cell)->varattno, RelationGetDescr(relation));
	expression->tuple.t_tableOid = RelationGetRelid(relation);
	ItemPointerSetInvalid(&expression->tuple.t_self);
	expression->whole = needs_tuple(expression, expr);
	expression->slot = create_slot(expression->whole, estate, relation);
	expression->state = ExecInitExpr(expr, NULL);
	expression->context = CreateExprContext(estate);
	expression->context->ecxt_scantuple = expression->slot;
	init_digits(expression, expr);
	return expression;
}

/*
 * The only column that the expression needs; NULL: it needs no column, several, or the whole
 * row.
 */
const ColumnLocation *
ColumnExpressionColumn(const ColumnExpression *expression)
{
	return expression->columns == 1 && !expression->whole ? &expression->column[0] : NULL;
}

/*
 * The context in which the expression is evaluated.  Its per-tuple memory has the value until
 * the next evaluation.
 */
ExprContext *
ColumnExpressionContext(const ColumnExpression *expression)
{
	return expression->context;
}

/* Evaluate the expression for the content of the slot; false: NULL. */
static bool
evaluate(ColumnExpression *expression, Datum *value)
{
	bool null;

	CHECK_FOR_INTERRUPTS();
	ResetExprContext(expression->context);
	*value = ExecEvalExprSwitchContext(expression->state, expression->context, &null);
	return !null;
}

/* Write the integer of a tuple as text; false: NULL. */
static bool
write_digits(ColumnExpression *expression, HeapTupleHeader tuple, Datum *value)
{
	int64 number;
	int length;

	if (!ColumnGetNumber(&expression->column[0], expression->integer, tuple, &number))
		return false;
	length = pg_lltoa(number, VARDATA(expression->digits));
	SET_VARSIZE(expression->digits, VARHDRSZ + length);
	*value = PointerGetDatum(expression->digits);
	return true;
}

/* Evaluate the expression for a tuple; false: NULL. */
bool
ColumnExpressionRead(ColumnExpression *expression, HeapTupleHeader tuple, Datum *value)
{
	TupleTableSlot *slot = expression->slot;
	int i;

	if (expression->digits)
		return write_digits(expression, tuple, value);
	if (expression->whole)
	{
		expression->tuple.t_data = tuple;
		ExecStoreHeapTuple(&expression->tuple, slot, false);
		return evaluate(expression, value);
	}
	for (i = 0; i < expression->columns; i++)
	{
		int at = expression->column[i].attribute - 1;

		slot->tts_isnull[at] = !ColumnGet(&expression->column[i], tuple, &slot->tts_values[at]);
	}
	return evaluate(expression, value);
}

/* ---- values that rows can be grouped by ---- */

/*
 * True if the type is built in, is no pseudo-type, has variable length, and has functions for
 * equality and for hashing.
 */
static bool
has_functions(Oid type)
{
	TypeCacheEntry *entry;

	if (type >= FirstGenbkiObjectId || get_typlen(type) != -1 ||
		get_typtype(type) == TYPTYPE_PSEUDO)
		return false;
	entry = lookup_type_cache(type, TYPECACHE_EQ_OPR | TYPECACHE_HASH_EXTENDED_PROC);
	return OidIsValid(entry->eq_opr) && OidIsValid(entry->hash_extended_proc);
}

/* Find the kind of a type's values; false: rows cannot be grouped by this type. */
static bool
kind_of_type(Oid type, KeyKind *kind)
{
	*kind = type_is_enum(type) ? KEY_UINT4 : KeyNumberKind(type);
	if (*kind <= KEY_FLOAT8)
		return true;
	*kind = KEY_BYTES;
	if (type == TEXTOID || type == VARCHAROID || type == BYTEAOID)
		return true;
	*kind = KEY_HASHED;
	return has_functions(type);
}

/* Find the kind of an expression's values; false: rows cannot be grouped by the expression. */
bool
ScanGroupingKind(const Node *expr, KeyKind *kind)
{
	Oid collation = exprCollation(expr);

	if (!kind_of_type(getBaseType(exprType(expr)), kind))
		return false;
	if (*kind == KEY_BYTES && OidIsValid(collation) && !get_collation_isdeterministic(collation))
		*kind = KEY_HASHED;
	return true;
}

/*
 * The column if the expression is only a column.  NULL: the expression is not a column, or rows are
 * grouped by another kind of values than pages store.
 */
const Var *
ScanGroupingColumn(Node *expr)
{
	const Var *column = ScanColumnOf((Expr *) expr);
	KeyKind kind;
	KeyKind kind_on_page;

	(void) ScanGroupingKind(expr, &kind);
	if (column == NULL || !kind_of_type(getBaseType(column->vartype), &kind_on_page))
		return NULL;
	return kind_on_page == kind ? column : NULL;
}
