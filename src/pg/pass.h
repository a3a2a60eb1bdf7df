/*
 * pass.h
 *		Partial sketches passed between the processes of a parallel query.
 *
 * src/pg/pass.h
 */
#ifndef QS_PG_PASS_H
#define QS_PG_PASS_H

#include "pg/glue.h"

#include "utils/dsa.h"

/* A sketch in a query's shared memory, as one of its processes sees it. */
typedef struct PassedSketch
{
	dsa_area *area;
	dsa_pointer bytes;
	qs_sketch view;
} PassedSketch;

extern uint64 PassArea(dsa_area *area, MemoryContext query);
extern dsa_pointer PassPut(dsa_area *area, const qs_sketch *sk);
extern void PassGet(PassedSketch *passed, dsa_area *area, dsa_pointer bytes);
extern void PassFree(PassedSketch *passed);

extern Datum PassTicket(uint64 area_name, dsa_pointer bytes);
extern bool PassIsTicket(Datum datum);
extern void PassRedeem(PassedSketch *passed, Datum ticket);

#endif
