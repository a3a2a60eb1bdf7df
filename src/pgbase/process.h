/*
 * process.h
 *		Numbers of processes: indexes of their places in shared memory.
 *
 * src/pgbase/process.h
 */
#ifndef QS_PGBASE_PROCESS_H
#define QS_PGBASE_PROCESS_H

#include "postgres.h"

#include "storage/proc.h"

/* The number of a process, below MaxBackends for every process that runs SQL. */
#if PG_VERSION_NUM >= 170000
#define ProcessNumber(process) GetNumberFromPGProc(process)
#else
#define ProcessNumber(process) ((process)->pgprocno)
#endif

#endif
