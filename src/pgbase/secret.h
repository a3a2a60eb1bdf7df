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

#endif
