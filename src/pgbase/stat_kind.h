/*
 * stat_kind.h
 *		Counters in PostgreSQL's cumulative statistics, from PostgreSQL 18 on.
 *
 * A server writes its statistics to a file when it is shut down, and reads them when it
 * starts; after a crash they begin anew.  Extensions register kinds of statistics for
 * this at server start.  The file has no lengths: of each kind a server must find as many
 * bytes as the one before it wrote, or it discards the whole file, with the statistics
 * of all tables.  So the structure below never changes, and has room for counters to
 * come.  A file with a kind that no library has registered is discarded as well;
 * qsketch.save_stats = off keeps ours out of it.
 *
 * src/pgbase/stat_kind.h
 */
#ifndef QS_PGBASE_STAT_KIND_H
#define QS_PGBASE_STAT_KIND_H

#include "postgres.h"

#include "utils/timestamp.h"

extern void StatKindInit(void);

#if PG_VERSION_NUM >= 180000

#include "utils/pgstat_internal.h"

/*
 * The ids of our kinds, FIRST_STAT_KIND and the next, are among the nine from 24 to 32
 * that all extensions share.  Which are taken is listed in PostgreSQL's wiki, at
 * CustomCumulativeStats.
 */
#define FIRST_STAT_KIND 31

#define STAT_KIND_DATABASE ((PgStat_Kind) FIRST_STAT_KIND)
#define STAT_KIND_GPU      ((PgStat_Kind) FIRST_STAT_KIND + 1)

#define STAT_ROOM 63

/* What the file has of an entry of either kind: never changes. */
typedef struct StatKept
{
	TimestampTz since;
	uint64 counter[STAT_ROOM];
} StatKept;

extern bool StatKindRegister(PgStat_Kind kind, PgStat_KindInfo *info);
extern const StatKept *StatKindFetch(PgStat_Kind kind, Oid database);

#endif

#endif
