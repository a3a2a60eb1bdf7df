/*
 * status.h
 *		What functions return that know no PostgreSQL.
 *
 * Base, families and engines never print, allocate on their own or jump: they
 * return one of these, and the layer above turns it into an error of its own
 * kind.
 *
 * src/base/status.h
 */
#ifndef QS_STATUS_H
#define QS_STATUS_H

typedef enum qs_status
{
	QS_OK = 0,

	/* operations */
	QS_NO_MEMORY,      /* the caller's allocator gave nothing */
	QS_TOTAL_OVERFLOW, /* total weight would pass 2^63 - 1 */
	QS_UNDERFLOW,      /* a counter would fall below zero; nothing changed */
	QS_MISMATCH,       /* parameters differ by more than a power of two in n */
	QS_NO_FOLD,        /* n is not the wanted size times a power of two */
	QS_READ_ONLY,      /* the device part of an sf sketch takes no keys */
	QS_WRONG_PART,     /* the operation needs another part of an sf sketch */

	/* parameters */
	QS_BAD_STRUCTURE,
	QS_BAD_SIZE,
	QS_BAD_DEPTH,
	QS_BAD_Z,
	QS_BAD_MASKS,
	QS_BAD_PRESET,
	QS_BAD_ROWS,
	QS_BAD_FREQUENCY,
	QS_BAD_ERROR,
	QS_BAD_HASHES,
	QS_BAD_RATE,
	QS_BAD_LAYOUT,

	/* the byte format, in the order in which the validator looks */
	QS_FORMAT_SHORT,
	QS_FORMAT_MAGIC,
	QS_FORMAT_VERSION,
	QS_FORMAT_PARAMS,
	QS_FORMAT_RESERVED,
	QS_FORMAT_LENGTH,
	QS_FORMAT_CRC,
	QS_FORMAT_ENTRIES,
	QS_FORMAT_COUNTERS,
	QS_FORMAT_BITS,

	/* sets */
	QS_CANCELLED,  /* the caller's interrupt said so */
	QS_TOO_MANY,   /* more sets or elements than can be numbered */
	QS_BAD_FILTER, /* least count or Jaccard index out of range */
	QS_BAD_METHOD,
	QS_NO_ROOM, /* the method needs more memory than it may take */

	/* accelerators */
	QS_DEVICE_ERROR, /* the engine knows more */

	QS_STATUSES /* how many there are; never returned */
} qs_status;

/* One short lower-case phrase, without a period. */
extern const char *qs_status_text(qs_status status);

#endif
