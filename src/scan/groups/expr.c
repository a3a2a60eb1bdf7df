/*
 * expr.c
 *		Values of expressions in GROUP BY, in keys and in conditions, and a cache of these values.
 *
 * The expressions are grouping expressions such as ts::date, k % 100 or lower(name), keys that
 * are steps of times, quotients or remainders, and conditions on steps of times.  The executor
 * evaluates the expressions (columns.c).  Quotients and remainders of a column by a constant are
 * computed in this file, because the executor would take longer than all other work on a row.
 *
 * If an expression needs only one column, of integers, and its values are not strings, a cache has
 * its values for the last inputs.
 *
 * Most times differ, but many of them have the same day or hour.  So for functions that cut times
 * into steps, the cache has values for spans of times, each 2^shift microseconds long.  A span has
 * one value, or two if a step begins in it (steps.c).  The function is called for the ends of a
 * span only after several rows of the span were read, so spans with few rows cost nothing.  If a
 * span has more than two values, all spans are shortened to at most a step.
 *
 * Only values of inputs that rows have are cached.  The expression is not evaluated for other
 * inputs, because an input that no row has might raise an error, as in 1 / (ts::date -
 * '2026-01-01').  The cache is switched off if too few rows find their value in it.  Filling a
 * cache of spans takes more rows than filling a cache of single inputs, so a cache of spans is
 * switched off only after more misses.  If the offset of a time zone changes within a span, each
 * row of the span is evaluated.  Once this is known, rows of the span do not count as misses.
 *
 * src/scan/groups/expr.c
 */
#include "scan/groups/groups.h"

#include "optimizer/optimizer.h"
#include "port/pg_bitutils.h"
#include "utils/fmgroids.h"

#define CACHE_BITS  11
#define SPANS_BYTES (sizeof(Span) << CACHE_BITS)

/* A span has 76 hours at first, and at least 4 milliseconds unless it is a single input. */
#define FIRST_SHIFT 38
#define LEAST_SHIFT 12

/*
 * Number of rows of a span after which its pieces are searched for.  The search takes about as
 * long as evaluating a few rows.
 */
#define ROWS_BEFORE 8

/* Misses after which the use of the cache is checked: for single inputs, and for spans. */
#define INPUTS_MISSED 1024
#define SPANS_MISSED  65536

typedef enum PieceState
{
	PIECE_UNKNOWN,
	PIECE_VALUE,
	PIECE_NULL
} PieceState;

/* A span of inputs.  It has one piece or two, and each piece has one value. */
typedef struct Span
{
	int64 number;  /* the span's inputs, shifted right by "shift" */
	int64 change;  /* first input of the second piece */
	int64 bits[2]; /* the value of each piece */
	uint8 state[2];
	uint8 rows; /* rows read before the pieces were searched for; 0: unused */
	bool known; /* the pieces are known */
} Span;

typedef struct GroupCache
{
	TimeSteps *steps; /* steps of times; NULL: spans are single inputs */
	bool on;          /* the cache is in use */
	int shift;        /* a span has 2^shift inputs */
	int64 reads;      /* reads since the last check; keep_input() has an exception */
	int misses;       /* misses since the last check, see count_miss() */
	Span *span;       /* 1 << CACHE_BITS spans; NULL: no run is in progress */
} GroupCache;

struct GroupExpression
{
	KeyKind kind; /* kind of the expression's values */
	ColumnExpression *evaluated;
	const ColumnLocation *column; /* the only column that is needed; NULL: none, or several */
	GroupCache *cache;            /* NULL: the expression has no cache */
	KeyKind input_kind;           /* kind of "column" */
	int64 divisor; /* find() divides the column by this number; 0: it does not divide */
	bool rest;     /* the expression is the remainder, not the quotient */
};

/* ---- evaluating ---- */

/* Set the value from the executor's result.  The caller hashes strings. */
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
	/* the string stays in the tuple or in the expression's memory */
	old = MemoryContextSwitchTo(
		ColumnExpressionContext(expression->evaluated)->ecxt_per_tuple_memory);
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

/* ---- the cache ---- */

static void
restart(GroupCache *cache, int shift)
{
	memset(cache->span, 0, SPANS_BYTES);
	cache->on = true;
	cache->shift = shift;
	cache->reads = cache->misses = 0;
}

static inline Span *
span_of(GroupCache *cache, int64 number)
{
	uint64 hash = (uint64) number * UINT64CONST(0x9E3779B97F4A7C15);

	return &cache->span[hash >> (64 - CACHE_BITS)];
}

/* Find the cached value for an input; false: it is not cached. */
static bool
find_cached(GroupCache *cache, int64 input, GroupValue *value)
{
	int64 number = input >> cache->shift;
	const Span *span = span_of(cache, number);
	int piece = input >= span->change;

	cache->reads++;
	if (span->number != number || span->state[piece] == PIECE_UNKNOWN)
		return false;
	value->bits = span->bits[piece];
	value->null = span->state[piece] == PIECE_NULL;
	return true;
}

/*
 * Find the pieces of a span.  If the span has more than two pieces, all spans are made
 * shorter, and the cache is empty again.
 */
static void
divide(GroupCache *cache, Span *span)
{
	int64 low = (int64) ((uint64) span->number << cache->shift);
	int64 high = low + ((INT64CONST(1) << cache->shift) - 1);
	int64 change = 0;
	StepCount count = TimeStepsBetween(cache->steps, low, high, &change);
	int shift;

	if (count == STEPS_SEVERAL)
	{
		shift = pg_leftmost_one_pos64((uint64) change);
		restart(cache, shift >= LEAST_SHIFT ? shift : 0);
		return;
	}
	span->change = change;
	span->known = count != STEPS_UNKNOWN;
}

static void
put(Span *span, int piece, const GroupValue *value)
{
	span->bits[piece] = value->bits;
	span->state[piece] = value->null ? PIECE_NULL : PIECE_VALUE;
}

/*
 * Count a miss.  After "most" misses, the cache is switched off, unless it had the values of more
 * than a fifth of the reads.
 */
static void
count_miss(GroupCache *cache, int most)
{
	if (++cache->misses < most)
		return;
	cache->on = cache->reads - cache->misses > cache->misses / 4;
	cache->reads = cache->misses = 0;
}

/*
 * Store the value of an input in a cache of single inputs.  Evaluations that fill an empty entry
 * count neither as reads nor as misses.
 */
static void
keep_input(GroupCache *cache, Span *span, int64 input, const GroupValue *value)
{
	bool fills = span->rows == 0;

	*span = (Span){ .number = input, .change = input, .rows = 1 };
	put(span, 1, value);
	if (fills)
		cache->reads--;
	else
		count_miss(cache, INPUTS_MISSED);
}

/*
 * Store the value of an input in the cache.  After enough rows of its span, find the span's
 * pieces first.
 */
static void
keep_cached(GroupCache *cache, int64 input, const GroupValue *value)
{
	int64 number = input >> cache->shift;
	Span *span = span_of(cache, number);

	if (cache->shift == 0)
	{
		keep_input(cache, span, input, value);
		return;
	}
	if (span->rows == 0 || span->number != number)
		*span = (Span){ .number = number };
	if (span->rows < ROWS_BEFORE)
	{
		count_miss(cache, SPANS_MISSED);
		if (++span->rows == ROWS_BEFORE)
			divide(cache, span);
	}
	if (span->known)
		put(span, input >= span->change, value);
}

/* ---- the expression ---- */

/*
 * Recognize the quotient or remainder of a column and a constant of the same width.  The division
 * raises no error, because the divisors 0 and -1 are refused.
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

/*
 * Prepare the division, or else create the cache.  An expression has neither if it needs several
 * columns or a column that is not stored as an integer, or if its values are strings.
 */
static void
init_cache(GroupExpression *expression, const Expr *expr)
{
	List *columns = pull_var_clause((Node *) (uintptr_t) expr, 0);
	Node *column = expression->column ? linitial(columns) : NULL;

	if (column == NULL || GroupIsString(expression->kind) || !ScanGroupingColumn(column) ||
		!ScanGroupingKind(column, &expression->input_kind) || expression->input_kind > KEY_INT8)
		return;
	match_division(expression, expr);
	if (expression->divisor != 0)
		return;
	expression->cache = palloc0(sizeof(GroupCache));
	if (expression->input_kind == KEY_INT8)
		expression->cache->steps = TimeStepsCreate((Expr *) (uintptr_t) expr,
												   ColumnExpressionContext(expression->evaluated));
}

GroupExpression *
GroupExpressionCreate(Expr *expr, KeyKind kind, ColumnExpression *evaluated)
{
	GroupExpression *expression = palloc0(sizeof(GroupExpression));

	expression->kind = kind;
	expression->evaluated = evaluated;
	expression->column = ColumnExpressionColumn(evaluated);
	init_cache(expression, expr);
	return expression;
}

/*
 * True if the expression is a division, or has one value in each step of times.  In both cases, few
 * rows are evaluated.  For other short expressions such as user_id + 1, a cache of single inputs
 * would not be faster than evaluating.
 */
bool
GroupExpressionIsShort(const GroupExpression *expression)
{
	return expression->divisor != 0 || (expression->cache && expression->cache->steps);
}

/*
 * Estimate the fraction of the rows for which an expression is evaluated.  "call" is its
 * function that cuts times into steps.  If rows are not in the order of time, the cache must
 * have entries for all steps at the same time.
 */
double
GroupExpressionEvaluated(PlannerInfo *root, Expr *call)
{
	int table = bms_singleton_member(pull_varnos(root, (Node *) call));
	double rows = Max(1, root->simple_rel_array[table]->tuples);
	List *exprs = list_make1(call);
	double steps = EstimateGroups(root, exprs, rows);
	double cached = Max(0, 1 - steps * ROWS_BEFORE / rows);

	return 1 - (steps > 1 << CACHE_BITS ? cached * EstimateOrder(root, exprs) : cached);
}

/* Prepare a run, since parameters may have changed. */
void
GroupExpressionStart(GroupExpression *expression)
{
	GroupCache *cache = expression->cache;

	if (cache == NULL)
		return;
	if (cache->steps)
		TimeStepsStart(cache->steps);
	if (cache->span == NULL)
		cache->span = MemoryContextAlloc(GetMemoryChunkContext(cache), SPANS_BYTES);
	restart(cache, cache->steps ? FIRST_SHIFT : 0);
}

/*
 * End a run, and free the cache.  Partitions are scanned one by one, so only one scan has a
 * cache at a time.
 */
void
GroupExpressionEnd(GroupExpression *expression)
{
	if (expression->cache == NULL || expression->cache->span == NULL)
		return;
	pfree(expression->cache->span);
	expression->cache->span = NULL;
}

/*
 * Find the value of the expression in the cache, or compute the division; false: the
 * expression must be evaluated.
 */
static inline bool
find(GroupExpression *expression, int64 input, GroupValue *value)
{
	if (expression->divisor == 0)
		return find_cached(expression->cache, input, value);
	value->bits = expression->rest ? input % expression->divisor : input / expression->divisor;
	value->null = false;
	return true;
}

/* Read the value of the expression for a tuple.  A string lasts until the next value is read. */
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
