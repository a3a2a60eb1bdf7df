/*
 * pages.c
 *		Reads the pages of a table, and finds the visible tuples of each page.
 *
 * Pages are read by the rules of a sequential scan (heapgetpage, from PostgreSQL 17 on
 * heap_prepare_pagescan).  The page is pruned if PostgreSQL expects a benefit.  Then the page is
 * locked in share mode.  Up to PostgreSQL 16, the scan fails if the snapshot is too old for the
 * page.  If the page's all-visible bit is set, all tuples are visible, except on a standby.  In all
 * other cases, each tuple is checked.  Serializable transactions check each tuple for conflicts.
 * PostgreSQL's own code chooses the first block of a synchronized scan and the ring of buffers for
 * a large table, reads ahead, and distributes blocks to parallel workers.  The lock is released
 * before the tuples are used: a pinned page may receive new tuples, but its old tuples do not move.
 *
 * The next page is in no processor cache yet.  So the loops over the tuples of this page prefetch
 * one stride of the next page for each tuple, into the second-level cache.  Prefetching the whole
 * page in one step would stall the processor.  The tuples of this page are prefetched into the
 * first-level cache while the line pointers are read.
 *
 * The blocks of a table that was loaded in one step are in consecutive buffers.  So the buffer of a
 * block can be guessed from the last block and its buffer.  Trying the guess is faster than a
 * lookup in the table of all buffers, which is in no processor cache.  From PostgreSQL 17 on, a
 * read stream reads a scan's blocks, so only the check of cached columns guesses buffers.  From
 * PostgreSQL 19 on, no buffer is guessed, because the format of a buffer's state has changed.
 *
 * Pages whose keys come from cached columns are not read.  In a parallel scan, each process skips
 * these pages among the blocks that PostgreSQL assigns to it.
 *
 * src/scan/pages.c
 */
#include "scan/pages.h"

#include "access/relscan.h"
#include "access/syncscan.h"
#include "access/tableam.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "utils/rel.h"
#if PG_VERSION_NUM < 190000
#include "executor/instrument.h"
#include "storage/buf_internals.h"
#endif
#if PG_VERSION_NUM >= 170000
#include "storage/read_stream.h"
#endif

/* The identity of a relation's file. */
#if PG_VERSION_NUM >= 160000
#define RELATION_LOCATOR(relation) ((relation)->rd_locator)
#else
#define RELATION_LOCATOR(relation) ((relation)->rd_node)
#endif

void
BlockReaderInit(BlockReader *reader, Relation relation, BufferAccessStrategy ring)
{
	memset(reader, 0, sizeof(*reader));
	reader->relation = relation;
	reader->ring = ring;
}

#if PG_VERSION_NUM < 190000

/*
 * True if a usual pin would not raise the usage count of a shared buffer.  ReadRecentBuffer()
 * never raises the count, and a low count lets PostgreSQL evict the buffer soon.
 */
static bool
is_in_full_use(Buffer buffer, BufferAccessStrategy ring)
{
	uint32 state = pg_atomic_read_u32(&GetBufferDescriptor(buffer - 1)->state);

	return BUF_STATE_GET_USAGECOUNT(state) >= (ring ? 1 : BM_MAX_USAGE_COUNT);
}

/* Pin the guessed buffer; false: it has another block, or its usage count should be raised. */
static bool
pin_guess(const BlockReader *reader, BlockNumber block, Buffer guess)
{
	Relation relation = reader->relation;
	BufferUsage usage = pgBufferUsage;

	if (!is_in_full_use(guess, reader->ring) ||
		!ReadRecentBuffer(RELATION_LOCATOR(relation), MAIN_FORKNUM, block, guess))
		return false;
	pgBufferUsage =
		usage; /* undo ReadRecentBuffer()'s count, because PostgreSQL versions count differently */
	pgBufferUsage.shared_blks_hit++;
	pgstat_count_buffer_read(relation);
	pgstat_count_buffer_hit(relation);
#if PG_VERSION_NUM >= 180000
	pgstat_count_io_op(IOOBJECT_RELATION, IOContextForStrategy(reader->ring), IOOP_HIT, 1, 0);
#elif PG_VERSION_NUM >= 160000
	pgstat_count_io_op(IOOBJECT_RELATION, IOContextForStrategy(reader->ring), IOOP_HIT);
#endif
	return true;
}

/* The buffer that probably has this block; InvalidBuffer: the last buffer gives no hint. */
static Buffer
guess_of(const BlockReader *reader, BlockNumber block)
{
	int64 guess = reader->last + ((int64) block - reader->last_block);

	/* numbers of local buffers are negative */
	return reader->last > 0 && guess > 0 && guess <= NBuffers ? (Buffer) guess : InvalidBuffer;
}

Buffer
BlockRead(BlockReader *reader, BlockNumber block)
{
	Buffer guess = guess_of(reader, block);
	Buffer buffer = guess;

	if (!reader->consecutive || !BufferIsValid(guess) || !pin_guess(reader, block, guess))
		buffer =
			ReadBufferExtended(reader->relation, MAIN_FORKNUM, block, RBM_NORMAL, reader->ring);
	reader->consecutive = buffer == guess;
	reader->last = buffer;
	reader->last_block = block;
	return buffer;
}

/*
 * Prefetch page headers, if the next buffers can be guessed.  The processor translates the
 * addresses of several prefetches at the same time.  Locking buffers between the prefetches would
 * prevent this.
 */
void
BlockPrefetchHeaders(const BlockReader *reader, int count)
{
	int i;

	for (i = 1; reader->consecutive && i <= count && reader->last + i <= NBuffers; i++)
		__builtin_prefetch(BufferGetPage(reader->last + i));
}

#else

Buffer
BlockRead(BlockReader *reader, BlockNumber block)
{
	return ReadBufferExtended(reader->relation, MAIN_FORKNUM, block, RBM_NORMAL, reader->ring);
}

void
BlockPrefetchHeaders(const BlockReader *reader, int count)
{
}

#endif

/*
 * Begin a scan of all pages.  "shared": the shared state in a parallel plan, else NULL.  From
 * PostgreSQL 19 on, the scan may mark pages all-visible if the statement does not change the table.
 */
TableScanDesc
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

/*
 * Begin a scan of all pages outside of a plan.  The statement may change the table, so the
 * flags for PostgreSQL 19 do not say that the table is only read.
 */
TableScanDesc
BeginRelationScan(Relation relation, Snapshot snapshot)
{
#if PG_VERSION_NUM >= 190000
	return table_beginscan(relation, snapshot, 0, NULL, SO_NONE);
#else
	return table_beginscan(relation, snapshot, 0, NULL);
#endif
}

/* The unit of address translation, where memory is not mapped in huge pages. */
#define MEMORY_PAGE 4096

/* Advance by this number of blocks, which must not pass the end of the table. */
static void
advance(PageReader *reader, BlockNumber blocks)
{
	reader->left -= blocks;
	reader->next += blocks;
	if (reader->next == reader->scan->rs_nblocks)
		reader->next = 0;
}

/*
 * Advance to the next block to read.  Most blocks of a table may be left out, so consecutive
 * blocks of a chunk that are left out are skipped in one step.
 */
static void
leave_out(PageReader *reader)
{
	BlockNumber blocks;

	do
	{
		blocks = PageSetRun(&reader->left_out.pages, reader->next);
		blocks = Min(blocks, Min(reader->left, reader->scan->rs_nblocks - reader->next));
		advance(reader, blocks);
	}
	while (blocks > 0);
}

/* The next block of a serial scan that is to be read. */
static BlockNumber
next_serial(PageReader *reader)
{
	HeapScanDesc scan = reader->scan;
	BlockNumber block;

	if (!reader->started) /* a synchronized scan begins at any block, and wraps round at the end */
	{
		reader->started = true;
		reader->next = scan->rs_startblock;
		reader->left = scan->rs_nblocks;
	}
	leave_out(reader);
	if (reader->left == 0)
		return InvalidBlockNumber;
	block = reader->next;
	advance(reader, 1);
	if (scan->rs_base.rs_flags & SO_ALLOW_SYNC)
		ss_report_location(scan->rs_base.rs_rd, reader->next);
	return block;
}

/* The next block of left_out.uncounted, which only this process of a parallel scan reads. */
static BlockNumber
next_uncounted(PageReader *reader)
{
	while (reader->next < reader->scan->rs_nblocks)
	{
		BlockNumber block = reader->next++;

		if (PageSetHas(reader->left_out.uncounted, block))
			return block;
	}
	return InvalidBlockNumber;
}

/* The next block that PostgreSQL assigns to this process of a parallel scan. */
static BlockNumber
next_given(PageReader *reader)
{
	HeapScanDesc scan = reader->scan;
	ParallelBlockTableScanDesc shared = (ParallelBlockTableScanDesc) scan->rs_base.rs_parallel;

	if (!reader->started)
#if PG_VERSION_NUM >= 190000
		table_block_parallelscan_startblock_init(scan->rs_base.rs_rd, &reader->worker, shared,
												 scan->rs_startblock, scan->rs_numblocks);
#else
		table_block_parallelscan_startblock_init(scan->rs_base.rs_rd, &reader->worker, shared);
#endif
	reader->started = true;
	return table_block_parallelscan_nextpage(scan->rs_base.rs_rd, &reader->worker, shared);
}

/* The next block that this process of a parallel scan is to read. */
static BlockNumber
next_parallel(PageReader *reader)
{
	BlockNumber block = reader->left_out.uncounted ? next_uncounted(reader) : InvalidBlockNumber;

	if (block != InvalidBlockNumber)
		return block;
	do
	{
		CHECK_FOR_INTERRUPTS();
		block = next_given(reader);
	}
	while (block != InvalidBlockNumber && PageSetHas(&reader->left_out.pages, block));
	return block;
}

/* The next block that is to be read. */
static BlockNumber
next_block(PageReader *reader)
{
	CHECK_FOR_INTERRUPTS();
	return reader->scan->rs_base.rs_parallel ? next_parallel(reader) : next_serial(reader);
}

#if PG_VERSION_NUM >= 170000

static BlockNumber
next_of_stream(ReadStream *stream, void *reader, void *data)
{
	return next_block(reader);
}

/*
 * The next buffer from the scan's stream, which orders the blocks and distributes them among
 * processes.  A scan that leaves pages out uses reader->stream instead.
 */
static Buffer
next_buffer(PageReader *reader)
{
	HeapScanDesc scan = reader->scan;

	return read_stream_next_buffer(reader->stream ? reader->stream : scan->rs_read_stream, NULL);
}

/* Begin a stream in the current memory context. */
static void
begin_stream(PageReader *reader)
{
	HeapScanDesc scan = reader->scan;

	reader->stream =
		read_stream_begin_relation(READ_STREAM_SEQUENTIAL, scan->rs_strategy, scan->rs_base.rs_rd,
								   MAIN_FORKNUM, next_of_stream, reader, 0);
}

static void
end_stream(PageReader *reader)
{
	if (reader->stream)
		read_stream_end(reader->stream);
	reader->stream = NULL;
}

#else

static Buffer
next_buffer(PageReader *reader)
{
	BlockNumber block = next_block(reader);

	return block == InvalidBlockNumber ? InvalidBuffer : BlockRead(&reader->blocks, block);
}

static void
begin_stream(PageReader *reader)
{
}

static void
end_stream(PageReader *reader)
{
}

#endif

/*
 * Begin to read the pages of a scan from BeginTableScan().  "copied": the number of pages that
 * are left out.  The current memory context must last until PageReaderEnd().
 */
void
PageReaderBegin(PageReader *reader, TableScanDesc scan, LeftOut left_out, uint64 copied)
{
	memset(reader, 0, sizeof(*reader));
	reader->scan = (HeapScanDesc) scan;
#if PG_VERSION_NUM < 170000
	BlockReaderInit(&reader->blocks, scan->rs_rd, reader->scan->rs_strategy);
#endif
	reader->left_out = left_out;
	reader->pages_copied = copied;
	reader->buffer = reader->ahead = InvalidBuffer;
	reader->serializable = CheckForSerializableConflictOutNeeded(scan->rs_rd, scan->rs_snapshot);
	if (reader->left_out.pages.chunks > 0)
		begin_stream(reader);
}

static void
release(Buffer *buffer)
{
	if (BufferIsValid(*buffer))
		ReleaseBuffer(*buffer);
	*buffer = InvalidBuffer;
}

/* Collect and prefetch all tuples of the page. */
void
PageCollectAll(Page page, PageTuples *tuples)
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
		__builtin_prefetch(tuples->tuple[count++]);
	}
	tuples->count = count;
}

/* Keep the tuples of the page that the snapshot sees. */
static void
keep_visible(PageReader *reader, Page page, bool all_visible, PageTuples *tuples)
{
	Relation relation = reader->scan->rs_base.rs_rd;
	Snapshot snapshot = reader->scan->rs_base.rs_snapshot;
	BlockNumber block = BufferGetBlockNumber(reader->buffer);
	OffsetNumber last = PageGetMaxOffsetNumber(page);
	OffsetNumber offset;
	HeapTupleData tuple;
	int count = 0;

	tuple.t_tableOid = RelationGetRelid(relation);
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
		if (visible)
			tuples->tuple[count++] = tuple.t_data;
	}
	tuples->count = count;
}

/* Prune a page that is pinned but not locked, if PostgreSQL expects a benefit. */
static void
prune(HeapScanDesc scan, Buffer buffer)
{
#if PG_VERSION_NUM >= 190000
	heap_page_prune_opt(scan->rs_base.rs_rd, buffer, &scan->rs_vmbuffer,
						(scan->rs_base.rs_flags & SO_HINT_REL_READ_ONLY) != 0);
#else
	heap_page_prune_opt(scan->rs_base.rs_rd, buffer);
#endif
}

/* Find the visible tuples of the page that was just read. */
static void
collect(PageReader *reader, PageTuples *tuples)
{
	Relation relation = reader->scan->rs_base.rs_rd;
	Snapshot snapshot = reader->scan->rs_base.rs_snapshot;
	Page page = BufferGetPage(reader->buffer);
	bool all_visible;

	prune(reader->scan, reader->buffer);
	LockBuffer(reader->buffer, BUFFER_LOCK_SHARE);
#if PG_VERSION_NUM < 170000
	TestForOldSnapshot(snapshot, relation, page);
#endif
	all_visible = PageIsAllVisible(page) && !snapshot->takenDuringRecovery;
	PageCollectAll(page, tuples);
	if (!all_visible || reader->serializable)
		keep_visible(reader, page, all_visible, tuples);
	LockBuffer(reader->buffer, BUFFER_LOCK_UNLOCK);

	reader->pages++;
	reader->pages_visible += all_visible;
	/* counts the tuples read; the function accepts a table, too */
	pgstat_count_index_tuples(relation, tuples->count);
}

static void
pin_ahead(PageReader *reader)
{
	reader->ahead = next_buffer(reader);
	reader->ahead_is_set = true;
}

/*
 * Divide the prefetching of the next page among the tuples of this page.  Each half of the next
 * page is a memory page of its own.  Translating the address of a memory page takes longest, so one
 * cache line in each half is prefetched first.
 */
void
PageTuplesSpreadPrefetch(PageTuples *tuples, Buffer next)
{
	tuples->stride = 0;
	if (!BufferIsValid(next) || tuples->count == 0)
		return;
	tuples->next_page = BufferGetPage(next);
	__builtin_prefetch(tuples->next_page, 0, 2);
	__builtin_prefetch(tuples->next_page + MEMORY_PAGE, 0, 2);
	tuples->stride = TYPEALIGN(QB_CACHE_LINE, (BLCKSZ + tuples->count - 1) / tuples->count);
}

/* Read the next page and find its visible tuples, perhaps none; false: no page is left. */
bool
PageReaderNext(PageReader *reader, PageTuples *tuples)
{
	release(&reader->buffer);
	CHECK_FOR_INTERRUPTS();
	if (!reader->ahead_is_set)
		pin_ahead(reader);
	reader->buffer = reader->ahead;
	if (!BufferIsValid(reader->buffer))
		return false;
	pin_ahead(reader);
	collect(reader, tuples);
	PageTuplesSpreadPrefetch(tuples, reader->ahead);
	return true;
}

/* Release the pages.  The caller ends the scan. */
void
PageReaderEnd(PageReader *reader)
{
	release(&reader->buffer);
	release(&reader->ahead);
	end_stream(reader);
}
