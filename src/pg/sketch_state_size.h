/*
 * sketch_state_size.h
 *		How much memory a sketch of a group takes, for the planner.
 *
 * src/pg/sketch_state_size.h
 */
#ifndef QS_PG_SKETCH_STATE_SIZE_H
#define QS_PG_SKETCH_STATE_SIZE_H

#include "postgres.h"

#include "nodes/primnodes.h"

extern double SketchStateSpace(const Const *template, double keys);

#endif
