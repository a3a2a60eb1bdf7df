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
 * An allocator that uses a context, as ContextMemory() does, and keeps one freed table for the next
 * state, with the pages that the system has provided.  It is for many states, one of which has a
 * table at a time.
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
