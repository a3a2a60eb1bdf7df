/*
 * check.c
 *		Decides which cached pages are valid.  cached.h has the proof.
 *
 * A page is read unless its cached page is known to be valid.  A page without an LSN is read, too:
 * under wal_level = minimal, a transaction that creates a table can fill it without WAL.
 *
 * src/scan/cached/check.c
 */
#include "scan/cached/cached.h"

#include "access/transam.h"
#include "access/visibilitymap.h"
#include "access/xlog.h"
#include "catalog/catalog.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type_d.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

/*
 * A hook for test modules.  "point" is 0 before LSNs are compared, 1 before keys are counted,
 * and 2 after pages were announced to other processes.
 */
void
CachedTestPoint(int point)
{
	static void (**function)(int) = NULL;

	if (function == NULL)
		function = (void (**)(int)) find_rendezvous_variable("qsketch_copy_checked");
	if (*function)
		(*function)(point);
}

/* Returns why columns of this table can neither be cached nor be used; NULL: they can. */
const char *
CachedTableRefusal(Relation relation)
{
	if (relation->rd_rel->relam != HEAP_TABLE_AM_OID ||
		(relation->rd_rel->relkind != RELKIND_RELATION &&
		 relation->rd_rel->relkind != RELKIND_MATVIEW))
		return "a table that is no heap";
	if (IsCatalogRelation(relation) || RelationGetRelid(relation) < FirstNormalObjectId)
		return "a catalog";
	if (relation->rd_rel->relpersistence != RELPERSISTENCE_PERMANENT || !RelationNeedsWAL(relation))
		return "a table that writes no WAL";
	if (RecoveryInProgress())
		return "a server in recovery";
#if PG_VERSION_NUM < 170000
	if (old_snapshot_threshold >= 0)
		return "old_snapshot_threshold is set";
#endif
	return NULL;
}

/*
 * True if the keys of a column can be cached.  Its type must be built into PostgreSQL, because
 * nobody can change how values of a built-in type become fingerprints.  These columns are refused:
 * arrays and other types that contain values of another type, types without a hash function, texts
 * of an unknown encoding, and virtual generated columns.
 */
bool
CachedTakesKeys(Form_pg_attribute attribute)
{
	Oid type = attribute->atttypid;

#if PG_VERSION_NUM >= 180000
	if (attribute->attgenerated == ATTRIBUTE_GENERATED_VIRTUAL)
		return false;
#endif
	return !attribute->attisdropped && type < FirstGenbkiObjectId &&
		   get_typtype(type) == TYPTYPE_BASE && !OidIsValid(get_element_type(type)) &&
		   KeyTypeHasHash(type) && !KeyTextIsUnknown(type);
}

/* The transaction that wrote the column's row in pg_attribute. */
static TransactionId
writer_of(Oid relid, AttrNumber attribute)
{
	HeapTuple tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(relid), Int16GetDatum(attribute));
	TransactionId writer = InvalidTransactionId;

	if (HeapTupleIsValid(tuple))
	{
		writer = HeapTupleHeaderGetXmin(tuple->t_data);
		ReleaseSysCache(tuple);
	}
	return writer;
}

/*
 * True if the column could vanish while its table stays, because the current transaction added the
 * column and may still abort.  The column that is added next then has the same number, and may have
 * other values in the same rows.  Also true if the current transaction has changed this column's
 * row in pg_attribute in another way.
 */
bool
CachedMayVanish(Oid relid, AttrNumber attribute)
{
	TransactionId writer = writer_of(relid, attribute);

	return TransactionIdIsCurrentTransactionId(writer) &&
		   writer != writer_of(relid, SelfItemPointerAttributeNumber);
}

/* True if this user may read the column; false also if the table does not exist any more. */
bool
CachedMayRead(Oid relid, AttrNumber attribute)
{
	bool missing = false;
	bool readable =
		pg_class_aclcheck_ext(relid, GetUserId(), ACL_SELECT, &missing) == ACLCHECK_OK ||
		pg_attribute_aclcheck_ext(relid, attribute, GetUserId(), ACL_SELECT, &missing) ==
			ACLCHECK_OK;

	return readable && !missing;
}

GpuColumn
CachedColumn(Relation relation, AttrNumber attribute, Oid collation)
{
	Form_pg_attribute form = TupleDescAttr(RelationGetDescr(relation), attribute - 1);
	GpuColumn column;

	memset(&column, 0, sizeof(column));
	column.database = MyDatabaseId;
	column.relation = RelationGetRelid(relation);
#if PG_VERSION_NUM >= 160000
	column.tablespace = relation->rd_locator.spcOid;
	column.file = relation->rd_locator.relNumber;
#else
	column.tablespace = relation->rd_node.spcNode;
	column.file = relation->rd_node.relNode;
#endif
	column.type = form->atttypid;
	column.typmod = form->atttypmod;
	column.collation = collation;
	column.attribute = attribute;
	return column;
}

/* ---- the visibility map ---- */

/* Mask of the all-visible bits in 8 bytes of the map: every other bit. */
#define VISIBLE UINT64CONST(0x5555555555555555)

/* The all-visible bits of 32 pages, the lowest page first. */
static uint32
visible_bits(const uint8 *map)
{
	uint64 bits;
	int i;

	memcpy(&bits, map, sizeof(bits));
	if ((bits & VISIBLE) == 0)
		return 0;
	if ((bits & VISIBLE) == VISIBLE)
		return PG_UINT32_MAX;
	for (bits = 0, i = 0; i < 8; i++)
		bits |= (uint64) map[i] << 8 * i;
	bits &= VISIBLE;
	bits = (bits | bits >> 1) & UINT64CONST(0x3333333333333333);
	bits = (bits | bits >> 2) & UINT64CONST(0x0f0f0f0f0f0f0f0f);
	bits = (bits | bits >> 4) & UINT64CONST(0x00ff00ff00ff00ff);
	bits = (bits | bits >> 8) & UINT64CONST(0x0000ffff0000ffff);
	return (uint32) (bits | bits >> 16);
}

/*
 * 256 pages are handled in one step: they have ALIKE_WORDS words of the map, and ALIKE_BYTES
 * bytes of a page set.
 */
#define ALIKE_WORDS 8
#define ALIKE_BYTES 32

/* Fast path: true if the bits of 256 pages are all set or all clear. */
static bool
are_alike(const uint64 word[ALIKE_WORDS], bool *visible)
{
	uint64 all = VISIBLE;
	uint64 any = 0;
	int i;

	for (i = 0; i < ALIKE_WORDS; i++)
	{
		all &= word[i];
		any |= word[i];
	}
	*visible = all == VISIBLE;
	return *visible || (any & VISIBLE) == 0;
}

/* Copy the all-visible bits into "bytes" bytes of a page set.  "bytes" is a multiple of 4. */
static void
take_words(const uint8 *map, uint8 *bits, int bytes)
{
	int i;
	int j;

	StaticAssertStmt(GPU_CHUNK_BYTES % 4 == 0, "a page of the map is no whole number of words");
	for (i = 0; i < bytes; i += 4)
	{
		uint32 word = visible_bits(map + 2 * i);

		for (j = 0; j < 4; j++)
			bits[i + j] = (uint8) (word >> 8 * j);
	}
}

static void
take_bits(const uint8 *map, GpuPages *visible)
{
	bool all;
	int bytes;
	int i;

	for (i = 0; i < GPU_CHUNK_BYTES; i += bytes)
	{
		bytes = Min(ALIKE_BYTES, GPU_CHUNK_BYTES - i);
		if (bytes == ALIKE_BYTES && are_alike((const uint64 *) (map + 2 * i), &all))
		{
			memset(&visible->bits[i], all ? 0xff : 0, ALIKE_BYTES);
			continue;
		}
		take_words(map + 2 * i, &visible->bits[i], bytes);
	}
}

/* Read the map's page of a chunk; false: the page does not exist, or has no LSN. */
bool
CachedReadMap(Relation relation, uint32 chunk, BlockNumber blocks, MapPage *map)
{
	BlockNumber first = chunk * (BlockNumber) GPU_CHUNK_PAGES;
	Buffer buffer = InvalidBuffer;

	StaticAssertStmt(VISIBILITYMAP_ALL_VISIBLE == 1, "bits of the visibility map have changed");
	(void) visibilitymap_get_status(relation, first, &buffer);
	if (!BufferIsValid(buffer))
		return false;
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	map->lsn = BufferGetLSNAtomic(buffer);
	take_bits((const uint8 *) PageGetContents(BufferGetPage(buffer)), &map->visible);
	UnlockReleaseBuffer(buffer);
	GpuPagesRemoveFrom(&map->visible, blocks > first ? Min(blocks - first, GPU_CHUNK_PAGES) : 0);
	return map->lsn != InvalidXLogRecPtr;
}

/* The number of all-visible pages among 256 pages. */
static uint32
visible_of(const uint64 word[ALIKE_WORDS])
{
	uint32 count = 0;
	bool all;
	int i;

	if (are_alike(word, &all))
		return all ? 8 * ALIKE_BYTES : 0;
	for (i = 0; i < ALIKE_WORDS; i++)
		count += pg_popcount64(word[i] & VISIBLE);
	return count;
}

/*
 * The number of all-visible pages of a chunk.  The number may be out of date when the function
 * returns.
 */
uint32
CachedVisiblePages(Relation relation, uint32 chunk)
{
	Buffer buffer = InvalidBuffer;
	const uint64 *word;
	uint32 count = 0;
	int i;

	StaticAssertStmt(GPU_CHUNK_PAGES % 32 == 0, "a page of the map is no whole number of words");
	(void) visibilitymap_get_status(relation, chunk * (BlockNumber) GPU_CHUNK_PAGES, &buffer);
	if (!BufferIsValid(buffer))
		return 0;
	word = (const uint64 *) PageGetContents(BufferGetPage(buffer));
	for (i = 0; i + ALIKE_WORDS <= GPU_CHUNK_PAGES / 32; i += ALIKE_WORDS)
		count += visible_of(&word[i]);
	for (; i < GPU_CHUNK_PAGES / 32; i++)
		count += pg_popcount64(word[i] & VISIBLE);
	ReleaseBuffer(buffer);
	return count;
}

/* ---- pages ---- */

/* The number of page headers that are prefetched together. */
#define HEADERS_AHEAD 32

/*
 * The LSN of a page.  Without checksums or wal_log_hints, the LSN is read and written in two
 * halves.  So the share lock is needed, although only the LSN is read.
 */
static uint64
page_lsn(BlockReader *reader, BlockNumber block)
{
	Buffer buffer = BlockRead(reader, block);
	uint64 lsn;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	lsn = BufferGetLSNAtomic(buffer);
	UnlockReleaseBuffer(buffer);
	return lsn;
}

/* Keep the pages that still have the LSN that they had when they were cached. */
static void
keep_unchanged(Relation relation, uint32 chunk, const uint64 *lsn, GpuPages *pages)
{
	BufferAccessStrategy ring = GetAccessStrategy(BAS_BULKREAD);
	BlockNumber first = chunk * (BlockNumber) GPU_CHUNK_PAGES;
	BlockReader reader;
	uint32 page;

	BlockReaderInit(&reader, relation, ring);
	for (page = 0; page < GPU_CHUNK_PAGES; page++)
	{
		CHECK_FOR_INTERRUPTS();
		if (page % HEADERS_AHEAD == 0)
			BlockPrefetchHeaders(&reader, HEADERS_AHEAD);
		if (GpuPagesHave(pages, page) &&
			(lsn[page] == InvalidXLogRecPtr || page_lsn(&reader, first + page) != lsn[page]))
			GpuPagesRemove(pages, page);
	}
	FreeAccessStrategy(ring);
}

/*
 * Find the valid pages of a chunk by the LSNs of its pages, because the LSN of the map's page
 * has changed since the last check.  The worker stores the map's new LSN and the valid pages
 * with the chunk.
 */
static void
pages_by_lsn(const CachedCheck *check, uint32 i, const GpuColumnState *state, const MapPage *map,
			 GpuPages *pages)
{
	uint64 *lsn = palloc(GPU_CHUNK_PAGES * sizeof(uint64));

	*pages = map->visible;
	GpuPagesKeepCopied(pages, state);
	if (GpuColumnLsns(&check->ref[i], lsn))
	{
		keep_unchanged(check->relation, check->first + i, lsn, pages);
		GpuColumnRenew(&check->ref[i], state->map_lsn, map->lsn, pages);
	}
	else
		memset(pages, 0, sizeof(*pages));
	pfree(lsn);
}

/* Keep the valid pages of a chunk. */
static void
keep_true(const CachedCheck *check, uint32 i, const GpuColumnState *state, const MapPage *map)
{
	GpuPages *pages = &check->pages[i];
	GpuPages unchanged;

	CachedTestPoint(0);
	if (map->lsn == state->map_lsn)
	{
		GpuPagesKeepCopied(pages, state);
		GpuPagesKeep(pages, &map->visible);
		return;
	}
	pages_by_lsn(check, i, state, map, &unchanged);
	GpuPagesKeep(pages, &unchanged);
}

/*
 * Keep only the valid pages of a chunk, for several columns of one table, with one check of
 * the map.  "state": the chunk's state in the first column.  Its state in the next column is
 * check->count entries further.
 */
static void
check_chunk(const CachedCheck *check, int columns, uint32 i, const GpuColumnState *state)
{
	MapPage map;
	bool map_was_read = false;
	bool good = false;
	int c;

	for (c = 0; c < columns; c++, state += check->count)
	{
		if (state->there && !map_was_read)
			good = CachedReadMap(check->relation, check->first + i, check->blocks, &map);
		map_was_read |= state->there;
		if (state->there && good)
			keep_true(&check[c], i, state, &map);
		else
			memset(&check[c].pages[i], 0, sizeof(GpuPages));
	}
}

/* Make a set of all pages for each chunk. */
GpuPages *
CachedAllPages(uint32 chunks)
{
	Size bytes = (Size) Max(chunks, 1) * sizeof(GpuPages);
	GpuPages *pages = MemoryContextAllocHuge(CurrentMemoryContext, bytes);

	memset(pages, 0xff, bytes);
	return pages;
}

/* The number of consecutive checks, beginning with "check", that have the same table and chunks. */
static int
columns_of(const CachedCheck *check, int checks)
{
	int columns = 1;

	while (columns < checks && check[columns].relation == check->relation &&
		   check[columns].first == check->first && check[columns].count == check->count)
		columns++;
	return columns;
}

/*
 * The states of the chunks of all checks, in the order of the checks.  *all: the number of
 * states.
 */
static GpuColumnState *
find_states(const CachedCheck *check, int checks, uint32 *all)
{
	uint32 before = 0;
	GpuColumnState *state;
	GpuRef *ref;
	int i;

	for (i = 0; i < checks; i++)
		*all += check[i].count;
	ref = palloc(Max(*all, 1) * sizeof(GpuRef));
	state = palloc(Max(*all, 1) * sizeof(GpuColumnState));
	for (i = 0; i < checks; i++)
	{
		memcpy(ref + before, check[i].ref, check[i].count * sizeof(GpuRef));
		before += check[i].count;
	}
	GpuColumnDescribe(ref, *all, state);
	pfree(ref);
	return state;
}

/*
 * Remove the pages that are not valid from the page sets of the checks.  A chunk that is not
 * cached has no valid pages.  The states of the chunks of all tables are requested together, so
 * that the process does not wait for each table.
 */
void
CachedTruePages(const CachedCheck *check, int checks)
{
	uint32 all = 0;
	GpuColumnState *states = find_states(check, checks, &all);
	const GpuColumnState *state = states;
	int left = checks;

	while (left > 0)
	{
		int columns = columns_of(check, left);
		uint32 i;

		for (i = 0; i < check->count; i++)
		{
			CHECK_FOR_INTERRUPTS();
			check_chunk(check, columns, i, &state[i]);
		}
		state += columns * check->count;
		check += columns;
		left -= columns;
	}
	GpuColumnFreeStates(states, all);
}

/*
 * Read the tuples and the LSN of a pinned page that is to be cached; false: the page is not
 * all-visible, or has no LSN.  The tuples do not move while the page is pinned.
 */
bool
CachedTakePage(Buffer buffer, PageTuples *tuples, uint64 *lsn)
{
	Page page = BufferGetPage(buffer);
	bool visible;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	visible = PageIsAllVisible(page);
	*lsn = BufferGetLSNAtomic(buffer);
	if (visible)
		PageCollectAll(page, tuples);
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	return visible && *lsn != InvalidXLogRecPtr;
}
