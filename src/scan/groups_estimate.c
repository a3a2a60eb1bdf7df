/*
 * groups_estimate.c
 *		How many groups there will be.
 *
 * For GROUP BY ts::date or k % 100 the planner expects as many groups as the column has
 * values, which is often thousands of times too many.  So the number of values of such
 * an expression is also estimated from its constant and the column's histogram.
 *
 * src/scan/groups_estimate.c
 */
#include "scan/groups.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type_d.h"
#include "nodes/nodeFuncs.h"
#include "parser/scansup.h"
#include "utils/builtins.h"
#include "utils/datetime.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
#include "utils/timestamp.h"

/* The argument if it is a constant that is not NULL, else NULL. */
static const Const *
constant(const List *args, int i)
{
	const Const *argument = list_nth(args, i);

	return IsA(argument, Const) && !argument->constisnull ? argument : NULL;
}

/* The value of an argument that is a constant integer; 0: it is none. */
static double
constant_integer(const List *args, int i)
{
	const Const *argument = constant(args, i);
	KeyKind kind;

	if (argument == NULL || !ScanGroupingKind((const Node *) argument, &kind) || kind == KEY_BYTES)
		return 0;
	return (double) KeyNumber(kind, argument->constvalue);
}

/* How long a unit of date_trunc() is, in microseconds; 0: not known. */
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

/* How long a constant stride of date_bin() is; 0: not known. */
static double
stride_length(const Const *stride)
{
	const Interval *interval = stride ? DatumGetIntervalP(stride->constvalue) : NULL;

	return interval ? (double) interval->time + (double) interval->day * USECS_PER_DAY : 0;
}

/*
 * How long the steps are into which the expression cuts the values of a column, the
 * argument with the number that is returned; 0: it does nothing like that.
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

/* The width of the column's histogram; 0: there is none. */
static double
column_range(PlannerInfo *root, Node *column)
{
	VariableStatData data;
	AttStatsSlot slot;
	KeyKind kind;
	double range = 0;

	if (!IsA(column, Var) || !ScanGroupingKind(column, &kind) || kind == KEY_BYTES)
		return 0;
	examine_variable(root, column, 0, &data);
	if (HeapTupleIsValid(data.statsTuple) && data.acl_ok &&
		get_attstatsslot(&slot, data.statsTuple, STATISTIC_KIND_HISTOGRAM, InvalidOid,
						 ATTSTATSSLOT_VALUES))
	{
		range = (double) KeyNumber(kind, slot.values[slot.nvalues - 1]) -
				(double) KeyNumber(kind, slot.values[0]);
		free_attstatsslot(&slot);
	}
	ReleaseVariableStats(data);
	return range;
}

/* Does the function return the rest of a division by its second argument? */
static bool
is_rest(Oid function)
{
	return function == F_INT2MOD || function == F_INT4MOD || function == F_INT8MOD;
}

/* At most how many values the expression has; 0: not known. */
static double
most_values(PlannerInfo *root, const Node *expr)
{
	Oid function = InvalidOid;
	const List *args = NIL;
	double length;
	double range;
	int argument;

	if (exprType(expr) == BOOLOID)
		return 3;
	if (IsA(expr, FuncExpr))
	{
		function = ((const FuncExpr *) expr)->funcid;
		args = ((const FuncExpr *) expr)->args;
	}
	else if (IsA(expr, OpExpr))
	{
		function = get_opcode(((const OpExpr *) expr)->opno);
		args = ((const OpExpr *) expr)->args;
	}
	if (is_rest(function))
		return 2 * fabs(constant_integer(args, 1));
	length = step_length(function, args, &argument);
	range = length > 0 ? column_range(root, list_nth(args, argument)) : 0;
	return range > 0 ? range / length + 3 : 0; /* and both ends, and NULL */
}

/* How many groups rows of a table have. */
double
ScanGroupingEstimate(PlannerInfo *root, List *exprs, double rows)
{
	double groups = 1;
	ListCell *cell;

	foreach (cell, exprs)
	{
		double most = most_values(root, lfirst(cell));
		double values = estimate_num_groups(root, list_make1(lfirst(cell)), rows, NULL, NULL);

		groups *= Max(1, most > 0 ? Min(values, most) : values);
	}
	return Max(1, Min(groups, estimate_num_groups(root, exprs, rows, NULL, NULL)));
}
