/*
 * sets.h
 *		What all files of the sets family share.
 *
 * Exact intersection of sets of integers: of two sorted arrays (kernels.h), and
 * of all pairs of a collection of sets (collection.h, pairs.h).  The methods
 * and their names come from the paper "An Evaluation of Large Set Intersection
 * Techniques on GPUs" (Bellas and Gounaris).  A method's file names the
 * section of the paper and the method's cost.
 *
 * Memory is the caller's, errors are status codes, and nothing here prints,
 * jumps or keeps state of its own.  A function that takes long pauses at least
 * every few milliseconds (base/status.h).  A job on pairs can call a callback instead, so that its
 * caller can end it without a jump (pairs.h).
 *
 * src/sets/sets.h
 */
#ifndef QSET_SETS_H
#define QSET_SETS_H

#include "base/port.h"
#include "base/status.h" /* defines qb_memory */
#include "base/status.h"

/*
 * The most sets and elements of a collection.  With these limits a list's position and its length
 * fit into one entry (block.h).
 */
#define QSET_MAX_SETS     ((UINT64_C(1) << 28) - 1)
#define QSET_MAX_UNIVERSE ((UINT64_C(1) << 31) - 1)
#define QSET_MAX_ELEMENTS (UINT64_C(1) << 36)

/* Steps of about a nanosecond between two pauses. */
#define QSET_PATIENCE QB_PATIENCE

/* Pause now and then, in a loop that has come to step i. */
QB_INLINE void
qset_pause_at(const qb_memory *memory, uint64_t i)
{
	if (i % QSET_PATIENCE == 0)
		qb_pause(memory);
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

/* Copy items, if there are any. */
QB_INLINE void
qset_put(void *to, const void *from, uint64_t count, size_t size)
{
	if (count > 0)
		memcpy(to, from, count * size);
}

/* The first index of low .. high - 1 whose number is at least x, or high.  The numbers ascend. */
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
 * the old array.
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
