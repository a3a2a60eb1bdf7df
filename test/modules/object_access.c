/*
 * object_access.c
 *		An object access hook like sepgsql's, for tests.
 *
 * PostgreSQL calls the hook before it executes a function, or searches a schema for a name.  This
 * hook reports each call as a NOTICE, and refuses the functions and the schema that settings name.
 *
 *	object_access.tell			on: report calls
 *	object_access.function		name of the functions to be refused, or ''
 *	object_access.schema		name of the schema to be refused, or ''
 *
 * Parallel workers load the module in the same way as their leader (LOAD, or a setting), and send
 * their NOTICEs to the leader.
 *
 * test/modules/object_access.c
 */
#include "postgres.h"

#include "access/parallel.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_proc.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);

static bool tell;
static char *refused_function;
static char *refused_schema;
static object_access_hook_type previous_hook;

static void
execute(Oid function)
{
	const char *name = get_func_name(function);

	if (tell)
		ereport(NOTICE, (errmsg("execute %s(%d) as %s in %s", name, get_func_nargs(function),
								GetUserNameFromId(GetUserId(), false),
								IsParallelWorker() ? "worker" : "leader")));
	if (strcmp(name, refused_function) == 0)
		ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
						errmsg("hook refuses function %s", name)));
}

static void
search(Oid schema, ObjectAccessNamespaceSearch *asked)
{
	const char *name = get_namespace_name(schema);

	if (tell)
		ereport(NOTICE, (errmsg("search %s", name)));
	if (strcmp(name, refused_schema) != 0)
		return;
	asked->result = false;
	if (asked->ereport_on_violation)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE), errmsg("hook refuses schema %s", name)));
}

static void
hook(ObjectAccessType access, Oid class, Oid object, int sub, void *arg)
{
	if (previous_hook)
		previous_hook(access, class, object, sub, arg);
	if (access == OAT_FUNCTION_EXECUTE && class == ProcedureRelationId)
		execute(object);
	if (access == OAT_NAMESPACE_SEARCH && class == NamespaceRelationId)
		search(object, arg);
}

void
_PG_init(void)
{
	DefineCustomBoolVariable("object_access.tell", "Tells of calls of the hook.", NULL, &tell,
							 false, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomStringVariable("object_access.function", "Refuses functions of this name.", NULL,
							   &refused_function, "", PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomStringVariable("object_access.schema", "Refuses this schema.", NULL,
							   &refused_schema, "", PGC_USERSET, 0, NULL, NULL, NULL);
	previous_hook = object_access_hook;
	object_access_hook = hook;
}
