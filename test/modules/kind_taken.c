/*
 * kind_taken.c
 *		Takes the id of a kind of statistics of qsketch at server start, for tests: that of
 *		qsketch_stat.
 *
 * test/modules/kind_taken.c
 */
#include "postgres.h"

#include "fmgr.h"
#include "pgbase/stat_kind.h"

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);

#if PG_VERSION_NUM >= 180000

typedef struct Nothing
{
	PgStatShared_Common header;
	uint64 nothing;
} Nothing;

static const PgStat_KindInfo kind_info = {
	.name = "taken",
	.shared_size = sizeof(Nothing),
	.shared_data_off = offsetof(Nothing, nothing),
	.shared_data_len = sizeof(uint64),
};

void
_PG_init(void)
{
	pgstat_register_kind(STAT_KIND_DATABASE, &kind_info);
}

#else

void
_PG_init(void)
{
}

#endif
