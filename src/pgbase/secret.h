/*
 * secret.h
 *		The secret of this process (base/slot.h).
 *
 * src/pgbase/secret.h
 */
#ifndef QS_PGBASE_SECRET_H
#define QS_PGBASE_SECRET_H

#include "postgres.h"

extern void SecretInit(void);

/* ---- numbers that no two states share ---- */

extern void NonceInit(void);
extern uint64 NonceNew(void);

#endif
