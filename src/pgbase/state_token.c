/*
 * state_token.c
 *		A partial state that the process itself combines, passed by a token.
 *
 * In a parallel plan the leader, too, makes a partial state, and its Finalize Aggregate
 * combines that with those of the workers.  The executor copies the first partial state
 * on the way, and the combine function would make tables of the copy: of a large sketch
 * that took more than half of the leader's time.  So the combine function gets a token
 * instead, and takes the state over as it is.
 *
 * A token is a value, so it names nothing by itself (token.h).  Its number is looked up
 * in a list of this process.  It is good once, only in our combine function, and while
 * the state lives.  A worker's state is merged by another process, so it travels as a
 * value.  No state of a group gets a token, since a sort could return it twice.
 *
 * Only our combine function gets to see a token, since only a state of an aggregate that
 * belongs to a superuser gets one (AggregateLasts()).  A user who saw a token could store
 * it in a table, where it would be no value.  He could also redeem it while the query that
 * wrote it still reads the state.
 *
 * src/pgbase/state_token.c
 */
#include "pgbase/token.h"

#include "access/parallel.h"
#include "lib/ilist.h"
#include "utils/memutils.h"

static const TokenMagic magic = { { 'Q', 'S', 'L', '1' } };

/* A state for which a token was written.  It lies in the context of the state. */
typedef struct TokenHolder
{
	dlist_node node;
	KeyedState *state; /* NULL: it was taken over */
	TokenNumber number;
	MemoryContextCallback gone; /* when the context of the state is */
} TokenHolder;

static dlist_head holders = DLIST_STATIC_INIT(holders);

/* A state that shares its context with others cannot be taken over. */
bool
StateTakesToken(const KeyedState *state)
{
	return state->token && !IsParallelWorker() &&
		   state->header.eoh_context->name == StateTypeOf(state)->own_context;
}

Size
StateTokenSize(void)
{
	return sizeof(Token);
}

static void
let_go(void *argument)
{
	TokenHolder *holder = argument;

	if (holder->state)
		dlist_delete(&holder->node);
	holder->state = NULL;
}

static TokenHolder *
holder_of(const KeyedState *state)
{
	dlist_iter at;

	dlist_foreach(at, &holders)
	{
		TokenHolder *holder = dlist_container(TokenHolder, node, at.cur);

		if (holder->state == state)
			return holder;
	}
	return NULL;
}

static TokenHolder *
create_holder(KeyedState *state)
{
	MemoryContext context = state->header.eoh_context;
	TokenHolder *holder = MemoryContextAllocZero(context, sizeof(TokenHolder));

	holder->number = TokenDraw();
	holder->state = state;
	dlist_push_head(&holders, &holder->node);
	holder->gone = (MemoryContextCallback){ .func = let_go, .arg = holder };
	MemoryContextRegisterResetCallback(context, &holder->gone);
	return holder;
}

void
StateTokenWrite(KeyedState *state, struct varlena *out)
{
	TokenHolder *holder = holder_of(state);

	if (holder == NULL)
		holder = create_holder(state);
	TokenWrite(magic, holder->number, out);
}

void *
StateOfToken(Datum datum, const KeyedStateType *type, MemoryContext context)
{
	TokenNumber number;
	dlist_iter at;

	if (!TokenIs(magic, datum))
		return NULL;
	number = TokenRead(datum);
	dlist_foreach(at, &holders)
	{
		TokenHolder *holder = dlist_container(TokenHolder, node, at.cur);
		KeyedState *state = holder->state;

		if (memcmp(&holder->number, &number, sizeof(number)) != 0 || StateTypeOf(state) != type)
			continue;
		let_go(holder);
		state->token = false;
		state->count = 0;
		MemoryContextSetParent(state->header.eoh_context, context);
		return state;
	}
	TokenGone();
	return NULL;
}
