/*
 * state_token.h
 *		A partial state that the process itself combines, passed by a token.
 *
 * src/pgbase/state_token.h
 */
#ifndef QS_PGBASE_STATE_TOKEN_H
#define QS_PGBASE_STATE_TOKEN_H

#include "pgbase/state.h"

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
