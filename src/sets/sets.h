/*
 * sets.h
 *		Common definitions of the sets family: limits, memory and pauses.
 *
 * The family intersects sets of integers exactly: two sorted arrays (kernels.h), and all pairs of a
 * collection of sets (collection.h, pairs.h).  The methods and their names come from the paper "An
 * Evaluation of Large Set Intersection Techniques on GPUs" (Bellas and Gounaris).  techniques.c and
 * block.c name the section of the paper and the costs of the methods.
 *
 * Memory comes from the caller, errors are status codes, and no function prints, jumps or has
 * static state.  Most long functions pause every few milliseconds (base/status.h).  A job on pairs
 * can call a callback instead of a pause, so that the caller can end the job without a jump
 * (pairs.h).
 *
 * src/sets/sets.h
 */
#ifndef QSET_SETS_H
#define QSET_SETS_H

#include "base/port.h"
#include "base/status.h"

/*
 * The limits of a collection.  Within these limits, one entry (block.h) can hold a list's position
 * and length.
 */
#define QSET_MAX_SETS     ((UINT64_C(1) << 28) - 1)
#define QSET_MAX_UNIVERSE ((UINT64_C(1) << 31) - 1)
#define QSET_MAX_ELEMENTS (UINT64_C(1) << 36)

/* The number of steps, of about a nanosecond each, between two pauses. */
#define QSET_PATIENCE QB_PATIENCE

/* Pause if step i of a loop is a multiple of QSET_PATIENCE. */
QB_INLINE void
qset_pause_at(const qb_memory *memory, uint64_t i)
{
	if (i % QSET_PATIENCE == 0)
		qb_pause(memory);
}

/* Allocate "count" zeroed items of "size" bytes, and at least 1 byte.  NULL: no memory. */
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

QB_INLINE void
qset_put(void *to, const void *from, uint64_t count, size_t size)
{
	if (count > 0)
		memcpy(to, from, count * size);
}

/*
 * Return the first index of low .. high - 1 whose number is at least x, or "high".  The numbers are
 * in ascending order.
 */
QB_INLINE uint64_t
qset_lower(const int64_t *number, uint64_t low, uint64_t high, int64_t x)
{
	while (low < high)
	{
		uint64_t middle = low + (high - low) / 2;

		if (number[middle] < x)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * Allocate an array of "room" items, copy the first "used" items from the old array, and release
 * the old array.  NULL: no memory; the old array remains.
 */
QB_INLINE uint64_t *
qset_grow(const qb_memory *memory, uint64_t *old, uint64_t used, uint64_t room)
{
	uint64_t *array = (uint64_t *) qset_alloc(memory, room, sizeof(*array));

	if (!array)
		return NULL;
	qset_put(array, old, used, sizeof(*array));
	qset_release(memory, old);
	return array;
}

#endif
