/*
 * tokens_server.h
 *		Stand-ins for the PostgreSQL functions that handles and tokens call.
 *
 * gpu/handles.c and gpu/sketch_token.c are compiled against PostgreSQL's headers, but not
 * linked with PostgreSQL.  In this file a lock is only a counter, a process is an element of a
 * table, and an error is a longjmp().  The file defines global functions and variables, so only one
 * source file of a program may include it.
 *
 * test/unit/tokens_server.h
 */
#ifndef QS_TEST_TOKENS_SERVER_H
#define QS_TEST_TOKENS_SERVER_H

#include "postgres.h"

#undef fprintf
#undef printf
#undef snprintf
#undef vsnprintf

#include "mutator.h"

#include "gpu/sketch_gpu.h"

#include "access/xact.h"
#include "miscadmin.h"

#include <setjmp.h>

enum
{
	/* a leader with two workers, a leader with one worker, and a process without workers */
	PROCESSES = 6
};

GpuShared *gpu_shared;
int gpu_cache_size = 4096;
PGPROC *MyProc;
int MyProcPid;
static PGPROC process[PROCESSES];
static SubTransactionId subtransaction[PROCESSES];
static int locks;
static jmp_buf on_error;
static int error_code;
static uint64 random_numbers;

#if PG_VERSION_NUM >= 170000
static PROC_HDR process_header = { .allProcs = process };
PROC_HDR *ProcGlobal = &process_header;
#endif

bool
LWLockAcquire(LWLock *lock, LWLockMode mode)
{
	(void) lock;
	(void) mode;
	REQUIRE(locks++ == 0);
	return true;
}

void
LWLockRelease(LWLock *lock)
{
	(void) lock;
	REQUIRE(--locks == 0);
}

void
SetLatch(Latch *latch)
{
	(void) latch;
}

SubTransactionId
GetCurrentSubTransactionId(void)
{
	return subtransaction[MyProc - process];
}

/* All processes belong to one role. */
Oid
GetAuthenticatedUserId(void)
{
	return 10;
}

/* No test depends on the time of the last use. */
TimestampTz
GetCurrentTimestamp(void)
{
	return 0;
}

/* Each call returns different bytes, which the machine does not know. */
bool
pg_strong_random(void *bytes, size_t length)
{
	uint64 word[2] = { qb_hash(random_numbers, 1), qb_hash(random_numbers, 2) };

	random_numbers++;
	REQUIRE(length == sizeof(word));
	memcpy(bytes, word, sizeof(word));
	return true;
}

bool
errstart(int level, const char *domain)
{
	(void) domain;
	REQUIRE(level == ERROR);
	return true;
}

bool
errstart_cold(int level, const char *domain)
{
	return errstart(level, domain);
}

int
errcode(int code)
{
	error_code = code;
	return 0;
}

int
errmsg(const char *text, ...)
{
	(void) text;
	return 0;
}

int
errdetail(const char *text, ...)
{
	(void) text;
	return 0;
}

void
errfinish(const char *file, int line, const char *function)
{
	(void) file;
	(void) line;
	(void) function;
	longjmp(on_error, 1);
}

/* Replaces the engine's function.  No sketch has tables on a device in these tests. */
void
GpuSketchBecomeRemote(qs_sketch *sk, const GpuRef *ref)
{
	GpuRemote *remote = calloc(1, sizeof(*remote));

	REQUIRE(remote != NULL);
	remote->handle.ref = *ref;
	sk->remote = remote;
	GpuAttachHandle(ref);
}

#endif
