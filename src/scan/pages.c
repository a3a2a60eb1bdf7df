/*
 * pages.c
 *		Which tuples of the next page are visible.
 *
 * The rules are those of a sequential scan (heapgetpage): prune the page if
 * that pays, take the share lock, and either trust the page's all-visible bit
 * (not on a standby) or ask for each tuple; serializable transactions check
 * each for conflicts.  Synchronized scans, the ring of buffers for large tables
 * and the blocks of parallel workers are PostgreSQL's own.  The lock is given
 * up before the tuples are used: a pinned page may get new tuples, but keeps
 * the old ones in place.
 *
 * src/scan/pages.c
 */
#include "scan/scan.h"

#include "access/relscan.h"
#include "access/syncscan.h"
#include "access/tableam.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "utils/rel.h"

/* Read the pages of a scan begun with table_beginscan() or its parallel kin. */
void
PageReaderBegin(PageReader *reader, TableScanDesc scan)
{
	memset(reader, 0, sizeof(*reader));
	reader->scan = (HeapScanDesc) scan;
	reader->buffer = InvalidBuffer;
	reader->serializable = CheckForSerializableConflictOutNeeded(scan->rs_rd, scan->rs_snapshot);
}

static ParallelBlockTableScanDesc
parallel_scan(PageReader *reader)
{
	return (ParallelBlockTableScanDesc) reader->scan->rs_base.rs_parallel;
}

static BlockNumber
next_parallel(PageReader *reader)
{
	Relation relation = reader->scan->rs_base.rs_rd;

	if (!reader->started)
		table_block_parallelscan_startblock_init(relation, &reader->worker, parallel_scan(reader));
	reader->started = true;
	return table_block_parallelscan_nextpage(relation, &reader->worker, parallel_scan(reader));
}

/* Blocks from the start of a synchronized scan to the end, then the others. */
static BlockNumber
next_serial(PageReader *reader)
{
	HeapScanDesc scan = reader->scan;
	BlockNumber block;

	if (!reader->started)
	{
		reader->started = true;
		reader->next = scan->rs_startblock;
		reader->left = scan->rs_nblocks;
	}
	if (reader->left == 0)
		return InvalidBlockNumber;
	reader->left--;
	block = reader->next++;
	if (reader->next == scan->rs_nblocks)
		reader->next = 0;
	if (scan->rs_base.rs_flags & SO_ALLOW_SYNC)
		ss_report_location(scan->rs_base.rs_rd, reader->next);
	return block;
}

/* Every tuple of the page is visible to all. */
static void
collect_all(Page page, PageTuples *tuples)
{
	OffsetNumber last = PageGetMaxOffsetNumber(page);
	OffsetNumber offset;
	int count = 0;

	for (offset = FirstOffsetNumber; offset <= last; offset++)
	{
		ItemId item = PageGetItemId(page, offset);

		if (!ItemIdIsNormal(item))
			continue;
		tuples->tuple[count] = (HeapTupleHeader) PageGetItem(page, item);
		tuples->length[count++] = ItemIdGetLength(item);
	}
	tuples->count = count;
}

/* Ask for each tuple whether the snapshot sees it. */
static void
collect_visible(PageReader *reader, Page page, bool all_visible, PageTuples *tuples)
{
	Relation relation = reader->scan->rs_base.rs_rd;
	Snapshot snapshot = reader->scan->rs_base.rs_snapshot;
	BlockNumber block = BufferGetBlockNumber(reader->buffer);
	OffsetNumber last = PageGetMaxOffsetNumber(page);
	OffsetNumber offset;
	HeapTupleData tuple;

	tuple.t_tableOid = RelationGetRelid(relation);
	tuples->count = 0;
	for (offset = FirstOffsetNumber; offset <= last; offset++)
	{
		ItemId item = PageGetItemId(page, offset);
		bool visible;

		if (!ItemIdIsNormal(item))
			continue;
		tuple.t_data = (HeapTupleHeader) PageGetItem(page, item);
		tuple.t_len = ItemIdGetLength(item);
		ItemPointerSet(&tuple.t_self, block, offset);
		visible = all_visible || HeapTupleSatisfiesVisibility(&tuple, snapshot, reader->buffer);
		if (reader->serializable)
			HeapCheckForSerializableConflictOut(visible, relation, &tuple, reader->buffer,
												snapshot);
		if (!visible)
			continue;
		tuples->tuple[tuples->count] = tuple.t_data;
		tuples->length[tuples->count++] = (uint16) tuple.t_len;
	}
}

/* Visible tuples of the next page, perhaps none; false at the end. */
bool
PageReaderNext(PageReader *reader, PageTuples *tuples)
{
	HeapScanDesc scan = reader->scan;
	Relation relation = scan->rs_base.rs_rd;
	BlockNumber block;
	Page page;
	bool all_visible;

	CHECK_FOR_INTERRUPTS();
	block = scan->rs_base.rs_parallel ? next_parallel(reader) : next_serial(reader);
	if (BufferIsValid(reader->buffer))
		ReleaseBuffer(reader->buffer);
	reader->buffer = InvalidBuffer;
	if (block == InvalidBlockNumber)
		return false;
	reader->buffer =
		ReadBufferExtended(relation, MAIN_FORKNUM, block, RBM_NORMAL, scan->rs_strategy);
	heap_page_prune_opt(relation, reader->buffer);

	LockBuffer(reader->buffer, BUFFER_LOCK_SHARE);
	page = BufferGetPage(reader->buffer);
	all_visible = PageIsAllVisible(page) && !scan->rs_base.rs_snapshot->takenDuringRecovery;
	if (all_visible && !reader->serializable)
		collect_all(page, tuples);
	else
		collect_visible(reader, page, all_visible, tuples);
	LockBuffer(reader->buffer, BUFFER_LOCK_UNLOCK);

	reader->pages++;
	reader->pages_visible += all_visible;
	return true;
}

/* Give up the page; the scan itself is its owner's to end. */
void
PageReaderEnd(PageReader *reader)
{
	if (BufferIsValid(reader->buffer))
		ReleaseBuffer(reader->buffer);
	reader->buffer = InvalidBuffer;
}
