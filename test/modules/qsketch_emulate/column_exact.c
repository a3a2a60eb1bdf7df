/*
 * column_exact.c
 *		Exact counts of keys on an emulated device, which is the CPU.
 *
 * As on a GPU, keys are collected until the array is full.  Then they are sorted and counted, and
 * merged into the list of distinct keys.
 *
 * test/modules/qsketch_emulate/column_exact.c
 */
#include "emulate.h"

#include "column_cuda.h"

/* A key, and how often it occurs. */
typedef struct Counted
{
	int64 key;
	int64 times;
} Counted;

struct qs_cuda_exact
{
	qs_cuda *device;
	uint64 room;
	uint64 used;   /* number of items of "list": distinct keys and single keys */
	uint64 listed; /* number of distinct keys in "list" */
	Counted *list; /* distinct keys, sorted by key, and then single keys */
	Counted *side; /* output of the next merge */
	Counted *sum;  /* sum of the slices in this device's range; ordered by count at the end */
	uint64 found;  /* keys in "sum" */
};

static void
emulated_destroy(qs_cuda_exact *e)
{
	const qb_memory *memory = &e->device->memory;

	if (e->list)
		memory->release(memory->context, e->list);
	if (e->side)
		memory->release(memory->context, e->side);
	free(e);
}

static qb_status
emulated_create(qs_cuda *device, uint64 room, qs_cuda_exact **exact)
{
	qs_cuda_exact *created = calloc(1, sizeof(*created));
	const qb_memory *memory = &device->memory;

	*exact = NULL;
	if (created == NULL)
		return QB_NO_MEMORY;
	created->device = device;
	created->room = room;
	created->list = memory->alloc(memory->context, room * sizeof(Counted));
	created->side = memory->alloc(memory->context, room * sizeof(Counted));
	if (created->list && created->side)
	{
		*exact = created;
		return QB_OK;
	}
	emulated_destroy(created);
	return QB_NO_MEMORY;
}

static int
compare_keys(const void *a, const void *b)
{
	int64 x = ((const Counted *) a)->key;
	int64 y = ((const Counted *) b)->key;

	return (x > y) - (x < y);
}

/* Compare as ORDER BY count DESC, key does. */
static int
compare_times(const void *a, const void *b)
{
	int64 x = ((const Counted *) a)->times;
	int64 y = ((const Counted *) b)->times;

	return x != y ? (x < y) - (x > y) : compare_keys(a, b);
}

/* Add up the counts of equal keys, which are neighbours; returns the number of distinct keys. */
static uint64
add_up(Counted *counted, uint64 count)
{
	uint64 distinct = 0;
	uint64 i;

	for (i = 0; i < count; i++)
		if (distinct > 0 && counted[distinct - 1].key == counted[i].key)
			counted[distinct - 1].times += counted[i].times;
		else
			counted[distinct++] = counted[i];
	return distinct;
}

/* Merge the list with the single keys after it, and add up the counts of equal keys. */
static void
materialize(qs_cuda_exact *e)
{
	const Counted *a = e->list;
	const Counted *b = e->list + e->listed;
	const Counted *a_end = b;
	const Counted *b_end = e->list + e->used;
	Counted *to = e->side;
	uint64 count = 0;

	qsort(e->list + e->listed, e->used - e->listed, sizeof(Counted), compare_keys);
	while (a < a_end || b < b_end)
		to[count++] = *(b == b_end || (a < a_end && a->key <= b->key) ? a++ : b++);
	e->side = e->list;
	e->list = to;
	e->listed = e->used = add_up(to, count);
}

static qb_status
emulated_add(qs_cuda_exact *e, const uint64 *key, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
	{
		if (e->used == e->room)
		{
			materialize(e);
			if (e->listed > e->room / 2)
				return QB_NO_MEMORY;
		}
		e->list[e->used++] = (Counted){ .key = (int64) key[i], .times = 1 };
	}
	return QB_OK;
}

static qb_status
emulated_list(qs_cuda_exact *e, uint64 *listed, int64 *sample)
{
	uint32 samples;
	uint32 i;

	materialize(e);
	gpu_emulated_wait();
	samples = qs_cuda_samples(e->listed);
	for (i = 0; i < samples; i++)
		sample[i] = e->list[i * (e->listed / samples)].key;
	*listed = e->listed;
	return QB_OK;
}

static qb_status
emulated_find(qs_cuda_exact *e, const int64 *bound, uint32 bounds, uint64 *index)
{
	uint32 i;

	for (i = 0; i < bounds; i++)
		for (index[i] = 0; index[i] < e->listed && e->list[index[i]].key < bound[i]; index[i]++)
			;
	return QB_OK;
}

/*
 * The first call uses the slice of this device's list in place, because no other device reads this
 * slice.
 */
static qb_status
emulated_join(qs_cuda_exact *e, const qs_cuda_exact_slice *slice)
{
	Counted *behind = e->list + e->listed;

	if (slice->exact == e)
	{
		e->sum = e->list + slice->first;
		e->found = slice->count;
		return QB_OK;
	}
	if (slice->count == 0)
		return QB_OK;
	if (e->found + slice->count > e->room - e->listed)
		return QB_NO_MEMORY;
	memmove(behind, e->sum, e->found * sizeof(Counted));
	memcpy(behind + e->found, slice->exact->list + slice->first, slice->count * sizeof(Counted));
	gpu_emulated_wait();
	qsort(behind, e->found + slice->count, sizeof(Counted), compare_keys);
	e->sum = behind;
	e->found = add_up(behind, e->found + slice->count);
	return QB_OK;
}

static qb_status
emulated_order(qs_cuda_exact *e, uint64 *found)
{
	qsort(e->sum, e->found, sizeof(Counted), compare_times);
	*found = e->found;
	return QB_OK;
}

static qb_status
emulated_get(qs_cuda_exact *e, uint64 first, size_t count, uint64 *key, int64 *times)
{
	const Counted *from = e->sum + first;
	size_t i;

	for (i = 0; i < count; i++)
	{
		key[i] = (uint64) from[i].key;
		times[i] = from[i].times;
	}
	return QB_OK;
}

static uint64
emulated_bytes(const qs_cuda_exact *e)
{
	return e->room * 2 * sizeof(Counted);
}

const qs_exact_ops gpu_emulated_exact = {
	.create = emulated_create,
	.destroy = emulated_destroy,
	.add = emulated_add,
	.add_device = emulated_add,
	.list = emulated_list,
	.find = emulated_find,
	.join = emulated_join,
	.order = emulated_order,
	.get = emulated_get,
	.bytes = emulated_bytes,
};
