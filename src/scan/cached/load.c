/*
 * load.c
 *		qsketch_gpu_load and qsketch_gpu_unload, and the view qsketch_gpu_columns.
 *
 * A table is cached chunk by chunk.  First the map's page of the chunk is read.  Then each
 * page whose bit is set is read once, for all columns.  A chunk is not loaded again if all its
 * visible pages are cached and valid.
 *
 * Plans depend on which columns are cached.  So the table's entry in the relation cache is
 * invalidated at the end, and prepared queries are planned again.
 *
 * Loading a column gives nobody access to its rows, because a plan uses a cached column only if its
 * user may read the column.  So the owner of a table may load the columns that he may read.  From
 * PostgreSQL 17 on, the user need not own the table, but must have MAINTAIN on it.
 *
 * The view lists the columns of this database that are cached or have evicted chunks.  A row
 * has the number of a column's keys, and the time of its last use.  So a row is shown only to
 * users who could count the keys themselves: they may read the column, and no row security
 * hides rows from them.  The view must not wait for a lock.  So the map of a table that
 * another session has locked is not read, and pages_true is NULL.
 *
 * src/scan/cached/load.c
 */
#include "scan/cached/cached.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/xact.h"
#include "catalog/objectaddress.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type_d.h"
#include "fmgr.h"
#include "funcapi.h"
#include "gpu/gpu.h"
#include "miscadmin.h"
#include "pgbase/value.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

/*
 * Maximum number of columns that one call may load.  For each column, the process allocates two
 * buffers of the size of a slot.
 */
#define COLUMNS_MAX 32

/* Pages between two progress reports. */
#define REPORT_PAGES 32

/* A column that is being loaded. */
typedef struct LoadColumn
{
	GpuColumn column;
	ColumnLocation location;
	KeyType key;
	GpuRef *ref; /* for each chunk: its reference before this load */
	bool wanted; /* the current chunk is being loaded */
	bool failed; /* GpuColumnBegin() or GpuColumnEnd() has failed */
	int there;   /* number of cached chunks, if none was freed in the meantime */
	GpuColumnLoad load;
} LoadColumn;

typedef struct Load
{
	Relation relation;
	Oid root; /* the partitioned table at the top, or the table itself */
	BlockNumber blocks;
	uint32 chunks;
	LoadColumn *column;
	int count;
	int64 keys;
	ActivityHandle activity;
	BufferAccessStrategy strategy;
	PageTuples *tuples;
	bool *null;            /* for each row of a page: the key is NULL */
	MemoryContext scratch; /* memory for hashing the keys of one page */
} Load;

/* ---- what may be loaded ---- */

static bool
is_owner(Oid relid)
{
#if PG_VERSION_NUM >= 170000
	return pg_class_aclcheck(relid, GetUserId(), ACL_MAINTAIN) == ACLCHECK_OK;
#elif PG_VERSION_NUM >= 160000
	return object_ownercheck(RelationRelationId, relid, GetUserId());
#else
	return pg_class_ownercheck(relid, GetUserId());
#endif
}

/*
 * Open a table whose columns this user may load and unload.  Raises an error for any other
 * user before the table is locked.
 */
static Relation
open_table(Oid relid)
{
	Relation relation = NULL;

	if (get_rel_relkind(relid) != '\0')
	{
		if (!is_owner(relid))
			aclcheck_error(ACLCHECK_NOT_OWNER, get_relkind_objtype(get_rel_relkind(relid)),
						   get_rel_name(relid));
		relation = try_relation_open(relid, AccessShareLock);
	}
	if (relation == NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
						errmsg("relation with OID %u does not exist", relid)));
	return relation;
}

static void
check_table(Relation relation)
{
	const char *refusal = CachedTableRefusal(relation);

	if (refusal)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("cannot cache columns of \"%s\" on a GPU",
							   RelationGetRelationName(relation)),
						errdetail("The reason is: %s.", refusal)));
}

/* The number of a column; raises an error if the table has no such column. */
static AttrNumber
find_column(Relation relation, const char *name)
{
	AttrNumber attribute = get_attnum(RelationGetRelid(relation), name);

	if (attribute <= 0)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_COLUMN),
						errmsg("column \"%s\" of relation \"%s\" does not exist", name,
							   RelationGetRelationName(relation))));
	return attribute;
}

static void
init_column(LoadColumn *column, Relation relation, const char *name)
{
	AttrNumber attribute = find_column(relation, name);
	Form_pg_attribute form = TupleDescAttr(RelationGetDescr(relation), attribute - 1);

	if (!CachedMayRead(RelationGetRelid(relation), attribute))
		aclcheck_error(ACLCHECK_NO_PRIV, get_relkind_objtype(relation->rd_rel->relkind),
					   RelationGetRelationName(relation));
	if (!CachedTakesKeys(form))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot cache column \"%s\" of type %s on a GPU", name,
						format_type_be(form->atttypid)),
				 errhint("Columns of PostgreSQL's own types that have a hash function can be "
						 "cached, but no arrays, ranges, enums or domains, no virtual generated "
						 "columns, and no text in a database of encoding SQL_ASCII or "
						 "MULE_INTERNAL.")));
	if (CachedMayVanish(RelationGetRelid(relation), attribute))
		ereport(
			ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg(
				 "cannot cache column \"%s\" of a table whose columns this transaction has changed",
				 name),
			 errhint("Commit the transaction first.")));
	ColumnLocationInit(&column->location, attribute, RelationGetDescr(relation));
	KeyTypeInit(&column->key, form->atttypid, form->attcollation);
	column->column = CachedColumn(relation, attribute, form->attcollation);
}

static bool
is_repeated(const Load *load)
{
	int i;

	for (i = 0; i < load->count; i++)
		if (load->column[i].column.attribute == load->column[load->count].column.attribute)
			return true;
	return false;
}

static void
init_columns(Load *load, ArrayType *names)
{
	Datum *name;
	bool *null;
	int count;
	int i;

	deconstruct_array(names, NAMEOID, NAMEDATALEN, false, TYPALIGN_CHAR, &name, &null, &count);
	if (count < 1 || count > COLUMNS_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("number of columns must be between 1 and %d, not %d", COLUMNS_MAX, count)));
	load->column = palloc0(count * sizeof(LoadColumn));
	for (i = 0; i < count; i++)
	{
		if (null[i])
			ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
							errmsg("name of a column must not be NULL")));
		init_column(&load->column[load->count], load->relation, NameStr(*DatumGetName(name[i])));
		load->count += !is_repeated(load);
	}
}

/* ---- chunks of files that do not exist any more ---- */

/* True if the column's file is the current file of its table. */
static bool
is_current(const GpuColumn *column)
{
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(column->relation));
	bool current = false;

	if (HeapTupleIsValid(tuple))
	{
		current = ((Form_pg_class) GETSTRUCT(tuple))->relfilenode == column->file;
		ReleaseSysCache(tuple);
	}
	return current;
}

/*
 * Free the chunks of one table.  With InvalidOid, free the chunks of this database whose file is
 * not the current file of a table.  A file that another session's uncommitted transaction made is
 * not current either, so its chunks are also freed, and can be loaded again.  Also removes the
 * records of the columns' evicted chunks.  Returns the number of freed chunks.
 */
static int64
forget_chunks(Oid relid)
{
	int count;
	GpuCachedColumn *cached = GpuColumnList(&count);
	int64 forgotten = 0;
	int i;

	for (i = 0; i < count; i++)
		if (cached[i].column.database == MyDatabaseId &&
			(OidIsValid(relid) ? cached[i].column.relation == relid
							   : !is_current(&cached[i].column)))
		{
			forgotten += GpuForgetCached(&cached[i].ref);
			GpuColumnForgetPushedOut(&cached[i].column);
		}
	pfree(cached);
	return forgotten;
}

/* ---- loading ---- */

/* True if all visible pages of a chunk are cached and valid. */
static bool
is_complete(const Load *load, const LoadColumn *column, uint32 chunk, const MapPage *map)
{
	GpuPages pages = map->visible;
	const CachedCheck check = {
		load->relation, load->blocks, chunk, 1, &column->ref[chunk], &pages
	};

	CachedTruePages(&check, 1);
	return memcmp(&pages, &map->visible, sizeof(pages)) == 0;
}

/*
 * Begin to load chunk number "chunk" of each column that does not have this chunk completely.
 * Returns true if at least one load has begun.
 */
static bool
begin_chunk(Load *load, uint32 chunk, const MapPage *map)
{
	GpuColumnShape shape = { .root = load->root,
							 .relation = RelationGetRelid(load->relation),
							 .chunk = chunk };
	bool any = false;
	int i;

	for (i = 0; i < load->count; i++)
	{
		LoadColumn *column = &load->column[i];

		column->wanted = !column->failed && !is_complete(load, column, chunk, map);
		if (!column->wanted)
			continue;
		if (column->ref[chunk].serial != 0)
			(void) GpuForgetCached(&column->ref[chunk]);
		column->wanted = GpuColumnBegin(&column->load, &shape);
		column->failed = !column->wanted;
		any |= column->wanted;
	}
	return any;
}

static void
add_page(Load *load, uint32 page, uint64 lsn)
{
	MemoryContext old = MemoryContextSwitchTo(load->scratch);
	int i;

	for (i = 0; i < load->count; i++)
	{
		LoadColumn *column = &load->column[i];
		int rows = load->tuples->count;

		if (!column->wanted)
			continue;
		load->keys += ColumnValues(&column->location, &column->key, load->tuples,
								   GpuColumnRoom(&column->load, rows), load->null);
		GpuColumnAdd(&column->load, page, lsn, rows, load->null);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(load->scratch);
}

/*
 * Pin the first page at or after *page whose bit is set, and set *page to its number.
 * InvalidBuffer: no such page is left in the chunk.
 */
static Buffer
pin_visible(const Load *load, uint32 chunk, const MapPage *map, uint32 *page)
{
	BlockNumber first = chunk * (BlockNumber) GPU_CHUNK_PAGES;

	while (*page < GPU_CHUNK_PAGES && !GpuPagesHave(&map->visible, *page))
		(*page)++;
	if (*page == GPU_CHUNK_PAGES)
		return InvalidBuffer;
	return ReadBufferExtended(load->relation, MAIN_FORKNUM, first + *page, RBM_NORMAL,
							  load->strategy);
}

/*
 * Read the pages of a chunk.  The next page is pinned early, so that it can be prefetched
 * while a page is loaded.
 */
static void
read_chunk(Load *load, uint32 chunk, const MapPage *map)
{
	uint32 page = 0;
	Buffer buffer = pin_visible(load, chunk, map, &page);

	while (BufferIsValid(buffer))
	{
		uint32 next = page + 1;
		Buffer ahead = pin_visible(load, chunk, map, &next);
		uint64 lsn;

		CHECK_FOR_INTERRUPTS();
		if (page % REPORT_PAGES == 0)
		{
			ActivitySet(&load->activity, ACTIVITY_DONE,
						chunk * (BlockNumber) GPU_CHUNK_PAGES + page);
			ActivitySet(&load->activity, ACTIVITY_FOUND, load->keys);
		}
		if (CachedTakePage(buffer, load->tuples, &lsn))
		{
			PageTuplesSpreadPrefetch(load->tuples, ahead);
			add_page(load, page, lsn);
		}
		ReleaseBuffer(buffer);
		buffer = ahead;
		page = next;
	}
}

static void
end_chunk(Load *load, uint32 chunk, const MapPage *map)
{
	int i;

	for (i = 0; i < load->count; i++)
	{
		LoadColumn *column = &load->column[i];

		if (!column->wanted)
			continue;
		if (GpuColumnEnd(&column->load, map->lsn, &column->column, chunk))
			column->there += column->ref[chunk].serial == 0;
		else
			column->failed = true;
	}
}

/*
 * True if loading a column has failed, or if the worker freed chunks of a column to load later
 * chunks.
 */
static bool
is_full(const Load *load)
{
	GpuRef *ref = palloc(load->chunks * sizeof(GpuRef));
	bool full = false;
	int i;

	for (i = 0; i < load->count; i++)
		full |= load->column[i].failed ||
				GpuColumnFind(&load->column[i].column, ref, load->chunks) < load->column[i].there;
	pfree(ref);
	return full;
}

static void
load_chunk(Load *load, uint32 chunk)
{
	MapPage map;

	if (!CachedReadMap(load->relation, chunk, load->blocks, &map) ||
		GpuPagesCount(&map.visible) == 0)
		return;
	if (begin_chunk(load, chunk, &map))
	{
		read_chunk(load, chunk, &map);
		end_chunk(load, chunk, &map);
	}
}

/* The number of pages that are valid in all columns. */
static int64
count_pages(const Load *load)
{
	GpuPages *all = CachedAllPages(load->chunks);
	CachedCheck *check = palloc(load->count * sizeof(CachedCheck));
	int64 count = 0;
	uint32 chunk;
	int i;

	for (i = 0; i < load->count; i++)
	{
		const LoadColumn *column = &load->column[i];

		(void) GpuColumnFind(&column->column, column->ref, load->chunks);
		check[i] = (CachedCheck){ load->relation, load->blocks, 0, load->chunks, column->ref, all };
	}
	CachedTruePages(check, load->count);
	for (chunk = 0; chunk < load->chunks; chunk++)
		count += GpuPagesCount(&all[chunk]);
	pfree(check);
	pfree(all);
	return count;
}

/* The partitioned table at the top, or the table itself. */
static Oid
root_of(Relation relation)
{
	Oid relid = RelationGetRelid(relation);

	return relation->rd_rel->relispartition ? llast_oid(get_partition_ancestors(relid)) : relid;
}

static void
begin_load(Load *load)
{
	int i;

	load->root = root_of(load->relation);
	load->blocks = RelationGetNumberOfBlocks(load->relation);
	load->chunks = CachedChunksOf(load->blocks);
	for (i = 0; i < load->count; i++)
	{
		GpuColumnForgetPushedOut(&load->column[i].column);
		load->column[i].ref = palloc((load->chunks + 1) * sizeof(GpuRef));
		load->column[i].there =
			GpuColumnFind(&load->column[i].column, load->column[i].ref, load->chunks);
	}
	load->tuples = palloc(sizeof(PageTuples));
	load->null = palloc(MaxHeapTuplesPerPage * sizeof(bool));
	load->strategy = GetAccessStrategy(BAS_BULKREAD);
	load->scratch =
		AllocSetContextCreate(CurrentMemoryContext, "qsketch_gpu_load", ALLOCSET_DEFAULT_SIZES);
	load->activity = ActivityBegin(ACTIVITY_LOAD, RelationGetRelid(load->relation), 0);
	ActivitySet(&load->activity, ACTIVITY_TOTAL, load->blocks);
	ActivitySet(&load->activity, ACTIVITY_ON_GPU, true);
	ActivitySet(&load->activity, ACTIVITY_PHASE, PHASE_RUNNING);
}

static int64
load_all(Load *load)
{
	uint32 chunk;
	bool full = false;

	begin_load(load);
	for (chunk = 0; chunk < load->chunks && !full; chunk++)
	{
		load_chunk(load, chunk);
		full = is_full(load);
	}
	ActivityEnd(&load->activity);
	if (full)
		ereport(WARNING, (errmsg("not all of \"%s\" fits on the GPU",
								 RelationGetRelationName(load->relation)),
						  errhint("Load fewer columns, or raise qsketch.gpu_cache_size and "
								  "qsketch.gpu_memory_limit.")));
	return count_pages(load);
}

/* ---- SQL ---- */

/*
 * qsketch_gpu_load(table, columns): returns the number of pages that are now cached and valid
 * in all columns.  Waits for the worker if the worker is starting.
 */
PG_FUNCTION_INFO_V1(qsketch_gpu_load);
Datum
qsketch_gpu_load(PG_FUNCTION_ARGS)
{
	Load load = { .relation = open_table(PG_GETARG_OID(0)) };
	int64 pages;

	check_table(load.relation);
	init_columns(&load, PG_GETARG_ARRAYTYPE_P(1));
	if (!GpuAwaitStart())
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("there is no GPU to cache columns on"),
						errdetail("The reason is: %s.", GpuMissingReason())));
	(void) forget_chunks(InvalidOid);
	pages = load_all(&load);
	CacheInvalidateRelcache(load.relation);
	relation_close(load.relation, NoLock);
	PG_RETURN_INT64(pages);
}

/* qsketch_gpu_unload(table): returns true if any column was cached. */
PG_FUNCTION_INFO_V1(qsketch_gpu_unload);
Datum
qsketch_gpu_unload(PG_FUNCTION_ARGS)
{
	Relation relation = open_table(PG_GETARG_OID(0));
	int64 forgotten = forget_chunks(RelationGetRelid(relation));

	CacheInvalidateRelcache(relation);
	relation_close(relation, NoLock);
	PG_RETURN_BOOL(forgotten > 0);
}

/* ---- the view ---- */

/* Columns of qsketch_gpu_copies(). */
enum
{
	CACHED_RELATION,
	CACHED_ATTRIBUTE,
	CACHED_ROWS,
	CACHED_BYTES,
	CACHED_PAGES,
	CACHED_PAGES_TRUE,
	CACHED_LAST_USED,
	CACHED_PUSHED_OUT,
	CACHED_PUSHED_OUT_BY,
	CACHED_PUSHED_OUT_AT,
	CACHED_COLUMNS
};

/* Sums over all chunks of a column. */
typedef struct Sum
{
	int64 keys;
	int64 bytes;
	int64 pages;
	int64 pages_true; /* cached pages whose bits are set, in chunks whose map page is unchanged */
	uint64 used;
	GpuCachedColumn out; /* an entry of evicted chunks; zero: no chunk was evicted */
} Sum;

/* True if this user may count the column's keys.  The table may not exist any more. */
static bool
may_see(Oid relid, AttrNumber attribute)
{
	return CachedMayRead(relid, attribute) &&
		   check_enable_rls(relid, InvalidOid, true) != RLS_ENABLED;
}

/*
 * True if the column's file is the current file of its table, and the column still has its type.
 * Reads only the catalog, and does not lock the table.
 */
static bool
is_of_table(const GpuColumn *column)
{
	HeapTuple tuple =
		is_current(column) ? SearchSysCacheAttNum(column->relation, column->attribute) : NULL;
	bool same = false;

	if (HeapTupleIsValid(tuple))
	{
		Form_pg_attribute form = (Form_pg_attribute) GETSTRUCT(tuple);

		same = form->atttypid == column->type && form->atttypmod == column->typmod;
		ReleaseSysCache(tuple);
	}
	return same;
}

/*
 * Add the counts of a chunk.  A chunk that was freed in the meantime adds nothing.  The map is
 * read only if "relation" is open.
 */
static void
add_cached(Sum *sum, Relation relation, const GpuCachedColumn *cached, const GpuColumnState *state)
{
	GpuPages pages;
	MapPage map;

	if (!state->there)
		return;
	sum->keys += state->keys;
	sum->bytes += cached->bytes;
	memset(&pages, 0xff, sizeof(pages));
	GpuPagesKeepCopied(&pages, state);
	sum->pages += GpuPagesCount(&pages);
	sum->used = Max(sum->used, cached->used);
	if (relation == NULL ||
		!CachedReadMap(relation, cached->chunk, RelationGetNumberOfBlocks(relation), &map) ||
		map.lsn != state->map_lsn)
		return;
	GpuPagesKeep(&pages, &map.visible);
	sum->pages_true += GpuPagesCount(&pages);
}

static bool
is_same(const GpuCachedColumn *a, const GpuCachedColumn *b)
{
	return memcmp(&a->column, &b->column, sizeof(a->column)) == 0;
}

/* Add the counts of all chunks of the column that the first entry names. */
static void
add_all_cached(Sum *sum, Relation relation, const GpuCachedColumn *cached, int count)
{
	GpuColumnState *state = palloc(count * sizeof(*state));
	GpuRef *ref = palloc0(count * sizeof(*ref));
	int i;

	for (i = 0; i < count; i++)
	{
		if (!is_same(&cached[i], cached))
			continue;
		ref[i] = cached[i].ref;
		if (cached[i].pushed_out > 0)
			sum->out = cached[i];
	}
	GpuColumnDescribe(ref, count, state);
	for (i = 0; i < count; i++)
		add_cached(sum, relation, &cached[i], &state[i]);
	pfree(ref);
	GpuColumnFreeStates(state, count);
}

static void
put_row(ReturnSetInfo *result, const GpuColumn *column, const Sum *sum, bool map)
{
	Datum values[CACHED_COLUMNS];
	bool nulls[CACHED_COLUMNS] = { 0 };

	values[CACHED_RELATION] = ObjectIdGetDatum(column->relation);
	values[CACHED_ATTRIBUTE] = Int16GetDatum(column->attribute);
	values[CACHED_ROWS] = Int64GetDatum(sum->keys);
	values[CACHED_BYTES] = Int64GetDatum(sum->bytes);
	values[CACHED_PAGES] = Int64GetDatum(sum->pages);
	values[CACHED_PAGES_TRUE] = Int64GetDatum(sum->pages_true);
	values[CACHED_LAST_USED] = TimestampTzGetDatum((TimestampTz) sum->used);
	nulls[CACHED_PAGES_TRUE] = !map;
	nulls[CACHED_LAST_USED] = sum->used == 0;
	values[CACHED_PUSHED_OUT] = Int32GetDatum((int32) sum->out.pushed_out);
	values[CACHED_PUSHED_OUT_BY] = ObjectIdGetDatum(sum->out.pushed_out_by);
	nulls[CACHED_PUSHED_OUT_BY] = !OidIsValid(sum->out.pushed_out_by);
	values[CACHED_PUSHED_OUT_AT] = TimestampTzGetDatum((TimestampTz) sum->out.pushed_out_at);
	nulls[CACHED_PUSHED_OUT_AT] = sum->out.pushed_out == 0;
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/*
 * Open a table to read its visibility map; NULL: another session has or awaits a conflicting lock,
 * or the table is gone.
 */
static Relation
open_unless_locked(Oid relid)
{
	Relation relation;

	if (!ConditionalLockRelationOid(relid, AccessShareLock))
		return NULL;
	relation = try_relation_open(relid, NoLock);
	if (relation == NULL)
		UnlockRelationOid(relid, AccessShareLock);
	return relation;
}

/*
 * Add the row of the column that the first entry of the list names.  A table is locked only if the
 * user may see the row.
 */
static void
put_column(ReturnSetInfo *result, const GpuCachedColumn *cached, int count)
{
	const GpuColumn *column = &cached->column;
	Relation relation;
	Sum sum = { 0 };

	if (!may_see(column->relation, column->attribute))
		return;
	relation = open_unless_locked(column->relation);
	if (is_of_table(column))
	{
		add_all_cached(&sum, relation, cached, count);
		put_row(result, column, &sum, relation != NULL);
	}
	if (relation)
		relation_close(relation, AccessShareLock);
}

/* qsketch_gpu_copies(): a row for each column that this user may see. */
PG_FUNCTION_INFO_V1(qsketch_gpu_copies);
Datum
qsketch_gpu_copies(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	int count;
	GpuCachedColumn *cached = GpuColumnList(&count);
	int i;
	int j;

	ReturnRows(fcinfo);
	for (i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		for (j = 0; j < i && !is_same(&cached[i], &cached[j]); j++)
			;
		if (j == i && cached[i].column.database == MyDatabaseId)
			put_column(result, &cached[i], count - i);
	}
	return (Datum) 0;
}
