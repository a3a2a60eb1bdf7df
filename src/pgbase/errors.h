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

extern void
StatusRaise(qb_status status, const char *noun, const char *hint) __attribute__((noreturn));
extern void StatusRaiseFormat(qb_status status, int sqlstate, const char *noun, int version,
							  const uint8 *bytes, Size length) __attribute__((noreturn));

extern void AppendDifference(StringInfo text, const char *what, const char *a, const char *b);
extern const char *TextOfSize(uint64 bytes);
extern double CheckConfidence(double confidence, bool certain);

#endif
