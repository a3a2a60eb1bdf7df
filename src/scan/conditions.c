/*
 * conditions.c
 *		What the clauses of a condition compare, and in which order they are tested.
 *
 * A test on the page compares a column with an expression without columns (a constant,
 * a parameter, now() - interval '1 day').  These tests exist:
 *
 *	< <= = <> >= >	of integers of any widths, of floats of any widths,
 *					of boolean, dates, times, timestamps with and without time zone,
 *					of oid, "char", tid and macaddr
 *	= <>			of text, if the collation calls only equal bytes equal, and of bytea
 *	IN, NOT IN		with each type named here: = ANY (array), <> ALL (array);
 *					strings only in a constant array of at most STRINGS_MAX strings
 *	IS [NOT] NULL, and a boolean column itself, NOT, IS TRUE, IS FALSE
 *
 * A condition on a time that is cut into steps, such as ts::date = '2026-04-10', has one value
 * for each step.  The values are cached for spans of times (groups/expr.c).
 *
 * Operators are recognized by OID, and must be built in.  An operator's strategy in the btree
 * family of its type tells which comparison it is.
 *
 * Conditions are tested in the planner's order (security level, then cost), except that tests on
 * the page come first if they have no operand or a constant operand.  These tests are leakproof
 * and raise no error, so their order affects only the time.  A condition on steps of times keeps
 * its position, because a function that cuts times into steps may raise an error.
 *
 * src/scan/conditions.c
 */
#include "scan/groups/groups.h"
#include "scan/scan.h"

#include "access/transam.h"
#include "catalog/pg_type_d.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/typcache.h"

/*
 * PAGE_TEST_COST and STEPS_COST: a test on the page, and a test by steps, in
 * cpu_operator_cost.  EXPRESSION_COST: passing a tuple to the executor, in cpu_tuple_cost.
 */
#define PAGE_TEST_COST  0.3
#define STEPS_COST      0.5
#define EXPRESSION_COST 0.5

/*
 * Maximum number of strings that are compared one by one.  The executor has hash tables for longer
 * lists.
 */
#define STRINGS_MAX 8

/*
 * How values of a type are compared on the page; KEY_HASHED: the page test cannot compare these
 * values.
 */
static KeyKind
kind_of(Oid type)
{
	if (type == TEXTOID || type == BYTEAOID)
		return KEY_BYTES;
	return KeyTypeHasNumberOrder(type) ? KeyNumberKind(type) : KEY_HASHED;
}

static bool
is_integer(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID;
}

static bool
is_float(Oid type)
{
	return type == FLOAT4OID || type == FLOAT8OID;
}

/* True if a test on the page can compare values of the two types. */
static bool
comparable(Oid left, Oid right)
{
	return kind_of(left) != KEY_HASHED &&
		   (left == right || (is_integer(left) && is_integer(right)) ||
			(is_float(left) && is_float(right)));
}

/* True if PostgreSQL's source assigns this OID.  Such an OID never changes its meaning. */
static bool
is_built_in(Oid operator)
{
	return OidIsValid(operator) && operator<FirstGenbkiObjectId;
}

/*
 * The btree strategy of a built-in operator; 0: the operator cannot be tested on the page.  For <>,
 * the result is the strategy of =, and *negated is true.
 */
static int
strategy_of(Oid operator, Oid * left, Oid *right, bool *negated)
{
	Oid family;
	int strategy;

	*negated = false;
	if (!is_built_in(operator))
		return 0;
	op_input_types(operator, left, right);
	if (!comparable(*left, *right))
		return 0;
	family = lookup_type_cache(*left, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
	strategy = get_op_opfamily_strategy(operator, family);
	if (strategy == 0 &&
		get_op_opfamily_strategy(get_negator(operator), family) == BTEqualStrategyNumber)
	{
		*negated = true;
		strategy = BTEqualStrategyNumber;
	}
	return kind_of(*left) != KEY_BYTES || strategy == BTEqualStrategyNumber ? strategy : 0;
}

/*
 * The column if the expression is only a column, and the column's type is as long as "type"; else
 * NULL.
 */
static Var *
as_column(Expr *expr, Oid type)
{
	Var *var = ScanColumnOf(expr);

	return var && get_typlen(var->vartype) == get_typlen(type) ? var : NULL;
}

/* True if the operator compares a column with an operand, and can be tested on the page. */
static bool
match_operands(ScanCondition *condition, Expr *column, Oid operator, Expr * operand, Oid collation)
{
	Oid left;
	Oid right;
	bool negated;

	condition->strategy = strategy_of(operator, & left, &right, &negated);
	if (condition->strategy == 0 || contain_var_clause((Node *) operand))
		return false;
	/* under this collation, strings may be equal although their bytes differ */
	if (left == TEXTOID && !(OidIsValid(collation) && get_collation_isdeterministic(collation)))
		return false;
	condition->kind = kind_of(left);
	condition->operand_kind = kind_of(right);
	condition->column = as_column(column, left);
	condition->operand = operand;
	condition->test.kind = condition->kind == KEY_BYTES ? TEST_STRING : QB_TEST_RANGE;
	condition->test.negated = negated;
	return condition->column != NULL;
}

static bool
match_operator(ScanCondition *condition, OpExpr *expr)
{
	Expr *left = linitial(expr->args);
	Expr *right;

	if (!is_built_in(expr->opno) || list_length(expr->args) != 2)
		return false;
	right = lsecond(expr->args);
	if (match_operands(condition, left, expr->opno, right, expr->inputcollid))
		return true;
	return is_built_in(get_commutator(expr->opno)) &&
		   match_operands(condition, right, get_commutator(expr->opno), left, expr->inputcollid);
}

/* True if the array is a constant: NULL, or at most STRINGS_MAX strings. */
static bool
is_short(Expr *operand)
{
	Const *constant = (Const *) operand;
	ArrayType *array;

	if (!IsA(constant, Const))
		return false;
	if (constant->constisnull)
		return true;
	array = DatumGetArrayTypeP(constant->constvalue);
	return ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)) <= STRINGS_MAX;
}

/* Recognize IN, which is = ANY, and NOT IN, which is <> ALL. */
static bool
match_list(ScanCondition *condition, ScalarArrayOpExpr *expr)
{
	if (!match_operands(condition, linitial(expr->args), expr->opno, lsecond(expr->args),
						expr->inputcollid) ||
		condition->strategy != BTEqualStrategyNumber || condition->test.negated == expr->useOr)
		return false;
	condition->operand_is_array = true;
	if (condition->kind == KEY_BYTES)
		return is_short(condition->operand);
	condition->test.kind = QB_TEST_LIST;
	return true;
}

/* Recognize a boolean column whose value must be "wanted". */
static bool
match_boolean(ScanCondition *condition, Expr *expr, bool wanted)
{
	if (exprType((Node *) expr) != BOOLOID)
		return false;
	condition->column = as_column(expr, BOOLOID);
	condition->kind = KEY_UINT1;
	condition->test = (qb_test){ .kind = QB_TEST_RANGE, .low = wanted, .high = wanted };
	return condition->column != NULL;
}

static bool
match_null(ScanCondition *condition, NullTest *expr)
{
	condition->column = ScanColumnOf(expr->arg);
	condition->test =
		(qb_test){ .kind = QB_TEST_NULL, .negated = expr->nulltesttype == IS_NOT_NULL };
	return condition->column != NULL && !expr->argisrow;
}

/* True if the clause can be tested on the page.  Then "condition" describes the test. */
static bool
match(ScanCondition *condition, Expr *clause)
{
	switch (nodeTag(clause))
	{
		case T_OpExpr:
			return match_operator(condition, (OpExpr *) clause);
		case T_ScalarArrayOpExpr:
			return match_list(condition, (ScalarArrayOpExpr *) clause);
		case T_NullTest:
			return match_null(condition, (NullTest *) clause);
		case T_BooleanTest:
			return (((BooleanTest *) clause)->booltesttype == IS_TRUE ||
					((BooleanTest *) clause)->booltesttype == IS_FALSE) &&
				   match_boolean(condition, ((BooleanTest *) clause)->arg,
								 ((BooleanTest *) clause)->booltesttype == IS_TRUE);
		case T_BoolExpr:
			return ((BoolExpr *) clause)->boolop == NOT_EXPR &&
				   match_boolean(condition, linitial(((BoolExpr *) clause)->args), false);
		default:
			return match_boolean(condition, clause, true);
	}
}

/*
 * True if the clause may be tested before the clauses that precede it, because it raises no error.
 */
static bool
comes_first(const ScanCondition *condition)
{
	return condition->test.kind < TEST_STEPS &&
		   (condition->operand == NULL || IsA(condition->operand, Const));
}

/*
 * Describe what a clause compares.  The clause has no volatile functions and no subqueries
 * that run for each row.
 */
void
ScanConditionInit(ScanCondition *condition, Expr *clause)
{
	memset(condition, 0, sizeof(*condition));
	if (match(condition, clause))
		return;
	*condition = (ScanCondition){ .test.kind = TimeStepsCall(clause) ? TEST_STEPS : TEST_EXPRESSION,
								  .clause = clause };
}

static void
prepare(ScanCondition *condition, EState *estate, Relation relation)
{
	Expr *clause = condition->clause;

	if (condition->test.kind == TEST_STEPS)
		condition->steps = GroupExpressionCreate(clause, KEY_UINT1,
												 ColumnExpressionCreate(clause, estate, relation));
	else if (condition->test.kind == TEST_EXPRESSION)
		condition->state = ExecInitQual(list_make1(clause), NULL);
	else
		ColumnLocationInit(&condition->location, condition->column->varattno,
						   RelationGetDescr(relation));
	if (condition->operand && !IsA(condition->operand, Const))
		condition->state = ExecInitExpr(condition->operand, NULL);
}

/*
 * Create the context and the slot in which the executor evaluates operands and expressions.
 * The context and the slot are created only if needed: most conditions have only constants, and a
 * query may have many partitions.
 */
static void
prepare_executor(ScanConditions *conditions, EState *estate, Relation relation)
{
	conditions->context = CreateExprContext(estate);
	conditions->slot = ExecInitExtraTupleSlot(estate, RelationGetDescr(relation), &TTSOpsHeapTuple);
}

/*
 * Set up conditions from an AND of clauses on the table's columns.  Expressions are compiled
 * without a parent node.  With a parent node, they would be compiled for the node's own slot, which
 * differs from conditions->slot.
 */
void
ScanConditionsInit(ScanConditions *conditions, List *clauses, EState *estate, Relation relation)
{
	ScanCondition *given = palloc(list_length(clauses) * sizeof(ScanCondition));
	int first;
	int i;

	for (i = 0; i < list_length(clauses); i++)
		ScanConditionInit(&given[i], list_nth(clauses, i));
	conditions->condition = palloc(list_length(clauses) * sizeof(ScanCondition));
	for (first = 1; first >= 0; first--)
		for (i = 0; i < list_length(clauses); i++)
			if (comes_first(&given[i]) == (first == 1))
				conditions->condition[conditions->count++] = given[i];
	conditions->table = RelationGetRelid(relation);
	if (conditions->count > 0)
		conditions->operands = AllocSetContextCreate(estate->es_query_cxt, "QSketchScan operands",
													 ALLOCSET_SMALL_SIZES);
	for (i = 0; i < conditions->count; i++)
	{
		prepare(&conditions->condition[i], estate, relation);
		if (conditions->condition[i].state && conditions->context == NULL)
			prepare_executor(conditions, estate, relation);
	}
}

/*
 * The cost of testing all conditions on a row.  A test on the page that the planner considers
 * free is free in the scan, too.  A test against a long list costs no more than another test,
 * because the list is searched, not read to its end.
 */
Cost
ScanConditionsCost(PlannerInfo *root, List *clauses, Cost *startup)
{
	Cost on_page = 0;
	Cost by_executor = 0;
	ListCell *cell;

	foreach (cell, clauses)
	{
		ScanCondition condition;
		QualCost cost;

		ScanConditionInit(&condition, lfirst(cell));
		cost_qual_eval_node(&cost, lfirst(cell), root);
		*startup += cost.startup;
		if (condition.test.kind == TEST_STEPS)
			on_page += STEPS_COST * cpu_operator_cost +
					   GroupExpressionEvaluated(root, TimeStepsCall(condition.clause)) *
						   (EXPRESSION_COST * cpu_tuple_cost + cost.per_tuple);
		else if (condition.test.kind != TEST_EXPRESSION)
			on_page += PAGE_TEST_COST * Min(cost.per_tuple, cpu_operator_cost);
		else if (by_executor == 0)
			by_executor = EXPRESSION_COST * cpu_tuple_cost + cost.per_tuple;
		else
			by_executor += cost.per_tuple;
	}
	return on_page + by_executor;
}
