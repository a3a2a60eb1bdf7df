/*
 * names.c
 *		Finds the worker's cached values and chunks by name.
 *
 * A query over many partitions looks up each chunk of each column.  Therefore cached handles are in
 * a hash table with chains, in shared memory.  The hash does not include the number of the chunk,
 * so that all chunks of a column are in one chain.
 *
 * src/gpu/names.c
 */
#include "gpu/gpu.h"
#include "gpu/shared.h"

#include "base/slot.h"

/* The chain of a name: index + 1 of its first handle; 0: the chain is empty. */
static int *
chain_of(const StoredName *name)
{
	StoredName common = *name;
	uint64 hash;

	if (name->family == GPU_FAMILY_COLUMN)
		common.id[0] = 0;
	hash = qb_hash_bytes((const uint8 *) &common, sizeof(common), gpu_shared->secret);
	return &gpu_shared->named[hash % GPU_HANDLES];
}

/* ---- functions whose caller holds the lock ---- */

void
GpuAddName(GpuHandle *handle)
{
	int *chain = chain_of(&handle->key);

	handle->next_named = *chain;
	*chain = (int) (handle - gpu_shared->handle) + 1;
}

void
GpuRemoveName(const GpuHandle *handle)
{
	int *link = chain_of(&handle->key);

	while (&gpu_shared->handle[*link - 1] != handle)
	{
		link = &gpu_shared->handle[*link - 1].next_named;
		Assert(*link != 0);
	}
	*link = handle->next_named;
}

/* ---- functions that take the lock themselves ---- */

/*
 * Find the cached value of this name, and note its use; false: the value is not cached.  "device"
 * may be NULL.
 */
bool
GpuFindCached(const StoredName *name, GpuRef *ref, int *device)
{
	const GpuHandle *found = NULL;
	int i;

	LWLockAcquire(gpu_shared->handles, LW_SHARED);
	for (i = *chain_of(name); i != 0 && found == NULL; i = gpu_shared->handle[i - 1].next_named)
		if (memcmp(&gpu_shared->handle[i - 1].key, name, sizeof(*name)) == 0)
			found = &gpu_shared->handle[i - 1];
	if (found)
	{
		*ref = GpuRefOf(found);
		if (device)
			*device = found->device;
		pg_atomic_write_u64(&gpu_shared->handle[ref->index].used,
							pg_atomic_add_fetch_u64(&gpu_shared->clock, 1));
	}
	LWLockRelease(gpu_shared->handles);
	return found != NULL;
}

/*
 * Call "visit" for each cached chunk of the column that "column" names.  "visit" must be short, and
 * must not fail.
 */
void
GpuEachChunk(const StoredName *column, void (*visit)(GpuHandle *handle, void *context),
			 void *context)
{
	int i;

	LWLockAcquire(gpu_shared->handles, LW_SHARED);
	for (i = *chain_of(column); i != 0; i = gpu_shared->handle[i - 1].next_named)
	{
		GpuHandle *handle = &gpu_shared->handle[i - 1];

		if (handle->key.family == column->family && handle->key.kind == column->kind &&
			memcmp(handle->key.header, column->header, sizeof(column->header)) == 0)
			visit(handle, context);
	}
	LWLockRelease(gpu_shared->handles);
}

/* Call "visit" for each cached handle of a family.  "visit" must be short, and must not fail. */
void
GpuEachCached(GpuFamily family, void (*visit)(GpuHandle *handle, void *context), void *context)
{
	uint32 left;
	int i;

	LWLockAcquire(gpu_shared->handles, LW_SHARED);
	left = pg_atomic_read_u32(&gpu_shared->cache_usage[family == GPU_FAMILY_COLUMN].count);
	for (i = 0; i < GPU_HANDLES && left > 0; i++)
		if (gpu_shared->handle[i].state == HANDLE_CACHED && gpu_shared->handle[i].family == family)
		{
			visit(&gpu_shared->handle[i], context);
			left--;
		}
	LWLockRelease(gpu_shared->handles);
}
