/*
 * keybuffer.h
 *		Keys that wait to be counted in a batch.
 *
 * Transition functions append a key and return.  When the buffer is full its owner, an
 * expanded object, gives all keys to an engine.  The owner sets "room", the number of
 * keys that it wants to hand over at once.  A zeroed buffer is empty and has no room.
 *
 * Weights are kept only after the first one that is not 1.  Most keys have the weight
 * 1, and a buffer without weights takes half the memory.
 *
 * src/pgbase/keybuffer.h
 */
#ifndef QS_PGBASE_KEYBUFFER_H
#define QS_PGBASE_KEYBUFFER_H

#include "postgres.h"

typedef struct KeyBuffer
{
	uint64 *fingerprint;
	int64 *weight; /* NULL as long as all weights are 1 */
	int count;
	int room;      /* the buffer is full at so many keys, */
	int allocated; /* and has memory for so many, at least as many as "room" */
} KeyBuffer;

extern void KeyBufferLimit(KeyBuffer *buffer, int most);
extern void KeyBufferGrow(KeyBuffer *buffer, MemoryContext context, int most);
extern void KeyBufferExtend(KeyBuffer *buffer, int most);
extern bool KeyBufferIsVaried(const KeyBuffer *buffer, int first);
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
