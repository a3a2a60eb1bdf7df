/*
 * version.c
 *		Whether the loaded library fits the SQL that declares its functions.
 *
 * Library and SQL are installed together but change at different times.  A server that
 * preloads the library keeps the old one until it is restarted.  A database keeps the
 * old SQL until ALTER EXTENSION qsketch UPDATE.  A library serves the SQL of all
 * versions before it; it cannot know what later SQL expects of its functions.  So an
 * SQL script calls the function below before it declares or drops anything else.
 *
 * src/pg/version.c
 */
#include "postgres.h"
#include "fmgr.h"

#include "utils/builtins.h"

/* Versions of the SQL that this library serves; the last one is its own. */
static const char *const served[] = { "1.0.0" };

#define OWN served[lengthof(served) - 1]

/* qsketch_version(sql): the library's version, if it serves that of the SQL. */
PG_FUNCTION_INFO_V1(qsketch_version);
Datum
qsketch_version(PG_FUNCTION_ARGS)
{
	char *sql = text_to_cstring(PG_GETARG_TEXT_PP(0));
	int i;

	for (i = 0; i < lengthof(served); i++)
		if (strcmp(served[i], sql) == 0)
			PG_RETURN_TEXT_P(cstring_to_text(OWN));
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("library qsketch %s does not serve SQL of version \"%s\"", OWN, sql),
			 errhint("Install the library and the SQL files of one version. If that is done, an "
					 "older library is still loaded: restart the server if it preloads "
					 "qsketch, or start a new session.")));
}
