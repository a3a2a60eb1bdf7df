/*
 * estimate.c
 *		Estimates for the planner: groups, order of rows, and memory of states.
 *
 * For GROUP BY ts::date or k % 100, the planner expects one group for each value of the column,
 * often thousands of times more groups than exist.  So this file also estimates the number of
 * values of such an expression from its constant and the column's histogram.  This file also
 * recognizes expressions of dashboards: floor(extract(epoch FROM ts) / 300) * 300 for steps of five
 * minutes, and date_trunc('week', ts + '1 day') - '1 day' for weeks that begin on Sunday.
 *
 * For an expression without statistics, the planner's estimate of the number of values is only an
 * upper limit.  The size of a group must not be estimated from this limit, because the limit gives
 * the smallest groups.
 *
 * Rows that are stored in the order of a timestamp are also in the order of the timestamp's days.
 *
 * src/pgbase/estimate.c
 */
#include "pgbase/estimate.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type_d.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "nodes/supportnodes.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/tlist.h"
#include "parser/scansup.h"
#include "pgbase/keytype.h"
#include "port/pg_bitutils.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/datetime.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/selfuncs.h"
#include "utils/timestamp.h"

/* Return the function that the expression calls, with its arguments.  InvalidOid: no call. */
static Oid
function_of(const Node *expr, const List **args)
{
	*args = NIL;
	if (IsA(expr, FuncExpr))
	{
		*args = ((const FuncExpr *) expr)->args;
		return ((const FuncExpr *) expr)->funcid;
	}
	if (IsA(expr, OpExpr))
	{
		*args = ((const OpExpr *) expr)->args;
		return get_opcode(((const OpExpr *) expr)->opno);
	}
	return InvalidOid;
}

/* Return the i-th argument if it is a constant that is not NULL, else NULL. */
static const Const *
constant(const List *args, int i)
{
	const Const *argument = list_nth(args, i);

	return IsA(argument, Const) && !argument->constisnull ? argument : NULL;
}

/*
 * Convert a value that is stored as a signed integer, such as an integer or a time, to a number.
 * False for any other type.
 */
static bool
number_of(Oid type, Datum value, double *number)
{
	KeyKind kind = KeyNumberKind(getBaseType(type));

	if (kind != KEY_INT2 && kind != KEY_INT4 && kind != KEY_INT8)
		return false;
	*number = (double) KeyNumber(kind, value);
	return true;
}

/* Return the value of an argument that is a constant integer, or 0 for any other argument. */
static double
constant_integer(const List *args, int i)
{
	const Const *argument = constant(args, i);
	double number;

	return argument && number_of(argument->consttype, argument->constvalue, &number) ? number : 0;
}

/* The length of a unit of date_trunc() in microseconds; 0: not known. */
static double
unit_length(const Const *unit)
{
	char *name;
	int value;

	if (unit == NULL)
		return 0;
	name = text_to_cstring(DatumGetTextPP(unit->constvalue));
	name = downcase_truncate_identifier(name, (int) strlen(name), false);
	if (DecodeUnits(0, name, &value) != UNITS)
		return 0;
	switch (value)
	{
		case DTK_SECOND:
			return USECS_PER_SEC;
		case DTK_MINUTE:
			return USECS_PER_MINUTE;
		case DTK_HOUR:
			return USECS_PER_HOUR;
		case DTK_DAY:
			return USECS_PER_DAY;
		case DTK_WEEK:
			return 7.0 * USECS_PER_DAY;
		case DTK_MONTH:
			return (double) DAYS_PER_MONTH * USECS_PER_DAY;
		case DTK_QUARTER:
			return 3.0 * DAYS_PER_MONTH * USECS_PER_DAY;
		case DTK_YEAR:
			return DAYS_PER_YEAR * USECS_PER_DAY;
		default:
			return 0;
	}
}

/* The length of a constant stride of date_bin() in microseconds; 0: not known. */
static double
stride_length(const Const *stride)
{
	const Interval *interval = stride ? DatumGetIntervalP(stride->constvalue) : NULL;

	return interval ? (double) interval->time + (double) interval->day * USECS_PER_DAY : 0;
}

/*
 * Return the constant divisor of extract(epoch FROM time) / seconds, in microseconds.  0: the
 * divisor is not constant, or the expression has another form.
 */
static double
seconds_length(const Node *quotient)
{
	const List *args;
	Oid function = function_of(quotient, &args);
	const Const *divisor;

	if (function != F_NUMERIC_DIV && function != F_FLOAT8DIV)
		return 0;
	divisor = constant(args, 1);
	quotient = linitial(args);
	function = function_of(quotient, &args);
	if (divisor == NULL ||
		(function != F_EXTRACT_TEXT_TIMESTAMP && function != F_EXTRACT_TEXT_TIMESTAMPTZ &&
		 function != F_DATE_PART_TEXT_TIMESTAMP && function != F_DATE_PART_TEXT_TIMESTAMPTZ) ||
		constant(args, 0) == NULL ||
		pg_strcasecmp(TextDatumGetCString(constant(args, 0)->constvalue), "epoch") != 0)
		return 0;
	return USECS_PER_SEC * fabs(divisor->consttype == FLOAT8OID
									? DatumGetFloat8(divisor->constvalue)
									: DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow,
																		 divisor->constvalue)));
}

/*
 * Return the length of a step, which is a range of column values that the function maps to one
 * result; 0: unknown.  *argument is the index of the argument with the column.
 */
static double
step_length(Oid function, const List *args, int *argument)
{
	*argument = 1;
	switch (function)
	{
		case F_DATE_TRUNC_TEXT_TIMESTAMP:
		case F_DATE_TRUNC_TEXT_TIMESTAMPTZ:
		case F_DATE_TRUNC_TEXT_TIMESTAMPTZ_TEXT:
			return unit_length(constant(args, 0));
		case F_DATE_BIN_INTERVAL_TIMESTAMP_TIMESTAMP:
		case F_DATE_BIN_INTERVAL_TIMESTAMPTZ_TIMESTAMPTZ:
			return stride_length(constant(args, 0));
	}
	*argument = 0;
	switch (function)
	{
		case F_DATE_TIMESTAMP:
		case F_DATE_TIMESTAMPTZ:
			return USECS_PER_DAY;
		case F_FLOOR_NUMERIC:
		case F_FLOOR_FLOAT8:
			return seconds_length(linitial(args));
		case F_INT2DIV:
		case F_INT4DIV:
		case F_INT8DIV:
		case F_INT84DIV:
		case F_INT82DIV:
		case F_INT42DIV:
			return fabs(constant_integer(args, 1));
		default:
			return 0;
	}
}

/*
 * Remove an added or subtracted constant interval, or a constant second factor, from the
 * expression.  The result has as many values as the expression.  A negative factor reverses the
 * order of the values.
 */
static Node *
unshifted(Node *expr)
{
	const List *args;

	switch (function_of(expr, &args))
	{
		case F_TIMESTAMP_PL_INTERVAL:
		case F_TIMESTAMP_MI_INTERVAL:
		case F_TIMESTAMPTZ_PL_INTERVAL:
		case F_TIMESTAMPTZ_MI_INTERVAL:
		case F_NUMERIC_MUL:
		case F_FLOAT8MUL:
			return constant(args, 1) ? linitial(args) : expr;
		default:
			return expr;
	}
}

/*
 * Remove operations that keep or reverse the order of times: conversions to or from a time zone,
 * shifts, conversion to seconds, multiplication and division.
 */
static Node *
unconverted(Node *time)
{
	for (;;)
	{
		const List *args;

		time = unshifted(time);
		switch (function_of(time, &args))
		{
			case F_TIMEZONE_TEXT_TIMESTAMPTZ:
			case F_TIMEZONE_TEXT_TIMESTAMP:
			case F_EXTRACT_TEXT_TIMESTAMP:
			case F_EXTRACT_TEXT_TIMESTAMPTZ:
			case F_DATE_PART_TEXT_TIMESTAMP:
			case F_DATE_PART_TEXT_TIMESTAMPTZ:
				time = lsecond(args);
				break;
			case F_TIMESTAMP_TIMESTAMPTZ:
			case F_TIMESTAMPTZ_TIMESTAMP:
			case F_NUMERIC_DIV:
			case F_FLOAT8DIV:
				time = linitial(args);
				break;
			default:
				return time;
		}
	}
}

/*
 * Return the difference between the last and the first bound of the column's histogram; 0:
 * unknown.
 */
static double
column_range(PlannerInfo *root, Node *column)
{
	VariableStatData data;
	AttStatsSlot slot;
	double first;
	double last;
	double range = 0;

	if (!IsA(column, Var))
		return 0;
	examine_variable(root, column, 0, &data);
	if (HeapTupleIsValid(data.statsTuple) && data.acl_ok &&
		get_attstatsslot(&slot, data.statsTuple, STATISTIC_KIND_HISTOGRAM, InvalidOid,
						 ATTSTATSSLOT_VALUES))
	{
		if (slot.nvalues > 1 && number_of(exprType(column), slot.values[0], &first) &&
			number_of(exprType(column), slot.values[slot.nvalues - 1], &last))
			range = last - first;
		free_attstatsslot(&slot);
	}
	ReleaseVariableStats(data);
	return range;
}

/* True if the function returns the remainder of a division by its second argument. */
static bool
is_rest(Oid function)
{
	return function == F_INT2MOD || function == F_INT4MOD || function == F_INT8MOD ||
		   function == F_MOD_INT2_INT2 || function == F_MOD_INT4_INT4 ||
		   function == F_MOD_INT8_INT8;
}

/* A double represents all integers up to this number exactly. */
#define EXACT_MASKS 0x1p53

/*
 * Return the maximum number of values of a bitwise AND with a positive constant below EXACT_MASKS;
 * 0 for any other expression.
 */
static double
masked_values(Oid function, const List *args)
{
	double mask;

	if (function != F_INT2AND && function != F_INT4AND && function != F_INT8AND)
		return 0;
	mask = Max(constant_integer(args, 0), constant_integer(args, 1));
	if (mask <= 0 || mask >= EXACT_MASKS)
		return 0;
	return exp2(pg_popcount64((uint64) mask)) + 1; /* 1 for NULL */
}

/*
 * Estimate an upper limit of the number of the expression's values; 0: unknown.  "typical" assumes
 * that all remainders of a division have one sign.
 */
static double
most_values(PlannerInfo *root, Node *expr, bool typical)
{
	const List *args;
	Oid function = function_of(unshifted(expr), &args);
	double length;
	double range;
	int argument;

	if (exprType(expr) == BOOLOID)
		return 3;
	if (is_rest(function))
		return (typical ? 1 : 2) * fabs(constant_integer(args, 1));
	if (masked_values(function, args) > 0)
		return masked_values(function, args);
	length = step_length(function, args, &argument);
	range = length > 0 ? column_range(root, unconverted(list_nth(args, argument))) : 0;
	return range > 0 ? range / length + 3
					 : 0; /* 3 for NULL and for incomplete steps at both ends */
}

/* True for a column, and for an expression of which the planner has statistics. */
static bool
has_statistics(PlannerInfo *root, Node *expr)
{
	VariableStatData data;
	bool found;

	if (IsA(expr, Var))
		return true;
	examine_variable(root, expr, 0, &data);
	found = HeapTupleIsValid(data.statsTuple);
	ReleaseVariableStats(data);
	return found;
}

/*
 * Estimate the maximum number of the expression's values in "rows" rows, or a typical number if
 * "typical" is true.  If neither statistics nor an upper limit are known, the typical number is the
 * geometric mean of 1 and the planner's estimate.
 */
static double
count_values(PlannerInfo *root, Node *expr, double rows, bool typical)
{
	double most = most_values(root, expr, typical);
	double values = estimate_num_groups(root, list_make1(expr), rows, NULL, NULL);

	if (most > 0)
		values = Min(values, most);
	else if (typical && !has_statistics(root, expr))
		values = sqrt(values);
	return Max(1, values);
}

static double
count_groups(PlannerInfo *root, List *exprs, double rows, bool typical)
{
	double groups = 1;
	ListCell *cell;

	foreach (cell, exprs)
		groups *= count_values(root, lfirst(cell), rows, typical);
	return Max(1, Min(groups, estimate_num_groups(root, exprs, rows, NULL, NULL)));
}

/* Estimate the number of groups in "rows" rows. */
double
EstimateGroups(PlannerInfo *root, List *exprs, double rows)
{
	return count_groups(root, exprs, rows, false);
}

/* Estimate a typical number of groups, from which the caller computes the rows of a group. */
double
EstimateGroupsForSize(PlannerInfo *root, List *exprs, double rows)
{
	return count_groups(root, exprs, rows, true);
}

/* A value is frequent if it has at least this many times the average number of rows. */
#define FREQUENT 10

/*
 * Return the fraction of rows whose values are not in the list of most common values; 0 if no value
 * is frequent, or if the list is complete.  Imported statistics may contain any frequencies, even
 * NaN.
 */
static double
rare_fraction(const AttStatsSlot *common, double distinct)
{
	double rare = 1;
	int i;

	if (common->nnumbers == 0 || common->nnumbers >= distinct ||
		common->numbers[0] * distinct < FREQUENT)
		return 0;
	for (i = 0; i < common->nnumbers; i++)
		rare -= common->numbers[i];
	return rare > 0 ? Min(rare, 1) : 0;
}

/* Return rare_fraction() of a column; 0: no list of most common values. */
static double
rare_values(PlannerInfo *root, Node *column)
{
	VariableStatData data;
	AttStatsSlot slot;
	double rare = 0;
	bool unknown;

	examine_variable(root, column, 0, &data);
	if (HeapTupleIsValid(data.statsTuple) &&
		get_attstatsslot(&slot, data.statsTuple, STATISTIC_KIND_MCV, InvalidOid,
						 ATTSTATSSLOT_NUMBERS))
	{
		rare = rare_fraction(&slot, get_variable_numdistinct(&data, &unknown));
		free_attstatsslot(&slot);
	}
	ReleaseVariableStats(data);
	return rare;
}

/*
 * Return an upper estimate of the number of groups.  "groups" is the estimate from statistics.
 * ANALYZE reads a sample.  If a column has frequent values and many rare values, ANALYZE may find
 * only a tenth of the column's values.  The true number lies between "groups" and the number of
 * rows with rare values.  The result is the geometric mean of these two numbers, but at least
 * "groups".
 */
double
EstimateMostGroups(PlannerInfo *root, List *exprs, double rows, double groups)
{
	double rare = 0;
	ListCell *cell;

	foreach (cell, exprs)
		if (IsA(lfirst(cell), Var))
			rare = Max(rare, rare_values(root, lfirst(cell)));
	return Max(groups, sqrt(groups * rare * rows));
}

/*
 * Return the square of the correlation between a column and the physical order of rows; 0: unknown.
 */
static double
column_order(PlannerInfo *root, Node *column)
{
	VariableStatData data;
	AttStatsSlot slot;
	double correlation = 0;

	if (!IsA(column, Var))
		return 0;
	examine_variable(root, column, 0, &data);
	if (HeapTupleIsValid(data.statsTuple) &&
		get_attstatsslot(&slot, data.statsTuple, STATISTIC_KIND_CORRELATION, InvalidOid,
						 ATTSTATSSLOT_NUMBERS))
	{
		correlation = slot.numbers[0];
		free_attstatsslot(&slot);
	}
	ReleaseVariableStats(data);
	return correlation * correlation;
}

/*
 * Return the largest squared correlation between the physical order of rows and the order of an
 * expression's column.  The planner also uses the squared correlation, for the cost of an index
 * scan.
 */
double
EstimateOrder(PlannerInfo *root, List *exprs)
{
	double order = 0;
	ListCell *cell;

	foreach (cell, exprs)
	{
		Node *column = unshifted(lfirst(cell));
		const List *args;
		Oid function = function_of(column, &args);
		int argument;

		if (step_length(function, args, &argument) > 0)
			column = unconverted(list_nth(args, argument));
		order = Max(order, column_order(root, column));
	}
	return order;
}

/*
 * ---- the memory that the state of a group takes, and the cost of merging it, for the planner ----
 *
 * The planner uses the size of a state to choose between hashing and sorting.  The executor uses
 * the size to decide how many groups a hash aggregate keeps in memory.  The executor measures the
 * real size of the groups only when a new group begins, and all groups may grow later.  The
 * declaration of an aggregate has one size for all queries (SSPACE).  But the state of ten keys
 * takes a kilobyte, and the state of ten thousand keys is dense and takes a megabyte.
 *
 * So the support function of the transition function sets the size for each query.  The planner
 * requests a cost from the support function just before it adds up the sizes.  The support function
 * derives the size from the query and the rows of a group.  If the size cannot be estimated, the
 * declared size remains.
 *
 * From PostgreSQL 19 on, the planner may aggregate below a join ("eager aggregation").  The planner
 * then calls the support function before the join has a path.  Groups below a join belong to one
 * relation or to several joined relations, and may be far more than the groups of the query.
 */

/* Return the relation whose rows the query groups, or NULL. */
static RelOptInfo *
input_of(PlannerInfo *root)
{
#if PG_VERSION_NUM >= 160000
	Relids relids = root->all_query_rels;
#else
	Relids relids = root->all_baserels;
#endif
	int single;

	if (bms_get_singleton_member(relids, &single))
		return root->simple_rel_array[single];
	return bms_is_empty(relids) ? NULL : find_join_rel(root, relids);
}

#if PG_VERSION_NUM >= 190000

/*
 * Set *rows and *groups to the rows and groups of the relation, if its average group is larger than
 * *rows / *groups.
 */
static void
take_larger_groups(const RelOptInfo *relation, double *rows, double *groups)
{
	const RelOptInfo *grouped = relation ? relation->grouped_rel : NULL;

	if (grouped == NULL || grouped->agg_info == NULL)
		return;
	if (*groups > 0 && relation->rows / grouped->agg_info->grouped_rows <= *rows / *groups)
		return;
	*rows = relation->rows;
	*groups = Max(1, grouped->agg_info->grouped_rows);
}

/*
 * Estimate the rows and groups of an aggregation below a join.  The planner does not name the
 * aggregated relation, so the relation with the largest groups is used.
 */
static bool
input_below_join(PlannerInfo *root, double *rows, double *groups)
{
	ListCell *cell;
	int i;

	*groups = 0;
	for (i = 1; i < root->simple_rel_array_size; i++)
		take_larger_groups(root->simple_rel_array[i], rows, groups);
	foreach (cell, root->join_rel_list)
		take_larger_groups(lfirst(cell), rows, groups);
	return *groups > 0;
}

#else

static bool
input_below_join(PlannerInfo *root, double *rows, double *groups)
{
	return false;
}

#endif

/*
 * Estimate the number of rows that a query aggregates, and the number of groups, which is 1 without
 * GROUP BY.  False: the number of rows is unknown.
 */
bool
StateInput(PlannerInfo *root, double *rows, double *groups)
{
	RelOptInfo *input = input_of(root);
	List *expressions = get_sortgrouplist_exprs(root->parse->groupClause, root->parse->targetList);

	if (input == NULL || input->cheapest_total_path == NULL)
		return input_below_join(root, rows, groups);
	*rows = input->cheapest_total_path->rows;
	*groups = 1;
	if (expressions != NIL)
		*groups = EstimateGroupsForSize(root, expressions, *rows);
	return true;
}

/* Return the last argument if it is a template: a constant of the state's type.  Otherwise NULL. */
static const Const *
constant_template(const AggTransInfo *info)
{
	int last = list_length(info->args) - 1;
	const Const *template = (Const *) list_nth_node(TargetEntry, info->args, last)->expr;

	if (last == 0 || !IsA(template, Const) || template->constisnull ||
		template->consttype != info->aggtranstype)
		return NULL;
	return template;
}

/*
 * Estimate the number of distinct keys of all rows.  Without statistics, return the number of rows.
 */
static double
estimate_keys(PlannerInfo *root, Expr *key, double rows)
{
	EstimationInfo how = { 0 };
	double keys = estimate_num_groups(root, list_make1(key), rows, NULL, &how);

	return how.flags & SELFLAG_USED_DEFAULT ? rows : keys;
}

/*
 * Set the size of a state.  The distinct keys of a group are at most the group's rows, and at most
 * the distinct keys of all rows.
 */
static void
set_space(PlannerInfo *root, AggTransInfo *info, double rows, double groups, StateSize space)
{
	Expr *key = linitial_node(TargetEntry, info->args)->expr;
	double keys = Min(estimate_keys(root, key, rows), rows / groups);
	double bytes = space(constant_template(info), keys, rows / groups);

	if (bytes > 0)
		info->aggtransspace = (int32) Min(bytes, MaxAllocSize);
}

/*
 * Planner support of transition functions: sets the sizes of the states of a query with GROUP BY.
 * The result NULL selects the default cost.  The planner's call also loads the module before the
 * planner calls create_upper_paths_hook for the groups of a session's first query.
 */
Datum
StateSizeSupport(FunctionCallInfo fcinfo, StateSize space)
{
	SupportRequestCost *request = (SupportRequestCost *) PG_GETARG_POINTER(0);
	double rows;
	double groups;
	ListCell *cell;

	if (!IsA(request, SupportRequestCost) || request->root == NULL ||
		request->root->parse->groupClause == NIL || !StateInput(request->root, &rows, &groups))
		PG_RETURN_POINTER(NULL);
	foreach (cell, request->root->aggtransinfos)
	{
		AggTransInfo *info = lfirst(cell);

		if (info->transfn_oid == request->funcid && info->args != NIL)
			set_space(request->root, info, rows, groups, space);
	}
	PG_RETURN_POINTER(NULL);
}

/*
 * Planner support of combine functions, with GROUP BY.  PostgreSQL's costs include neither the
 * bytes of partial states nor the time of merging.  So a plan with many workers would seem cheap
 * even if the workers send large states.  The planner calls this function after StateSizeSupport(),
 * so the sizes of the states are known.
 *
 * From PostgreSQL 19 on, the function returns NULL, for the default cost.  These versions also use
 * the cost for partial states below a join.  A partial state below a join is not sent to another
 * process.
 */
Datum
StateCombineSupport(FunctionCallInfo fcinfo)
{
	SupportRequestCost *request = (SupportRequestCost *) PG_GETARG_POINTER(0);
	double bytes = 0;
	ListCell *cell;

	if (PG_VERSION_NUM >= 190000 || !IsA(request, SupportRequestCost) || request->root == NULL ||
		request->root->parse->groupClause == NIL)
		PG_RETURN_POINTER(NULL);
	foreach (cell, request->root->aggtransinfos)
	{
		const AggTransInfo *info = lfirst(cell);

		if (info->combinefn_oid == request->funcid)
			bytes = Max(bytes, info->aggtransspace);
	}
	request->startup = 0;
	request->per_tuple = (PASSED_COST + bytes / BLCKSZ * PASSED_BLOCK_COST) * cpu_tuple_cost;
	PG_RETURN_POINTER(request);
}
