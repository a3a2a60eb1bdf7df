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

static void
describe_column(TopQuestion *question)
{
	AttrNumber number = get_attnum(question->relation, question->name);
	int32 typmod;
	Oid base;

	if (number == InvalidAttrNumber)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_COLUMN),
						errmsg("column \"%s\" of relation \"%s\" does not exist", question->name,
							   get_rel_name(question->relation)),
						errhint("Name one column, in upper and lower case as the table has it.")));
	get_atttypetypmodcoll(question->relation, number, &question->type, &typmod,
						  &question->collation);
	base = getBaseType(question->type);
	question->column = psprintf("t.%s", quote_identifier(question->name));
	question->integer = base == INT2OID || base == INT4OID || base == INT8OID;
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

/* Describe a column of a table.  The caller has set how many keys are wanted. */
void
TopDescribe(TopQuestion *question, Oid relation, const char *column)
{
	LockRelationOid(relation, AccessShareLock);
	question->relation = relation;
	question->name = column;
	describe_table(question);
	describe_column(question);
}
