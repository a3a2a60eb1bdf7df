/*
 * groups_expr.c
 *		Expressions that rows are grouped by: ts::date, k % 100, lower(name).
 *
 * The executor evaluates them (columns.c).  Quotients and remainders of a column by a
 * constant are computed here, since the executor takes longer than all else that is done
 * with a row.
 *
 * For an expression of one integer column a cache has the values for the last inputs.
 *
 * Most times differ, but many of them have the same day or hour.  So for functions that
 * cut times into steps (ts::date, date_trunc, date_bin) the cache has values for spans
 * of times, each 2^shift microseconds long.  A whole span has one value if both of its
 * ends have the same value, because these functions never decrease.  A function that
 * depends on the session's time zone never decreases while the zone's offset from UTC
 * stays the same.  Where the offset changes within a span, nothing is concluded.  A span
 * is verified at its second distinct input, so most spans in which only one row lies
 * cost nothing.
 *
 * The cache makes spans shorter if many of them have several values, and gives up where
 * it does not pay.
 *
 * src/scan/groups_expr.c
 */
#include "scan/groups.h"

#include "datatype/timestamp.h"
#include "optimizer/optimizer.h"
#include "pgtime.h"
#include "utils/fmgroids.h"
#include "utils/timestamp.h"

#define CACHE_BITS 11

/* Spans of 36 minutes at first, of 4 milliseconds at least. */
#define FIRST_SHIFT 31
#define SHIFT_STEP  4
#define LEAST_SHIFT 12

/* Misses between two looks at whether the cache pays. */
#define MISSES_COUNTED 1024

/*
 * Only these times are asked about beside those in rows: about 1950 to 2099.  At them no
 * function here raises an error that it would not raise elsewhere.
 */
#define FIRST_TIME (-50 * DAYS_PER_YEAR * USECS_PER_DAY)
#define LAST_TIME  (99 * DAYS_PER_YEAR * USECS_PER_DAY)

typedef enum SpanState
{
	SPAN_NONE,
	SPAN_SEEN, /* the value is known for one input */
	SPAN_SAME, /* for all */
	SPAN_MIXED /* there are several values, or it is not known that there is one */
} SpanState;

typedef struct Span
{
	int64 number; /* its inputs, shifted */
	int64 input;  /* the one for which the value is known */
	int64 bits;   /* of the value */
	bool null;
	SpanState state;
} Span;

typedef struct GroupCache
{
	GroupExpression *expression;
	bool steps;  /* it cuts times into steps */
	bool zoned;  /* and depends on the session's time zone */
	bool on;     /* the cache pays */
	int shift;   /* 0: a span is one input */
	int64 reads; /* since the last look, without those that filled the cache */
	int misses;  /* those of "reads" for which the expression was evaluated */
	int asked;   /* spans whose ends were looked at */
	int several; /* those of "asked" that were not found to have one value */
	Span span[1 << CACHE_BITS];
} GroupCache;

struct GroupExpression
{
	KeyKind kind; /* of the expression's values */
	ColumnExpression *evaluated;
	const ColumnLocation *column; /* the only one that it needs; NULL: it needs others */
	GroupCache *cache;            /* NULL: it is no function of one integer with short values */
	KeyKind input_kind;           /* of that integer */
	int64 divisor; /* the expression is that integer divided by this one; 0: it is not */
	bool rest;     /* it is the remainder of that division */
};

/* ---- evaluating ---- */

/* The value that the executor has given.  The caller hashes strings. */
static void
set_value(const GroupExpression *expression, Datum result, bool null, GroupValue *value)
{
	MemoryContext old;

	value->null = null;
	value->bits = 0;
	if (null)
		return;
	if (!GroupIsString(expression->kind))
	{
		GroupSetNumber(value, expression->kind, result);
		return;
	}
	/* a string lies in the tuple or in the expression's memory */
	old = MemoryContextSwitchTo(ColumnExpressionMemory(expression->evaluated));
	value->string = PG_DETOAST_DATUM_PACKED(result);
	MemoryContextSwitchTo(old);
}

/* Evaluate the expression for a tuple. */
static void
evaluate_tuple(GroupExpression *expression, HeapTupleHeader tuple, GroupValue *value)
{
	Datum result;
	bool null = !ColumnExpressionRead(expression->evaluated, tuple, &result);

	set_value(expression, result, null, value);
}

/* Evaluate an expression of one long integer for any input, which no row has to have. */
static void
evaluate_at(GroupExpression *expression, int64 input, GroupValue *value)
{
	Datum result;
	bool null = !ColumnExpressionAt(expression->evaluated, Int64GetDatum(input), &result);

	set_value(expression, result, null, value);
}

/* ---- the cache ---- */

static bool
is_time(int64 input)
{
	return input >= FIRST_TIME && input <= LAST_TIME;
}

/* The i-th argument if it is a constant that is not NULL, else NULL. */
static const Const *
constant(const FuncExpr *call, int i)
{
	const Const *argument = list_nth(call->args, i);

	return IsA(argument, Const) && !argument->constisnull ? argument : NULL;
}

/* Are stride and origin of date_bin() such that no result is out of range? */
static bool
is_plain_bin(const FuncExpr *call)
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

/* Does the expression cut times into steps?  Says whether that depends on the time zone. */
static bool
cuts_times(const Expr *expr, bool *zoned)
{
	const FuncExpr *call = (const FuncExpr *) expr;

	*zoned = false;
	if (!IsA(expr, FuncExpr))
		return false;
	*zoned = call->funcid == F_DATE_TIMESTAMPTZ || call->funcid == F_DATE_TRUNC_TEXT_TIMESTAMPTZ;
	switch (call->funcid)
	{
		case F_DATE_TIMESTAMP:
		case F_DATE_TIMESTAMPTZ:
			return IsA(linitial(call->args), Var);
		case F_DATE_TRUNC_TEXT_TIMESTAMP:
		case F_DATE_TRUNC_TEXT_TIMESTAMPTZ:
			return constant(call, 0) && IsA(lsecond(call->args), Var);
		case F_DATE_BIN_INTERVAL_TIMESTAMP_TIMESTAMP:
		case F_DATE_BIN_INTERVAL_TIMESTAMPTZ_TIMESTAMPTZ:
			return is_plain_bin(call) && IsA(lsecond(call->args), Var);
		default:
			return false;
	}
}

static void
restart(GroupCache *cache, bool on, int shift)
{
	memset(cache->span, 0, sizeof(cache->span));
	cache->on = on;
	cache->shift = shift;
}

static void
forget_counts(GroupCache *cache)
{
	cache->reads = cache->misses = cache->asked = cache->several = 0;
}

static inline Span *
span_of(GroupCache *cache, int64 number)
{
	uint64 hash = (uint64) number * UINT64CONST(0x9E3779B97F4A7C15);

	return &cache->span[hash >> (64 - CACHE_BITS)];
}

/* The value for an input; false: it is not known. */
static bool
find_cached(GroupCache *cache, int64 input, GroupValue *value)
{
	int64 number = input >> cache->shift;
	const Span *span = span_of(cache, number);

	cache->reads++;
	if (span->number != number ||
		(span->state != SPAN_SAME && !(span->state == SPAN_SEEN && span->input == input)))
		return false;
	value->bits = span->bits;
	value->null = span->null;
	return true;
}

/* Does the session's time zone keep its offset from UTC between two times? */
static bool
keeps_offset(int64 low, int64 high)
{
	pg_time_t from = timestamptz_to_time_t(low) - 1; /* it rounds towards 2000 */
	pg_time_t boundary;
	long before;
	long after;
	int is_dst;
	int found =
		pg_next_dst_boundary(&from, &before, &is_dst, &boundary, &after, &is_dst, session_timezone);

	return found == 0 || (found == 1 && boundary > timestamptz_to_time_t(high) + 1);
}

/* Do all inputs of the span have its value? */
static bool
has_one_value(GroupCache *cache, const Span *span)
{
	int64 low = (int64) ((uint64) span->number << cache->shift);
	int64 high = low + ((INT64CONST(1) << cache->shift) - 1);
	GroupValue first;
	GroupValue last;

	if (span->null || !is_time(low) || !is_time(high) || (cache->zoned && !keeps_offset(low, high)))
		return false;
	evaluate_at(cache->expression, low, &first);
	evaluate_at(cache->expression, high, &last);
	return !first.null && !last.null && first.bits == span->bits && last.bits == span->bits;
}

/* See whether the cache pays, and make spans shorter where many have several values. */
static void
look_back(GroupCache *cache)
{
	bool mixed = cache->asked > 0 && cache->several > cache->asked / 4;
	bool pays = cache->reads - cache->misses > cache->misses / 4;
	int shorter = cache->shift - SHIFT_STEP >= LEAST_SHIFT ? cache->shift - SHIFT_STEP : 0;

	if (cache->shift > 0 && mixed)
		restart(cache, true, shorter);
	else if (!pays)
		restart(cache, cache->shift > 0, 0);
	forget_counts(cache);
}

/* Ask whether a span seen with a second input has one value. */
static void
ask(GroupCache *cache, Span *span)
{
	bool one = has_one_value(cache, span);

	span->state = one ? SPAN_SAME : SPAN_MIXED;
	cache->asked++;
	cache->several += !one;
}

/*
 * Keep the value that the expression has for an input.  Filling the cache takes some
 * evaluations, which are not counted against it.
 */
static void
keep_cached(GroupCache *cache, int64 input, const GroupValue *value)
{
	int64 number = input >> cache->shift;
	Span *span = span_of(cache, number);
	bool fills = span->state == SPAN_NONE || (span->number == number && span->state == SPAN_SEEN);

	if (span->state == SPAN_NONE || span->number != number)
		*span = (Span){ .number = number,
						.input = input,
						.bits = value->bits,
						.null = value->null,
						.state = cache->shift > 0 ? SPAN_SEEN : SPAN_SAME };
	else if (span->state == SPAN_SEEN)
		ask(cache, span);
	cache->reads -= fills;
	cache->misses += !fills;
	if (cache->misses == MISSES_COUNTED)
		look_back(cache);
}

/* ---- the expression ---- */

/*
 * Is the expression a quotient or a remainder of a column and a constant of the same width?
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
		!ScanGroupingKind((const Node *) divisor, &kind) || kind > KEY_INT8)
		return;
	value = KeyNumber(kind, divisor->constvalue);
	expression->divisor = value == -1 ? 0 : value;
}

/* Set up the cache if the expression has one column, of integers, and no strings result. */
static void
init_cache(GroupExpression *expression, const Expr *expr, Node *column)
{
	if (expression->column == NULL || GroupIsString(expression->kind) ||
		!ScanGroupingColumn(column) || !ScanGroupingKind(column, &expression->input_kind) ||
		expression->input_kind > KEY_INT8)
		return;
	match_division(expression, expr);
	if (expression->divisor != 0)
		return;
	expression->cache = palloc0(sizeof(GroupCache));
	expression->cache->expression = expression;
	expression->cache->steps = cuts_times(expr, &expression->cache->zoned);
}

GroupExpression *
GroupExpressionCreate(Expr *expr, KeyKind kind, EState *estate, Relation relation)
{
	GroupExpression *expression = palloc0(sizeof(GroupExpression));

	expression->kind = kind;
	expression->evaluated = ColumnExpressionCreate(expr, estate, relation);
	expression->column = ColumnExpressionColumn(expression->evaluated);
	init_cache(expression, expr, linitial(pull_var_clause((Node *) expr, 0)));
	return expression;
}

/* Prepare a run, in which parameters may have other values. */
void
GroupExpressionStart(GroupExpression *expression)
{
	GroupCache *cache = expression->cache;

	if (cache == NULL)
		return;
	restart(cache, true, cache->steps ? FIRST_SHIFT : 0);
	forget_counts(cache);
}

/* The value of the expression, found in the cache or computed here; false: evaluate it. */
static inline bool
find(GroupExpression *expression, int64 input, GroupValue *value)
{
	if (expression->divisor == 0)
		return find_cached(expression->cache, input, value);
	value->bits = expression->rest ? input % expression->divisor : input / expression->divisor;
	value->null = false;
	return true;
}

/* The value of the expression for a tuple.  A string is valid until the next one is read. */
void
GroupExpressionRead(GroupExpression *expression, HeapTupleHeader tuple, GroupValue *value)
{
	GroupCache *cache = expression->cache;
	int64 input;

	if ((expression->divisor == 0 && (cache == NULL || !cache->on)) ||
		!ColumnGetNumber(expression->column, expression->input_kind, tuple, &input))
	{
		evaluate_tuple(expression, tuple, value);
		return;
	}
	if (find(expression, input, value))
		return;
	evaluate_tuple(expression, tuple, value);
	if (!value->minus)
		keep_cached(cache, input, value);
}
