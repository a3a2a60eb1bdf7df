/*
 * sketch_distinct.h
 *		How many distinct keys a sketch has, as a row.
 *
 * src/pg/sketch_distinct.h
 */
#ifndef QS_PG_SKETCH_DISTINCT_H
#define QS_PG_SKETCH_DISTINCT_H

#include "postgres.h"
#include "fmgr.h"

#include "sketch/sketch.h"

extern Datum SketchDistinctRow(FunctionCallInfo fcinfo, const qs_sketch *sketch);

#endif
