/*
 * stat_kind.c
 *		Registering our kinds of cumulative statistics, and whether they are saved.
 *
 * A kind whose id another library has taken is not registered: this server then counts
 * without it, and a warning says so.
 *
 * src/pgbase/stat_kind.c
 */
#include "pgbase/stat_kind.h"

#include "miscadmin.h"
#include "utils/guc.h"

static bool save_stats = true;

#if PG_VERSION_NUM >= 180000

static PgStat_KindInfo *registered[2];
static int registered_count = 0;

/* May the kind be registered here?  A warning says why not, if that is not as expected. */
static bool
is_free(PgStat_Kind kind)
{
	const PgStat_KindInfo *taken;

	if (!process_shared_preload_libraries_in_progress)
		return false;
	taken = pgstat_get_kind_info(kind);
	if (taken)
		ereport(WARNING, (errmsg("qsketch does not keep statistics over restarts of the server"),
						  errdetail("Statistics \"%s\" of another library have the ID %u.",
									taken->name, kind)));
	return taken == NULL;
}

/* Register a kind.  "info" must stay.  False: this server has no place for it. */
bool
StatKindRegister(PgStat_Kind kind, PgStat_KindInfo *info)
{
	if (!is_free(kind))
		return false;
	Assert(registered_count < lengthof(registered));
	info->write_to_file = save_stats;
	pgstat_register_kind(kind, info);
	registered[registered_count++] = info;
	return true;
}

/* A database's entry, as stats_fetch_consistency wants it; NULL: there is none. */
const StatKept *
StatKindFetch(PgStat_Kind kind, Oid database)
{
#if PG_VERSION_NUM >= 190000
	return pgstat_fetch_entry(kind, database, 0, NULL);
#else
	return pgstat_fetch_entry(kind, database, 0);
#endif
}

/* The process that writes the file, the checkpointer, reads the setting, too. */
static void
assign_save_stats(bool save, void *extra)
{
	int i;

	for (i = 0; i < registered_count; i++)
		registered[i]->write_to_file = save;
}

#else
#define assign_save_stats NULL
#endif

/* From _PG_init, before any kind is registered. */
void
StatKindInit(void)
{
	DefineCustomBoolVariable(
		"qsketch.save_stats",
		"Saves qsketch_stat and qsketch_stat_gpu over restarts of the server.",
		"Has an effect from PostgreSQL 18 on, if the server loads qsketch at its start.",
		&save_stats, true, PGC_SIGHUP, 0, NULL, assign_save_stats, NULL);
}
