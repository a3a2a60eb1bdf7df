/*
 * memory.c
 *		The core's allocator over a memory context.
 *
 * The core wants zeroed memory aligned to a cache line and NULL, not an error,
 * when there is none.  In front of what it gets stands the pointer to what
 * PostgreSQL gave, for pfree().  Small tables are aligned to 8 bytes only:
 * they are those of small groups, of which there may be very many.
 *
 * src/pg/memory.c
 */
#include "pg/glue.h"

#include "utils/memutils.h"

#define CACHE_LINE  64
#define SMALL_TABLE 4096

static void *
sketch_alloc(void *context, size_t bytes)
{
	size_t align = bytes < SMALL_TABLE ? sizeof(void *) : CACHE_LINE;
	char *raw;
	char *aligned;

	raw = MemoryContextAllocExtended((MemoryContext) context, bytes + align + sizeof(void *),
									 MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM | MCXT_ALLOC_ZERO);
	if (raw == NULL)
		return NULL;
	aligned = (char *) TYPEALIGN(align, raw + sizeof(void *));
	((void **) aligned)[-1] = raw;
	return aligned;
}

static void
sketch_release(void *context, void *pointer)
{
	(void) context;
	pfree(((void **) pointer)[-1]);
}

/* Fill and return "memory" so that it serves from "context". */
const qs_memory *
SketchMemory(MemoryContext context, qs_memory *memory)
{
	memory->alloc = sketch_alloc;
	memory->release = sketch_release;
	memory->context = context;
	return memory;
}
