/*
 * state_ticket.c
 *		A partial state that the process itself combines, passed by a ticket.
 *
 * In a parallel plan the leader, too, makes a partial state, and its Finalize Aggregate
 * combines that with those of the workers.  The executor copies the first partial state
 * on the way, and the combine function would make tables of the copy: of a large sketch
 * that took more than half of the leader's time.  So the combine function gets a ticket
 * instead, and takes the state over as it is.
 *
 * A ticket is a value, so it names nothing by itself (ticket.h).  Its number is looked up
 * in a list of this process.  It is good once, only in our combine function, and while
 * the state lives.  A worker's state is merged by another process, so it travels as a
 * value.  No state of a group gets a ticket, since a sort could return it twice.
 *
 * Only our combine function gets to see a ticket, since only a state of an aggregate that
 * belongs to a superuser gets one (AggregateLasts()).  A user who saw a ticket could store
 * it in a table, where it would be no value.  He could also redeem it while the query that
 * wrote it still reads the state.
 *
 * src/pgbase/state_ticket.c
 */
#include "pgbase/state_ticket.h"

#include "access/parallel.h"
#include "lib/ilist.h"
#include "pgbase/ticket.h"
#include "utils/memutils.h"

static const TicketMagic magic = { { 'Q', 'S', 'L', '1' } };

/* A state for which a ticket was written.  It lies in the context of the state. */
typedef struct TicketHolder
{
	dlist_node node;
	KeyedState *state; /* NULL: it was taken over */
	TicketNumber number;
	MemoryContextCallback gone; /* when the context of the state is */
} TicketHolder;

static dlist_head holders = DLIST_STATIC_INIT(holders);

/* A state that shares its context with others cannot be taken over. */
bool
StateTakesTicket(const KeyedState *state)
{
	return state->ticket && !IsParallelWorker() &&
		   state->header.eoh_context->name == StateTypeOf(state)->own_context;
}

Size
StateTicketSize(void)
{
	return sizeof(Ticket);
}

static void
let_go(void *argument)
{
	TicketHolder *holder = argument;

	if (holder->state)
		dlist_delete(&holder->node);
	holder->state = NULL;
}

static TicketHolder *
holder_of(const KeyedState *state)
{
	dlist_iter at;

	dlist_foreach(at, &holders)
	{
		TicketHolder *holder = dlist_container(TicketHolder, node, at.cur);

		if (holder->state == state)
			return holder;
	}
	return NULL;
}

static TicketHolder *
create_holder(KeyedState *state)
{
	MemoryContext context = state->header.eoh_context;
	TicketHolder *holder = MemoryContextAllocZero(context, sizeof(TicketHolder));

	holder->number = TicketDraw();
	holder->state = state;
	dlist_push_head(&holders, &holder->node);
	holder->gone = (MemoryContextCallback){ .func = let_go, .arg = holder };
	MemoryContextRegisterResetCallback(context, &holder->gone);
	return holder;
}

void
StateTicketWrite(KeyedState *state, struct varlena *out)
{
	TicketHolder *holder = holder_of(state);

	if (holder == NULL)
		holder = create_holder(state);
	TicketWrite(magic, holder->number, out);
}

void *
StateOfTicket(Datum datum, const KeyedStateType *type, MemoryContext context)
{
	TicketNumber number;
	dlist_iter at;

	if (!TicketIs(magic, datum))
		return NULL;
	number = TicketRead(datum);
	dlist_foreach(at, &holders)
	{
		TicketHolder *holder = dlist_container(TicketHolder, node, at.cur);
		KeyedState *state = holder->state;

		if (memcmp(&holder->number, &number, sizeof(number)) != 0 || StateTypeOf(state) != type)
			continue;
		let_go(holder);
		state->ticket = false;
		state->members = 0;
		MemoryContextSetParent(state->header.eoh_context, context);
		return state;
	}
	TicketGone();
	return NULL;
}
