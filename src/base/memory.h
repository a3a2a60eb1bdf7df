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
 * alloc returns zeroed bytes, or NULL.  They are aligned to 8, and from 4 kB on to
 * 64.
 *
 * Long work calls pause now and then, unless it is NULL.  pause may jump out of the
 * function, because all memory is the caller's.  alloc may do so, too, if more than 4 MB are
 * asked for, because it takes long to zero them.  A function that changes a value says what a
 * jump leaves of the value; all other functions leave values unchanged.
 */
typedef struct qb_memory
{
	void *(*alloc)(void *context, size_t bytes);
	void (*release)(void *context, void *pointer);
	void *context;
	void (*pause)(void);
} qb_memory;

/* Steps between two pauses, each of a few nanoseconds. */
#define QB_PATIENCE (1 << 20)

QB_INLINE void
qb_pause(const qb_memory *memory)
{
	if (memory && memory->pause)
		memory->pause();
}

/* Add "steps" to the steps since the last pause, and pause if they are enough. */
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
