/*
 * memory.h
 *		A memory context as the allocator of what knows no PostgreSQL.
 *
 * src/pgbase/memory.h
 */
#ifndef QS_PG_MEMORY_H
#define QS_PG_MEMORY_H

#include "postgres.h"

#include "base/memory.h"

/* Fill and return "memory" so that it serves from "context". */
extern const qb_memory *ContextMemory(MemoryContext context, qb_memory *memory);

/*
 * The same for states of which one at a time has a table: that is kept for the
 * next one when it is released, and so is what the system did to provide it.
 */
typedef struct KeptTable
{
	MemoryContext context;
	void *table; /* NULL: there was none yet */
	size_t bytes;
	bool used;
} KeptTable;

extern void KeptTableInit(KeptTable *kept, MemoryContext context);
extern const qb_memory *KeptTableMemory(KeptTable *kept, qb_memory *memory);

#endif
