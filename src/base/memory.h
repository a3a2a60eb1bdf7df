/*
 * memory.h
 *		What a caller lends: memory, and a look at whether the work is still wanted.
 *
 * src/base/memory.h
 */
#ifndef QB_MEMORY_H
#define QB_MEMORY_H

#include "base/port.h"

/*
 * alloc returns zeroed bytes, aligned to 8 and from 4 kB on to 64, or NULL.
 *
 * pause is called now and then by what takes long, or is NULL.  It may jump out of
 * the function, as all memory is the caller's.  A function that changes a value says
 * in what state a jump leaves it; others leave it as it was.
 */
typedef struct qb_memory
{
	void *(*alloc)(void *context, size_t bytes);
	void (*release)(void *context, void *pointer);
	void *context;
	void (*pause)(void);
} qb_memory;

/* How many steps of a few nanoseconds pass between two pauses. */
#define QB_PATIENCE (1 << 20)

QB_INLINE void
qb_pause(const qb_memory *memory)
{
	if (memory && memory->pause)
		memory->pause();
}

/* Pause once there were so many steps, of which "steps" are new. */
QB_INLINE void
qb_pause_after(const qb_memory *memory, uint64_t *all, uint64_t steps)
{
	*all += steps;
	if (*all < QB_PATIENCE)
		return;
	*all = 0;
	qb_pause(memory);
}

#endif
