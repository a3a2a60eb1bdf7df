/*
 * column_cuda.c
 *		Copies of columns on a GPU: the worker's operations on the CUDA engine.
 *
 * Keys are gathered into a buffer of each device, which goes with the last copy there.
 * The kernels that read the buffer and those that fill it anew run in order.
 *
 * src/gpu/column_cuda.c
 */
#include "gpu/column_device.h"
#include "gpu/column_request.h"
#include "gpu/cuda.h"

#include "column_cuda.h"

typedef struct Column
{
	GpuCudaDevice *device;
	uint64 *key;
	uint64 room;
	uint64 *null; /* bitmap of NULLs, or NULL */
	uint64 null_words;
} Column;

/* Of each device that has copies. */
typedef struct Gathered
{
	GpuCudaDevice *device;
	int columns;
	uint64 *key;
	uint64 room;
	void *runs; /* device memory for the list of runs or tiles */
	uint64 runs_room;
	uint64 *table; /* of distinct keys, while they are counted */
	uint64 table_room;
} Gathered;

static Gathered gathered[GPU_DEVICES_MAX];

static Gathered *
gathered_of(GpuCudaDevice *device)
{
	int i;

	for (i = 0; i < GPU_DEVICES_MAX - 1; i++)
		if (gathered[i].device == device || gathered[i].device == NULL)
			break;
	gathered[i].device = device;
	return &gathered[i];
}

static void
free_gathered(Gathered *g)
{
	qs_cuda_keys_destroy(g->device->gpu, g->key, g->room);
	qs_cuda_keys_destroy(g->device->gpu, g->runs, g->runs_room);
	qs_cuda_keys_destroy(g->device->gpu, g->table, g->table_room);
	g->key = g->runs = g->table = NULL;
	g->room = g->runs_room = g->table_room = 0;
}

static qb_status
cuda_create(void *device, void **column)
{
	Column *made = calloc(1, sizeof(Column));

	*column = made;
	if (made == NULL)
		return QB_NO_MEMORY;
	made->device = device;
	gathered_of(made->device)->columns++;
	return QB_OK;
}

static void
cuda_destroy(void *column)
{
	Column *c = column;
	Gathered *g = gathered_of(c->device);

	qs_cuda_keys_destroy(c->device->gpu, c->key, c->room);
	qs_cuda_keys_destroy(c->device->gpu, c->null, c->null_words);
	if (--g->columns == 0)
		free_gathered(g);
	free(c);
}

static qb_status
make_keys(GpuCudaDevice *device, uint64 room, uint64 **key)
{
	*key = NULL;
	if (!GpuCudaHasRoom(device, room * sizeof(uint64)))
		return QB_NO_MEMORY;
	return qs_cuda_keys_create(device->gpu, room, key);
}

static qb_status
cuda_resize(void *column, uint64 room, uint64 kept)
{
	Column *c = column;
	uint64 *key = NULL;
	qb_status status = QB_OK;

	if (room > 0)
		status = make_keys(c->device, room, &key);
	if (status == QB_NO_MEMORY)
	{
		free_gathered(gathered_of(c->device)); /* no query is being served */
		status = make_keys(c->device, room, &key);
	}
	if (status == QB_OK && kept > 0)
		status = qs_cuda_keys_copy(c->device->gpu, key, c->key, kept);
	if (status != QB_OK)
	{
		qs_cuda_keys_destroy(c->device->gpu, key, room);
		return status;
	}
	qs_cuda_keys_destroy(c->device->gpu, c->key, c->room);
	c->key = key;
	c->room = room;
	return QB_OK;
}

static qb_status
cuda_put(void *column, uint64 first, const uint64 *key, size_t count)
{
	const Column *c = column;

	return qs_cuda_keys_put(c->device->gpu, c->key + first, key, count);
}

static qb_status
cuda_put_nulls(void *column, const uint64 *nulls, uint64 words)
{
	Column *c = column;
	qb_status status = make_keys(c->device, words, &c->null);

	if (status != QB_OK)
		return status;
	c->null_words = words;
	return qs_cuda_keys_put(c->device->gpu, c->null, nulls, words);
}

/* Have room for so many words of device memory; what was in them is lost. */
static qb_status
have_room(GpuCudaDevice *device, uint64 **words, uint64 *room, uint64 wanted)
{
	qb_status status;

	if (wanted <= *room)
		return QB_OK;
	qs_cuda_keys_destroy(device->gpu, *words, *room);
	*room = 0;
	status = make_keys(device, wanted, words);
	if (status == QB_OK)
		*room = wanted;
	return status;
}

static qb_status
cuda_gather(void *column, const GpuRun *run, int runs, const uint64 **key)
{
	const Column *c = column;
	Gathered *g = gathered_of(c->device);
	qs_cuda_run *list;
	uint64 count = 0;
	qb_status status;
	int i;

	*key = c->key + run[0].first;
	if (runs == 1)
		return QB_OK;
	list = malloc(runs * sizeof(*list));
	if (list == NULL)
		return QB_NO_MEMORY;
	for (i = 0; i < runs; i++)
	{
		list[i] = (qs_cuda_run){ .first = run[i].first, .count = run[i].count, .to = count };
		count += run[i].count;
	}
	status = have_room(c->device, &g->key, &g->room, count);
	if (status == QB_OK)
		status = have_room(c->device, (uint64 **) &g->runs, &g->runs_room,
						   runs * sizeof(*list) / sizeof(uint64));
	if (status == QB_OK)
		status = qs_cuda_keys_gather(c->device->gpu, g->key, c->key, list, runs, g->runs);
	free(list);
	*key = g->key;
	return status;
}

static qs_cuda_column
values_of(const Column *c)
{
	return (qs_cuda_column){ .value = c->key, .null = c->null };
}

static qs_cuda_rows
device_rows(const Column *c, const GpuColumnRows *rows)
{
	qs_cuda_rows device = { .tests = *rows->tests,
							.no_keys = rows->no_keys,
							.key = values_of(c),
							.tiles = (uint32) rows->tiles };
	uint32 i;

	for (i = 0; i < rows->tests->columns; i++)
		device.tested[i] = values_of(rows->tested[i]);
	return device;
}

/* Have room for so many keys of rows, and for their tiles with so many words before them. */
static qb_status
have_room_for(Gathered *g, const GpuColumnRows *rows, uint64 keys, uint64 words)
{
	qb_status status = have_room(g->device, &g->key, &g->room, keys);

	words += (rows->tiles * sizeof(qb_tile) + sizeof(uint64) - 1) / sizeof(uint64);
	if (status == QB_OK)
		status = have_room(g->device, (uint64 **) &g->runs, &g->runs_room, words);
	return status;
}

static qb_status
cuda_select(void *column, const GpuColumnRows *rows, const uint64 **key, uint64 *count)
{
	const Column *c = column;
	Gathered *g = gathered_of(c->device);
	qs_cuda_rows device = device_rows(c, rows);
	qb_status status = have_room_for(g, rows, rows->rows, 0);

	if (status == QB_OK)
		status = qs_cuda_keys_select(c->device->gpu, g->key, &device, rows->tile, g->runs, count);
	*key = g->key;
	return status;
}

static qb_status
cuda_pairs(void *column, const GpuColumnRows *rows, uint32 tested, const uint64 **key,
		   const uint64 **pair, uint64 *count)
{
	const Column *c = column;
	Gathered *g = gathered_of(c->device);
	qs_cuda_rows device = device_rows(c, rows);
	qb_status status = have_room_for(g, rows, 2 * rows->rows, 0);

	if (status == QB_OK)
		status = qs_cuda_keys_pairs(c->device->gpu, g->key, g->key + rows->rows, &device, tested,
									rows->tile, g->runs, count);
	*key = g->key;
	*pair = g->key + rows->rows;
	return status;
}

static qb_status
cuda_split(void *column, const GpuColumnRows *rows, const qb_groups *groups, const uint64 **key,
		   uint64 *count)
{
	const Column *c = column;
	Gathered *g = gathered_of(c->device);
	qs_cuda_rows device = device_rows(c, rows);
	qb_status status = have_room_for(g, rows, rows->rows, QS_CUDA_SPLIT_WORDS);

	if (status == QB_OK)
		status =
			qs_cuda_keys_split(c->device->gpu, g->key, &device, rows->tile, groups, g->runs, count);
	*key = g->key;
	return status;
}

static qb_status
cuda_fetch(void *column, const uint64 *key, size_t count, uint64 *to)
{
	return qs_cuda_keys_get(((Column *) column)->device->gpu, to, key, count);
}

static qb_status
cuda_counts(void *column, const uint64 *key, size_t count, int most, uint64 *distinct, int64 *times,
			int *found)
{
	GpuCudaDevice *device = ((Column *) column)->device;
	Gathered *g = gathered_of(device);
	qb_status status = have_room(device, &g->table, &g->table_room, QS_CUDA_COUNTS_WORDS);
	uint32 distinct_keys = 0;

	StaticAssertStmt(GPU_COUNTS_MAX <= QS_CUDA_COUNTS_MAX, "a table has room for a reply");
	if (status == QB_OK)
		status = qs_cuda_keys_count(device->gpu, key, count, (uint32) most, g->table, distinct,
									times, &distinct_keys);
	*found = (int) distinct_keys;
	return status;
}

static qb_status
cuda_many(void *column, const uint64 *key, const uint64 *count, uint32 groups, int most, bool *many)
{
	GpuCudaDevice *device = ((Column *) column)->device;
	Gathered *g = gathered_of(device);
	qb_status status =
		have_room(device, &g->table, &g->table_room, qs_cuda_many_words(groups, (uint32) most));

	if (status == QB_OK)
		status = qs_cuda_keys_many(device->gpu, key, count, groups, (uint32) most, g->table, many);
	return status;
}

static uint64
cuda_bytes(const void *column)
{
	const Column *c = column;

	return (c->room + c->null_words) * sizeof(uint64);
}

const GpuColumnDeviceOps gpu_cuda_columns = {
	.create = cuda_create,
	.destroy = cuda_destroy,
	.resize = cuda_resize,
	.put = cuda_put,
	.put_nulls = cuda_put_nulls,
	.gather = cuda_gather,
	.select = cuda_select,
	.pairs = cuda_pairs,
	.split = cuda_split,
	.fetch = cuda_fetch,
	.counts = cuda_counts,
	.many = cuda_many,
	.bytes = cuda_bytes,
};
