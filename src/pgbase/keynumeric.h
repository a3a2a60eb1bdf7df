/*
 * keynumeric.h
 *		Numerics and intervals as keys.
 *
 * src/pgbase/keynumeric.h
 */
#ifndef QS_PGBASE_KEYNUMERIC_H
#define QS_PGBASE_KEYNUMERIC_H

#include "pgbase/keybytes.h"

#include "datatype/timestamp.h"

/* "data" is what follows the length of a stored numeric. */
extern void KeyPutNumeric(KeyBytes *bytes, const char *data, Size length);
extern void KeyPutInterval(KeyBytes *bytes, const Interval *span);

/* The number that a short key is; false: it is no short one. */
extern bool KeyShortNumeric(const char *data, Size length, int64 *number);
extern bool KeyShortInterval(const Interval *span, int64 *number);

#endif
