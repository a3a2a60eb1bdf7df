/*
 * state.c
 *		The base of all families' states: a value as an expanded object, and a buffer of keys.
 *
 * An expanded object is recognized by the address of its methods.  No value that a user makes can
 * have this address.
 *
 * src/pgbase/state.c
 */
#include "pgbase/state.h"

#include "access/parallel.h"
#include "lib/ilist.h"
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

/*
 * Return the child context of this name, and create it if necessary.  Names are compared by
 * address.
 */
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
					 : StateNewContext(type, CurrentMemoryContext);
}

MemoryContext
StateNewContext(const KeyedStateType *type, MemoryContext parent)
{
	return AllocSetContextCreateInternal(parent, type->context_name, ALLOCSET_SMALL_SIZES);
}

void *
StateExpandedIn(Datum datum, const KeyedStateType *type)
{
	ExpandedObjectHeader *header;

	if (!VARATT_IS_EXTERNAL_EXPANDED(DatumGetPointer(datum)))
		return NULL;
	header = DatumGetEOHP(datum);
	if (header->eoh_methods != &type->methods)
		elog(ERROR, "expanded object is not %s", type->value);
	return header;
}

void *
StateToChange(Datum datum, const KeyedStateType *type)
{
	return VARATT_IS_EXTERNAL_EXPANDED_RW(DatumGetPointer(datum)) ? StateExpandedIn(datum, type)
																  : NULL;
}

void *
StateForUpdate(const KeyedStateType *type, MemoryContext aggregate, Datum datum)
{
	void *state = StateToChange(datum, type);

	return state ? state : type->copy(StateContext(type, aggregate), datum);
}

Datum
StateMerged(FunctionCallInfo fcinfo, const KeyedStateType *type)
{
	KeyedState *state = StateForUpdate(type, NULL, PG_GETARG_DATUM(0));

	type->add(state, PG_GETARG_DATUM(1), false);
	return StateDatum(state);
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
	return StateSizeWithRemovals(state, StateTypeOf(state)->pass_bytes(state));
}

void
StatePass(KeyedState *state, void *result, Size bytes)
{
	void *after_removals = StateWriteRemovals(state, result, &bytes);

	StateTypeOf(state)->pass(state, after_removals, bytes);
}

/* ---- partial states with removals ---- */

static const TokenMagic with_removals = { { 'Q', 'S', 'R', '1' } };

/*
 * The header of a partial state with removals.  The removals, a sketch, follow the header.  The
 * state begins at the next aligned offset.
 */
typedef struct RemovalsHeader
{
	char length[VARHDRSZ];
	TokenMagic magic;
} RemovalsHeader;

static Size
offset_of_state(Size removals)
{
	return sizeof(RemovalsHeader) + MAXALIGN(removals);
}

Size
StateSizeWithRemovals(KeyedState *state, Size bytes)
{
	if (state->removed == NULL)
		return bytes;
	return CheckSize(StateTypeOf(state)->value,
					 offset_of_state(EOH_get_flat_size(&state->removed->header)) + bytes, NULL);
}

void *
StateWriteRemovals(KeyedState *state, void *result, Size *bytes)
{
	RemovalsHeader header = { .magic = with_removals };
	Size removals;
	Size offset;

	if (state->removed == NULL)
		return result;
	removals = EOH_get_flat_size(&state->removed->header);
	offset = offset_of_state(removals);
	memset(result, 0, offset);
	memcpy(result, &header, sizeof(header));
	SET_VARSIZE(result, *bytes);
	EOH_flatten_into(&state->removed->header, (char *) result + sizeof(header), removals);
	*bytes -= offset;
	return (char *) result + offset;
}

/* True if a flat datum begins with a RemovalsHeader.  The datum may be any value. */
static bool
has_removals(Datum datum)
{
	const char *value = DatumGetPointer(datum);

	return !VARATT_IS_EXTERNAL(value) && !VARATT_IS_COMPRESSED(value) &&
		   VARSIZE_ANY_EXHDR(value) > sizeof(TokenMagic) &&
		   memcmp(VARDATA_ANY(value), &with_removals, sizeof(TokenMagic)) == 0;
}

/* Return the varlena at an offset of a larger varlena, after checking its length. */
static struct varlena *
value_at(struct varlena *all, Size offset)
{
	struct varlena *value = (struct varlena *) ((char *) all + offset);
	Size size = VARSIZE(all);

	if (offset + VARHDRSZ > size || !VARATT_IS_4B_U(value) || VARSIZE(value) < VARHDRSZ ||
		VARSIZE(value) > size - offset)
		ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED),
						errmsg("partial state of an aggregate is not valid")));
	return value;
}

/* Separate an object from its removals, until StateTakeBack(). */
void
StateTakeObjectApart(StateApart *apart, KeyedState *from)
{
	if (from->removed == NULL)
		return;
	apart->from = from;
	apart->removals = EOHPGetRODatum(&from->removed->header);
	from->removed = NULL;
}

void
StateTakeApart(StateApart *apart, Datum datum)
{
	struct varlena *all;
	struct varlena *removals;

	memset(apart, 0, sizeof(*apart));
	apart->state = datum;
	if (VARATT_IS_EXTERNAL_EXPANDED(DatumGetPointer(datum)) || !has_removals(datum))
		return;
	all = ValueDetoast(datum, &apart->detoasted);
	removals = value_at(all, sizeof(RemovalsHeader));
	apart->removals = PointerGetDatum(removals);
	apart->state = PointerGetDatum(value_at(all, offset_of_state(VARSIZE(removals))));
}

void
StateTakeBack(const StateApart *apart, KeyedState *into)
{
	if (apart->from)
		apart->from->removed = (KeyedState *) DatumGetEOHP(apart->removals);
	if (apart->removals != 0 && apart->from != into)
		StateTypeOf(into)->take_back(into, apart->removals);
	if (apart->detoasted)
		pfree(apart->detoasted);
}

/*
 * ---- tokens for partial states that are combined in the process that made them ----
 *
 * In a parallel plan, the leader also makes a partial state, and its Finalize Aggregate combines
 * all partial states.  Without a token, the executor copies the leader's state, and the combine
 * function makes tables from the copy.  For a large sketch, these two steps took more than half of
 * the leader's time.  With a token, the combine function takes over the state without a copy.
 *
 * The number of a token is looked up in a list of this process.  A token can be used once, only in
 * our combine function, and only while the state exists.  Another process merges a worker's state,
 * so a worker's state is passed as a value.  The state of a group gets no token, because a sort
 * could return the token twice.
 *
 * Only a state of a superuser's aggregate gets a token (AggregateLasts()), so only our combine
 * function receives tokens.  A user who received a token could store it in a table, as an invalid
 * value.  The user could also use the token while the query that made the state still reads the
 * state.
 */

static const TokenMagic magic = { { 'Q', 'S', 'L', '1' } };

/* A state for which a token was written.  The holder is in the context of the state. */
typedef struct TokenHolder
{
	dlist_node node;
	KeyedState *state; /* NULL: the state was taken over */
	TokenNumber number;
	MemoryContextCallback gone; /* called when the state's context is reset or deleted */
} TokenHolder;

static dlist_head holders = DLIST_STATIC_INIT(holders);

/*
 * A state that shares its context with other states gets no token, because the state is moved with
 * its context.
 */
bool
StateTakesToken(const KeyedState *state)
{
	return state->token && !IsParallelWorker() &&
		   state->header.eoh_context->name == StateTypeOf(state)->context_name;
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
		state->token = state->passed_on = false;
		state->count = 0;
		MemoryContextSetParent(state->header.eoh_context, context);
		return state;
	}
	TokenGone();
	return NULL;
}

Size
StateFlatBytes(KeyedState *state)
{
	if (!StateTakesToken(state))
		return StatePassBytes(state);
	StateTypeOf(state)->flush(state);
	return StateTokenSize();
}

static void
write_flat(KeyedState *state, void *result, Size bytes)
{
	if (StateTakesToken(state))
		StateTokenWrite(state, result);
	else
		StatePass(state, result, bytes);
}

/* Create and enter the memory context in which flat_bytes and write_flat run (STATE_METHODS). */
static MemoryContext
enter_scratch(MemoryContext *scratch)
{
	*scratch =
		AllocSetContextCreate(CurrentMemoryContext, "qsketch flattening", ALLOCSET_SMALL_SIZES);
	return MemoryContextSwitchTo(*scratch);
}

static void
leave_scratch(MemoryContext scratch, MemoryContext old)
{
	MemoryContextSwitchTo(old);
	MemoryContextDelete(scratch);
}

Size
StateFlatSize(ExpandedObjectHeader *header)
{
	KeyedState *state = (KeyedState *) header;
	const KeyedStateType *type = StateTypeOf(state);
	MemoryContext scratch;
	MemoryContext old = enter_scratch(&scratch);
	Size bytes = type->flat_bytes ? type->flat_bytes(state) : StateFlatBytes(state);

	leave_scratch(scratch, old);
	return bytes;
}

void
StateFlatten(ExpandedObjectHeader *header, void *result, Size size)
{
	KeyedState *state = (KeyedState *) header;
	const KeyedStateType *type = StateTypeOf(state);
	MemoryContext scratch;
	MemoryContext old = enter_scratch(&scratch);

	if (type->write_flat)
		type->write_flat(state, result, size);
	else
		write_flat(state, result, size);
	leave_scratch(scratch, old);
}
