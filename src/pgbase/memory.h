/*
 * memory.h
 *		Allocates from a memory context for code that does not call PostgreSQL; reuses a freed
 *		table.
 *
 * src/pgbase/memory.h
 */
#ifndef QS_PGBASE_MEMORY_H
#define QS_PGBASE_MEMORY_H

#include "postgres.h"

#include "base/status.h"

/*
 * Fill and return "memory", which allocates from "context".  Allocating more than 4 MB checks for
 * interrupts.  If an interrupt ends the query, the new memory is freed.
 */
extern const qb_memory *ContextMemory(MemoryContext context, qb_memory *memory);

/*
 * Fill and return "to_fill", which allocates like "memory", but where possible without zeroing.
 * The caller must write all bytes before reading them.
 */
extern const qb_memory *MemoryToFill(const qb_memory *memory, qb_memory *to_fill);

/*
 * An allocator like ContextMemory() that keeps one freed table of 64 kB to 4 MB, with the pages
 * that the kernel has provided, for a later table of the same size.  It is meant for many states,
 * of which only one has a table at a time.
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
