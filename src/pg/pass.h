/*
 * pass.h
 *		Values passed between the processes of a parallel scan.
 *
 * src/pg/pass.h
 */
#ifndef QS_PG_PASS_H
#define QS_PG_PASS_H

#include "postgres.h"

#include "utils/dsa.h"

/* Up to this size, that of the queue of a parallel worker, values go through it. */
#define PASS_AT 65536

extern bool PassHasRoom(Size bytes);
extern bool PassSegmentsFit(Size bytes);
extern void *PassPut(dsa_area *area, Size size, dsa_pointer *place);

#endif
