/*
 * memory.h
 *		A memory context as the allocator of what knows no PostgreSQL.
 *
 * src/pg/memory.h
 */
#ifndef QS_PG_MEMORY_H
#define QS_PG_MEMORY_H

#include "postgres.h"

#include "base/memory.h"

/* Fill and return "memory" so that it serves from "context". */
extern const qs_memory *ContextMemory(MemoryContext context, qs_memory *memory);
extern MemoryContext StatesContext(MemoryContext aggregate, const char *name);

#endif
