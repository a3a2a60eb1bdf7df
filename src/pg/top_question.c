/*
 * top_question.c
 *		The column that qtop_exact is asked about: as SQL writes it, what a sample of it
 *		shows, and a snapshot that sees its rows.
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

/* The name of a schema, as SQL writes it.  An error if it has been dropped. */
static char *
schema_name(Oid schema)
{
	char *name = get_namespace_name(schema);

	if (name == NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_SCHEMA),
						errmsg("schema with OID %u does not exist", schema)));
	return pstrdup(quote_identifier(name));
}

/* Describe the table. */
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
 * Describe what is added up for each key: its rows, or their weights.  With weights, a key whose
 * weights sum to 0 is no answer.
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

/* If the caller names the type of the keys, raise an error unless the column has that type. */
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
 * Raise an error unless keys of this type, which a query found, have the column's type.  The lock
 * of TopDescribe() keeps other sessions from changing the table, but not this session: a policy of
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
 * Describe a column of a table, and a column of weights unless that is NULL.  The caller has
 * set how many keys are wanted.
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
 * If keys are many, a sketch counts them faster than GROUP BY, whose hash table then no longer fits
 * into the cache, or into work_mem.  If keys are few, GROUP BY is faster.  A sample of the table's
 * pages shows which of the two is true:
 *
 * 	unseen		the fraction of the sample's rows whose key it has once.  About the same
 * 				fraction of the other rows has a key that is not in the sample.  It is
 * 				near 0 if there are few keys, and 1 if no two rows have the same key.
 * 	alike		about how many other rows of the table have the same key as a row, on
 * 				average.  It is near 0 if no two rows have the same key.
 * 	nth, usual	whether the wanted keys are much more frequent than the others.
 *
 * A list of numbers costs little, and often has exact counts already.  It is made
 * unless keys are few, or hardly any two rows have the same key.  A list of other keys
 * needs another pass to count them.  It is made only if the wanted keys are much more
 * frequent than the others, and most rows have rare keys.
 *
 * A table without pages of its own (a view, a foreign table) gives no sample.  The
 * sample affects only the time; the answer is always exact.
 */

/*
 * Pages of the sample, and the largest fraction of a table that it may be.  For tables so small
 * that it would be larger, GROUP BY runs at once.
 */
#define SAMPLE_PAGES 128
#define MOST_PERCENT 5
#define LEAST_PAGES  256

/* The least "unseen" for which a list is made. */
#define UNSEEN_INTEGER 0.25
#define UNSEEN_OTHER   0.45

/* The least "alike" for which a list is made. */
#define ALIKE 0.5

/*
 * How often the n-th key must be seen: STANDS_OUT_TIMES as often as the usual key, plus
 * STANDS_OUT_BY rows.  With a column of weights, the keys' weights are compared, and a row has the
 * average weight.
 */
#define STANDS_OUT_BY    6
#define STANDS_OUT_TIMES 4

#define SAMPLED "%s TABLESAMPLE pg_catalog.system (%.6f) REPEATABLE (0)"

/* Add the pages of a table; false: the table has no pages of its own. */
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

/* The sample's percentage of the pages; 0: there is no sample. */
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
 * Add a group to the sample; groups come in descending order.  Each has a key, its count or weight,
 * and its count.
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

/* A rough number of the table's rows. */
double
TopSampleTable(const TopSample *sample)
{
	return sample->rows * 100 / sample->percent;
}

/*
 * True if a list is worth its pass.  The sample has at least "rows - groups" pairs of rows with the
 * same key.
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

/* The fraction of the sample's rows that meet a condition. */
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
 * qtop_exact locks its tables when the calling query has its snapshot already.  Before that,
 * while the query waited for the lock or for something else, another session may have
 *
 * 	- rewritten a table (ALTER TABLE ... TYPE, TRUNCATE).  All rows of the new file are of that
 * 	  session, and too new for the snapshot: the table would look empty.
 * 	- changed which tables are partitions of a table, or inherit from it.  It may have moved rows
 * 	  to a new partition, and dropped the old one.  The query then reads the new partition, whose
 * 	  rows are too new for the snapshot, and not the old one, whose rows the snapshot sees.
 * 	- given the name of a table to a new one.
 *
 * An ordinary query takes its snapshot after the locks.  So under READ COMMITTED a new snapshot is
 * taken then, which sees no more of this transaction's own changes than the old one did.  The other
 * isolation levels have one snapshot for the transaction, and an error says that it is too old.
 *
 * A table got a new file if its row in pg_class names another one than the row that the snapshot
 * sees.  VACUUM FULL, CLUSTER and SET TABLESPACE make new files, too, though they keep all rows for
 * old snapshots.  These commands cannot be told apart from those that rewrite rows, so they are
 * treated in the same way.
 *
 * The children of a table changed if the snapshot sees other rows of it in pg_inherits than there
 * are now.  A new table that was only added is no reason for an error: its rows are too new for the
 * snapshot, and so is the table.  An ordinary query gives the same answer.
 */

/* The file that a table has now. */
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

/* True if a snapshot sees the table.  *file is then the file that the table has for the snapshot. */
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

/* In which way the active snapshot is too old for some tables. */
typedef enum TablesAge
{
	TABLES_SEEN,     /* it is not too old */
	TABLES_ADDED,    /* one of them got a new table as a child, and nothing else changed */
	TABLES_CHILDREN, /* a table has other children */
	TABLES_REWRITTEN /* a table has another file, or is new */
} TablesAge;

typedef struct TablesCheck
{
	Relation classes;  /* the catalog pg_class */
	Relation inherits; /* the catalog pg_inherits */
	Snapshot snapshot;
	List *added; /* new tables that are children of others */
	TablesAge age;
	Oid table; /* a table of that age */
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
 * The children of a table, in order, and the one that is being detached concurrently.  With a NULL
 * snapshot they are those that the table has now.
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

/* A child that the snapshot does not see: a new table, or one that had other parents. */
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

/* Compare the children that the snapshot sees with those that the table has now. */
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
 * In which way the active snapshot is too old for the tables of the list, and *table for which
 * table.  This transaction's own changes do not count.
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
 * Lock all tables that the question's queries read, by planning one of the queries, and return
 * these tables.
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
 * Lock the tables, and push a snapshot if the active one is too old for them.  True: it was
 * pushed, and the caller has to pop it.
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
