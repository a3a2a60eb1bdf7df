/*
 * sketch_merge_aggregate.h
 *		The functions that merge states of sketches and finish them.
 *
 * src/pg/sketch_merge_aggregate.h
 */
#ifndef QS_PG_SKETCH_MERGE_AGGREGATE_H
#define QS_PG_SKETCH_MERGE_AGGREGATE_H

#include "postgres.h"
#include "fmgr.h"

extern bool IsSketchCombine(PGFunction function);
extern bool IsSketchFinal(PGFunction function);

/* Does it change the state of a moving aggregate, or start one? */
extern bool IsSketchMerge(PGFunction function);

#endif
