/*
 * locks.h
 *		Stand-ins for PostgreSQL's lightweight locks, for tests in a single process.
 *
 * test/unit/locks.h
 */
#ifndef QS_TEST_LOCKS_H
#define QS_TEST_LOCKS_H

#include "storage/lwlock.h"

bool
LWLockAcquire(LWLock *lock, LWLockMode mode)
{
	(void) lock;
	(void) mode;
	return true;
}

void
LWLockRelease(LWLock *lock)
{
	(void) lock;
}

#endif
