/*
 * top_question.c
 *		The question of qtop_exact: its column, a sample of the column, and a snapshot.
 *
 * src/pg/top_question.c
 */
#include "pg/top_question.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type_d.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "parser/parse_coerce.h"
#include "sketch/top.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/plancache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

GpuExactKey *(*TopExactFromCached)(const TopQuestion *question, int *count) = NULL;

/* Return the name of a schema, quoted for SQL.  Raise an error if the schema has been dropped. */
static char *
schema_name(Oid schema)
{
	char *name = get_namespace_name(schema);

	if (name == NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_SCHEMA),
						errmsg("schema with OID %u does not exist", schema)));
	return pstrdup(quote_identifier(name));
}

static void
describe_table(TopQuestion *question)
{
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(question->relation));
	Form_pg_class form;

	if (!HeapTupleIsValid(tuple))
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
						errmsg("relation with OID %u does not exist", question->relation)));
	form = (Form_pg_class) GETSTRUCT(tuple);
	question->table = psprintf("%s.%s AS t", schema_name(form->relnamespace),
							   quote_identifier(NameStr(form->relname)));
	ReleaseSysCache(tuple);
}

static AttrNumber
column_number(const TopQuestion *question, const char *name)
{
	AttrNumber number = get_attnum(question->relation, name);

	if (number == InvalidAttrNumber)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of relation \"%s\" does not exist", name,
						get_rel_name(question->relation)),
				 errhint("Name one column, in upper and lower case as the table has it. For an "
						 "expression, name a column of a view that has it, or a generated "
						 "column.")));
	return number;
}

static bool
is_integer(Oid type)
{
	Oid base = getBaseType(type);

	return base == INT2OID || base == INT4OID || base == INT8OID;
}

/*
 * Describe what is added up for each key: its rows, or their weights.  With weights, "having" keeps
 * only keys whose weights sum to more than 0.
 */
static void
describe_weight(TopQuestion *question, const char *name)
{
	Oid type;

	question->weight_name = name;
	question->weight = NULL;
	question->measure = "pg_catalog.count(*)";
	question->having = "";
	if (name == NULL)
		return;
	type = get_atttype(question->relation, column_number(question, name));
	if (!is_integer(type))
		ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
						errmsg("weights in column \"%s\" have type %s", name, format_type_be(type)),
						errhint("Weights are smallint, integer or bigint. A view may cast them.")));
	question->weight = psprintf("t.%s", quote_identifier(name));
	question->measure = psprintf("CAST(pg_catalog.sum(%s) AS pg_catalog.int8)", question->weight);
	question->having =
		psprintf(" HAVING pg_catalog.sum(%s) OPERATOR(pg_catalog.>) 0", question->weight);
}

static void
describe_column(TopQuestion *question)
{
	AttrNumber number = column_number(question, question->name);
	int32 typmod;

	get_atttypetypmodcoll(question->relation, number, &question->type, &typmod,
						  &question->collation);
	question->column = psprintf("t.%s", quote_identifier(question->name));
	question->number = KeyTypeHasNumberOrder(question->type);
	question->sorted = OidIsValid(lookup_type_cache(question->type, TYPECACHE_LT_OPR)->lt_opr);
}

/*
 * Raise an error unless the type of the column is binary-coercible to the type that the caller
 * names.
 */
void
TopCheckType(const TopQuestion *question, Oid named)
{
	if (!IsBinaryCoercible(question->type, named))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" has type %s, not %s", question->name,
						format_type_be(question->type), format_type_be(named)),
				 errhint("Name the type of the column, as in NULL::%s, or leave it out to have "
						 "keys as text.",
						 format_type_be(question->type))));
}

/*
 * Raise an error if a query returned keys of another type than the column's.  The lock of
 * TopDescribe() keeps other sessions from changing the table, but not this session.  A policy of
 * the table may call a function that gives the table's name to another table.
 */
void
TopCheckColumn(const TopQuestion *question, Oid found)
{
	if (found != question->type)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("type of column \"%s\" changed from %s to %s while keys were counted",
						question->name, format_type_be(question->type), format_type_be(found)),
				 errhint("No function that the query calls may alter or rename its table.")));
}

/*
 * Describe a column of a table, and a column of weights unless "weight" is NULL.  The caller has
 * set question->n and question->listed.
 */
void
TopDescribe(TopQuestion *question, Oid relation, const char *column, const char *weight)
{
	LockRelationOid(relation, AccessShareLock);
	question->relation = relation;
	question->name = column;
	describe_table(question);
	describe_column(question);
	describe_weight(question, weight);
}

/*
 * ---- whether a list of candidates is worth a pass over the table ----
 *
 * If the table has many keys, GROUP BY's hash table exceeds the processor's cache or work_mem, and
 * a sketch is faster than GROUP BY.  If the table has few keys, GROUP BY is faster than a sketch.
 * A sample of the table's pages shows which case holds:
 *
 * 	unseen		the fraction of the sample's rows whose key no other row of the sample has.  About
 * 				the same fraction of all other rows has a key that is not in the sample.  "unseen"
 * 				is near 0 if the table has few keys, and 1 if no two rows have the same key.
 * 	alike		the average number of other rows of the table that have the same key as a row.
 * 				"alike" is near 0 if no two rows have the same key.
 * 	nth, usual	counts that show whether the wanted keys are much more frequent than other keys.
 *
 * If keys are numbers, a list costs little, and often already has exact counts.  The list is made
 * unless the table has few keys, or hardly any two rows have the same key.  If keys are not
 * numbers, another pass must count the candidates of a list.  The list is made only if the wanted
 * keys are much more frequent than all other keys, and many rows have rare keys.
 *
 * A small table, or a table without pages of its own (a view, a foreign table), gives no sample,
 * and GROUP BY runs.  The sample affects only the time, because the answer is always exact.
 */

/*
 * A sample has SAMPLE_PAGES pages, but at most MOST_PERCENT percent of the table's pages.  For a
 * table of fewer than LEAST_PAGES pages, GROUP BY runs without a sample.
 */
#define SAMPLE_PAGES 128
#define MOST_PERCENT 5
#define LEAST_PAGES  256

/* The least "unseen" for which a list is made. */
#define UNSEEN_INTEGER 0.25
#define UNSEEN_OTHER   0.45

/* The least "alike" for which a list is made, if keys are numbers. */
#define ALIKE 0.5

/*
 * If keys are not numbers, a list is made only if the n-th key has at least this count:
 * STANDS_OUT_TIMES times the count of the usual key, plus STANDS_OUT_BY rows.  With a column of
 * weights, weights replace counts, and each row has the average weight.
 */
#define STANDS_OUT_BY    6
#define STANDS_OUT_TIMES 4

#define SAMPLED "%s TABLESAMPLE pg_catalog.system (%.6f) REPEATABLE (0)"

/* Add the number of a table's pages to *pages.  False: the table cannot be sampled. */
static bool
add_pages(Oid relid, double *pages)
{
	Relation relation = try_relation_open(relid, NoLock);
	bool sampled = true;

	if (relation == NULL || RELATION_IS_OTHER_TEMP(relation))
		sampled = relation != NULL;
	else if (relation->rd_rel->relkind == RELKIND_RELATION ||
			 relation->rd_rel->relkind == RELKIND_MATVIEW)
		*pages += RelationGetNumberOfBlocks(relation);
	else
		sampled = relation->rd_rel->relkind == RELKIND_PARTITIONED_TABLE;
	if (relation)
		relation_close(relation, NoLock);
	return sampled;
}

/* Return the percentage of the pages to sample; 0: take no sample. */
static double
percent_of(Oid relid)
{
	double pages = 0;
	ListCell *cell;

	foreach (cell, find_all_inheritors(relid, AccessShareLock, NULL))
		if (!add_pages(lfirst_oid(cell), &pages))
			return 0;
	return pages < LEAST_PAGES ? 0 : Min(MOST_PERCENT, 100 * SAMPLE_PAGES / pages);
}

/*
 * Add a group to the sample.  Groups come in descending order of weight.  A tuple has the group's
 * key, its count or weight, and its number of rows.
 */
static void
add_group(const TopQuestion *question, TopSample *sample, HeapTuple tuple)
{
	bool null;
	int64 weight;
	int64 count;

	(void) SPI_getbinval(tuple, SPI_tuptable->tupdesc, 1, &null);
	if (null)
		return;
	weight = DatumGetInt64(SPI_getbinval(tuple, SPI_tuptable->tupdesc, 2, &null));
	count = DatumGetInt64(SPI_getbinval(tuple, SPI_tuptable->tupdesc, 3, &null));
	sample->weight += (double) weight;
	sample->rows += (double) count;
	sample->groups++;
	sample->single += count == 1;
	if (sample->groups == question->n)
		sample->nth = weight;
	if (sample->groups == qs_top_capacity(question->listed))
		sample->usual = weight;
}

void
TopTakeSample(const TopQuestion *question, TopSample *sample)
{
	uint64 i;

	memset(sample, 0, sizeof(*sample));
	sample->percent = percent_of(question->relation);
	if (sample->percent == 0)
		return;
	RunQuery(psprintf("SELECT %s, %s, pg_catalog.count(*) FROM " SAMPLED " GROUP BY %s%s "
					  "ORDER BY 2 DESC",
					  question->column, question->measure, question->table, sample->percent,
					  question->column, question->having),
			 NULL, NULL);
	for (i = 0; i < SPI_processed; i++)
		add_group(question, sample, SPI_tuptable->vals[i]);
	SPI_freetuptable(SPI_tuptable);
}

/* Estimate the number of rows of the table, without the rows that a sample leaves out. */
double
TopSampleTable(const TopSample *sample)
{
	return sample->rows * 100 / sample->percent;
}

/*
 * True if a list of candidates should be made.  "pairs" is a lower limit of the number of pairs of
 * sampled rows with the same key.
 */
bool
TopSampleWantsList(const TopQuestion *question, const TopSample *sample)
{
	double unseen = sample->rows > 0 ? sample->single / sample->rows : 0;
	double pairs = sample->rows - sample->groups;

	if (question->number)
		return unseen >= UNSEEN_INTEGER &&
			   2 * pairs * TopSampleTable(sample) >= ALIKE * sample->rows * sample->rows;
	return unseen >= UNSEEN_OTHER && sample->nth >= STANDS_OUT_BY * sample->weight / sample->rows +
														STANDS_OUT_TIMES * (double) sample->usual;
}

/* Return the fraction of the sample's rows that meet a condition. */
double
TopSampleFraction(const TopQuestion *question, const TopSample *sample, const char *condition,
				  ExtensionCall *call, ParamListInfo values)
{
	bool null;
	int64 rows;

	RunQuery(psprintf("SELECT pg_catalog.count(*) FROM " SAMPLED " WHERE %s", question->table,
					  sample->percent, condition),
			 call, values);
	rows = DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &null));
	SPI_freetuptable(SPI_tuptable);
	return (double) rows / sample->rows;
}

/*
 * ---- a snapshot that sees the rows of the tables ----
 *
 * The calling query has its snapshot before qtop_exact locks the tables.  In the meantime, another
 * session may make these changes:
 *
 * 	- It rewrites a table (ALTER TABLE ... TYPE, TRUNCATE).  All rows of the new file were written
 * 	  by that session, and are too new for the snapshot.  The table would look empty.
 * 	- It changes the partitions of a table, or its children by inheritance.  The session may move
 * 	  rows to a new partition, and drop the old partition.  The query then reads the new
 * 	  partition, whose rows are too new for the snapshot.  The query does not read the old
 * 	  partition, whose rows the snapshot sees.
 * 	- It gives the name of a table to a new table.
 *
 * An ordinary query takes its snapshot after the locks.  So if the snapshot of the calling query is
 * too old, qtop_exact under READ COMMITTED takes a new snapshot after the locks.  The new snapshot
 * sees no more of this transaction's own changes than the old snapshot.  Under REPEATABLE READ and
 * SERIALIZABLE, the transaction has only one snapshot, and an error says that this snapshot is too
 * old.
 *
 * A table has a new file if its row in pg_class names another file than the row that the snapshot
 * sees.  VACUUM FULL, CLUSTER and SET TABLESPACE also make new files, although they keep all rows
 * for old snapshots.  These commands cannot be distinguished from commands that rewrite rows, so
 * all of these commands are treated alike.
 *
 * The children of a table changed if the snapshot sees other rows of the table in pg_inherits than
 * exist now.  A new table that was only added as a child causes no error.  The snapshot sees
 * neither this table nor its rows, so qtop_exact and an ordinary query with this snapshot give the
 * same answer.
 */

/* Return the current file of a table. */
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

/* True if a snapshot sees the table.  Sets *file to the table's file that the snapshot sees. */
static bool
sees_table(Relation catalog, Oid relid, Snapshot snapshot, Oid *file)
{
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple tuple;
	bool seen;

	ScanKeyInit(&key, Anum_pg_class_oid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relid));
	scan = systable_beginscan(catalog, ClassOidIndexId, true, snapshot, 1, &key);
	tuple = systable_getnext(scan);
	seen = HeapTupleIsValid(tuple);
	if (seen)
		*file = ((Form_pg_class) GETSTRUCT(tuple))->relfilenode;
	systable_endscan(scan);
	return seen;
}

/*
 * The reason why the active snapshot is too old for the tables.  If several values apply, the
 * largest value is used.
 */
typedef enum TablesAge
{
	TABLES_SEEN,     /* the snapshot is not too old */
	TABLES_ADDED,    /* a table has a new table as a child, and nothing else changed */
	TABLES_CHILDREN, /* a table lost a child, or an older table became its child */
	TABLES_REWRITTEN /* a table has another file, or is new */
} TablesAge;

typedef struct TablesCheck
{
	Relation classes;  /* the catalog pg_class */
	Relation inherits; /* the catalog pg_inherits */
	Snapshot snapshot;
	List *added; /* new tables that became children of other tables */
	TablesAge age;
	Oid table; /* a table for which "age" holds */
} TablesCheck;

static void
note_age(TablesCheck *check, TablesAge age, Oid table)
{
	if (age <= check->age)
		return;
	check->age = age;
	check->table = table;
}

/*
 * Return the children of a table that the snapshot sees, ordered by OID.  NULL snapshot: return the
 * current children.  Set *detaching to the child that is being detached concurrently.
 */
static List *
children_of(const TablesCheck *check, Oid relid, Snapshot snapshot, Oid *detaching)
{
	List *children = NIL;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple tuple;

	*detaching = InvalidOid;
	ScanKeyInit(&key, Anum_pg_inherits_inhparent, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(relid));
	scan = systable_beginscan(check->inherits, InheritsParentIndexId, true, snapshot, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_inherits form = (Form_pg_inherits) GETSTRUCT(tuple);

		CHECK_FOR_INTERRUPTS();
		children = lappend_oid(children, form->inhrelid);
		if (form->inhdetachpending)
			*detaching = form->inhrelid;
	}
	systable_endscan(scan);
	list_sort(children, list_oid_cmp);
	return children;
}

/*
 * Note a new child of a table: a new table, or an older table that the snapshot does not see as a
 * child.
 */
static void
note_new_child(TablesCheck *check, Oid relid, Oid child)
{
	Oid file;

	if (sees_table(check->classes, child, check->snapshot, &file))
		note_age(check, TABLES_CHILDREN, relid);
	else
	{
		check->added = lappend_oid(check->added, child);
		note_age(check, TABLES_ADDED, relid);
	}
}

/* Compare the children that the snapshot sees with the table's current children. */
static void
check_children(TablesCheck *check, Oid relid)
{
	Oid detaching;
	List *now = children_of(check, relid, NULL, &detaching);
	List *seen = children_of(check, relid, check->snapshot, &detaching);
	int i = 0;
	int j = 0;

	while (i < list_length(seen) || j < list_length(now))
	{
		Oid a = i < list_length(seen) ? list_nth_oid(seen, i) : OID_MAX;
		Oid b = j < list_length(now) ? list_nth_oid(now, j) : OID_MAX;

		CHECK_FOR_INTERRUPTS();
		if (b < a)
			note_new_child(check, relid, b);
		else if (a < b && a != detaching)
			note_age(check, TABLES_CHILDREN, relid);
		i += a <= b;
		j += b <= a;
	}
	list_free(now);
	list_free(seen);
}

static void
check_file(TablesCheck *check, Oid relid)
{
	Oid file;

	if (sees_table(check->classes, relid, check->snapshot, &file)
			? file != file_now(relid)
			: !list_member_oid(check->added, relid))
		note_age(check, TABLES_REWRITTEN, relid);
}

/*
 * Return why the active snapshot is too old for the listed tables, and set *table to a table that
 * is the reason.  Changes by this transaction are ignored.
 */
static TablesAge
age_of_tables(const List *tables, Oid *table)
{
	TablesCheck check = { .classes = table_open(RelationRelationId, AccessShareLock),
						  .inherits = table_open(InheritsRelationId, AccessShareLock) };
	ListCell *cell;

	PushCopiedSnapshot(GetActiveSnapshot());
	check.snapshot = GetActiveSnapshot();
	check.snapshot->curcid = GetCurrentCommandId(false); /* to see own changes */
	foreach (cell, tables)
		check_children(&check, lfirst_oid(cell));
	foreach (cell, tables)
	{
		CHECK_FOR_INTERRUPTS();
		check_file(&check, lfirst_oid(cell));
	}
	PopActiveSnapshot();
	table_close(check.inherits, AccessShareLock);
	table_close(check.classes, AccessShareLock);
	*table = check.table;
	return check.age;
}

/*
 * Lock all tables that the question's queries read, by planning one of these queries.  Return the
 * tables.
 */
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

static void
raise_too_old(TablesAge age, Oid table)
{
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 age == TABLES_REWRITTEN
				 ? errmsg("could not serialize access due to concurrent rewriting of table \"%s\"",
						  get_rel_name(table))
				 : errmsg("could not serialize access due to concurrent change of the partitions "
						  "or children of table \"%s\"",
						  get_rel_name(table)),
			 errhint("The transaction might succeed if retried.")));
}

/*
 * Lock the tables of the question.  If the active snapshot is too old for the tables, push a new
 * snapshot.  If the isolation level allows no new snapshot, raise an error, unless the tables only
 * have new children.  True: the caller must pop the new snapshot.
 */
bool
TopPushSnapshot(const TopQuestion *question)
{
	Oid table;
	TablesAge age = age_of_tables(lock_tables(question), &table);
	CommandId seen = GetActiveSnapshot()->curcid;

	if (age == TABLES_SEEN)
		return false;
	if (IsolationUsesXactSnapshot())
	{
		if (age > TABLES_ADDED)
			raise_too_old(age, table);
		return false;
	}
	PushCopiedSnapshot(GetTransactionSnapshot());
	GetActiveSnapshot()->curcid = seen;
	return true;
}
