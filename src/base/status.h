/*
 * status.h
 *		Status codes that functions without knowledge of PostgreSQL return; and what a caller lends
 *		them: memory, and a callback that may cancel the work.
 *
 * Base, families and engines never print, allocate on their own or jump.  They return a status,
 * which the layer above turns into its own kind of error.
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
	QB_NO_MEMORY,      /* the caller's allocator gave nothing */
	QB_TOTAL_OVERFLOW, /* total weight would pass 2^63 - 1 */
	QB_UNDERFLOW,      /* a counter would fall below zero; nothing changed */
	QB_MISMATCH,       /* two values differ in parameters or in kinds of keys, and are unchanged */
	QB_NO_FOLD,        /* n is not the wanted size times a power of two */
	QB_READ_ONLY,      /* the device part of an sf sketch takes no keys */
	QB_WRONG_PART,     /* the operation needs another part of an sf sketch */

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

	/* the byte format, in the order of the validator's checks */
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
	QB_CANCELLED,  /* the caller asked to stop */
	QB_TOO_MANY,   /* more sets or elements than can be numbered */
	QB_BAD_FILTER, /* least count or Jaccard index is out of range */
	QB_BAD_METHOD,
	QB_NO_ROOM, /* the method needs more memory than its limit */

	/* accelerators */
	QB_DEVICE_ERROR, /* the engine has the details */

	QB_STATUSES /* number of statuses; never returned */
} qb_status;

/* One short lower-case phrase, without a period. */
extern const char *qb_status_text(qb_status status);

/* ---- what a caller lends ---- */

/*
 * alloc returns zeroed bytes, or NULL.  They are aligned to 8, and from 4 kB on to
 * 64.
 *
 * Long work calls pause now and then, unless pause is NULL. pause may jump out of the function,
 * because all memory is the caller's.  alloc may jump, too, if more than 4 MB are requested, because
 * zeroing them takes long.  A function that changes a value says what a jump leaves of the value;
 * all other functions leave values unchanged.
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

/* Add "steps" to *all, the steps since the last pause.  Pause if QB_PATIENCE is reached. */
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
