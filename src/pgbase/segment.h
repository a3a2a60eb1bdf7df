/*
 * segment.h
 *		Values passed between the processes of a parallel scan.
 *
 * src/pgbase/segment.h
 */
#ifndef QS_PG_PASS_H
#define QS_PG_PASS_H

#include "postgres.h"

#include "utils/dsa.h"

/* Up to this size, that of the queue of a parallel worker, values go through it. */
#define SEGMENT_AT 65536

extern bool SegmentHasRoom(Size bytes);
extern bool SegmentsFit(Size bytes);
extern void *SegmentPut(dsa_area *area, Size size, dsa_pointer *place);

#endif
