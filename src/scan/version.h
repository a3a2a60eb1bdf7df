/*
 * version.h
 *		What differs between the versions of PostgreSQL, for scans: see pgbase/version.h.
 *
 * src/scan/version.h
 */
#ifndef QS_SCAN_VERSION_H
#define QS_SCAN_VERSION_H

#include "pgbase/version.h"

#include "access/heapam.h"
#include "access/tableam.h"
#include "commands/explain.h"
#include "executor/executor.h"
#include "optimizer/pathnode.h"
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif

/*
 * A scan of all pages, in a parallel plan with the state that its processes share.  From
 * PostgreSQL 19 on a scan of a table that the statement does not change may mark pages
 * all-visible.
 */
static inline TableScanDesc
BeginTableScan(ScanState *state, ParallelTableScanDesc shared)
{
	Relation relation = state->ss_currentRelation;
	Snapshot snapshot = state->ps.state->es_snapshot;

#if PG_VERSION_NUM >= 190000
	uint32 flags = ScanRelIsReadOnly(state) ? SO_HINT_REL_READ_ONLY : SO_NONE;

	return shared ? table_beginscan_parallel(relation, shared, flags)
				  : table_beginscan(relation, snapshot, 0, NULL, flags);
#else
	return shared ? table_beginscan_parallel(relation, shared)
				  : table_beginscan(relation, snapshot, 0, NULL);
#endif
}

/* A scan of all pages outside of a plan: a table that the statement may change. */
static inline TableScanDesc
BeginOwnScan(Relation relation, Snapshot snapshot)
{
#if PG_VERSION_NUM >= 190000
	return table_beginscan(relation, snapshot, 0, NULL, SO_NONE);
#else
	return table_beginscan(relation, snapshot, 0, NULL);
#endif
}

/* Prune a page that is pinned, not locked, if that pays. */
static inline void
PrunePage(HeapScanDesc scan, Buffer buffer)
{
#if PG_VERSION_NUM >= 190000
	heap_page_prune_opt(scan->rs_base.rs_rd, buffer, &scan->rs_vmbuffer,
						(scan->rs_base.rs_flags & SO_HINT_REL_READ_ONLY) != 0);
#else
	heap_page_prune_opt(scan->rs_base.rs_rd, buffer);
#endif
}

/* Append over complete paths ("workers" is 0), or over partial ones. */
static inline Path *
MakeAppendPath(PlannerInfo *root, RelOptInfo *parent, List *paths, List *partial, int workers,
			   bool parallel_aware)
{
#if PG_VERSION_NUM >= 190000
	AppendPathInput input = { .subpaths = paths, .partial_subpaths = partial };

	return (Path *) create_append_path(root, parent, input, NIL, NULL, workers, parallel_aware, -1);
#else
	return (Path *) create_append_path(root, parent, paths, partial, NIL, NULL, workers,
									   parallel_aware, -1);
#endif
}

/* What a planner hook is given, and hands on, besides the arguments of PostgreSQL 18. */
#if PG_VERSION_NUM >= 190000
#define PLANNER_PARAMETERS , ExplainState *es
#define PLANNER_ARGUMENTS  , es
#else
#define PLANNER_PARAMETERS
#define PLANNER_ARGUMENTS
#endif

#endif
