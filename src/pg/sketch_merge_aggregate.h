/*
 * sketch_merge_aggregate.h
 *		The functions that merge and finish states of sketches.
 *
 * src/pg/sketch_merge_aggregate.h
 */
#ifndef QS_PG_SKETCH_MERGE_AGGREGATE_H
#define QS_PG_SKETCH_MERGE_AGGREGATE_H

#include "postgres.h"
#include "fmgr.h"

extern PGDLLEXPORT Datum qsketch_agg_combine(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum qsketch_merge_trans(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum qsketch_merge_inverse(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum qsketch_agg_final(PG_FUNCTION_ARGS);

#endif
