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

extern bool IsSketchCombine(PGFunction function);
extern bool IsSketchFinal(PGFunction function);

/* Does the function change or start the state of a moving aggregate? */
extern bool IsSketchMerge(PGFunction function);

#endif
