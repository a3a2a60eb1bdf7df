/*
 * top_snapshot.c
 *		A snapshot that sees the rows of the tables that qtop_exact reads.
 *
 * qtop_exact locks its tables when the calling query has its snapshot already.  Before that,
 * another session may have rewritten one of them (ALTER TABLE ... TYPE, TRUNCATE), while the
 * query waited for the lock or for something else.  All rows of the new file are of that
 * session, and too new for the snapshot: the table would look empty.  An ordinary query takes
 * its snapshot after the locks.
 *
 * So under READ COMMITTED a new snapshot is taken then, which sees no more of this
 * transaction's own changes than the old one did.  The other levels have one snapshot for
 * the transaction, and an error tells that it is too old.
 *
 * A table got a new file if its row in pg_class names another one than the row that the
 * snapshot sees.  VACUUM FULL, CLUSTER and SET TABLESPACE make new files, too, though they
 * keep all rows for old snapshots.  They cannot be told apart, and are treated in the same way.
 *
 * src/pg/top_snapshot.c
 */
#include "pg/top_exact.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/plancache.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

/* The file of a table that there is now. */
static Oid
file_now(Oid relid)
{
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Oid file = InvalidOid;

	if (HeapTupleIsValid(tuple))
	{
		file = ((Form_pg_class) GETSTRUCT(tuple))->relfilenode;
		ReleaseSysCache(tuple);
	}
	return file;
}

/* The file that a snapshot sees; InvalidOid: it sees no such table. */
static Oid
file_seen(Relation catalog, Oid relid, Snapshot snapshot)
{
	Oid file = InvalidOid;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple tuple;

	ScanKeyInit(&key, Anum_pg_class_oid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relid));
	scan = systable_beginscan(catalog, ClassOidIndexId, true, snapshot, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
		file = ((Form_pg_class) GETSTRUCT(tuple))->relfilenode;
	systable_endscan(scan);
	return file;
}

/* The first table of the list to which others gave a new file after the active snapshot, or InvalidOid. */
static Oid
find_rewritten(const List *tables)
{
	Relation catalog = table_open(RelationRelationId, AccessShareLock);
	Oid rewritten = InvalidOid;
	ListCell *cell;

	PushCopiedSnapshot(GetActiveSnapshot());
	GetActiveSnapshot()->curcid = GetCurrentCommandId(false); /* own changes are no others' */
	foreach (cell, tables)
	{
		Oid relid = lfirst_oid(cell);

		CHECK_FOR_INTERRUPTS();
		if (file_now(relid) != file_seen(catalog, relid, GetActiveSnapshot()))
		{
			rewritten = relid;
			break;
		}
	}
	PopActiveSnapshot();
	table_close(catalog, AccessShareLock);
	return rewritten;
}

/* Lock all tables that the question's queries read, by planning one, and say which they are. */
static List *
lock_tables(const TopQuestion *question)
{
	SPIPlanPtr plan =
		SPI_prepare(psprintf("SELECT %s FROM %s", question->column, question->table), 0, NULL);
	CachedPlan *cached = plan ? SPI_plan_get_cached_plan(plan) : NULL;
	List *tables;

	if (cached == NULL)
		elog(ERROR, "could not plan query: %s", SPI_result_code_string(SPI_result));
	tables = list_copy(linitial_node(PlannedStmt, cached->stmt_list)->relationOids);
	ReleaseCachedPlan(cached, NULL);
	SPI_freeplan(plan);
	return tables;
}

/*
 * Lock the tables, and push a snapshot if the active one is too old for them.  True: it was
 * pushed, and the caller has to pop it.
 */
bool
TopPushSnapshot(const TopQuestion *question)
{
	Oid rewritten = find_rewritten(lock_tables(question));
	CommandId seen = GetActiveSnapshot()->curcid;

	if (!OidIsValid(rewritten))
		return false;
	if (IsolationUsesXactSnapshot())
		ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
						errmsg("could not serialize access due to concurrent rewriting of "
							   "table \"%s\"",
							   get_rel_name(rewritten)),
						errhint("The transaction might succeed if retried.")));
	PushCopiedSnapshot(GetTransactionSnapshot());
	GetActiveSnapshot()->curcid = seen;
	return true;
}
