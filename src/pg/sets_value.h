/*
 * sets_value.h
 *		What functions on sets share: interrupts and errors.
 *
 * src/pg/sets_value.h
 */
#ifndef QS_PG_SETS_VALUE_H
#define QS_PG_SETS_VALUE_H

#include "postgres.h"
#include "fmgr.h"

#include "pgbase/value.h"
#include "pgbase/keyfamily.h"
#include "sets/sets.h"

/* Checks for interrupts in long loops. */
extern const qset_interrupt sets_interrupt;

extern const ValueFormat sets_format;
extern const KeyHolder sets_key_holder;
/* sets_similar.c: defines the setting for what is kept. */
extern void SetsKeptInit(void);

extern void SetsCheck(qb_status status);
extern void SetsTooManyPairs(uint64 kept) __attribute__((noreturn));

#endif
