/*
 * groups.h
 *		GROUP BY in a column scan, by columns and by expressions of columns.
 *
 *	use.c		the groups with their states, within a memory limit
 *	find.c		the values that rows are grouped by, and the group of each tuple
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
	bool minus;  /* the number was -0, which is equal to 0 */
	bool copied; /* "string" is a copy, to be freed after the tuple */
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
	FmgrInfo *equal; /* compares strings of KEY_HASHED; "hash" hashes them */
	FmgrInfo *hash;
	Oid collation;
	ColumnLocation location;     /* the column, if "expression" is NULL */
	GroupExpression *expression; /* the expression; NULL: a column */
} GroupField;

/* find.c: the key of GROUP BY, with all of its columns and expressions. */
typedef struct GroupKey
{
	bool strings; /* at least one of the columns has strings */
	int fields;
	GroupField field[FLEXIBLE_ARRAY_MEMBER];
} GroupKey;

extern GroupKey *GroupKeyCreate(List *exprs, EState *estate, Relation relation);
extern void GroupKeyStart(GroupKey *key);
extern void GroupKeyEnd(GroupKey *key);
extern Datum GroupDatum(const GroupValue *value, KeyKind kind);

/*
 * True if values of this kind are strings.  Strings are compared by their bytes or by the functions
 * of their type.
 */
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
 * The bits of all values of a key.  A single value has its own bits.  The bits of several
 * values depend on a secret, so that nobody can choose numbers that collide.
 */
static inline int64
GroupKeyBits(const GroupKey *key, const GroupValue *value)
{
	uint64 bits = (uint64) value->bits;
	int i;

	for (i = 1; i < key->fields; i++)
	{
		bits = qb_slot_hash(bits);
		bits ^= value[i].null ? qb_process_secret.word[0] : (uint64) value[i].bits;
	}
	return (int64) bits;
}

/*
 * costs.c: the estimates for grouping a query's rows.  Without GROUP BY, "exprs" is NIL, and there
 * is one group.
 */
typedef struct GroupingPlan
{
	List *exprs;      /* columns and expressions */
	Cost find;        /* cost of finding a row's group */
	double processes; /* processes that share the rows; each process makes its own groups */
	double groups;    /* expected groups of each process */
	double sized;     /* groups of each process that have "bytes" bytes; all others are small */
	double most;      /* upper estimate of the number of groups of each process */
	double bytes;     /* expected bytes of a group */
	double order;     /* fraction of the rows that are in the order of groups */
	double copied;    /* fraction of the pages whose keys come from cached columns */
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

/* spill.c: groups that were written to disk. */
typedef struct ScanSpill ScanSpill;

/* A group.  If it is a recent group, sorting a page by group uses only the first three members. */
typedef struct ScanGroup
{
	uint64 sorting; /* number of the last sorting that had tuples of the group */
	int index;      /* index in Sorting.group; -1: the group was written to disk */
	uint64 created; /* number of the sorting that made the group */
	uint64 rows;
	struct ScanGroup *next;
	struct ScanGroup *same_bits;             /* another group whose key has the same bits */
	ScanAggregate *aggregate;                /* its aggregates, which follow the key in memory */
	GroupValue value[FLEXIBLE_ARRAY_MEMBER]; /* one for each field of the key */
} ScanGroup;

/* A group that recently had rows, found by its key's bits without a lookup in "map". */
typedef struct RecentGroup
{
	int64 bits;
	ScanGroup *group; /* NULL: unused */
} RecentGroup;

/* The tuples of a page, sorted by group. */
typedef struct Sorting
{
	uint64 number; /* counts the sortings */
	int groups;
	ScanGroup *group[MaxHeapTuplesPerPage];
	uint16 end[MaxHeapTuplesPerPage];   /* for each group: where its tuples end in "order" */
	uint16 order[MaxHeapTuplesPerPage]; /* indexes of tuples, by group */
	int16 index[MaxHeapTuplesPerPage];  /* for each tuple: the index of its group */
	PageTuples batch;                   /* the tuples of one group, while they are added */
} Sorting;

typedef struct ScanGroups
{
	const ScanAggregate *model; /* the aggregates of a new group, without states */
	int count;
	WantedRows *rows; /* "model", "rows" and "key" belong to the table being read */
	GroupKey *key;
	GroupValue *value;   /* values of the last tuple, one for each field of the key */
	Size limit;          /* memory limit of all groups, in bytes */
	Size most;           /* bytes of memory above which groups are written */
	bool once;           /* the groups are read only once, without a rewind */
	bool complete;       /* no group was written or freed, so all groups can be returned again */
	bool few;            /* written groups had few rows, so new groups are written first */
	uint64 page;         /* number of the first sorting of this page */
	uint64 before_table; /* number of the last sorting before this table */

	MemoryContext context; /* holds the groups */
	KeptTable kept;        /* in "context": one dense table that the groups use one after another */
	struct groupmap_hash *map;
	ScanGroup *first; /* list of groups in the order in which they were made */
	ScanGroup *last;
	ScanGroup *before;  /* the last group that was made before this page; NULL: not known */
	ScanGroup *recent;  /* the group of the last tuple */
	ScanGroup *waiting; /* the group to return next */
	ScanGroup *given;   /* the group that was returned last; NULL: that group was in "merged" */
	uint64 groups;      /* groups in memory */

	ScanSpill *spill;      /* groups that were written to disk */
	ScanCounts written;    /* counts of the written groups */
	MemoryContext scratch; /* memory for writing a group or reading a key */
	MemoryContext result;  /* values of the group returned last, if it had been written */
	ScanAggregate *merged; /* aggregates of the group returned last, if it had been written */
	Sorting sorting;
	RecentGroup recently[RECENT_GROUPS];
} ScanGroups;

/* use.c */
extern ScanGroups *ScanGroupsCreate(int fields, int count, bool once);
extern void ScanGroupsStart(ScanGroups *groups);
extern void ScanGroupsBeginTable(ScanGroups *groups, const ScanAggregate *model, WantedRows *rows,
								 GroupKey *key);
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

/* Bytes of all groups, without the dense table that the groups use one after another. */
static inline Size
ScanGroupsMemory(const ScanGroups *groups)
{
	return MemoryContextMemAllocated(groups->context, true) - groups->kept.bytes;
}

#endif
