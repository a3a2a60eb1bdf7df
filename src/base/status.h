/*
 * status.h
 *		Status codes of functions that do not use PostgreSQL; the callers' memory and pauses.
 *
 * Code in src/base, src/engine and the families never prints, raises no errors, and has no
 * allocator of its own.  A function that can fail returns a status, false or NULL, and the calling
 * layer reports the error.
 *
 * src/base/status.h
 */
#ifndef QB_STATUS_H
#define QB_STATUS_H

#include "base/port.h"

typedef enum qb_status
{
	QB_OK = 0,

	/* operations */
	QB_NO_MEMORY,      /* the caller's allocator returned NULL, or a device has too little memory */
	QB_TOTAL_OVERFLOW, /* total weight would exceed 2^63 - 1 */
	QB_UNDERFLOW,      /* weights would be removed that were never added */
	QB_MISMATCH,       /* arguments do not match, for example in types of keys; nothing changed */
	QB_NO_FOLD,        /* halving does not lead to the requested size, or this size is invalid */
	QB_READ_ONLY,      /* the sketch takes no keys: a device part of sf, or any sf on a GPU */
	QB_WRONG_PART,     /* the sketch is not the part of sf that the operation needs */

	/* parameters */
	QB_BAD_STRUCTURE,
	QB_BAD_SIZE,
	QB_BAD_DEPTH,
	QB_BAD_Z,
	QB_BAD_MASKS,
	QB_BAD_PRESET,
	QB_BAD_ROWS,
	QB_BAD_FREQUENCY,
	QB_BAD_ERROR,
	QB_BAD_HASHES,
	QB_BAD_RATE,
	QB_BAD_LAYOUT,

	/* the byte format, roughly in the order of the validators' checks */
	QB_FORMAT_SHORT,
	QB_FORMAT_MAGIC,
	QB_FORMAT_VERSION,
	QB_FORMAT_PARAMS,
	QB_FORMAT_RESERVED,
	QB_FORMAT_LENGTH,
	QB_FORMAT_CRC,
	QB_FORMAT_ENTRIES,
	QB_FORMAT_COUNTERS,
	QB_FORMAT_BITS,

	/* sets */
	QB_CANCELLED,  /* the caller cancelled the work */
	QB_TOO_MANY,   /* more sets or elements than can be numbered */
	QB_BAD_FILTER, /* least count or Jaccard index is out of range */
	QB_BAD_METHOD,
	QB_NO_ROOM, /* the work needs more memory than the caller allows */

	/* accelerators */
	QB_DEVICE_ERROR, /* the engine has the details */

	QB_STATUSES /* number of statuses; never returned */
} qb_status;

/* Returns the text of a status: one lower-case phrase without a period. */
extern const char *qb_status_text(qb_status status);

/* ---- memory and pauses of the caller ---- */

/*
 * alloc returns zeroed memory, or NULL.  Memory of less than 4 kB is aligned to 8 bytes, and larger
 * memory to 64 bytes.
 *
 * Long loops call pause regularly, unless pause is NULL.  pause may jump out of the function,
 * because the caller owns all memory.  alloc may jump out, too, if more than 4 MB are requested,
 * because zeroing so much memory takes long.  A function that changes a value says in which state a
 * jump leaves the value.  A jump out of any other function leaves all values unchanged.
 */
typedef struct qb_memory
{
	void *(*alloc)(void *context, size_t bytes);
	void (*release)(void *context, void *pointer);
	void *context;
	void (*pause)(void);
} qb_memory;

/* Steps between two pauses.  A step takes a few nanoseconds. */
#define QB_PATIENCE (1 << 20)

QB_INLINE void
qb_pause(const qb_memory *memory)
{
	if (memory && memory->pause)
		memory->pause();
}

/*
 * Adds "steps" to *all, the number of steps since the last pause.  If *all reaches QB_PATIENCE,
 * pauses and sets *all to 0.
 */
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
