/*
 * groups.h
 *		GROUP BY in a column scan, of columns and of expressions of them.
 *
 *	groups_plan.c	which GROUP BY can be done, and what it costs
 *	groups.c		the groups, each with states of its own
 *	groups_find.c	the group of each tuple
 *	groups_key.c	the values that tell groups apart
 *	groups_expr.c	values that the executor evaluates
 *	groups_cache.c	those of the last rows, and of spans of times
 *	groups_write.c	which groups are written to files, so that memory has its limit
 *	groups_value.c	a group as a value in a file
 *	groups_merge.c	the groups of such values
 *	spill.c			the files
 *
 * src/scan/groups.h
 */
#ifndef QS_SCAN_GROUPS_H
#define QS_SCAN_GROUPS_H

#include "base/slot.h"
#include "pgbase/estimate.h"
#include "scan/columns.h"
#include "scan/conditions.h"

/* The value of a column or expression that rows are grouped by.  Equal values have equal bits. */
typedef struct GroupValue
{
	int64 bits; /* the integer, or the hash of the string */
	bool null;
	bool copied; /* "string" is a copy that GroupReadEnd() frees */
	const struct varlena *string;
} GroupValue;

/* groups_expr.c: an expression that the executor evaluates. */
typedef struct GroupExpression GroupExpression;

extern GroupExpression *
GroupExpressionCreate(Expr *expr, KeyKind kind, EState *estate, Relation relation);
extern void GroupExpressionStart(GroupExpression *expression);
extern void GroupExpressionRead(GroupExpression *expression, Relation relation,
								HeapTupleHeader tuple, uint16 length, GroupValue *value);

extern void GroupExpressionAt(GroupExpression *expression, int64 input, GroupValue *value);

/* groups_cache.c: values of an expression of one integer column. */
typedef struct GroupCache GroupCache;

extern GroupCache *GroupCacheCreate(const Expr *expr, GroupExpression *expression);
extern void GroupCacheStart(GroupCache *cache);
extern bool GroupCachePays(const GroupCache *cache);
extern bool GroupCacheFind(GroupCache *cache, int64 input, GroupValue *value);
extern void GroupCacheKeep(GroupCache *cache, int64 input, const GroupValue *value);

/* One column or expression of GROUP BY. */
typedef struct GroupField
{
	KeyKind kind;                /* KEY_BYTES: strings */
	ColumnPlace place;           /* of the column */
	GroupExpression *expression; /* NULL: it is a column, and its kind says how it is read */
} GroupField;

/* groups_key.c: all that rows are grouped by. */
typedef struct GroupKey
{
	Relation relation;
	bool strings; /* there are strings among the columns */
	int fields;
	GroupField field[FLEXIBLE_ARRAY_MEMBER];
} GroupKey;

extern GroupKey *GroupKeyCreate(List *exprs, EState *estate, Relation relation);
extern void GroupKeyStart(GroupKey *key);
extern void GroupReadString(const ColumnPlace *place, Relation relation, HeapTupleHeader tuple,
							uint16 length, GroupValue *value);
extern void GroupReadEnd(const GroupKey *key, GroupValue *value);
extern bool GroupSameString(const GroupValue *a, const GroupValue *b);
extern void
GroupKeyKeep(const GroupKey *key, GroupValue *kept, const GroupValue *value, MemoryContext context);
extern Datum GroupDatum(const GroupValue *value, KeyKind kind);

/* Read the values of a tuple.  They are valid until the next tuple is read. */
static inline void
GroupKeyRead(const GroupKey *key, HeapTupleHeader tuple, uint16 length, GroupValue *value)
{
	const GroupField *field = key->field;
	const GroupField *end = field + key->fields;

	for (; field < end; field++, value++)
	{
		value->string = NULL;
		value->copied = false;
		value->bits = 0;
		if (field->expression)
			GroupExpressionRead(field->expression, key->relation, tuple, length, value);
		else if (field->kind == KEY_BYTES)
			GroupReadString(&field->place, key->relation, tuple, length, value);
		else
			value->null = !ColumnGetNumber(&field->place, field->kind, key->relation, tuple, length,
										   &value->bits);
	}
}

/* Free what reading a tuple has allocated. */
static inline void
GroupKeyReadEnd(const GroupKey *key, GroupValue *value)
{
	if (key->strings)
		GroupReadEnd(key, value);
}

/* The bits of a string. */
static inline int64
GroupStringBits(const struct varlena *string)
{
	return (int64) qb_hash_bytes((const uint8 *) VARDATA_ANY(string), VARSIZE_ANY_EXHDR(string),
								 qb_own_secret.word);
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

/* Are the values of two rows equal?  A column has strings only, or none. */
static inline bool
GroupKeySame(const GroupKey *key, const GroupValue *a, const GroupValue *b)
{
	int i;

	for (i = 0; i < key->fields; i++)
		if (a[i].bits != b[i].bits || a[i].null != b[i].null ||
			(a[i].string && !GroupSameString(&a[i], &b[i])))
			return false;
	return true;
}

/* groups_plan.c: what a query groups by. */
typedef struct GroupingPlan
{
	List *exprs;      /* columns and expressions */
	Cost find;        /* of finding a row's group */
	double processes; /* which share the rows; each makes groups of its own */
	double groups;    /* of each process */
	double sized;     /* groups of each process of so many bytes */
	double bytes;     /* of such a group, as far as the planner knows */
	double copied;    /* share of the pages whose keys a GPU has */
} GroupingPlan;

extern List *ScanGroupingExprs(PlannerInfo *root, RelOptInfo *input);
extern bool ScanGroupingPlan(PlannerInfo *root, RelOptInfo *table, List *exprs, int workers,
							 GroupingPlan *plan);
extern bool ScanGroupingFits(PlannerInfo *root, List *exprs, List *aggregates, double rows);
extern const Var *ScanGroupingColumn(const Node *expr);
extern const Var *ScanGroupedColumn(List *exprs);
extern bool ScanGroupingKind(const Node *expr, KeyKind *kind);
extern void
ScanGroupingCost(const GroupingPlan *plan, RelOptInfo *table, int aggregates, Path *path);
extern Node *ScanGroupingPrivate(const GroupingPlan *plan);
extern int ScanGroupingFields(const Node *private);

/* groups.c */
typedef struct ScanGroups ScanGroups;

extern ScanGroups *
ScanGroupsCreate(List *exprs, const ScanAggregate *model, int count, WantedRows *rows, bool once);
extern void ScanGroupsStart(ScanGroups *groups);
extern void ScanGroupsAdd(ScanGroups *groups, PageTuples *tuples);
extern ScanCounts ScanGroupsFlush(ScanGroups *groups);
extern bool ScanGroupsNext(ScanGroups *groups, TupleTableSlot *slot);
extern bool ScanGroupsGoOn(ScanGroups *groups);
extern uint64 ScanGroupsInMemory(const ScanGroups *groups);
extern bool ScanGroupsRewind(ScanGroups *groups);
extern void ScanGroupsForget(ScanGroups *groups);
extern void ScanGroupsEnd(ScanGroups *groups);

/* groups_find.c */
extern ScanAggregate *ScanGroupsFind(ScanGroups *groups, int64 number, bool null);

#endif
