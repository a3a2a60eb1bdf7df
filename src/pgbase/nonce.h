/*
 * nonce.h
 *		Numbers that no two states share.
 *
 * src/pgbase/nonce.h
 */
#ifndef QS_PGBASE_NONCE_H
#define QS_PGBASE_NONCE_H

#include "postgres.h"

extern void NonceInit(void);
extern uint64 NonceNew(void);

#endif
