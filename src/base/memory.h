/*
 * memory.h
 *		What a caller lends: memory, and a look at whether the work is still wanted.
 *
 * src/base/memory.h
 */
#ifndef QS_MEMORY_H
#define QS_MEMORY_H

#include "base/port.h"

/*
 * alloc returns zeroed bytes, aligned to 8 and from 4 kB on to 64, or NULL.
 *
 * pause is called now and then by what takes long, or is NULL.  It may jump out of
 * the function, as all memory is the caller's.  A function that changes a value says
 * in what state a jump leaves it; others leave it as it was.
 */
typedef struct qs_memory
{
	void *(*alloc)(void *context, size_t bytes);
	void (*release)(void *context, void *pointer);
	void *context;
	void (*pause)(void);
} qs_memory;

/* How many steps of a few nanoseconds pass between two pauses. */
#define QS_PATIENCE (1 << 20)

QS_INLINE void
qs_pause(const qs_memory *memory)
{
	if (memory && memory->pause)
		memory->pause();
}

/* Pause once there were so many steps, of which "steps" are new. */
QS_INLINE void
qs_pause_after(const qs_memory *memory, uint64_t *all, uint64_t steps)
{
	*all += steps;
	if (*all < QS_PATIENCE)
		return;
	*all = 0;
	qs_pause(memory);
}

#endif
