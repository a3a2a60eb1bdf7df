/*
 * keybuffer.h
 *		Keys that wait to be counted in a batch.
 *
 * Transition functions append to it and return; when it is full its owner, an
 * expanded object, hands all of it to an engine.  It holds "room" keys, which
 * is what the owner likes to hand over at once.  Zeroed it is empty and has
 * room for none.
 *
 * Weights are kept from the first one on that is not 1: most keys have none, and
 * a buffer without them takes half the memory.
 *
 * src/pgbase/keybuffer.h
 */
#ifndef QS_PG_KEYBUFFER_H
#define QS_PG_KEYBUFFER_H

#include "postgres.h"

typedef struct KeyBuffer
{
	uint64 *fingerprint;
	int64 *weight; /* NULL as long as all weights are 1 */
	int count;
	int room;      /* keys at which it is full, */
	int allocated; /* at most as many as this */
} KeyBuffer;

extern void KeyBufferLimit(KeyBuffer *buffer, int most);
extern void KeyBufferGrow(KeyBuffer *buffer, MemoryContext context, int most);
extern void KeyBufferExtend(KeyBuffer *buffer, int most);
extern void KeyBufferWeigh(KeyBuffer *buffer);
extern void KeyBufferFree(KeyBuffer *buffer);

static inline bool
KeyBufferIsFull(const KeyBuffer *buffer)
{
	return buffer->count >= buffer->room;
}

/* Append a key of weight 1; the buffer has room and no weights. */
static inline void
KeyBufferPut(KeyBuffer *buffer, uint64 fingerprint)
{
	buffer->fingerprint[buffer->count++] = fingerprint;
}

/* Append a key; the buffer has room. */
static inline void
KeyBufferAppend(KeyBuffer *buffer, uint64 fingerprint, int64 weight)
{
	if (weight != 1 && buffer->weight == NULL)
		KeyBufferWeigh(buffer);
	if (buffer->weight)
		buffer->weight[buffer->count] = weight;
	buffer->fingerprint[buffer->count++] = fingerprint;
}

#endif
