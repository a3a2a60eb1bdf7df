/*
 * groups.h
 *		GROUP BY of one column in a column scan.
 *
 *	groups_plan.c	which GROUP BY can be done, and what it costs
 *	groups.c		the groups, each with states of its own
 *	groups_value.c	the value that tells groups apart
 *	spill.c			files with rows of groups that wait for their turn
 *
 * src/scan/groups.h
 */
#ifndef QS_SCAN_GROUPS_H
#define QS_SCAN_GROUPS_H

#include "scan/conditions.h"

/* groups_value.c: the value of the grouping column.  Equal values have equal bits. */
typedef struct GroupValue
{
	int64 bits; /* the integer, or the hash of the string */
	bool null;
	bool copied; /* "string" is a copy, not in the tuple */
	const struct varlena *string;
} GroupValue;

extern void GroupReadString(const ColumnPlace *place, Relation relation, HeapTupleHeader tuple,
							uint16 length, GroupValue *value);
extern void GroupReadEnd(GroupValue *value);
extern bool GroupSameString(const GroupValue *a, const GroupValue *b);
extern void GroupKeep(GroupValue *kept, const GroupValue *value, MemoryContext context);
extern uint64 GroupSpillHash(const GroupValue *value);
extern Datum GroupDatum(const GroupValue *value, KeyKind kind);

/* Are both values equal?  A column has strings only, or none. */
static inline bool
GroupSame(const GroupValue *a, const GroupValue *b)
{
	return a->bits == b->bits && a->null == b->null && (a->string == NULL || GroupSameString(a, b));
}

/* groups_plan.c: what a query groups by. */
typedef struct GroupingPlan
{
	Var *column;
	KeyKind kind; /* of the column's values */
	double groups;
	double bytes;  /* of a group, as far as the planner knows */
	double empty;  /* the part of "bytes" that is not its states */
	double rows;   /* of a group, as far as the planner knows */
	double copied; /* share of the pages whose keys a GPU has */
} GroupingPlan;

extern bool ScanGroupingMatch(PlannerInfo *root, RelOptInfo *input, GroupingPlan *plan);
extern bool ScanGroupingKind(const Var *column, KeyKind *kind);
extern void
ScanGroupingCost(const GroupingPlan *plan, RelOptInfo *table, int aggregates, Path *path);
extern Node *ScanGroupingPrivate(const GroupingPlan *plan);
extern double
ScanGroupingBytes(const Node *private, const ScanAggregate *column, int count, bool once);

/* groups.c */
typedef struct ScanGroups ScanGroups;

extern ScanGroups *ScanGroupsCreate(const Var *column, Node *private, const ScanAggregate *model,
									int count, WantedRows *rows, bool once);
extern void ScanGroupsStart(ScanGroups *groups);
extern ScanAggregate *ScanGroupsFind(ScanGroups *groups, int64 number, bool null);
extern void ScanGroupsAdd(ScanGroups *groups, PageTuples *tuples);
extern ScanCounts ScanGroupsFlush(ScanGroups *groups);
extern bool ScanGroupsNext(ScanGroups *groups, TupleTableSlot *slot);
extern bool ScanGroupsGoOn(ScanGroups *groups);
extern bool ScanGroupsRewind(ScanGroups *groups);
extern void ScanGroupsEnd(ScanGroups *groups);
extern void ScanGroupsExplain(const ScanGroups *groups, struct ExplainState *es);

/* spill.c */
typedef struct ScanSpill ScanSpill;

extern ScanSpill *ScanSpillCreate(MemoryContext context);
extern void ScanSpillPut(ScanSpill *spill, uint64 hash, HeapTupleHeader tuple, uint16 length);
extern bool ScanSpillNextPart(ScanSpill *spill);
extern bool ScanSpillRead(ScanSpill *spill, PageTuples *tuples);
extern void ScanSpillReset(ScanSpill *spill);

#endif
