/*
 * segment.h
 *		Values that processes of a parallel scan pass through shared memory.
 *
 * src/pgbase/segment.h
 */
#ifndef QS_PGBASE_SEGMENT_H
#define QS_PGBASE_SEGMENT_H

#include "postgres.h"

#include "utils/dsa.h"

/* Values up to this size, that of a parallel worker's queue, go through the queue. */
#define SEGMENT_AT 65536

extern bool SegmentHasRoom(Size bytes);
extern bool SegmentsFit(Size bytes);
extern void *SegmentPut(dsa_area *area, Size size, dsa_pointer *place);

#endif
