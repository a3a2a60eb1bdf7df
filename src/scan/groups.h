/*
 * groups.h
 *		GROUP BY of one column in a column scan.
 *
 *	groups_plan.c	which GROUP BY can be done, and what it costs
 *	groups.c		the groups, each with states of its own
 *	spill.c			rows of groups that wait in files for their turn
 *
 * src/scan/groups.h
 */
#ifndef QS_SCAN_GROUPS_H
#define QS_SCAN_GROUPS_H

#include "scan/conditions.h"

/* groups_plan.c: what a query groups by. */
typedef struct GroupingPlan
{
	Var *column;
	double groups;
	double bytes; /* of each group, as far as the planner knows */
	double rows;  /* likewise */
} GroupingPlan;

extern bool ScanGroupingMatch(PlannerInfo *root, RelOptInfo *input, GroupingPlan *plan);
extern bool ScanGroupingKind(const Var *column, KeyKind *kind);
extern void
ScanGroupingCost(const GroupingPlan *plan, RelOptInfo *table, int aggregates, Path *path);
extern Node *ScanGroupingPrivate(const GroupingPlan *plan);
extern double
ScanGroupingBytes(const Node *private, const SketchedColumn *column, int count, bool once);

/* groups.c */
typedef struct ScanGroups ScanGroups;

extern ScanGroups *ScanGroupsCreate(const Var *column, Node *private, const SketchedColumn *model,
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
