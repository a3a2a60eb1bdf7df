/*
 * groups.h
 *		GROUP BY in a column scan, of columns and of expressions of them.
 *
 *	use.c		the groups, each with states of its own, within their memory
 *	find.c		the values that tell groups apart, and the group of each tuple
 *	expr.c		values that the executor evaluates, and a cache of them, also for keys and
 *				conditions
 *	steps.c		functions that cut times into steps, and where each step begins
 *	spill.c		groups that are written to disk, sorted and merged
 *
 * ../costs.c says which GROUP BY can be done, and what it costs.
 *
 * src/scan/groups/groups.h
 */
#ifndef QS_SCAN_GROUPS_H
#define QS_SCAN_GROUPS_H

#include "base/slot.h"
#include "pgbase/estimate.h"
#include "scan/scan.h"

#include "utils/memutils.h"

#include <math.h>

/* The value of a column or expression that rows are grouped by.  Equal values have equal bits. */
typedef struct GroupValue
{
	int64 bits; /* the number, or the hash of the string */
	bool null;
	bool minus;  /* the number is -0, which is equal to 0 */
	bool copied; /* "string" is a copy that is freed when the tuple was handled */
	const struct varlena *string;
} GroupValue;

/* expr.c: an expression that the executor evaluates. */
extern GroupExpression *
GroupExpressionCreate(Expr *expr, KeyKind kind, ColumnExpression *evaluated);
extern double GroupExpressionEvaluated(PlannerInfo *root, Expr *call);
extern bool GroupExpressionIsShort(const GroupExpression *expression);
extern void GroupExpressionStart(GroupExpression *expression);
extern void GroupExpressionEnd(GroupExpression *expression);
extern void
GroupExpressionRead(GroupExpression *expression, HeapTupleHeader tuple, GroupValue *value);

/* steps.c: an expression that has one value in each step of times. */
typedef struct TimeSteps TimeSteps;

typedef enum StepCount
{
	STEPS_UNKNOWN,
	STEPS_ONE,
	STEPS_TWO,
	STEPS_SEVERAL
} StepCount;

extern Expr *TimeStepsCall(Expr *expr);
extern TimeSteps *TimeStepsCreate(Expr *expr, ExprContext *context);
extern void TimeStepsStart(TimeSteps *steps);
extern StepCount TimeStepsBetween(TimeSteps *steps, int64 low, int64 high, int64 *change);

/* One column or expression of GROUP BY. */
typedef struct GroupField
{
	KeyKind kind;    /* KEY_BYTES and KEY_HASHED: strings */
	FmgrInfo *equal; /* what compares and hashes strings of KEY_HASHED */
	FmgrInfo *hash;
	Oid collation;
	ColumnLocation location;     /* of the column */
	GroupExpression *expression; /* NULL: it is a column, and its kind says how it is read */
} GroupField;

/* find.c: all that rows are grouped by. */
typedef struct GroupKey
{
	bool strings; /* there are strings among the columns */
	int fields;
	GroupField field[FLEXIBLE_ARRAY_MEMBER];
} GroupKey;

extern GroupKey *GroupKeyCreate(List *exprs, EState *estate, Relation relation);
extern void GroupKeyStart(GroupKey *key);
extern void GroupKeyEnd(GroupKey *key);
extern Datum GroupDatum(const GroupValue *value, KeyKind kind);

/* Are values of this kind strings, by their bytes or by the functions of their type? */
static inline bool
GroupIsString(KeyKind kind)
{
	return kind == KEY_BYTES || kind == KEY_HASHED;
}

/* Set the value to a number. */
static inline void
GroupSetNumber(GroupValue *value, KeyKind kind, Datum number)
{
	value->bits = KeyNumber(kind, number);
	if (unlikely(value->bits == 0 && (kind == KEY_FLOAT4 || kind == KEY_FLOAT8)))
		value->minus =
			signbit(kind == KEY_FLOAT4 ? DatumGetFloat4(number) : DatumGetFloat8(number)) != 0;
}

/*
 * Bits of all values together: those of a single value are its own.  Nobody can choose
 * several values so that their bits agree with those of others.
 */
static inline int64
GroupKeyBits(const GroupKey *key, const GroupValue *value)
{
	uint64 bits = (uint64) value->bits;
	int i;

	for (i = 1; i < key->fields; i++)
	{
		bits = qb_slot_hash(bits);
		bits ^= value[i].null ? qb_own_secret.word[0] : (uint64) value[i].bits;
	}
	return (int64) bits;
}

/* costs.c: what a query groups by.  Without GROUP BY "exprs" is NIL, and there is one group. */
typedef struct GroupingPlan
{
	List *exprs;      /* columns and expressions */
	Cost find;        /* of finding a row's group */
	double processes; /* which share the rows; each makes groups of its own */
	double groups;    /* of each process */
	double sized;     /* groups of each process of so many bytes */
	double most;      /* groups that there may be, if many are of few rows */
	double bytes;     /* of a group, as far as the planner knows */
	double order;     /* fraction of the rows that come in the order of groups */
	double copied;    /* fraction of the pages whose keys a GPU has */
} GroupingPlan;

extern List *ScanGroupingExprs(PlannerInfo *root, RelOptInfo *input);
extern bool ScanGroupingPlan(PlannerInfo *root, RelOptInfo *table, List *exprs, int workers,
							 GroupingPlan *plan);
extern bool ScanGroupingFits(PlannerInfo *root, List *exprs, List *calls, double rows);
extern const Var *ScanGroupedColumn(List *exprs);
extern Cost ScanSetCosts(PlannerInfo *root, Path *path, RelOptInfo *table, List *calls,
						 const GroupingPlan *by, bool alone);
extern void ScanGroupingCost(const GroupingPlan *plan, RelOptInfo *table, List *calls, Path *path);
extern Cost ScanSpillCost(const GroupingPlan *plan, const RelOptInfo *table, List *calls);

/* ---- groups ---- */

#define RECENT_GROUPS 1024 /* a power of two */

/* spill.c: groups that were written. */
typedef struct ScanSpill ScanSpill;

/* The values of the key are what is looked at first. */
typedef struct ScanGroup
{
	uint64 sorting; /* number of the last sorting in which the group had tuples */
	int index;      /* its index among the groups of that sorting; -1: it was written */
	uint64 made;    /* number of the sorting that made it */
	uint64 rows;
	struct ScanGroup *next;
	struct ScanGroup *same_bits;             /* another group whose values have the same bits */
	ScanAggregate *aggregate;                /* behind the key */
	GroupValue value[FLEXIBLE_ARRAY_MEMBER]; /* of each field of the key */
} ScanGroup;

/* A group of a number that had rows lately.  It saves looking the group up. */
typedef struct RecentGroup
{
	int64 bits;
	ScanGroup *group; /* NULL: none */
} RecentGroup;

/* The tuples of a page, sorted by group. */
typedef struct Sorting
{
	uint64 number; /* counts the sortings */
	int groups;
	ScanGroup *group[MaxHeapTuplesPerPage];
	uint16 end[MaxHeapTuplesPerPage];   /* of each group: where its tuples end in "order" */
	uint16 order[MaxHeapTuplesPerPage]; /* indexes of tuples, by group */
	int16 index[MaxHeapTuplesPerPage];  /* of each tuple: the index of its group */
	PageTuples batch;                   /* the tuples of one group */
} Sorting;

typedef struct ScanGroups
{
	const ScanAggregate *model; /* the columns of a new group, without states */
	int count;
	WantedRows *rows; /* these three are of the table whose rows come now */
	GroupKey *key;
	GroupValue *value; /* of the last tuple, for each field of the key */
	Size limit;        /* for all groups, in bytes */
	Size most;         /* when they take more, some of them are written */
	bool once;         /* no group is asked for again */
	bool complete;     /* nothing was written or freed, so the groups can be returned again */
	bool few;          /* groups that were written had few rows: new ones are written first */
	uint64 page;       /* number of the first sorting of this page */
	uint64 turned;     /* number of the last sorting before the rows of this table */

	MemoryContext context; /* of the groups */
	KeptTable kept;        /* in that context: the dense table that groups use in turn */
	struct groupmap_hash *map;
	ScanGroup *first; /* in the order in which they came */
	ScanGroup *last;
	ScanGroup *before;  /* the last one before those that this page has made; NULL: not known */
	ScanGroup *recent;  /* the group of the last tuple */
	ScanGroup *waiting; /* the group to return next */
	ScanGroup *given;   /* the group that was returned last; NULL: it is "merged" */
	uint64 groups;      /* in memory: they will be returned, or have been */

	ScanSpill *spill;      /* groups that were written */
	ScanCounts written;    /* what was counted in them */
	MemoryContext scratch; /* while a group is written, or a key is read */
	MemoryContext result;  /* the values of the group that was returned last, if it was written */
	ScanAggregate *merged; /* its aggregates */
	Sorting sorting;
	RecentGroup recently[RECENT_GROUPS];
} ScanGroups;

/* use.c */
extern ScanGroups *ScanGroupsCreate(int fields, int count, bool once);
extern void ScanGroupsStart(ScanGroups *groups);
extern void
ScanGroupsTurn(ScanGroups *groups, const ScanAggregate *model, WantedRows *rows, GroupKey *key);
extern void ScanGroupsAdd(ScanGroups *groups, PageTuples *tuples);
extern ScanCounts ScanGroupsFlush(ScanGroups *groups);
extern bool ScanGroupsNext(ScanGroups *groups, TupleTableSlot *slot);
extern bool ScanGroupsRewind(ScanGroups *groups);
extern void ScanGroupsForget(ScanGroups *groups);

/* find.c */
extern void ScanGroupsClear(ScanGroups *groups);
extern void ScanGroupsMapAnew(ScanGroups *groups);
extern void ScanGroupHide(ScanGroups *groups, const ScanGroup *group);
extern bool GroupValuesAreEqual(const GroupKey *key, const GroupValue *a, const GroupValue *b);
extern ScanAggregate *ScanGroupsFind(ScanGroups *groups, int64 number, bool null);
extern void ScanGroupsSort(ScanGroups *groups, PageTuples *tuples);

/* spill.c */
extern ScanSpill *ScanSpillCreate(MemoryContext context, Size limit);
extern void ScanSpillReset(ScanSpill *spill);
extern void ScanGroupWrite(ScanGroups *groups, const ScanGroup *group);
extern bool ScanGroupsMerged(ScanGroups *groups, TupleTableSlot *slot);
extern void ScanGroupsMergedEnd(ScanGroups *groups);

/* Bytes of all groups, but for the dense table that they use in turn. */
static inline Size
ScanGroupsMemory(const ScanGroups *groups)
{
	return MemoryContextMemAllocated(groups->context, true) - groups->kept.bytes;
}

#endif
