/*
 * memory.h
 *		A memory context as the allocator of code that knows no PostgreSQL.
 *
 * src/pgbase/memory.h
 */
#ifndef QS_PGBASE_MEMORY_H
#define QS_PGBASE_MEMORY_H

#include "postgres.h"

#include "base/status.h"

/*
 * Fill and return "memory" so that it allocates from "context".  Allocating more than 4 MB looks
 * at interrupts, and keeps nothing if one of them ends the query.
 */
extern const qb_memory *ContextMemory(MemoryContext context, qb_memory *memory);

/*
 * The same memory, but without zeros where that saves time: for bytes that are all written
 * before anybody reads them.
 */
extern const qb_memory *MemoryToFill(const qb_memory *memory, qb_memory *to_fill);

/*
 * The same as ContextMemory() for many states of which only one at a time has a table.  A
 * released table is kept for the next state, with the pages that the system has provided
 * for it.
 */
typedef struct KeptTable
{
	MemoryContext context;
	void *table; /* NULL: no table yet */
	size_t bytes;
	bool used;
} KeptTable;

/* Free an array that may not be there, and forget it. */
static inline void
FreeArray(void **array)
{
	if (*array)
		pfree(*array);
	*array = NULL;
}

extern void KeptTableInit(KeptTable *kept, MemoryContext context);
extern const qb_memory *KeptTableMemory(KeptTable *kept, qb_memory *memory);

#endif
