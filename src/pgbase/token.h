/*
 * token.h
 *		Tokens: short varlenas that stand for a partial state.
 *
 * A token goes to the combine function in place of the state.  It is a value, so it says
 * nothing but a random number.  What that number stands for, and for whom, is known
 * elsewhere: gpu/sketch_token.c, state_token.c.  Each kind of token has a magic of its
 * own.  No value of our types is as short as a token and begins with such a magic.
 *
 * src/pgbase/token.h
 */
#ifndef QS_PGBASE_TOKEN_H
#define QS_PGBASE_TOKEN_H

#include "pgbase/state.h"
#include "pgbase/version.h"

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

/* Raise the error of a token that stands for nothing, or for nothing of this process. */
static inline void
TokenGone(void)
{
	ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					errmsg("partial state of a parallel query is not there"),
					errdetail("It can be used once, by the query that made it.")));
}

/* ---- a partial state that the process itself combines, passed by a token ---- */

/*
 * Does the state go to the combine function by a token?  True if only our combine function
 * will see it.
 */
extern bool StateTakesToken(const KeyedState *state);

/* Write a token for the state.  Later calls write the same token. */
extern Size StateTokenSize(void);
extern void StateTokenWrite(KeyedState *state, struct varlena *out);

/*
 * The state of a token; NULL: the datum is none.  The state is taken over: from now on it
 * lives in a context below "context", and counts no keys yet.
 */
extern void *StateOfToken(Datum datum, const KeyedStateType *type, MemoryContext context);

#endif
