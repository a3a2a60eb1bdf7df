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
 * Fill and return "memory" so that it allocates from "context".  Allocating more than 4 MB checks
 * for interrupts, and frees the memory if one of them ends the query.
 */
extern const qb_memory *ContextMemory(MemoryContext context, qb_memory *memory);

/*
 * Fill and return "to_fill" so that it allocates as "memory" does, but without zeroing where that
 * saves time.  It is for bytes that are all written before anybody reads them.
 */
extern const qb_memory *MemoryToFill(const qb_memory *memory, qb_memory *to_fill);

/*
 * Memory as that of ContextMemory(), for many states of which only one at a time has a table.  A
 * freed table is kept for the next state, together with the pages that the system has provided for
 * it.
 */
typedef struct KeptTable
{
	MemoryContext context;
	void *table; /* NULL: no table yet */
	size_t bytes;
	bool used;
} KeptTable;

/* Free an array, unless it is NULL, and set the pointer to NULL. */
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
