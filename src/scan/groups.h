/*
 * groups.h
 *		GROUP BY of one column in a column scan.
 *
 *	groups_plan.c	which GROUP BY can be done, and what it costs
 *	groups.c		the groups, each with states of its own
 *	groups_value.c	what they are told apart by
 *	spill.c			rows of groups that wait in files for their turn
 *
 * src/scan/groups.h
 */
#ifndef QS_SCAN_GROUPS_H
#define QS_SCAN_GROUPS_H

#include "scan/conditions.h"

/* groups_value.c: the value that rows are grouped by, its bits equal if it is. */
typedef struct GroupValue
{
	int64 bits; /* the integer, or the hash of the string */
	bool null;
	bool copied; /* the string is not where it was */
	const struct varlena *string;
} GroupValue;

extern void GroupReadString(const ColumnPlace *place, Relation relation, HeapTupleHeader tuple,
							uint16 length, GroupValue *value);
extern void GroupReadEnd(GroupValue *value);
extern bool GroupSameString(const GroupValue *a, const GroupValue *b);
extern void GroupKeep(GroupValue *kept, const GroupValue *value, MemoryContext context);
extern uint64 GroupSpillHash(const GroupValue *value);
extern Datum GroupDatum(const GroupValue *value, KeyKind kind);

/* Are they equal?  Those of a column are all strings or none. */
static inline bool
GroupSame(const GroupValue *a, const GroupValue *b)
{
	return a->bits == b->bits && a->null == b->null && (a->string == NULL || GroupSameString(a, b));
}

/* groups_plan.c: what a query groups by. */
typedef struct GroupingPlan
{
	Var *column;
	KeyKind kind; /* of its values */
	double groups;
	double bytes; /* of each group, as far as the planner knows */
	double empty; /* of these not of its states */
	double rows;  /* of each group, likewise */
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
extern uint64 ScanSpillRows(const ScanSpill *spill);
extern void ScanSpillReset(ScanSpill *spill);

#endif
