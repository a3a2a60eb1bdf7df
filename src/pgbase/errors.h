/*
 * errors.h
 *		Status codes as errors of PostgreSQL, and what errors of several families share.
 *
 * src/pgbase/errors.h
 */
#ifndef QS_PGBASE_ERRORS_H
#define QS_PGBASE_ERRORS_H

#include "postgres.h"

#include "base/status.h"
#include "lib/stringinfo.h"

/* The byte format of a type's values. */
typedef struct ValueFormat
{
	const char *noun; /* what messages call a value */
	int version;      /* the one that is read */
	uint32 header;    /* bytes of its header */
} ValueFormat;

extern void
StatusRaise(qb_status status, const char *noun, const char *hint) __attribute__((noreturn));
extern void FormatRaise(const ValueFormat *format, qb_status status, int sqlstate,
						const uint8 *bytes, Size length) __attribute__((noreturn));
extern Size CheckSize(const char *noun, uint64 bytes, const char *hint);

extern void AppendDifference(StringInfo text, const char *what, const char *a, const char *b);
extern const char *TextOfSize(uint64 bytes);
extern void CheckInteger(const char *what, int64 value, int64 least, int64 most, const char *hint);
extern double CheckConfidence(double confidence, bool certain);

#endif
