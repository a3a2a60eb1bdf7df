/*
 * pass.h
 *		Sketches passed between the processes of a parallel scan.
 *
 * src/pg/pass.h
 */
#ifndef QS_PG_PASS_H
#define QS_PG_PASS_H

#include "pg/sketch_value.h"

#include "utils/dsa.h"

/* Up to this size, that of the queue of a parallel worker, sketches go through it. */
#define PASS_AT 65536

extern bool PassHasRoom(Size bytes);
extern dsa_pointer PassPut(dsa_area *area, const qs_sketch *sk, Size size);
extern void PassGet(qs_sketch *view, dsa_area *area, dsa_pointer bytes);

#endif
