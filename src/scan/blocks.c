/*
 * blocks.c
 *		Reading blocks of a table that are probably in consecutive buffers.
 *
 * The blocks of a table that was loaded at once are in consecutive buffers.  Then trying
 * the buffer that lies as far from the last one as the blocks do is faster than looking
 * the block up in the table of all buffers, whose memory is far away.
 *
 * From PostgreSQL 19 on every block is looked up, since the state of buffers has changed.
 *
 * src/scan/blocks.c
 */
#include "scan/pages.h"

#include "pgstat.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"
#if PG_VERSION_NUM < 190000
#include "executor/instrument.h"
#include "storage/buf_internals.h"
#endif

/* Which file a relation is in. */
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
 * Would a pin leave the usage count of a shared buffer as it is?  ReadRecentBuffer() does not
 * raise it, and a table that is read again and again should stay in memory.
 */
static bool
is_in_full_use(Buffer buffer, BufferAccessStrategy ring)
{
	uint32 state = pg_atomic_read_u32(&GetBufferDescriptor(buffer - 1)->state);

	return BUF_STATE_GET_USAGECOUNT(state) >= (ring ? 1 : BM_MAX_USAGE_COUNT);
}

/* Pin a shared buffer, if it has this block and its usage count need not be raised. */
static bool
pin_guess(const BlockReader *reader, BlockNumber block, Buffer guess)
{
	Relation relation = reader->relation;
	BufferUsage usage = pgBufferUsage;

	if (!is_in_full_use(guess, reader->ring) ||
		!ReadRecentBuffer(RELATION_LOCATOR(relation), MAIN_FORKNUM, block, guess))
		return false;
	pgBufferUsage = usage; /* versions differ in which hit they count */
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

/* The buffer that probably has this block; InvalidBuffer: the last one does not say. */
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
 * The processor translates several addresses at a time.  It could not if buffers were locked
 * between two prefetches.
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
