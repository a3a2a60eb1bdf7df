/*
 * state_ticket.h
 *		A partial state that the process itself combines, passed by a ticket.
 *
 * src/pgbase/state_ticket.h
 */
#ifndef QS_PGBASE_STATE_TICKET_H
#define QS_PGBASE_STATE_TICKET_H

#include "pgbase/state.h"

/*
 * Does the state go to the combine function by a ticket?  True if only our combine function
 * will see it.
 */
extern bool StateTakesTicket(const KeyedState *state);

/* Write a ticket for the state.  Later calls write the same ticket. */
extern Size StateTicketSize(void);
extern void StateTicketWrite(KeyedState *state, struct varlena *out);

/*
 * The state of a ticket; NULL: the datum is none.  The state is taken over: from now on it
 * lives in a context below "context", and counts no members yet.
 */
extern void *StateOfTicket(Datum datum, const KeyedStateType *type, MemoryContext context);

#endif
