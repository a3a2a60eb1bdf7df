/*
 * steps.c
 *		Functions that cut times into steps, such as ts::date, and where each step begins.
 *
 * Most times differ, but many of them have the same day or hour.  date_trunc(), date_bin() and the
 * cast to date cut a time into steps.  Before the cut, the time may be converted to and from a time
 * zone, as in (ts AT TIME ZONE 'Europe/Berlin')::date, and shifted by up to a day, as in
 * date_trunc('week', ts + interval '1 day').  PostgreSQL's own functions compute the value of a
 * step.  The functions receive few time values, which need not be in any row.
 *
 * None of these functions decreases while each time zone keeps its offset from UTC.  So a span
 * of times has one value if both of its ends have the same value.  If the ends differ,
 * bisection finds the time of the first change.  While the offset stays the same, all days
 * have the same length, and all hours have the same length.  So the search begins at the time
 * at which the next step is expected.
 *
 * If an offset changes within a span, the values of the span stay unknown, because a local hour may
 * occur twice, and a local day may not occur at all.  A conversion or an interval in the argument
 * of the cutting function shifts the span to other times.  So with two time zones, or with one time
 * zone and an interval or a local time, offsets must stay the same for some days before and after
 * the span.
 *
 * Functions are recognized by their OIDs.  A time zone is the session's time zone, or any
 * expression without columns, such as a constant or a parameter.  Abbreviations whose meaning has
 * changed are refused.
 *
 * src/scan/groups/steps.c
 */
#include "scan/groups/groups.h"

#include "catalog/pg_type_d.h"
#include "datatype/timestamp.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/scansup.h"
#include "pgtime.h"
#include "utils/builtins.h"
#include "utils/datetime.h"
#include "utils/fmgroids.h"
#include "utils/timestamp.h"

/*
 * The functions are called only for times from about 1950 to 2099.  A function that raises an error
 * at one of these times raises it at all times.
 */
#define FIRST_TIME (-50 * DAYS_PER_YEAR * USECS_PER_DAY)
#define LAST_TIME  (99 * DAYS_PER_YEAR * USECS_PER_DAY)

/*
 * Two zones shift a time by at most twice MOST_OFFSET, and an interval shifts it by at most a
 * day.  PostgreSQL's search for an offset change begins a day before the time.
 */
#define MOST_ZONES  2
#define MOST_OFFSET (16 * SECS_PER_HOUR)
#define MARGIN      (4 * USECS_PER_DAY)

/*
 * Values of TimeFunction.zone for functions without a time zone, and with the session's time zone.
 */
#define NO_ZONE      (-1)
#define SESSION_ZONE (-2)

typedef enum TimeEffect
{
	CUTS,
	CONVERTS,
	SHIFTS
} TimeEffect;

typedef struct TimeFunction
{
	Oid function;
	TimeEffect effect;
	int time; /* "time" and "zone" are indexes of arguments */
	int zone;
} TimeFunction;

static const TimeFunction time_functions[] = {
	{ F_DATE_TIMESTAMP, CUTS, 0, NO_ZONE },
	{ F_DATE_TIMESTAMPTZ, CUTS, 0, SESSION_ZONE },
	{ F_DATE_TRUNC_TEXT_TIMESTAMP, CUTS, 1, NO_ZONE },
	{ F_DATE_TRUNC_TEXT_TIMESTAMPTZ, CUTS, 1, SESSION_ZONE },
	{ F_DATE_TRUNC_TEXT_TIMESTAMPTZ_TEXT, CUTS, 1, 2 },
	{ F_DATE_BIN_INTERVAL_TIMESTAMP_TIMESTAMP, CUTS, 1, NO_ZONE },
	{ F_DATE_BIN_INTERVAL_TIMESTAMPTZ_TIMESTAMPTZ, CUTS, 1, NO_ZONE },
	{ F_TIMEZONE_TEXT_TIMESTAMPTZ, CONVERTS, 1, 0 },
	{ F_TIMEZONE_TEXT_TIMESTAMP, CONVERTS, 1, 0 },
	{ F_TIMESTAMP_TIMESTAMPTZ, CONVERTS, 0, SESSION_ZONE },
	{ F_TIMESTAMPTZ_TIMESTAMP, CONVERTS, 0, SESSION_ZONE },
	{ F_TIMESTAMP_PL_INTERVAL, SHIFTS, 0, NO_ZONE },
	{ F_TIMESTAMP_MI_INTERVAL, SHIFTS, 0, NO_ZONE },
	{ F_TIMESTAMPTZ_PL_INTERVAL, SHIFTS, 0, SESSION_ZONE },
	{ F_TIMESTAMPTZ_MI_INTERVAL, SHIFTS, 0, SESSION_ZONE },
#if PG_VERSION_NUM >= 170000
	{ F_TIMEZONE_TIMESTAMPTZ, CONVERTS, 0, SESSION_ZONE }, /* AT LOCAL */
	{ F_TIMEZONE_TIMESTAMP, CONVERTS, 0, SESSION_ZONE },
#endif
};

struct TimeSteps
{
	Expr *call;       /* call of the cutting function on a column, perhaps converted or shifted */
	ExprState *state; /* the compiled call */
	ExprContext *context;
	KeyKind kind;         /* kind of the call's values */
	const Node *searched; /* an operand that was searched already, and is not searched again */
	const Var *column;
	bool shifted; /* an interval shifts the time */
	int zones;
	const Node *name[MOST_ZONES]; /* names of time zones; NULL: the session's time zone */
	ExprState *zone[MOST_ZONES];  /* the compiled names */
	int64 margin; /* microseconds before and after a span in which offsets must not change */
	int64 length; /* length in microseconds of the last step whose two ends were found; 0: none */
	int64 change; /* time at which a step begins, if "length" is known */
};

/* ---- which expressions ---- */

static const Node *
argument(const Node *call, int i)
{
	return list_nth(
		IsA(call, OpExpr) ? ((const OpExpr *) call)->args : ((const FuncExpr *) call)->args, i);
}

/* The i-th argument if it is a constant and not NULL, else NULL. */
static const Const *
constant(const Node *call, int i)
{
	const Const *value = (const Const *) argument(call, i);

	return IsA(value, Const) && !value->constisnull ? value : NULL;
}

static bool
is_time(int64 input)
{
	return input >= FIRST_TIME && input <= LAST_TIME;
}

/* True if the stride and the origin of date_bin() are constants that keep all results in range. */
static bool
is_plain_bin(const Node *call)
{
	const Const *stride = constant(call, 0);
	const Const *origin = constant(call, 2);
	const Interval *interval;

	if (stride == NULL || origin == NULL)
		return false;
	interval = DatumGetIntervalP(stride->constvalue);
	return interval->month == 0 && interval->day >= 0 && interval->day <= 100 * DAYS_PER_YEAR &&
		   interval->time >= 0 && interval->time <= 100 * DAYS_PER_YEAR * USECS_PER_DAY &&
		   is_time(DatumGetTimestamp(origin->constvalue));
}

/* True if the call shifts a time by a constant of at most a day. */
static bool
is_plain_shift(const Node *call)
{
	const Const *by = constant(call, 1);
	const Interval *interval = by ? DatumGetIntervalP(by->constvalue) : NULL;

	return interval && interval->month == 0 && interval->day >= -1 && interval->day <= 1 &&
		   (interval->day == 0 || interval->time == 0) && interval->time >= -USECS_PER_DAY &&
		   interval->time <= USECS_PER_DAY;
}

/*
 * True if no argument except the time depends on the row.  date_bin() must also pass
 * is_plain_bin(), and a shift must pass is_plain_shift().
 */
static bool
is_plain(const Node *expr, const TimeFunction *function)
{
	const FuncExpr *call = (const FuncExpr *) expr;
	int i;

	if (function->effect == SHIFTS)
		return is_plain_shift(expr);
	for (i = 0; i < list_length(call->args); i++)
		if (i != function->time && contain_var_clause((Node *) argument(expr, i)))
			return false;
	return (call->funcid != F_DATE_BIN_INTERVAL_TIMESTAMP_TIMESTAMP &&
			call->funcid != F_DATE_BIN_INTERVAL_TIMESTAMPTZ_TIMESTAMPTZ) ||
		   is_plain_bin(expr);
}

/* The time function that the expression calls; NULL: none, or the call fails is_plain(). */
static const TimeFunction *
function_of(const Node *expr)
{
	Oid function = InvalidOid;
	Size i;

	if (IsA(expr, FuncExpr))
		function = ((const FuncExpr *) expr)->funcid;
	else if (IsA(expr, OpExpr))
		function = ((const OpExpr *) expr)->opfuncid;
	for (i = 0; OidIsValid(function) && i < lengthof(time_functions); i++)
		if (time_functions[i].function == function)
			return is_plain(expr, &time_functions[i]) ? &time_functions[i] : NULL;
	return NULL;
}

/* Record the time zone of a call, if it has one; false: there are too many zones. */
static bool
note_zone(TimeSteps *steps, const Node *call, const TimeFunction *function)
{
	if (function->zone == NO_ZONE)
		return true;
	if (steps->zones == MOST_ZONES)
		return false;
	steps->name[steps->zones++] =
		function->zone == SESSION_ZONE ? NULL : argument(call, function->zone);
	return true;
}

/*
 * Record a call that cuts a column, which may be converted or shifted; false: "expr" is no such
 * call, or has too many time zones or shifts.
 */
static bool
note_call(TimeSteps *steps, const Node *expr)
{
	bool cuts = true;

	steps->zones = 0;
	steps->shifted = false;
	while (!IsA(expr, Var))
	{
		const TimeFunction *function = function_of(expr);

		if (function == NULL || (function->effect == CUTS) != cuts ||
			(function->effect == SHIFTS && steps->shifted) || !note_zone(steps, expr, function))
			return false;
		steps->shifted |= function->effect == SHIFTS;
		expr = argument(expr, function->time);
		cuts = false;
	}
	steps->column = (const Var *) expr;
	return !cuts;
}

/*
 * Return an operand that the expression evaluates for every row, if the expression may skip its
 * other operands.  If it skips no operand, return the expression itself.
 */
static Node *
certain_operand(Node *node)
{
	switch (nodeTag(node))
	{
		case T_CaseExpr:
			return (Node *) (((CaseExpr *) node)->arg
								 ? ((CaseExpr *) node)->arg
								 : linitial_node(CaseWhen, ((CaseExpr *) node)->args)->expr);
		case T_CoalesceExpr:
			return linitial(((CoalesceExpr *) node)->args);
		case T_BoolExpr:
			return linitial(((BoolExpr *) node)->args);
		case T_RowCompareExpr:
			return linitial(((RowCompareExpr *) node)->largs);
		case T_SubscriptingRef:
			return (Node *) ((SubscriptingRef *) node)->refexpr;
#if PG_VERSION_NUM >= 170000
		case T_JsonExpr:
			return ((JsonExpr *) node)->formatted_expr;
#endif
		default:
			return node;
	}
}

/*
 * Find the only call that cuts times.  Returns true, which ends the search, if the expression uses
 * the table in other ways, or if the call is not evaluated for every row.  With steps, such a call
 * would also be evaluated for other rows, and might raise an error for them.
 */
static bool
search(Node *node, TimeSteps *steps)
{
	Node *certain;

	if (node == NULL || node == steps->searched)
		return false;
	certain = certain_operand(node);
	if (certain != node && steps->call == NULL)
	{
		if (search(certain, steps) || steps->call == NULL)
			return true;
		steps->searched = certain;
	}
	if (steps->call && equal(node, steps->call))
		return false;
	if (steps->call == NULL && function_of(node) && note_call(steps, node))
	{
		steps->call = (Expr *) node;
		return false;
	}
	return IsA(node, Var) || expression_tree_walker(node, search, steps);
}

/* True if the expression uses the table only in one call that cuts a time.  Then "steps" is set. */
static bool
match(Expr *expr, TimeSteps *steps)
{
	return !search((Node *) expr, steps) && steps->call &&
		   ScanGroupingKind((Node *) steps->call, &steps->kind);
}

/* The call that cuts times, if the expression has one value in each step; else NULL. */
Expr *
TimeStepsCall(Expr *expr)
{
	TimeSteps steps = { 0 };

	return match(expr, &steps) ? steps.call : NULL;
}

/* Create the steps of an expression that has one value in each step; NULL: it has no such steps. */
TimeSteps *
TimeStepsCreate(Expr *expr, ExprContext *context)
{
	TimeSteps *steps = palloc0(sizeof(TimeSteps));
	int i;

	if (!match(expr, steps))
		return NULL;
	for (i = 0; i < steps->zones; i++)
		if (steps->name[i])
			steps->zone[i] = ExecInitExpr((Expr *) (uintptr_t) steps->name[i], NULL);
	steps->state = ExecInitExpr(steps->call, NULL);
	steps->context = context;
	if (steps->zones == MOST_ZONES ||
		(steps->zones > 0 && (steps->shifted || steps->column->vartype == TIMESTAMPOID)))
		steps->margin = MARGIN;
	return steps;
}

/* Begin a run: forget the length of steps, because parameters may have changed. */
void
TimeStepsStart(TimeSteps *steps)
{
	steps->length = 0;
}

/* ---- where steps begin ---- */

/*
 * The time zone of a name or an abbreviation; NULL: the times at which its offset changes are not
 * known.  They are not known for an abbreviation whose meaning has changed, such as MSK.  Near the
 * time of that change, PostgreSQL looks up the offset by local time.
 */
static const pg_tz *
zone_named(char *name)
{
	pg_tz *zone = NULL;
	int offset;
#if PG_VERSION_NUM >= 160000
	int type = DecodeTimezoneName(name, &offset, &zone);
	bool fixed = type == TZNAME_FIXED_OFFSET;
	bool changes = type == TZNAME_DYNTZ;
#else
	char *lower = downcase_truncate_identifier(name, (int) strlen(name), false);
	int type = DecodeTimezoneAbbrev(0, lower, &offset, &zone);
	bool fixed = type == TZ || type == DTZ;
	bool changes = type == DYNTZ;
#endif

	if (changes)
		return NULL;
	return fixed ? pg_tzset_offset(-offset) : zone ? zone : pg_tzset(name);
}

/* The time zone that the expression names; NULL: the name is NULL, or zone_named() is NULL. */
static const pg_tz *
zone_of(const TimeSteps *steps, ExprState *name)
{
	char buffer[TZ_STRLEN_MAX + 1];
	bool null;
	Datum value = ExecEvalExprSwitchContext(name, steps->context, &null);

	if (null)
		return NULL;
	text_to_cstring_buffer(DatumGetTextPP(value), buffer, sizeof(buffer));
	return zone_named(buffer);
}

/* True if a time zone keeps its offset from UTC, of at most MOST_OFFSET, between two times. */
static bool
keeps_offset(const pg_tz *zone, int64 low, int64 high)
{
	pg_time_t from = timestamptz_to_time_t(low) - 1; /* the conversion rounds towards 2000 */
	pg_time_t boundary;
	long before = 0;
	long after;
	int is_dst;
	int found = pg_next_dst_boundary(&from, &before, &is_dst, &boundary, &after, &is_dst, zone);

	return labs(before) <= MOST_OFFSET &&
		   (found == 0 || (found == 1 && boundary > timestamptz_to_time_t(high) + 1));
}

/* True if all time zones keep their offsets from low - steps->margin to high + steps->margin. */
static bool
keep_offsets(const TimeSteps *steps, int64 low, int64 high)
{
	int i;

	ResetExprContext(steps->context);
	for (i = 0; i < steps->zones; i++)
	{
		const pg_tz *zone = steps->zone[i] ? zone_of(steps, steps->zone[i]) : session_timezone;

		if (zone == NULL || !keeps_offset(zone, low - steps->margin, high + steps->margin))
			return false;
	}
	return true;
}

/*
 * The step of a time, which need not be in any row.  If the step is NULL for this time, it is NULL
 * for all times, and the function returns 0.
 */
static int64
step_at(const TimeSteps *steps, int64 time)
{
	TupleTableSlot *slot = steps->context->ecxt_scantuple;
	int at = steps->column->varattno - 1;
	Datum value;
	bool null;

	CHECK_FOR_INTERRUPTS();
	slot->tts_values[at] = TimestampTzGetDatum(time);
	slot->tts_isnull[at] = false;
	ResetExprContext(steps->context);
	value = ExecEvalExprSwitchContext(steps->state, steps->context, &null);
	return null ? 0 : KeyNumber(steps->kind, value);
}

/*
 * Narrow the interval in which the step changes.  "*same" has the step, and "*other" has
 * another step.  A "time" between "*same" and "*other" replaces one of the two.
 */
static void
narrow(const TimeSteps *steps, int64 step, int64 time, int64 *same, int64 *other)
{
	if (time <= *same || time >= *other)
		return;
	if (step_at(steps, time) == step)
		*same = time;
	else
		*other = time;
}

/*
 * The first time after "from" at which another step begins; "last" + 1: no step begins up to
 * "last".
 */
static int64
next_change(const TimeSteps *steps, int64 from, int64 last)
{
	int64 step = step_at(steps, from);
	int64 change = last;
	int64 due;

	if (step_at(steps, last) == step)
		return last + 1;
	if (steps->length > 0)
	{
		due = (steps->change - from) % steps->length;
		due += from + (due > 0 ? 0 : steps->length);
		narrow(steps, step, due - 1, &from, &change);
		narrow(steps, step, due, &from, &change);
	}
	while (change - from > 1)
		narrow(steps, step, from + (change - from) / 2, &from, &change);
	return change;
}

/*
 * Count the values from "low" to "high".  STEPS_TWO: the second value begins at *change.
 * STEPS_SEVERAL: *change is the length of a step.
 */
StepCount
TimeStepsBetween(TimeSteps *steps, int64 low, int64 high, int64 *change)
{
	int64 next;

	if (!is_time(low) || !is_time(high) || !keep_offsets(steps, low, high))
		return STEPS_UNKNOWN;
	*change = next_change(steps, low, high);
	if (*change > high)
		return STEPS_ONE;
	next = next_change(steps, *change, high);
	if (next > high)
	{
		steps->change = *change;
		return STEPS_TWO;
	}
	steps->change = next;
	steps->length = *change = next - *change;
	return STEPS_SEVERAL;
}
