/*
 * state.h
 *		The base of all families' states: a value as an expanded object, and a buffer of keys.
 *
 * The transition type of an aggregate is the family's own type, or internal for a moving aggregate.
 * The state is a read-write expanded object in a child of the aggregate's context.  The executor
 * does not copy such an object.  So a row costs little more than appending a fingerprint to the
 * buffer.  The keys of a full buffer are counted as one batch.
 *
 * All states of a grouped or window aggregate share a memory context.  For each new group, a hash
 * aggregate adds up the sizes of all its contexts.  With a context for each of n groups, these sums
 * would take n * n steps.  The complete states of a column scan also share a context.  Results of
 * functions and all other states have contexts of their own.
 *
 * src/pgbase/state.h
 */
#ifndef QS_PGBASE_STATE_H
#define QS_PGBASE_STATE_H

#include "postgres.h"

#include "pgbase/keyread.h"
#include "pgbase/keytype.h"
#include "pgbase/memory.h"
#include "pgbase/value.h"

#include "fmgr.h"
#include "nodes/pathnodes.h"
#include "utils/expandeddatum.h"

typedef struct KeyedState
{
	ExpandedObjectHeader header; /* the methods identify the type */
	qb_memory memory;            /* allocates in the object's context */

	KeyType key;    /* describes the keys that are added; type 0: not known yet */
	int64 count;    /* number of added keys or values, minus those that left a window frame */
	int64 batches;  /* number of counted batches of keys */
	bool accounted; /* a hash aggregate compares the state's memory with work_mem */
	bool counting;  /* true during counting, and after an error that ended counting */
	bool passed_on; /* only our combine function gets the flat encoding, which includes removals */
	bool token;     /* only our combine function gets the flat encoding, which may be a token */
	bool deferred;  /* keys may stay buffered until the state is read */
	KeyBuffer buffer; /* keys that are not counted yet */

	/*
	 * Keys of negative weight, as a sketch that is subtracted after all other keys are added; or
	 * NULL.
	 */
	struct KeyedState *removed;
} KeyedState;

/* What a process knows about the rows of a state before the first row arrives. */
typedef struct StateWork
{
	int processes;    /* planned number of processes that add keys; at least 1 */
	bool by_executor; /* keys come row by row from the executor, not from the column scan */
	double rows;      /* number of rows that this process expects for the state; 0: not known */
	double together;  /* number of states that get rows at the same time; 0: one state */
} StateWork;

/* How values of a family are cut into slices (pgbase/segment.h). */
typedef struct StateSlices StateSlices;

/* Properties of all states of a family. */
typedef struct KeyedStateType
{
	/* STATE_METHODS.  The address of this first member identifies the type of an object. */
	ExpandedObjectMethods methods;

	Size size;                  /* bytes of a state */
	const char *value;          /* a noun for errors: "a sketch" */
	const char *context_name;   /* name of the memory context of a single object */
	const char *states_context; /* name of the memory context of an aggregate's states */

	/*
	 * Count buffered keys or enlarge the buffer, until it is not full; NULL: the family has no
	 * buffer.
	 */
	void (*make_room)(KeyedState *state);
	/* Count all keys in the buffer.  Removals stay separate. */
	void (*flush)(KeyedState *state);
	/*
	 * For StateForUpdate(), StateMerged() and AggregateMerge(): copy a value to a new state, and
	 * add a value to a state.  NULL: the family does not use these functions.
	 */
	void *(*copy)(MemoryContext context, Datum datum);
	void (*add)(KeyedState *state, Datum datum, bool of_keys);
	/* Add a state that was read from a file, in the form that pass() writes. */
	void (*merge)(KeyedState *state, void *passed);
	/* Add another state's removals to this state's removals; NULL: the family has no removals. */
	void (*take_back)(KeyedState *state, Datum removals);
	/* Free the data of the state, but not the struct.  A later use must initialize the data. */
	void (*release)(KeyedState *state);

	/*
	 * pass() writes a state, without its removals, for another process or to a file.  pass_bytes()
	 * returns the number of bytes that pass() writes.
	 */
	Size (*pass_bytes)(KeyedState *state);
	void (*pass)(KeyedState *state, void *result, Size bytes);

	const StateSlices *slices; /* NULL: one process merges the values of all processes */

	/*
	 * write_flat() writes the flat encoding, and flat_bytes() returns its size.  If both are NULL,
	 * the flat encoding is a token or the form of StatePass().
	 */
	Size (*flat_bytes)(KeyedState *state);
	void (*write_flat)(KeyedState *state, void *result, Size bytes);
} KeyedStateType;

/*
 * The methods of an expanded object.  PostgreSQL flattens a state wherever it copies a row.  From
 * PostgreSQL 17 on, a sort copies rows in a bump context, in which no memory can be freed.  So
 * these methods call flat_bytes and write_flat in a temporary memory context.
 */
#define STATE_METHODS               \
	{                               \
		StateFlatSize, StateFlatten \
	}
extern Size StateFlatSize(ExpandedObjectHeader *header);
extern void StateFlatten(ExpandedObjectHeader *header, void *result, Size size);

/* Allocate a zeroed state in "context". */
extern void *StateCreate(const KeyedStateType *type, MemoryContext context);

/*
 * Return the child of "aggregate" that is the memory context of all states of an aggregate.  If
 * "aggregate" is NULL, create a context in the current memory context.
 */
extern MemoryContext StateContext(const KeyedStateType *type, MemoryContext aggregate);

/* Create a context for a single object. */
extern MemoryContext StateNewContext(const KeyedStateType *type, MemoryContext parent);

/*
 * Return the state that a datum points to, or NULL if the datum is flat.  Raises an error for
 * states of another type.
 */
extern void *StateExpandedIn(Datum datum, const KeyedStateType *type);

/* Return the state that a datum points to, if it may be changed in place; else NULL. */
extern void *StateToChange(Datum datum, const KeyedStateType *type);

/*
 * Return the value of a datum as a state that may be changed: the datum's own object if possible,
 * else a copy in StateContext().
 */
extern void *StateForUpdate(const KeyedStateType *type, MemoryContext aggregate, Datum datum);

/* Merge the second argument into the first argument, and return the result. */
extern Datum StateMerged(FunctionCallInfo fcinfo, const KeyedStateType *type);

/*
 * Call StateBeginCounting() before buffered keys change the value, and StateEndCounting() after the
 * change.  A function may catch an error that counting raises, and the state then has only some of
 * the keys.  So StateBeginCounting() raises an error if counting has begun and not ended.
 */
extern void StateBeginCounting(KeyedState *state);

static inline void
StateEndCounting(KeyedState *state)
{
	state->counting = false;
}

/*
 * Record the encoding of the state's hashed text in "held".  "held" are the keys of the state's
 * value.  Call this before the value is read.
 */
static inline void
StateTakeText(const KeyedState *state, qb_keys *held, const KeyHolder *holder)
{
	if (likely(state->key.keys.text == held->text) || qb_keys_none(&state->key.keys))
		return;
	KeyCheckFits(held, &state->key, holder);
	qb_keys_take(held, &state->key.keys);
}

/*
 * StatePass() writes a state, with its removals, for another process or to a file.
 * StatePassBytes() returns the number of bytes that StatePass() writes.
 */
extern Size StatePassBytes(KeyedState *state);
extern void StatePass(KeyedState *state, void *result, Size bytes);

/*
 * ---- partial states with removals ----
 *
 * A key of negative weight may be in one partial state, and the rows that it removes may be in
 * another partial state.  So a partial state for our combine function keeps its removals separate:
 * a short header, the removals as a sketch, then the state in any other form.  No value of our
 * types begins with such a header, so only combine functions can read the partial state.
 */

/* Return the size of a state of "bytes" bytes plus the size of its removals, if any. */
extern Size StateSizeWithRemovals(KeyedState *state, Size bytes);

/*
 * Write the removals, if any.  Returns the address at which the caller writes the state, and in
 * *bytes the remaining size.
 */
extern void *StateWriteRemovals(KeyedState *state, void *result, Size *bytes);

/* A partial state that is to be merged, separated from its removals. */
typedef struct StateApart
{
	Datum state;
	Datum removals;            /* a sketch, or 0 */
	KeyedState *from;          /* the object that had the removals, or NULL */
	struct varlena *detoasted; /* detoasted copy to free, or NULL */
} StateApart;

/*
 * Separate a partial state from its removals before it is merged: StateTakeApart() for a flat
 * value, StateTakeObjectApart() for an object.  After the merge, StateTakeBack() adds the removals
 * to the removals of "into", the merged state.
 */
extern void StateTakeApart(StateApart *apart, Datum datum);
extern void StateTakeObjectApart(StateApart *apart, KeyedState *from);
extern void StateTakeBack(const StateApart *apart, KeyedState *into);

/* Return the size of a flat encoding that is a token or the form of StatePass(). */
extern Size StateFlatBytes(KeyedState *state);

static inline const KeyedStateType *
StateTypeOf(const KeyedState *state)
{
	return (const KeyedStateType *) state->header.eoh_methods;
}

/*
 * Return the state of a group that already has a row: the read-write object that the datum points
 * to.  NULL: the datum is no read-write pointer, or the object has another type.  The caller
 * refuses an object of another type.  The executor passes the read-write pointer of a state only to
 * the functions of one aggregate, which belong to one family (AggregateMoves()).  StateOfRow()
 * reads the pointer itself, because DatumGetEOHP() is a function call.
 */
static inline void *
StateOfRow(Datum datum, const KeyedStateType *type)
{
	struct varatt_expanded pointer;

	if (!VARATT_IS_EXTERNAL_EXPANDED_RW(DatumGetPointer(datum)))
		return NULL;
	memcpy(&pointer, VARDATA_EXTERNAL(DatumGetPointer(datum)), sizeof(pointer));
	return pointer.eohptr->eoh_methods == &type->methods ? pointer.eohptr : NULL;
}

/*
 * Allocate a read-only pointer to the state in the current memory context.  The executor does not
 * copy the state of a read-only pointer.  Before PostgreSQL 16, the executor flattens a result
 * whose pointer is in any other memory context.
 */
extern struct varlena *StatePointer(KeyedState *state);

static inline Datum
StateDatum(const KeyedState *state)
{
	return EOHPGetRWDatum(&state->header);
}

/*
 * ---- tokens: short varlenas that stand for a partial state ----
 *
 * The combine function receives a token in place of the state.  A user could forge a token, so a
 * token contains a random number, not an address.  Two files find the state of a number:
 * gpu/sketch_token.c for states on devices, and state.c for states that are combined in the process
 * that made them.  Each type of token has its own magic.  No value of our types has the size and
 * the magic of a token.
 */

typedef struct TokenMagic
{
	char bytes[4];
} TokenMagic;

typedef struct TokenNumber
{
	uint64 half[2];
} TokenNumber;

typedef struct Token
{
	char length[VARHDRSZ];
	TokenMagic magic;
	TokenNumber number;
} Token;

/* Draw a random number that no user can guess. */
static inline TokenNumber
TokenDraw(void)
{
	TokenNumber number;

	if (!pg_strong_random(&number, sizeof(number)))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR), errmsg("could not generate random bytes")));
	return number;
}

/* Write a token, which has sizeof(Token) bytes. */
static inline void
TokenWrite(TokenMagic magic, TokenNumber number, struct varlena *out)
{
	Token token = { .magic = magic, .number = number };

	memcpy(out, &token, sizeof(token));
	SET_VARSIZE(out, sizeof(token));
}

static inline bool
TokenIs(TokenMagic magic, Datum datum)
{
	const char *value = DatumGetPointer(datum);

	return !VARATT_IS_EXTERNAL(value) && !VARATT_IS_COMPRESSED(value) &&
		   VARSIZE_ANY_EXHDR(value) == sizeof(Token) - VARHDRSZ &&
		   memcmp(VARDATA_ANY(value), &magic, sizeof(magic)) == 0;
}

static inline TokenNumber
TokenRead(Datum token)
{
	TokenNumber number;

	memcpy(&number, VARDATA_ANY(DatumGetPointer(token)) + sizeof(TokenMagic), sizeof(number));
	return number;
}

/* Raise the error that a token stands for no state. */
static inline void
TokenGone(void)
{
	ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					errmsg("partial state of a parallel query is not there"),
					errdetail("It can be used once, by the query that made it.")));
}

/*
 * True if the state is passed to the combine function by a token, which only our combine function
 * receives.
 */
extern bool StateTakesToken(const KeyedState *state);

/* Return the size of a token; write a token for the state.  Later calls write the same token. */
extern Size StateTokenSize(void);
extern void StateTokenWrite(KeyedState *state, struct varlena *out);

/*
 * Take over the state of a token, and move its context below "context".  The state's count becomes
 * 0.  NULL: the datum is no token.  Raises an error if the token stands for no state.
 */
extern void *StateOfToken(Datum datum, const KeyedStateType *type, MemoryContext context);

#endif
