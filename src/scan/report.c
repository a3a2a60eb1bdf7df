/*
 * report.c
 *		Telling other sessions how far a column scan has come, and what it did.
 *
 * src/scan/report.c
 */
#include "scan/scan.h"

#include "utils/rel.h"

/* Tell that this process begins to read; its share of a parallel scan, or all. */
ActivityHandle
ScanReportBegin(const PageReader *reader, const SharedScan *shared)
{
	Oid relation = RelationGetRelid(reader->scan->rs_base.rs_rd);
	ActivityHandle activity =
		ActivityBegin(ACTIVITY_SCAN, relation, shared ? SharedScanId(shared) : 0);

	ActivitySet(&activity, ACTIVITY_TOTAL, reader->scan->rs_nblocks);
	ActivitySet(&activity, ACTIVITY_PHASE, PHASE_RUNNING);
	return activity;
}

/* Tell how far it is. */
void
ScanReport(const ActivityHandle *activity, const PageReader *reader, const SketchedColumn *column,
		   int count)
{
	uint64 keys = 0;
	bool on_gpu = false;
	int i;

	for (i = 0; i < count; i++)
	{
		keys += column[i].header ? *column[i].members : 0;
		on_gpu |= SketchedColumnIsRemote(&column[i]) ||
				  (column[i].filter && column[i].filter->filter.remote);
	}
	ActivitySet(activity, ACTIVITY_DONE, reader->pages);
	ActivitySet(activity, ACTIVITY_FOUND, keys);
	ActivitySet(activity, ACTIVITY_ON_GPU, on_gpu);
}

/* Count what this process did; its keys and batches were counted by those who took them. */
void
ScanReportRun(const ScanCounts *run, bool first)
{
	StatCount(STAT_SCANS, first);
	StatCount(STAT_PAGES, run->pages);
	StatCount(STAT_PAGES_VISIBLE, run->pages_visible);
}
