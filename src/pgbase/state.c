/*
 * state.c
 *		What the states of aggregates of all families begin with.
 *
 * src/pgbase/state.c
 */
#include "pgbase/state.h"

#include "utils/memutils.h"

void *
StateCreate(const KeyedStateType *type, MemoryContext context)
{
	KeyedState *state = MemoryContextAllocZero(context, type->size);

	EOH_init_header(&state->header, &type->methods, context);
	ContextMemory(context, &state->memory);
	return state;
}

struct varlena *
StatePointer(KeyedState *state)
{
	void *pointer = palloc(EXPANDED_POINTER_SIZE);

	return memcpy(pointer, DatumGetPointer(EOHPGetRODatum(&state->header)), EXPANDED_POINTER_SIZE);
}

/* The child context of this name.  Names are compared by address. */
static MemoryContext
child_of(MemoryContext parent, const char *name)
{
	MemoryContext child;

	for (child = parent->firstchild; child != NULL; child = child->nextchild)
		if (child->name == name)
			return child;
	return AllocSetContextCreateInternal(parent, name, ALLOCSET_DEFAULT_SIZES);
}

MemoryContext
StateContext(const KeyedStateType *type, MemoryContext aggregate)
{
	return aggregate ? child_of(aggregate, type->states_context)
					 : StateOwnContext(type, CurrentMemoryContext);
}

MemoryContext
StateOwnContext(const KeyedStateType *type, MemoryContext parent)
{
	return AllocSetContextCreateInternal(parent, type->own_context, ALLOCSET_SMALL_SIZES);
}

void *
StateExpandedIn(Datum datum, const KeyedStateType *type)
{
	return ValueExpandedIn(datum, &type->methods, type->value);
}

void *
StateToChange(Datum datum, const KeyedStateType *type)
{
	return VARATT_IS_EXTERNAL_EXPANDED_RW(DatumGetPointer(datum)) ? StateExpandedIn(datum, type)
																  : NULL;
}

void
StateBeginCounting(KeyedState *state)
{
	if (state->counting)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("%s is incomplete, since an error has ended the counting of its keys",
						StateTypeOf(state)->value),
				 errhint("Repeat the query without that error.")));
	state->counting = true;
}

Size
StatePassBytes(KeyedState *state)
{
	const KeyedStateType *type = StateTypeOf(state);
	bool ticket = state->ticket;
	Size bytes;

	if (type->pass_bytes)
		return type->pass_bytes(state);
	state->ticket = false; /* a ticket is for this process only */
	bytes = EOH_get_flat_size(&state->header);
	state->ticket = ticket;
	return bytes;
}

void
StatePass(KeyedState *state, void *place, Size bytes)
{
	const KeyedStateType *type = StateTypeOf(state);
	bool ticket = state->ticket;

	if (type->pass)
	{
		type->pass(state, place, bytes);
		return;
	}
	state->ticket = false;
	EOH_flatten_into(&state->header, place, bytes);
	state->ticket = ticket;
}
