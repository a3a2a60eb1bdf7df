/*
 * other_reader.c
 *		An extension that changes how tables are read, for tests.
 *
 * Extensions that store rows of a table outside of the table change how the planner reads the
 * table.  TimescaleDB attaches private data to the chunks of a hypertable, and replaces their
 * paths.  With other_reader.enabled this module attaches private data to every table.
 *
 * test/modules/other_reader.c
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "fmgr.h"
#include "optimizer/paths.h"
#include "utils/guc.h"

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);

static set_rel_pathlist_hook_type previous;
static bool on = false;

static void
attach(PlannerInfo *root, RelOptInfo *rel, Index number, RangeTblEntry *rte)
{
	if (previous)
		previous(root, rel, number, rte);
	if (on && rte->rtekind == RTE_RELATION && rte->relkind == RELKIND_RELATION)
		rel->fdw_private = rel;
}

void
_PG_init(void)
{
	DefineCustomBoolVariable("other_reader.enabled", "Attaches data to all tables.", NULL, &on,
							 false, PGC_USERSET, 0, NULL, NULL, NULL);
	previous = set_rel_pathlist_hook;
	set_rel_pathlist_hook = attach;
}
