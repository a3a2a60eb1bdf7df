/*
 * memory.c
 *		Allocates from a memory context for code that does not call PostgreSQL; reuses a freed
 *		table.
 *
 * A family needs zeroed memory that is aligned to a cache line, and NULL instead of an error if
 * there is no memory.  A pointer to PostgreSQL's chunk precedes the aligned memory, for pfree().
 * Small tables are aligned only to 8 bytes, to save memory: a query may have very many small
 * groups, each with a small table.  For large tables, huge pages are requested before the first
 * access.  With small pages, nearly every random access to a table of 64 MB misses the address
 * translation cache.
 *
 * Zeroing 512 MB can take seconds on a busy machine, mainly because the kernel provides pages at
 * the first access.  So memory is zeroed in steps, with a check for interrupts between two steps.
 * Large chunks that are new to the process are already zero, but PostgreSQL does not say which
 * chunks are new.
 *
 * A copy from a device overwrites a whole table.  Zeroing the table first would take about a third
 * of the time of the copy.  So MemoryToFill() allocates without zeroing.
 *
 * src/pgbase/memory.c
 */
#include "pgbase/memory.h"

#include <sys/mman.h>

#include "miscadmin.h"
#include "utils/memutils.h"

#define SMALL_TABLE 4096
#define HUGE_PAGE   (2 * 1024 * 1024)
#define LARGE_TABLE (2 * HUGE_PAGE)
#define KEPT_TABLE  (64 * 1024)
#define CLEAR_STEP  LARGE_TABLE /* bytes cleared between two checks for interrupts */

/* Alignment for a table of this size. */
static size_t
alignment(size_t bytes)
{
	if (bytes < SMALL_TABLE)
		return sizeof(void *);
	return bytes < LARGE_TABLE ? QB_CACHE_LINE : HUGE_PAGE;
}

/* Request huge pages.  A failure is ignored, because huge pages only save time. */
static void
want_huge_pages(char *aligned, size_t bytes)
{
#ifdef MADV_HUGEPAGE
	(void) madvise(aligned, bytes / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
#endif
}

/* Allocate memory without zeroing it.  NULL: there is no memory. */
static void *
alloc_to_fill(void *context, size_t bytes)
{
	size_t align = alignment(bytes);
	char *raw;
	char *aligned;

	raw = MemoryContextAllocExtended((MemoryContext) context, bytes + align + sizeof(void *),
									 MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM);
	if (raw == NULL)
		return NULL;
	aligned = (char *) TYPEALIGN(align, raw + sizeof(void *));
	((void **) aligned)[-1] = raw;
	if (align == HUGE_PAGE)
		want_huge_pages(aligned, bytes);
	return aligned;
}

static void
context_release(void *context, void *pointer)
{
	(void) context;
	pfree(((void **) pointer)[-1]);
}

static void
clear_in_steps(char *table, size_t bytes)
{
	for (; bytes > CLEAR_STEP; table += CLEAR_STEP, bytes -= CLEAR_STEP)
	{
		memset(table, 0, CLEAR_STEP);
		CHECK_FOR_INTERRUPTS();
	}
	memset(table, 0, bytes);
}

/*
 * Clear a large table in steps.  If the query is cancelled, the table is freed, because no caller
 * has a pointer to it yet.
 */
static void
clear_large(void *table, size_t bytes)
{
	PG_TRY();
	{
		clear_in_steps(table, bytes);
	}
	PG_CATCH();
	{
		context_release(NULL, table);
		PG_RE_THROW();
	}
	PG_END_TRY();
}

static void *
context_alloc(void *context, size_t bytes)
{
	void *aligned = alloc_to_fill(context, bytes);

	if (aligned && bytes > CLEAR_STEP)
		clear_large(aligned, bytes);
	else if (aligned)
		memset(aligned, 0, bytes);
	return aligned;
}

static void
check_interrupts(void)
{
	CHECK_FOR_INTERRUPTS();
}

static void *
kept_alloc(void *kept, size_t bytes)
{
	KeptTable *k = kept;

	if (k->table && !k->used && k->bytes == bytes)
	{
		k->used = true;
		memset(k->table, 0, bytes);
		return k->table;
	}
	if (k->table || bytes < KEPT_TABLE || bytes >= LARGE_TABLE)
		return context_alloc(k->context, bytes);
	k->table = context_alloc(k->context, bytes);
	k->bytes = bytes;
	k->used = k->table != NULL;
	return k->table;
}

static void
kept_release(void *kept, void *pointer)
{
	KeptTable *k = kept;

	if (pointer == k->table)
		k->used = false;
	else
		context_release(k->context, pointer);
}

/* Initialize "kept" without a table.  Also called after the context was reset. */
void
KeptTableInit(KeptTable *kept, MemoryContext context)
{
	memset(kept, 0, sizeof(*kept));
	kept->context = context;
}

const qb_memory *
KeptTableMemory(KeptTable *kept, qb_memory *memory)
{
	memory->alloc = kept_alloc;
	memory->release = kept_release;
	memory->context = kept;
	memory->pause = check_interrupts;
	return memory;
}

const qb_memory *
ContextMemory(MemoryContext context, qb_memory *memory)
{
	memory->alloc = context_alloc;
	memory->release = context_release;
	memory->context = context;
	memory->pause = check_interrupts;
	return memory;
}

const qb_memory *
MemoryToFill(const qb_memory *memory, qb_memory *to_fill)
{
	*to_fill = *memory;
	if (memory->alloc == context_alloc)
		to_fill->alloc = alloc_to_fill;
	return to_fill;
}
