/*
 * moving.h
 *		Which functions get the state of a moving aggregate.
 *
 * src/pgbase/moving.h
 */
#ifndef QS_PGBASE_MOVING_H
#define QS_PGBASE_MOVING_H

#include "pgbase/recognize.h"

/* Raise an error if a function that is not ours may get the state that this call makes. */
extern void CheckMoving(FunctionCallInfo fcinfo, const AggregateFunctions *functions);

#endif
