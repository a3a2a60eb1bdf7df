/*
 * pass.h
 *		Partial sketches passed between the processes of a parallel query.
 *
 * src/pg/pass.h
 */
#ifndef QS_PG_PASS_H
#define QS_PG_PASS_H

#include "pg/sketch_value.h"

#include "nodes/execnodes.h"
#include "utils/dsa.h"

/* A sketch in a query's shared memory, as one of its processes sees it. */
typedef struct PassedSketch
{
	dsa_area *area;
	dsa_pointer bytes;
	qs_sketch view;
} PassedSketch;

extern bool PassHasRoom(Size bytes);
extern dsa_pointer PassPut(dsa_area *area, const qs_sketch *sk, Size size);
extern void PassGet(PassedSketch *passed, dsa_area *area, dsa_pointer bytes);
extern void PassFree(PassedSketch *passed);

extern Size PassTicketSize(void);
extern void PassWriteTicket(struct varlena *out, dsa_pointer bytes, const PlanState *from);
extern bool PassIsTicket(Datum datum);
extern void PassRedeem(PassedSketch *passed, Datum ticket, PlanState *to);

#endif
