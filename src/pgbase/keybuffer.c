/*
 * keybuffer.c
 *		Keys that wait to be counted in a batch.
 *
 * src/pgbase/keybuffer.c
 */
#include "pgbase/keybuffer.h"

#include "base/slot.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"

#define FIRST_ROOM  16
#define ROOM_GROWTH 4

/* KeyBufferIsVaried() has so many places, and looks at no more keys than a quarter of that. */
#define PLACES      8192
#define VARIED_KEYS (PLACES / 4)

/* Let the buffer be full at so many keys, or at fewer if it has less memory. */
void
KeyBufferLimit(KeyBuffer *buffer, int most)
{
	buffer->room = Min(buffer->allocated, most);
}

static void
reallocate(KeyBuffer *buffer, MemoryContext context, int keys)
{
	bool weighted = buffer->weight != NULL;

	KeyBufferFree(buffer);
	buffer->fingerprint = MemoryContextAlloc(context, keys * sizeof(uint64));
	if (weighted)
		buffer->weight = MemoryContextAlloc(context, keys * sizeof(int64));
	buffer->allocated = keys;
}

/*
 * Let an empty buffer become full at so many keys.  Each call makes one step towards
 * that, so a group takes memory only for about as many keys as it has.
 */
void
KeyBufferGrow(KeyBuffer *buffer, MemoryContext context, int most)
{
	int next = buffer->allocated == 0 ? FIRST_ROOM : buffer->allocated * ROOM_GROWTH;

	Assert(buffer->count == 0);
	if (most > buffer->allocated)
		reallocate(buffer, context, Min(most, next));
	KeyBufferLimit(buffer, most);
}

/* Double the room of a full buffer, up to "most" keys.  Its keys stay. */
void
KeyBufferExtend(KeyBuffer *buffer, int most)
{
	int keys = Min(most, buffer->allocated * 2);

	buffer->fingerprint = repalloc(buffer->fingerprint, keys * sizeof(uint64));
	if (buffer->weight)
		buffer->weight = repalloc(buffer->weight, keys * sizeof(int64));
	buffer->allocated = buffer->room = keys;
}

/*
 * Are at least about half of the first keys distinct?  Each key marks a place by its hash, and
 * distinct keys seldom mark the same one.
 */
bool
KeyBufferIsVaried(const KeyBuffer *buffer, int first)
{
	uint64 marks[PLACES / 64] = { 0 };
	int count = Min(Min(buffer->count, first), VARIED_KEYS);
	int i;

	for (i = 0; i < count; i++)
	{
		uint64 place = qb_slot_of(qb_slot_hash(buffer->fingerprint[i]), PLACES);

		marks[place / 64] |= UINT64CONST(1) << place % 64;
	}
	return pg_popcount((const char *) marks, sizeof(marks)) >= (uint64) count / 2;
}

/* Keep weights from now on: the first weight that is not 1 has come. */
void
KeyBufferWeigh(KeyBuffer *buffer)
{
	MemoryContext context = GetMemoryChunkContext(buffer->fingerprint);
	int i;

	buffer->weight = MemoryContextAlloc(context, buffer->allocated * sizeof(int64));
	for (i = 0; i < buffer->count; i++)
		buffer->weight[i] = 1;
}

/* Free the memory of a buffer and zero it. */
void
KeyBufferFree(KeyBuffer *buffer)
{
	if (buffer->fingerprint)
		pfree(buffer->fingerprint);
	if (buffer->weight)
		pfree(buffer->weight);
	memset(buffer, 0, sizeof(*buffer));
}
