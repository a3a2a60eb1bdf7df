/*
 * scan.h
 *		The direct column scan: aggregates column values that it reads from heap pages.
 *
 * The executor takes about 30 ns for each row before the sketch receives a key.  QSketchScan
 * replaces Aggregate over Seq Scan for
 *	SELECT qsketch_agg(key [, weight] [, template]) [FILTER (WHERE ...)], ...
 *	FROM table [WHERE ...] [GROUP BY ...]
 * The query may also have aggregates of the other families, and PostgreSQL's own aggregates.
 * QSketchScan reads the table page by page, and decides visibility as a sequential scan does.
 * It selects the tuples that meet the conditions, and reads their columns into batches of
 * keys.
 *
 * Planning, in the order of the calls:
 *
 *	plan.c			offers the node to the planner
 *	match.c			recognizes the aggregates of a query, and sets them up in the executor
 *	conditions.c	recognizes the conditions that are tested on pages
 *	costs.c			what the node costs, and which GROUP BY it can do
 *
 * Executing, up to keys.c in the order of the calls:
 *
 *	exec.c			the executor node
 *	pages.c			reads pages, and finds their visible tuples
 *	select.c		selects the tuples for which WHERE and FILTER are true
 *	columns.c		reads values of columns and of expressions
 *	keys.c			adds the keys of the selected tuples to the states
 *	families.c		the families' differences; an aggregate's states and results
 *	builtin.c		PostgreSQL's own aggregates
 *	share.c			merges the states of the processes of a parallel plan
 *	collect.c		lets serial scans of partitions fill the same states
 *	explain.c		progress, EXPLAIN, and why the node was not used
 *	worker_partial.c	partial states for Citus, from the same plans
 *
 * Folders:
 *
 *	groups/		GROUP BY
 *	cached/		columns whose keys are cached on a GPU
 *	sets/		collections of sets: building one in parallel, and the node QSketchPairs
 *
 * src/scan/scan.h
 */
#ifndef QS_SCAN_H
#define QS_SCAN_H

#include "base/selection.h"
#include "pgbase/activity.h"
#include "pgbase/aggregate.h"
#include "pgbase/keybytes.h"
#include "scan/columns.h"
#include "scan/pages.h"

#include "access/stratnum.h"
#include "commands/explain.h"
#include "nodes/extensible.h"
#include "nodes/pathnodes.h"
#include "utils/dsa.h"
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif

/* qsketch.enable_columnscan */
extern bool columnscan_enabled;

extern void ColumnScanInit(void);

/* cached/exact.c */
extern void CachedExactInit(void);

/* worker_partial.c */
extern void WorkerPartialInit(void);

/* sets/pairs.c */
extern void PairsNodeInit(void);

/* exec.c */
extern const CustomScanMethods columnscan_methods;
extern bool ScanReturnsOneRow(const CustomScan *scan);

typedef struct ColumnFamily ColumnFamily;

/* families.c: while add_paths() plans a query, the last reason against a scan; NULL: none. */
extern const char *scan_refusal;
extern bool ScanRefuse(const char *reason);

/* explain.c */
extern bool ScanReasonsWanted(const PlannerInfo *root);
extern const Path *ScanCheapestPath(PlannerInfo *root, const RelOptInfo *output);
extern StateWork ScanWorkWithout(const Path *path, const RelOptInfo *input);
extern void
ScanReportReasons(PlannerInfo *root, List *matches, const Path *taken, const StateWork *work);
extern void ScanReasonsInit(void);

/* match.c: a call of an aggregate, and its arguments. */
typedef struct ColumnScanCall
{
	const Aggref *aggref;
	const ColumnFamily *family;
	RecognizedAggregate aggregate;
	Expr *key;     /* NULL: count of all rows, or FAMILY_BUILTIN */
	RowExpr *row;  /* the key if it is a row of several columns, else NULL */
	Expr *weight;  /* an integer: the weight, or the id of a set; NULL: none */
	Expr *integer; /* "weight" without its cast from a shorter integer type */
	KeyKind weight_kind;
	Const *template;  /* NULL: the default parameters, or "parameter" was not read yet */
	Param *parameter; /* the parameter whose value in a run is the template; NULL: none */
	Const *limit;     /* number of keys to list; NULL: the family has no such argument */
	Oid key_type;     /* the key's type in the transition function */
} ColumnScanCall;

extern List *ScanMatches(PlannerInfo *root);
extern bool ColumnScanMatch(const Aggref *aggref, List *matches, ColumnScanCall *call);
extern List *ColumnScanCalls(List *aggregates, List *matches);

extern List *ColumnScanAggregates(List *expressions, List *groups, List *matches);
extern bool ScanTakesExpression(PlannerInfo *root, RelOptInfo *rel, Node *expr, const char *what);
extern bool ScanIsOthers(RelOptInfo *rel, bool children);
extern bool ColumnScanTable(PlannerInfo *root, RelOptInfo *rel, List *aggregates);

/* cached.h */
typedef struct CachedColumns CachedColumns;

/* keys.c: keys of several columns. */
typedef struct RowKey RowKey;

/* groups/expr.c: an expression, perhaps with a cache of its values. */
typedef struct GroupExpression GroupExpression;

extern bool RowKeyTakes(const RowExpr *row);

/* builtin.c: one of PostgreSQL's own aggregates, and its state in one group. */
typedef struct BuiltinAggregate BuiltinAggregate;
typedef struct WantedRows WantedRows;

typedef struct BuiltinState
{
	Datum value;
	bool null;
	bool none; /* the state is NULL because no value was added yet */
} BuiltinState;

extern BuiltinAggregate *BuiltinCreate(const Aggref *aggref, const WantedRows *rows, Oid *finish);
extern void BuiltinUseContext(BuiltinAggregate *builtin, MemoryContext context);
extern void BuiltinStart(BuiltinAggregate *builtin, MemoryContext context, BuiltinState *state);
extern void BuiltinAdd(BuiltinAggregate *builtin, BuiltinState *state, const PageTuples *tuples);
extern Datum BuiltinResult(BuiltinAggregate *builtin, const BuiltinState *state, bool *null);
extern const void *BuiltinWrite(BuiltinAggregate *builtin, const BuiltinState *state, uint64 *size);
extern void BuiltinMerge(BuiltinAggregate *builtin, BuiltinState *state,
						 const BuiltinState *written, const void *bytes);
extern void BuiltinFree(const BuiltinAggregate *builtin, BuiltinState *state);

/* A template that is given as a parameter. */
typedef struct GivenTemplate
{
	Param *param;
	ExprState *state;
	Const *value; /* the parameter's value in this run; NULL: not read yet */
} GivenTemplate;

/* One aggregate of the query: one of ours, count, or another aggregate of PostgreSQL. */
typedef struct ScanAggregate
{
	ColumnScanCall *call;
	ColumnLocation location;   /* the key; attribute 0: no key is read */
	ColumnLocation weight;     /* the weight or set id; attribute 0: none */
	RowKey *row;               /* a key of several columns; NULL: any other key, or no key */
	GroupExpression *number;   /* the key if it is a division or has steps of times; else NULL */
	KeyType *keys;             /* type of the keys; NULL: not one of our aggregates */
	GivenTemplate *given;      /* a template that is given as a parameter; else NULL */
	bool in_transfer;          /* only our combine function receives the partial state */
	int filter_number;         /* number of its FILTER; 0: none */
	StateWork work;            /* expected work on the state of each group */
	bool cached;               /* keys may come from cached columns */
	BuiltinAggregate *builtin; /* PostgreSQL's own aggregate; NULL: ours, or count */

	KeyedState *state;     /* state in this run; NULL: not one of our aggregates */
	int64 rows;            /* the result of count */
	BuiltinState computed; /* state of "builtin" */
	int phase;             /* phase of SharedBuild when this process attached */
} ScanAggregate;

/* match.c */
extern List *ScanParams(List *targets);

/*
 * families.c: the properties of a family.  All members are zero for count and PostgreSQL's own
 * aggregates.
 */
struct ColumnFamily
{
	const AggregateFunctions *functions;
	bool weights; /* the family's aggregates may have a weight or set-id argument */
	bool (*takes_keys)(const ColumnScanCall *call); /* false after ScanRefuse() */
	/* Raises the error of an unusable template.  NULL: the family has no templates. */
	void (*check_template)(Datum template, bool null);
	/*
	 * Estimates the bytes to merge if "others" other processes have a state of "rows" rows
	 * each.  "together": none of these processes has another scan to do.
	 */
	double (*table_bytes)(const Const *template, double rows, double others, bool together);
	KeyedState *(*start)(const ScanAggregate *column, MemoryContext context, bool partial);
	/* Returns why no GPU will count the keys; NULL: a GPU may count them. */
	const char *(*gpu_reason)(const Const *template, const StateWork *work);
	/*
	 * True if the processes build one value jointly and wait for one another.  The cost then
	 * depends on the number of processes that run at the same time.
	 */
	bool builds_jointly;
};

enum
{
	FAMILY_SKETCH,
	FAMILY_FILTER,
	FAMILY_SETS,
	FAMILY_TOP,
	COLUMN_FAMILIES, /* number of our families */
	FAMILY_COUNT,    /* count(*) and count(column) */
	FAMILY_BUILTIN   /* PostgreSQL's other aggregates */
};

extern const ColumnFamily column_families[FAMILY_BUILTIN + 1];

extern void GivenTemplatesRead(ScanAggregate *aggregate, int count, ExprContext *context);
extern void ScanAggregateStart(ScanAggregate *aggregate, MemoryContext context, bool partial);
extern Datum ScanAggregateResult(const ScanAggregate *aggregate, bool *null);

/* The number of keys in the aggregate's state, or of rows for count. */
static inline int64 *
ScanAggregateCount(ScanAggregate *aggregate)
{
	return aggregate->state ? &aggregate->state->count : &aggregate->rows;
}

/* Take over the state and the counts of another scan's aggregate. */
static inline void
ScanAggregateTake(ScanAggregate *aggregate, const ScanAggregate *before)
{
	aggregate->state = before->state;
	aggregate->rows = before->rows;
	aggregate->computed = before->computed;
}

/* Add the keys in the buffer to the state. */
static inline void
ScanAggregateFlush(ScanAggregate *aggregate)
{
	if (aggregate->state)
		StateTypeOf(aggregate->state)->flush(aggregate->state);
}

/* The state if it is of this type, else NULL. */
static inline void *
ScanAggregateState(const ScanAggregate *aggregate, const KeyedStateType *type)
{
	return aggregate->state && StateTypeOf(aggregate->state) == type ? aggregate->state : NULL;
}

/* Defer counting the keys of the new state until the state is read, if the state allows it. */
extern void ScanAggregateWait(ScanAggregate *aggregate, KeptTable *kept);

static inline bool
ScanAggregateWaits(const ScanAggregate *aggregate)
{
	return aggregate->state && aggregate->state->deferred;
}

/* Maximum number of candidates in the list of top keys that a call makes. */
extern double ScanCandidates(const ColumnScanCall *call);

/* True if the sketch of a call is made on the CPU even if a GPU is used. */
extern bool ColumnStaysOnCpu(const ColumnScanCall *call);

/* True if a filter with this template draws random bits for each row. */
extern bool ColumnFilterDraws(const Const *template);

/* True if the aggregate is a sketch whose counters are on a device. */
extern bool ScanAggregateIsRemote(const ScanAggregate *aggregate);

/* True if the aggregate's value is on a device: counters, bits or sets. */
extern bool ScanAggregateIsOnGpu(const ScanAggregate *aggregate);

/*
 * Conditions on rows (conditions.c, select.c).  A condition is tested on all tuples of a page,
 * and keeps the tuples for which it is true.
 *
 * A test on the page compares a column with an operand that is the same for all rows, or tests the
 * column for NULL.  Numbers are compared as integers of the same order (pgbase/keytype.h), so each
 * of the operators < <= = >= > accepts a range of integers.  Strings are compared byte by byte.  A
 * condition on steps of times, such as days, is evaluated about once for each step.  The executor
 * evaluates all other conditions.
 */

/* Further kinds of tests.  qb_test_kind has the tests of numbers and the test for NULL. */
enum
{
	TEST_STRING = QB_TEST_NULL + 1, /* the value equals one of the strings, byte by byte */
	TEST_STEPS, /* the clause is true; evaluated about once for each step of times */
	TEST_EXPRESSION
};

typedef struct ScanString
{
	const char *bytes;
	Size length;
} ScanString;

typedef struct ScanCondition
{
	qb_test test; /* the test; its list of numbers is in "number" */
	Expr *clause;
	Var *column;
	ColumnLocation location;
	KeyKind kind; /* kind of the column; not set in a test for NULL */

	/* The operand with which the column is compared; NULL: no operand. */
	Expr *operand;
	KeyKind operand_kind;
	bool operand_is_array;
	int strategy; /* btree strategy of the comparison */

	/* Set from the operand's value in each run, before the condition is tested. */
	bool ready;
	bool all;      /* every row passes */
	bool none;     /* no row passes */
	int count;     /* entries of "number" or "string" */
	int64 *number; /* sorted numbers of the list */
	ScanString *string;

	ExprState *state;       /* the compiled operand, or the whole clause of TEST_EXPRESSION */
	GroupExpression *steps; /* the clause of TEST_STEPS, with a cache */
} ScanCondition;

/* An AND of conditions, in the order in which they are tested: WHERE, or a FILTER. */
typedef struct ScanConditions
{
	int count;
	ScanCondition *condition;
	const Expr *filter; /* the FILTER; NULL: WHERE */
	PageTuples *tuples; /* tuples of the page that pass WHERE and FILTER */
	Oid table;
	ExprContext *context;   /* where the executor evaluates expressions; NULL: no expressions */
	TupleTableSlot *slot;   /* a tuple of the page, for expressions; NULL if "context" is NULL */
	MemoryContext operands; /* values of operands in this run; NULL: there are no conditions */
} ScanConditions;

extern void ScanConditionInit(ScanCondition *condition, Expr *clause);
extern Cost ScanConditionsCost(PlannerInfo *root, List *clauses, Cost *startup);
extern void
ScanConditionsInit(ScanConditions *conditions, List *clauses, EState *estate, Relation relation);

/* select.c */
extern int ScanCompareNumbers(const void *a, const void *b);
extern void ScanConditionEvaluate(ScanConditions *conditions, ScanCondition *condition);

struct WantedRows
{
	EState *estate;
	Relation relation;
	int count;
	ScanConditions *of; /* WHERE, which may have no conditions, then each FILTER */
	Bitmapset *params;  /* parameters that a run depends on */
};

extern void WantedRowsInit(WantedRows *rows, EState *estate, Relation relation, List *clauses,
						   int most_filters);
extern void WantedRowsAddParams(WantedRows *rows, List *exprs);
extern int WantedRowsAddFilter(WantedRows *rows, Expr *filter);
extern int WantedRowsOnPage(const WantedRows *rows);
extern void WantedRowsStart(WantedRows *rows);
extern void WantedRowsSelect(WantedRows *rows, PageTuples *tuples);
extern void WantedRowsEnd(WantedRows *rows);

/* The tuples that pass WHERE and, if "filter" is not 0, the FILTER of this number. */
static inline PageTuples *
WantedRowsOf(WantedRows *rows, int filter, PageTuples *tuples)
{
	return filter == 0 ? tuples : rows->of[filter].tuples;
}

/* The counts that EXPLAIN ANALYZE shows. */
typedef struct ScanCounts
{
	bool any; /* at least one run was counted, even if it read no rows */
	uint64 keys;
	uint64 batches; /* batches of keys that engines added */
	uint64 pages;
	uint64 pages_visible; /* pages read that were all-visible */
	uint64 pages_copied;  /* pages not read, because their keys come from cached columns */
	uint64 groups;
	uint64 spilled;       /* groups written to disk, counted each time */
	bool cached_examined; /* the use of cached columns was examined */
	bool on_cpu;          /* at least one state of our aggregates is on the CPU */
	bool on_gpu;
} ScanCounts;

static inline void
ScanCountsAdd(ScanCounts *counts, const ScanCounts *more)
{
	counts->any |= more->any;
	counts->keys += more->keys;
	counts->batches += more->batches;
	counts->pages += more->pages;
	counts->pages_visible += more->pages_visible;
	counts->pages_copied += more->pages_copied;
	counts->groups += more->groups;
	counts->spilled += more->spilled;
	counts->cached_examined |= more->cached_examined;
	counts->on_cpu |= more->on_cpu;
	counts->on_gpu |= more->on_gpu;
}

/* families.c */
extern void ScanCountKeys(ScanCounts *counts, const ScanAggregate *aggregate, int count);

/* collect.c: sketches or groups that the scans of several tables fill one after the other. */
typedef struct ScanAccumulator
{
	MemoryContext context;
	ScanAggregate *aggregate;  /* sketches of the last child that ran; NULL: none, or GROUP BY */
	struct ScanGroups *groups; /* groups that all children fill; NULL: no GROUP BY */
	void *first;               /* the child that started the groups; NULL: no groups */
	bool returning;            /* all children have run, and the groups are being returned */
	bool cached;               /* columns of a child are cached on a GPU */
	List *scans;               /* states of the child scans */
} ScanAccumulator;

extern ScanAccumulator *ScanAccumulatorOf(EState *estate, int param);
extern bool ScanAccumulatorTake(ScanAccumulator *accumulator, ScanAggregate *aggregate, int count,
								MemoryContext *context);
extern List *ScanTargets(List *exprs);
extern Path *
ScanCollectPath(RelOptInfo *rel, PathTarget *target, int fields, List *having, int param);
extern void ScanCollectInit(void);

/* share.c: shared memory of the processes of a parallel scan. */
typedef struct SharedScan SharedScan;

extern Size SharedScanSize(int count);
extern void SharedScanInit(SharedScan *shared, int count, int processes);
extern int SharedScanProcesses(const SharedScan *shared);
extern void SharedScanReset(SharedScan *shared, dsa_area *area, int count);
extern bool SharedScanJoin(SharedScan *shared, ScanAggregate *aggregate, int count);
extern uint64 SharedScanId(const SharedScan *shared);
extern struct SharedPages *SharedScanPages(SharedScan *shared);
extern void SharedScanLeave(SharedScan *shared, dsa_area *area, ScanAggregate *aggregate, int count,
							bool collect);
extern void SharedScanCount(SharedScan *shared, const ScanCounts *more);
extern ScanCounts SharedScanCounts(SharedScan *shared);

/* sets/build.c: the collections of sets that a parallel scan builds, one for each aggregate. */
typedef struct SharedBuild SharedBuild;

extern Size SharedBuildSize(int count);
extern void SharedBuildInit(SharedBuild *shared, int count);
extern void SharedBuildReset(SharedBuild *shared, dsa_area *area, int count);
extern void SharedBuildJoin(SharedBuild *shared, ScanAggregate *aggregate, int count);
extern void SharedBuildSets(SharedBuild *shared, dsa_area *area, ScanAggregate *aggregate,
							int count, bool together);

/* explain.c */
extern ActivityHandle ScanReportBegin(const PageReader *reader, const SharedScan *shared);
extern void ScanReport(const ActivityHandle *activity, const PageReader *reader,
					   const ScanAggregate *aggregate, int count);
extern bool
ScanCountsAreKnown(const ScanCounts *counts, const PlanState *node, const ExplainState *es);
extern void ScanExplainExprs(const char *label, List *exprs, const CustomScan *scan,
							 List *ancestors, ExplainState *es);
extern void ScanExplainGroups(const ScanCounts *counts, ExplainState *es);
extern void ScanExplainHaving(List *having, uint64 refused, bool counted, const CustomScan *scan,
							  List *ancestors, ExplainState *es);
extern void ScanExplainKeys(const ScanCounts *counts, ExplainState *es);
extern void ScanExplainPages(const ScanCounts *counts, ExplainState *es);

/*
 * Indexes in the list of numbers that a plan passes to the executor.  custom_private has this
 * list, then the recognized aggregates.
 */
enum
{
	PLAN_ALONE,        /* 1: no GROUP BY, and its Gather has only the scan below it */
	PLAN_ACCUMULATOR,  /* number of the ScanAccumulator's parameter, or -1 */
	PLAN_GROUP_FIELDS, /* number of grouping columns and expressions; 0: no GROUP BY */
	PLAN_ROWS,         /* expected rows of a group in each process, at most INT_MAX */
	PLAN_TOGETHER      /* expected groups, at most INT_MAX */
};

static inline int
ScanPlanNumber(const CustomScan *scan, int number)
{
	return list_nth_int(linitial(scan->custom_private), number);
}

/* The lists in custom_exprs. */
enum
{
	PLAN_HAVING, /* HAVING */
	PLAN_PARAMS  /* parameters in the scan's expressions */
};

/* match.c */
extern ScanAggregate *ScanAggregatesInit(PlanState *node, WantedRows *rows, int *count);
extern List *ScanClauses(const CustomScan *scan);
extern List *ScanGroupExprs(const CustomScan *scan);
extern bool ScanIsPartial(const CustomScan *scan);

/* keys.c */
extern void ScanAggregateDescribeKeys(ScanAggregate *aggregate, EState *estate, Relation relation);
extern void ScanKeysStart(const ScanAggregate *aggregate, int count);
extern void ScanKeysEnd(const ScanAggregate *aggregate, int count);
extern int ColumnValues(const ColumnLocation *location, KeyType *key, PageTuples *tuples,
						uint64 *to, bool *null);
extern void ScanAggregateAdd(ScanAggregate *aggregate, PageTuples *tuples);

#endif
