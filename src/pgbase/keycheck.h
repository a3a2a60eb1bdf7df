/*
 * keycheck.h
 *		Checks that the facts which a value records about its keys are consistent.
 *
 * src/pgbase/keycheck.h
 */
#ifndef QS_PGBASE_KEYCHECK_H
#define QS_PGBASE_KEYCHECK_H

#include "pgbase/keyfamily.h"
#include "pgbase/value.h"

extern bool KeysAreText(uint32 family);
extern void KeysCheck(const qb_keys *keys, const ValueFormat *format, int sqlstate);
extern void KeysCheckNumbers(const qb_keys *keys, bool numbers, const char *has,
							 const ValueFormat *format, int sqlstate);

#endif
