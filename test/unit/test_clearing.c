/*
 * test_clearing.c
 *		Clearing a large table checks for interrupts, and an interrupt leaks no memory.
 *
 * pgbase/memory.c is compiled against PostgreSQL's headers, but not linked with
 * PostgreSQL.  This file defines the functions that memory.c calls: counted allocations,
 * and a counted check for interrupts that can jump.
 *
 * test/unit/test_clearing.c
 */
#include "postgres.h"

#undef fprintf
#undef printf
#undef snprintf
#undef vsnprintf

#include "support.h"

#include "miscadmin.h"
#include "pgbase/memory.h"
#include "utils/memutils.h"

#define MB          ((size_t) 1 << 20)
#define AT_ONCE     (4 * MB) /* largest number of bytes cleared between two checks for interrupts */
#define TABLE_BYTES (66 * MB + 8)

volatile sig_atomic_t InterruptPending;
sigjmp_buf *PG_exception_stack;
ErrorContextCallback *error_context_stack;
static int checks;  /* checks for interrupts */
static int jump_at; /* number of the check that ends the query; 0: none */
static int chunks;  /* chunks not yet released */

void *
MemoryContextAllocExtended(MemoryContext context, Size size, int flags)
{
	void *chunk = malloc(size);

	(void) context;
	(void) flags;
	REQUIRE(chunk != NULL);
	memset(chunk, 0xA5, size < 100 ? size : 100);
	((char *) chunk)[size - 1] = (char) 0xA5;
	chunks++;
	return chunk;
}

void
pfree(void *pointer)
{
	free(pointer);
	chunks--;
}

void
pg_re_throw(void)
{
	siglongjmp(*PG_exception_stack, 1);
}

void
ProcessInterrupts(void)
{
	if (++checks == jump_at)
		siglongjmp(*PG_exception_stack, 1);
}

static void
require_zeros(const char *table, size_t bytes)
{
	REQUIRE(table[0] == 0 && memcmp(table, table + 1, bytes - 1) == 0);
}

/* Allocate while an interrupt is pending.  Returns NULL if the interrupt ended the query. */
static void *
alloc_interrupted(const qb_memory *memory, size_t bytes, int at)
{
	sigjmp_buf query;
	void *volatile table = NULL;

	checks = 0;
	jump_at = at;
	InterruptPending = true;
	PG_exception_stack = &query;
	if (sigsetjmp(query, 0) == 0)
		table = memory->alloc(memory->context, bytes);
	PG_exception_stack = NULL;
	InterruptPending = false;
	return table;
}

static void
large_tables_are_cleared_in_steps(void **state)
{
	qb_memory memory;
	char *table;

	(void) state;
	ContextMemory(NULL, &memory);
	table = alloc_interrupted(&memory, TABLE_BYTES, 0);
	REQUIRE(table != NULL && checks == (int) (TABLE_BYTES / AT_ONCE));
	require_zeros(table, TABLE_BYTES);
	memory.release(memory.context, table);
	REQUIRE(chunks == 0);
}

static void
an_interrupt_leaves_nothing(void **state)
{
	qb_memory memory;
	int at;

	(void) state;
	ContextMemory(NULL, &memory);
	for (at = 1; at <= (int) (TABLE_BYTES / AT_ONCE); at++)
	{
		REQUIRE(alloc_interrupted(&memory, TABLE_BYTES, at) == NULL);
		REQUIRE(checks == at && chunks == 0);
	}
}

/* ContextMemory() and KeptTableMemory() clear small tables without a check for interrupts. */
static void
small_tables_take_no_check(void **state)
{
	static const size_t sizes[] = { 8, 4096, MB, AT_ONCE };
	size_t i;

	(void) state;
	for (i = 0; i < ALL_OF(sizes); i++)
	{
		qb_memory memory;
		KeptTable kept;
		char *table;

		ContextMemory(NULL, &memory);
		table = alloc_interrupted(&memory, sizes[i], 1);
		REQUIRE(table != NULL && checks == 0);
		require_zeros(table, sizes[i]);
		memory.release(memory.context, table);

		KeptTableInit(&kept, NULL);
		KeptTableMemory(&kept, &memory);
		table = alloc_interrupted(&memory, sizes[i], 1);
		REQUIRE(table != NULL && checks == 0);
		require_zeros(table, sizes[i]);
		memory.release(memory.context, table);
		if (kept.table)
			pfree(((void **) kept.table)[-1]);
		REQUIRE(chunks == 0);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(large_tables_are_cleared_in_steps),
		cmocka_unit_test(an_interrupt_leaves_nothing),
		cmocka_unit_test(small_tables_take_no_check),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
