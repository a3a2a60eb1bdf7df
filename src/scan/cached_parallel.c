/*
 * cached_parallel.c
 *		Cached columns in a parallel scan: one process uses them, and all processes read
 *		the pages that are left.
 *
 * The first process that comes looks at the map, tells the others which pages are true in
 * the cached columns, and then has their keys counted.  The others wait only for this look.
 * They cannot look for themselves: a page that one of them finds changed and another one
 * does not would be counted twice or never.  All processes have one snapshot, and none reads
 * a page before the look.  So what cached.h says of one process holds for all.
 *
 * The pages that are left are numbered in their order, and a process takes the next
 * numbers that nobody has taken.  It finds these pages in the set, of which it passes each
 * word once.
 *
 * The process that uses the cached columns may not get keys of all pages that it has told.
 * It reads these pages itself, before any other.
 *
 * If the first process uses no cached columns, all read what PostgreSQL's own parallel scan gives
 * them.
 *
 * src/scan/cached_parallel.c
 */
#include "scan/cached.h"

#include "pgbase/process.h"
#include "port/atomics.h"
#include "storage/condition_variable.h"
#include "storage/spin.h"
#include "utils/wait_event.h"

/*
 * Pages that a process takes at a time: so many that there are about PIECES pieces, but at least
 * PIECE_LEAST and at most PIECE_MOST.
 */
#define PIECE_LEAST 16
#define PIECE_MOST  8192
#define PIECES      2048

/* Bytes for the reason why cached columns are not used. */
#define REFUSAL_BYTES 96

typedef enum Look
{
	LOOK_WANTED, /* nobody has come */
	LOOK_BEGUN,
	LOOK_DONE
} Look;

struct SharedPages
{
	slock_t mutex; /* guards "look"; the others are set before LOOK_DONE */
	Look look;
	uint32 chunks;
	dsa_pointer pages; /* GpuPages[chunks]: others do not read these; invalid: none are cached */
	uint32 piece;
	char refusal[REFUSAL_BYTES]; /* empty: there is none */
	pg_atomic_uint64 next;       /* number of the next page that is left */
	ConditionVariable looked;
};

Size
SharedPagesSize(void)
{
	return MAXALIGN(sizeof(SharedPages));
}

void
SharedPagesInit(SharedPages *shared)
{
	memset(shared, 0, sizeof(*shared));
	SpinLockInit(&shared->mutex);
	pg_atomic_init_u64(&shared->next, 0);
	ConditionVariableInit(&shared->looked);
}

/* Prepare another run.  All processes are gone. */
void
SharedPagesReset(SharedPages *shared, dsa_area *area)
{
	if (DsaPointerIsValid(shared->pages))
		dsa_free(area, shared->pages);
	shared->pages = InvalidDsaPointer;
	shared->look = LOOK_WANTED;
	shared->refusal[0] = '\0';
	pg_atomic_write_u64(&shared->next, 0);
}

/* ---- the look ---- */

/* Note that a process has come; what the look was before. */
static Look
come(SharedPages *shared)
{
	Look before;

	SpinLockAcquire(&shared->mutex);
	before = shared->look;
	if (before == LOOK_WANTED)
		shared->look = LOOK_BEGUN;
	SpinLockRelease(&shared->mutex);
	return before;
}

/* True: this process has to look, and to tell.  False: another one has looked. */
static bool
has_to_look(SharedPages *shared)
{
	Look before;

	while ((before = come(shared)) == LOOK_BEGUN)
		ConditionVariableSleep(&shared->looked, PG_WAIT_EXTENSION);
	ConditionVariableCancelSleep();
	return before == LOOK_WANTED;
}

static void
end_look(SharedPages *shared)
{
	SpinLockAcquire(&shared->mutex);
	shared->look = LOOK_DONE;
	SpinLockRelease(&shared->mutex);
	ConditionVariableBroadcast(&shared->looked);
}

/* Tell that no cached columns are used, if nothing else was told.  "refusal": why not, or NULL. */
static void
tell_none(SharedPages *shared, const char *refusal)
{
	if (DsaPointerIsValid(shared->pages))
		return;
	if (refusal)
		strlcpy(shared->refusal, refusal, sizeof(shared->refusal));
	end_look(shared);
}

/*
 * Tell the other processes which pages of the table they do not read.  False: there is no
 * memory for that, and nothing was told.
 */
bool
SharedPagesTell(SharedPages *shared, dsa_area *area, const GpuPages *pages, uint32 chunks,
				BlockNumber blocks)
{
	Size size = (Size) chunks * sizeof(GpuPages);
	BlockNumber left = blocks;
	uint32 chunk;

	if (area == NULL || !SegmentHasRoom(size))
		return false;
	for (chunk = 0; chunk < chunks; chunk++)
		left -= GpuPagesCount(&pages[chunk]);
	shared->pages = dsa_allocate_extended(area, Max(size, 1), DSA_ALLOC_HUGE);
	memcpy(dsa_get_address(area, shared->pages), pages, size);
	shared->chunks = chunks;
	shared->piece = Min(Max(left / PIECES, PIECE_LEAST), PIECE_MOST);
	end_look(shared);
	return true;
}

/* Why no cached columns were used, in memory of the caller's context; NULL: no reason was told. */
const char *
SharedPagesRefusal(const SharedPages *shared)
{
	return shared->refusal[0] ? pstrdup(shared->refusal) : NULL;
}

/* ---- the pages that are left ---- */

/* Begin to take pages, after the look; NULL: no cached columns are used. */
static ParallelPages *
begin_share(SharedPages *shared, dsa_area *area)
{
	ParallelPages *share;
	GpuPages *pages;
	uint32 chunk;

	if (!DsaPointerIsValid(shared->pages))
		return NULL;
	share = palloc0(sizeof(ParallelPages));
	share->shared = shared;
	share->without.chunks = shared->chunks;
	share->without.chunk = palloc(Max(shared->chunks, 1) * sizeof(GpuPages *));
	pages = dsa_get_address(area, shared->pages);
	for (chunk = 0; chunk < shared->chunks; chunk++)
		share->without.chunk[chunk] = &pages[chunk];
	return share;
}

/*
 * Begin a run of a scan: use cached columns, or leave that to another process of a parallel scan.
 * Returns which pages this process reads; NULL: as if there were no other process, or no cached
 * columns.  "copies": NULL if there are none.
 */
ParallelPages *
CachedColumnsBegin(CachedColumns *copies, const CachedUse *use)
{
	bool looks = use->shared == NULL || has_to_look(use->shared);
	ParallelPages *share;

	if (copies)
		CachedColumnsForget(copies, use->count);
	if (copies && looks)
		CachedColumnsUse(copies, use);
	if (use->shared == NULL)
		return NULL;
	if (looks)
		tell_none(use->shared, copies ? copies->refusal : NULL);
	share = begin_share(use->shared, use->area);
	if (share && copies && copies->any_lost)
		share->own = &copies->lost;
	return share;
}

void
ParallelPagesEnd(ParallelPages *share)
{
	pfree(share->without.chunk);
	pfree(share);
}

/* The next page that only this process reads. */
static BlockNumber
next_own(ParallelPages *share, BlockNumber blocks)
{
	while (share->own_next < blocks)
	{
		BlockNumber block = share->own_next++;

		if (PageSetHas(share->own, block))
			return block;
	}
	return InvalidBlockNumber;
}

/* Pass 32 pages at once, if the page with this number is not one of them. */
static bool
pass_word(ParallelPages *share, uint64 number, BlockNumber blocks)
{
	uint32 page = share->block % GPU_CHUNK_PAGES;
	uint32 word;
	uint64 left;

	StaticAssertStmt(GPU_CHUNK_PAGES % 32 == 0, "a chunk is no whole number of words");
	if (page % 32 != 0 || blocks - share->block < 32)
		return false;
	memcpy(&word, share->without.chunk[share->block / GPU_CHUNK_PAGES]->bits + page / 8,
		   sizeof(word));
	left = 32 - pg_popcount32(word);
	if (share->passed + left > number)
		return false;
	share->passed += left;
	share->block += 32;
	return true;
}

/* Find the page with this number, behind those that were passed. */
static BlockNumber
find_page(ParallelPages *share, uint64 number, BlockNumber blocks)
{
	while (share->block < blocks)
	{
		BlockNumber block;

		if (pass_word(share, number, blocks))
			continue;
		block = share->block++;
		if (!PageSetHas(&share->without, block) && share->passed++ == number)
			return block;
	}
	return InvalidBlockNumber;
}

/* The next page that this process reads, of a table of so many. */
BlockNumber
ParallelPagesNext(ParallelPages *share, BlockNumber blocks)
{
	BlockNumber own = share->own ? next_own(share, blocks) : InvalidBlockNumber;

	if (own != InvalidBlockNumber)
		return own;
	if (share->number == share->end)
	{
		share->number = pg_atomic_fetch_add_u64(&share->shared->next, share->shared->piece);
		share->end = share->number + share->shared->piece;
	}
	return find_page(share, share->number++, blocks);
}
