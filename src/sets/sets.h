/*
 * sets.h
 *		What all files of the sets family share.
 *
 * Exact intersection of sets of integers: of two sorted arrays (sorted.h), and
 * of all pairs of a collection of sets (collection.h, pairs.h).  The methods
 * and their names come from the paper "An Evaluation of Large Set Intersection
 * Techniques on GPUs" (Bellas and Gounaris).  A method's file names the
 * section of the paper and the method's cost.
 *
 * Memory is the caller's, errors are status codes, and nothing here prints,
 * jumps or keeps state of its own.  A function that takes long asks at least
 * every few milliseconds whether to go on.  The function that answers may also
 * jump out, because all memory is the caller's.
 *
 * src/sets/sets.h
 */
#ifndef QSET_SETS_H
#define QSET_SETS_H

#include "base/port.h"
#include "base/status.h" /* qb_memory */
#include "base/status.h"

/*
 * Sets and elements of a collection are numbered.  Limits are such that a
 * list's position and its length fit into one entry (block.h).
 */
#define QSET_MAX_SETS     ((UINT64_C(1) << 28) - 1)
#define QSET_MAX_UNIVERSE ((UINT64_C(1) << 31) - 1)
#define QSET_MAX_ELEMENTS (UINT64_C(1) << 36)

/* Steps of about a nanosecond between two questions whether to go on. */
#define QSET_PATIENCE (1 << 20)

/* Asks whether to stop; function NULL: never stop. */
typedef struct qset_interrupt
{
	bool (*stop)(void *context);
	void *context;
} qset_interrupt;

QB_INLINE bool
qset_stopped(const qset_interrupt *i)
{
	return i && i->stop && i->stop(i->context);
}

/* Memory of "count" items of "size" bytes, or NULL; a count of 0 allocates nothing. */
QB_INLINE void *
qset_alloc(const qb_memory *memory, uint64_t count, size_t size)
{
	uint64_t bytes;

	if (__builtin_mul_overflow(count, (uint64_t) size, &bytes) || bytes > SIZE_MAX / 2)
		return NULL;
	return memory->alloc(memory->context, bytes > 0 ? (size_t) bytes : 1);
}

QB_INLINE void
qset_release(const qb_memory *memory, void *pointer)
{
	if (pointer)
		memory->release(memory->context, pointer);
}

/*
 * Allocate an array of "room" items, copy the first "used" from the old array,
 * release the old one.
 */
QB_INLINE uint64_t *
qset_grow(const qb_memory *memory, uint64_t *old, uint64_t used, uint64_t room)
{
	uint64_t *array = (uint64_t *) qset_alloc(memory, room, sizeof(*array));

	if (array && used > 0)
		memcpy(array, old, used * sizeof(*array));
	if (array)
		qset_release(memory, old);
	return array;
}

#endif
