/*
 * state_size.h
 *		How much memory the state of a group takes, for the planner.
 *
 * src/pgbase/state_size.h
 */
#ifndef QS_PGBASE_STATE_SIZE_H
#define QS_PGBASE_STATE_SIZE_H

#include "postgres.h"
#include "fmgr.h"

#include "nodes/pathnodes.h"

/*
 * Bytes of the state of a group with so many distinct keys and rows; 0: the declared
 * size.  The template is NULL if it is not known.
 */
typedef double (*StateSize)(const Const *template, double keys, double rows);

extern bool StateInput(PlannerInfo *root, double *rows, double *groups);
extern Datum StateSizeSupport(FunctionCallInfo fcinfo, StateSize space);

#endif
