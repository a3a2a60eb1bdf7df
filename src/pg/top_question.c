/*
 * top_question.c
 *		The column that qtop_exact is asked about, as SQL writes it.
 *
 * src/pg/top_question.c
 */
#include "pg/top_exact.h"

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type_d.h"
#include "parser/parse_coerce.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

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

/* Set the table. */
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
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_COLUMN),
						errmsg("column \"%s\" of relation \"%s\" does not exist", name,
							   get_rel_name(question->relation)),
						errhint("Name one column, in upper and lower case as the table has it.")));
	return number;
}

static bool
is_integer(Oid type)
{
	Oid base = getBaseType(type);

	return base == INT2OID || base == INT4OID || base == INT8OID;
}

/* Rows are counted, or have their weights added up.  Then a key of no weight is no answer. */
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
 * A query found keys of this type, which must be that of the column.  The lock
 * of TopDescribe() keeps others from changing the table, but not this session: a
 * policy of the table may call a function that gives its name to another one.
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
