/*
 * state.h
 *		What the states of aggregates of all families begin with: a value as an expanded object,
 *		and the keys that wait to be counted.
 *
 * The transition type of an aggregate is the family's own type.  Its state is a
 * read-write expanded object in a child of the aggregate's context, so the executor
 * keeps it without copying it.  A row then costs no more than appending a fingerprint
 * to a buffer.  A full buffer is counted as one batch.
 *
 * All states of one aggregate share a memory context.  A hash aggregate asks for the
 * size of all its memory with each new group; if each of n groups had a context, that
 * would take n * n steps.  Every other object has a context of its own.
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

	KeyType key;      /* describes the keys that are added; type 0: not known yet */
	int64 count;      /* keys or values added, less those removed; 0: nothing was counted */
	int64 batches;    /* batches of keys that were counted */
	bool accounted;   /* PostgreSQL compares its memory with a limit at each row */
	bool counting;    /* keys are being counted, or an error has ended that half-way */
	bool passed_on;   /* its flat encoding goes to our combine function only, with removals */
	bool token;       /* like "passed_on", and it may be a token */
	bool deferred;    /* keys may stay buffered until the state is read */
	KeyBuffer buffer; /* keys that are not counted yet */

	/* Keys of negative weight, as a sketch that is subtracted once all other keys are added; or NULL. */
	struct KeyedState *removed;
} KeyedState;

/* What a process knows of the work on a state before the first key comes. */
typedef struct StateWork
{
	int processes;    /* processes that share the work, by the plan; at least 1 */
	bool by_executor; /* keys come row by row from the executor, not from the column scan */
	double rows;      /* rows that this process expects for the state; 0: not known */
	double together;  /* groups' states that get rows at the same time; 0: there is one */
} StateWork;

/* How values of a family are cut into slices (pgbase/segment.h). */
typedef struct StateSlices StateSlices;

/* What all states of a family have in common. */
typedef struct KeyedStateType
{
	/* STATE_METHODS.  The address of this first member identifies the type of an object. */
	ExpandedObjectMethods methods;

	Size size;                /* bytes of a state */
	const char *value;        /* a noun for errors: "a sketch" */
	const char *context_name; /* name of the memory context of a single object */
	const char
		*states_context; /* name of the memory context that holds the states of an aggregate */

	/* Make room in the buffer by counting keys; NULL: the family keeps rows in another way. */
	void (*make_room)(KeyedState *state);
	/* Count all keys in the buffer.  Removals stay waiting. */
	void (*flush)(KeyedState *state);
	/* Copy a value, and add one, for StateForUpdate() and AggregateMerge(); or NULL. */
	void *(*copy)(MemoryContext context, Datum datum);
	void (*add)(KeyedState *state, Datum datum, bool of_keys);
	/* Add a state as it is passed to another process, after it was written to a file. */
	void (*merge)(KeyedState *state, void *passed);
	/* Add the removals of another state to those of a state; NULL: states of the family have none. */
	void (*take_back)(KeyedState *state, Datum removals);
	/* Free all that the state has, but not the state itself, which can no longer be used. */
	void (*release)(KeyedState *state);

	/*
	 * How a state is passed to another process, without its removals: its size, then its bytes.
	 * The flat encoding for this process may be a token instead.
	 */
	Size (*pass_bytes)(KeyedState *state);
	void (*pass)(KeyedState *state, void *result, Size bytes);

	const StateSlices *slices; /* NULL: one process merges values of all processes */

	/* The flat encoding: its size, then its bytes.  NULL: it is a token, or the form that is passed. */
	Size (*flat_bytes)(KeyedState *state);
	void (*write_flat)(KeyedState *state, void *result, Size bytes);
} KeyedStateType;

/*
 * The methods of an expanded object.  PostgreSQL flattens a state wherever it copies a row.  From
 * PostgreSQL 17 on a sort copies rows in a bump context, in which no memory can be freed.  So these
 * methods call flat_bytes and write_flat in a memory context of their own, which they delete
 * afterwards.
 */
#define STATE_METHODS               \
	{                               \
		StateFlatSize, StateFlatten \
	}
extern Size StateFlatSize(ExpandedObjectHeader *header);
extern void StateFlatten(ExpandedObjectHeader *header, void *result, Size size);

/* A zeroed state that lives in "context". */
extern void *StateCreate(const KeyedStateType *type, MemoryContext context);

/*
 * The context of all states of "aggregate", which is its child.  If "aggregate" is NULL, a
 * StateNewContext() for this row.
 */
extern MemoryContext StateContext(const KeyedStateType *type, MemoryContext aggregate);

/* A context for a single object. */
extern MemoryContext StateNewContext(const KeyedStateType *type, MemoryContext parent);

/* The state that a datum points to; NULL: it is flat.  States of other types are an error. */
extern void *StateExpandedIn(Datum datum, const KeyedStateType *type);

/* The state that a datum points to, if it may be changed in place; else NULL. */
extern void *StateToChange(Datum datum, const KeyedStateType *type);

/*
 * The value of a datum, to be changed.  If the datum's own object may be changed, it is that
 * object.  Otherwise it is a copy: among the states of "aggregate", or in a context of its own if
 * "aggregate" is NULL.
 */
extern void *StateForUpdate(const KeyedStateType *type, MemoryContext aggregate, Datum datum);

/* The result of a function that merges its second argument into the first. */
extern Datum StateMerged(FunctionCallInfo fcinfo, const KeyedStateType *type);

/*
 * To be called around everything that changes the value by keys that wait.  A function may catch
 * the error that counting raises.  If the state were then read again, it would have only some of
 * the keys.  So counting cannot begin again in a state where it has not ended.
 */
extern void StateBeginCounting(KeyedState *state);

static inline void
StateEndCounting(KeyedState *state)
{
	state->counting = false;
}

/*
 * Record in "held", the keys of the state's value, the encoding of the text of hashed keys.  Called
 * before the value is read.
 */
static inline void
StateTakeText(const KeyedState *state, qb_keys *held, const KeyHolder *holder)
{
	if (likely(state->key.keys.text == held->text) || qb_keys_none(&state->key.keys))
		return;
	KeyCheckFits(held, &state->key, holder);
	qb_keys_take(held, &state->key.keys);
}

/* Pass a state to another process: the size, then the bytes. */
extern Size StatePassBytes(KeyedState *state);
extern void StatePass(KeyedState *state, void *result, Size bytes);

/*
 * ---- partial states with removals ----
 *
 * A key of negative weight may be in one partial state, and the rows that it takes back in another
 * partial state.  So a partial state that goes to our combine function has its removals beside it:
 * a short header, the removals as a sketch, the state in any other form.  No value of our types
 * begins with such a header, so only functions that combine states can read it.
 */

/* The size of a state of "bytes" bytes together with its removals, if it has any. */
extern Size StateSizeWithRemovals(KeyedState *state, Size bytes);

/*
 * Write the removals, if there are any.  Returns where to write the state, and in *bytes the bytes
 * that are left for it.
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
 * Take a partial state apart before it is merged.  It is an object or a flat value.  Afterwards the
 * caller adds the removals to those of the state into which it was merged, or which it has become.
 */
extern void StateTakeApart(StateApart *apart, Datum datum);
extern void StateTakeObjectApart(StateApart *apart, KeyedState *from);
extern void StateTakeBack(const StateApart *apart, KeyedState *into);

/* The size of a flat encoding that is a token, or the form that is passed. */
extern Size StateFlatBytes(KeyedState *state);

static inline const KeyedStateType *
StateTypeOf(const KeyedState *state)
{
	return (const KeyedStateType *) state->header.eoh_methods;
}

/*
 * The state of a group in which an earlier row was counted, else NULL.  It is the read-write object
 * that a datum points to.  Only the executor passes such a datum, and only to the functions of one
 * aggregate, which are all of one family (AggregateMoves()).  An object of another type gives NULL
 * all the same, and the caller then refuses the object.  This does what DatumGetEOHP() does,
 * without a call.
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
 * A read-only datum that points to the state, from the caller's memory.  With it the executor
 * copies nothing.  Before PostgreSQL 16 the executor would flatten the state otherwise.
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
 * A token goes to the combine function in place of the state.  A token is a value, so it contains
 * nothing but a random number.  What that number stands for, and for which process, is recorded
 * elsewhere: in gpu/sketch_token.c, and in state.c for a state that its own process combines.  Each
 * kind of token has a magic of its own.  No value of our types is as short as a token and also
 * begins with such a magic.
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

/* A number that nobody can guess. */
static inline TokenNumber
TokenDraw(void)
{
	TokenNumber number;

	if (!pg_strong_random(&number, sizeof(number)))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR), errmsg("could not generate random bytes")));
	return number;
}

/* Write sizeof(Token) bytes. */
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

/* The number of a token. */
static inline TokenNumber
TokenRead(Datum token)
{
	TokenNumber number;

	memcpy(&number, VARDATA_ANY(DatumGetPointer(token)) + sizeof(TokenMagic), sizeof(number));
	return number;
}

/* Raise the error that a token stands for nothing, or for nothing in this process. */
static inline void
TokenGone(void)
{
	ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					errmsg("partial state of a parallel query is not there"),
					errdetail("It can be used once, by the query that made it.")));
}

/*
 * True if the state goes to the combine function by a token.  It does if only our combine function
 * will see the token.
 */
extern bool StateTakesToken(const KeyedState *state);

/* Write a token for the state.  Later calls write the same token. */
extern Size StateTokenSize(void);
extern void StateTokenWrite(KeyedState *state, struct varlena *out);

/*
 * The state of a token; NULL: the datum is no token.  The state is taken over.  It is now in a
 * context below "context", and counts no keys yet.
 */
extern void *StateOfToken(Datum datum, const KeyedStateType *type, MemoryContext context);

#endif
