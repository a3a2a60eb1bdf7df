/*
 * block_presence.h
 *		Presence bitmap: which blocks of a sketch are present, kept up to date as keys come and go.
 *
 * A sketch that is written again after every few keys, as a moving window does, need not have
 * all its tables looked at each time.  There is one bit for each block, QS_PRESENCE_BITS of them to a
 * word.  The bits are exact: a block that got all zero again has none.
 *
 * src/sketch/block_presence.h
 */
#ifndef QS_BLOCK_PRESENCE_H
#define QS_BLOCK_PRESENCE_H

#include "sketch/sketch.h"

/* Words that the presence of a sketch with these parameters take. */
extern uint64_t qs_presence_words(const qs_params *p);

/* Mark the blocks of a dense sketch, all of whose tables are looked at. */
extern void qs_presence_all(const qs_sketch *sk, uint64_t *presence);

/* Correct the presence after these keys were added or removed.  Takes some steps for each key. */
extern void
qs_presence_keys(const qs_sketch *sk, uint64_t *presence, const uint64_t *fingerprint, size_t count);

#endif
