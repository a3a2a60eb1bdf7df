/*
 * test_names.c
 *		Cached handles by name: random additions, removals and lookups, compared with a
 *		model.
 *
 * All chunks of a column are in one chain.  Some chains have handles of several columns and
 * values.
 *
 * test/unit/test_names.c
 */
#include "postgres.h"

#undef fprintf
#undef printf
#undef snprintf
#undef vsnprintf

#include "locks.h"
#include "support.h"

#include "gpu/gpu.h"
#include "gpu/shared.h"

enum
{
	COLUMNS = 150,
	CHUNKS = 9,
	VALUES = 400,
	NAMES = COLUMNS * CHUNKS + VALUES,
	STEPS = 10000,
	SECRETS = 8
};

GpuShared *gpu_shared;

/* Returns the i-th name: a chunk of a column, or a value.  Values differ only in their ids. */
static StoredName
name_of(int i)
{
	StoredName name;

	memset(&name, 0, sizeof(name));
	name.family = i < COLUMNS * CHUNKS ? GPU_FAMILY_COLUMN : GPU_FAMILY_SKETCH;
	name.id[0] = i < COLUMNS * CHUNKS ? i % CHUNKS : i;
	name.header[0] = (uint8) (i < COLUMNS * CHUNKS ? i / CHUNKS : 0);
	return name;
}

/* Returns the handle of the i-th name. */
static GpuHandle *
handle_of(int i)
{
	return &gpu_shared->handle[(i * 7) % GPU_HANDLES];
}

static void
toggle(int i, bool *there)
{
	GpuHandle *handle = handle_of(i);

	if (there[i])
		GpuRemoveName(handle);
	else
	{
		handle->state = HANDLE_CACHED;
		handle->key = name_of(i);
		GpuAddName(handle);
	}
	there[i] = !there[i];
}

static void
count_chunk(GpuHandle *handle, void *context)
{
	int *seen = context;

	seen[handle->key.id[0]]++;
}

static void
check_column(int column, const bool *there)
{
	StoredName name = name_of(column * CHUNKS);
	int seen[CHUNKS] = { 0 };
	int i;

	GpuEachChunk(&name, count_chunk, seen);
	for (i = 0; i < CHUNKS; i++)
		assert_int_equal(seen[i], there[column * CHUNKS + i]);
}

static void
check_name(int i, const bool *there)
{
	StoredName name = name_of(i);
	GpuRef ref;
	bool found = GpuFindCached(&name, &ref, NULL);

	assert_int_equal(found, there[i]);
	if (found)
		assert_ptr_equal(&gpu_shared->handle[ref.index], handle_of(i));
}

/* Run all steps with one secret.  The secret decides which columns and values share a chain. */
static void
run(test_rng *random)
{
	bool there[NAMES] = { false };
	int i;

	memset(gpu_shared, 0, sizeof(*gpu_shared));
	for (i = 0; i < 4; i++)
		gpu_shared->secret[i] = test_random(random);
	for (i = 0; i < STEPS; i++)
	{
		toggle((int) test_below(random, NAMES), there);
		check_name((int) test_below(random, NAMES), there);
		check_column((int) test_below(random, COLUMNS), there);
	}
}

static void
names_are_found(void **state)
{
	test_rng random = test_seeded(1);
	int i;

	(void) state;
	gpu_shared = calloc(1, sizeof(GpuShared));
	assert_non_null(gpu_shared);
	for (i = 0; i < SECRETS; i++)
		run(&random);
	free(gpu_shared);
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(names_are_found) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
