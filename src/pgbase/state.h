/*
 * state.h
 *		What the states of aggregates of all families begin with: a value as an
 *		expanded object, and the keys that wait to be counted.
 *
 * The transition type of an aggregate is the family's own type.  Its state is a
 * read-write expanded object in a child of the aggregate's context, which the
 * executor keeps without copying it.  So a row costs no more than appending a
 * fingerprint to a buffer.  A full buffer is counted as one batch.
 *
 * States of one aggregate share a memory context: a hash aggregate asks for the
 * size of all its memory with each new group, and with a context for each of n
 * groups that would take n * n steps.  Every other object has a context of its
 * own.
 *
 * src/pgbase/state.h
 */
#ifndef QS_PG_STATE_H
#define QS_PG_STATE_H

#include "pgbase/keybuffer.h"
#include "pgbase/keytype.h"
#include "pgbase/memory.h"
#include "pgbase/value.h"

typedef struct KeyedState
{
	ExpandedObjectHeader header; /* whose methods tell the type */
	qb_memory memory;            /* allocates in the object's context */

	KeyType key;      /* of the keys that are added; type 0 = not known yet */
	int64 members;    /* keys or values added less removed: 0 = as if empty */
	int64 batches;    /* of keys that were counted */
	bool accounted;   /* PostgreSQL watches how much memory it takes, row by row */
	bool counting;    /* keys are being counted, or an error has ended that half-way */
	bool patient;     /* many are in memory and read one by one: keys may wait until then */
	KeyBuffer buffer; /* keys that are not in the value yet */
} KeyedState;

/* What the states of a family have in common. */
typedef struct KeyedStateType
{
	ExpandedObjectMethods methods; /* first, so that an object's methods tell its type */
	Size size;                     /* of a state */
	const char *value;             /* what it is, in errors: "a sketch" */
	const char *own_context;       /* name of the context of one object */
	const char *states_context;    /* name of the context of all states of an aggregate */

	/* Count keys so that the buffer has room; NULL: rows are kept in another way. */
	void (*make_room)(KeyedState *state);
	/* Count all keys that wait. */
	void (*flush)(KeyedState *state);
	/* Add what another process of the query has passed. */
	void (*merge)(KeyedState *state, void *passed);
	/* Free what was counted, and the buffer; NULL: keys never wait for long. */
	void (*release)(KeyedState *state);

	/* How it is passed to another process, if not as a flat value. */
	Size (*pass_bytes)(KeyedState *state);
	void (*pass)(KeyedState *state, void *place, Size bytes);
} KeyedStateType;

/* A zeroed state that lives in "context". */
extern void *StateCreate(const KeyedStateType *type, MemoryContext context);

/* The context of all states of "aggregate", its child; with NULL one for a single object. */
extern MemoryContext StateContext(const KeyedStateType *type, MemoryContext aggregate);

/* The state that a datum points to; NULL: it is flat.  States of other types are an error. */
extern void *StateExpandedIn(Datum datum, const KeyedStateType *type);

/* The state that a datum allows to be changed where it is, else NULL. */
extern void *StateToChange(Datum datum, const KeyedStateType *type);

/*
 * Around all that changes the value by keys that wait.  A function may read a state
 * and catch the error that counting them raises; whoever reads it again then would
 * get a part of them.  So no other counting begins where one has not ended.
 */
extern void StateBeginCounting(KeyedState *state);

static inline void
StateEndCounting(KeyedState *state)
{
	state->counting = false;
}

/* Pass a state to another process: how many bytes that takes, and the bytes. */
extern Size StatePassBytes(KeyedState *state);
extern void StatePass(KeyedState *state, void *place, Size bytes);

static inline const KeyedStateType *
StateTypeOf(const KeyedState *state)
{
	return (const KeyedStateType *) state->header.eoh_methods;
}

/*
 * The state of a row after the first one of its group, else NULL: the read-write
 * object that a datum points to.  Only the executor hands out such a datum, to the
 * functions of one aggregate, which are all of one family (CheckMoving()).
 */
static inline void *
StateOfRow(Datum datum, const KeyedStateType *type)
{
	ExpandedObjectHeader *header = ValueInState(datum);

	Assert(header == NULL || header->eoh_methods == &type->methods);
	return header;
}

static inline Datum
StateDatum(const KeyedState *state)
{
	return EOHPGetRWDatum(&state->header);
}

#endif
