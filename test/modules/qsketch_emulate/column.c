/*
 * column.c
 *		Cached columns on an emulated device, which is the CPU.
 *
 * test/modules/qsketch_emulate/column.c
 */
#include "emulate.h"

#include "gpu/column_gpu.h"

#include "base/slot.h"
#include "column_cuda.h"

struct qs_cuda_copy
{
	qs_cuda *device;
	uint64 *key;
	uint64 room;
	uint64 *null; /* bitmap of NULLs, or NULL */
	uint64 null_words;
};

static qb_status
emulated_create(qs_cuda *device, qs_cuda_copy **copy)
{
	qs_cuda_copy *created = calloc(1, sizeof(*created));

	*copy = created;
	if (created == NULL)
		return QB_NO_MEMORY;
	created->device = device;
	return QB_OK;
}

static void
release(const qs_cuda_copy *c, uint64 *memory)
{
	if (memory)
		c->device->memory.release(c->device->memory.context, memory);
}

static void
emulated_destroy(qs_cuda_copy *c)
{
	release(c, c->key);
	release(c, c->null);
	free(c);
}

static qb_status
emulated_resize(qs_cuda_copy *c, uint64 room, uint64 kept)
{
	uint64 *key = NULL;

	if (room > 0)
	{
		key = c->device->memory.alloc(c->device->memory.context, room * sizeof(uint64));
		if (key == NULL)
			return QB_NO_MEMORY;
	}
	if (kept > 0)
		memcpy(key, c->key, kept * sizeof(uint64));
	release(c, c->key);
	c->key = key;
	c->room = room;
	return QB_OK;
}

static qb_status
emulated_put(qs_cuda_copy *c, uint64 first, const uint64 *key, size_t count)
{
	memcpy(c->key + first, key, count * sizeof(uint64));
	return QB_OK;
}

static qb_status
emulated_put_nulls(qs_cuda_copy *c, const uint64 *nulls, uint64 words)
{
	c->null = c->device->memory.alloc(c->device->memory.context, words * sizeof(uint64));
	if (c->null == NULL)
		return QB_NO_MEMORY;
	memcpy(c->null, nulls, words * sizeof(uint64));
	c->null_words = words;
	return QB_OK;
}

static bool
make_room(qs_cuda *device, uint64 keys)
{
	if (keys <= device->gathered_room)
		return true;
	free(device->gathered);
	device->gathered = malloc(keys * sizeof(uint64));
	device->gathered_room = device->gathered ? keys : 0;
	return device->gathered != NULL;
}

static qb_status
emulated_gather(qs_cuda_copy *c, qs_cuda_run *run, uint32 runs, const uint64 **key)
{
	uint64 count = 0;
	int i;

	*key = c->key + run[0].first;
	if (runs == 1)
		return QB_OK;
	for (i = 0; i < runs; i++)
		count += run[i].count;
	if (!make_room(c->device, count))
		return QB_NO_MEMORY;
	count = 0;
	for (i = 0; i < runs; i++)
	{
		memcpy(c->device->gathered + count, c->key + run[i].first, run[i].count * sizeof(uint64));
		count += run[i].count;
	}
	*key = c->device->gathered;
	gpu_emulated_wait();
	return QB_OK;
}

static bool
is_null(const qs_cuda_copy *c, uint64 row)
{
	return c->null && (c->null[row / 64] >> row % 64 & 1);
}

/* True if the i-th row of a tile passes all tests. */
static bool
passes(const qs_cuda_copy_rows *rows, const qb_tile *tile, uint32 i)
{
	const qb_selection *tests = rows->tests;
	bool pass = true;
	uint32 t;

	for (t = 0; t < tests->tests && pass; t++)
	{
		const qb_test *test = &tests->test[t];
		const qs_cuda_copy *c = rows->tested[test->column];
		uint64 row = tile->first[1 + test->column] + i;

		pass = qb_test_passes(test, tests->number, is_null(c, row), (int64) c->key[row]);
	}
	return pass;
}

/* Called for each row that passes the tests.  A key that is needed must not be NULL. */
typedef void (*EachRow)(void *context, const qs_cuda_copy_rows *rows, const qb_tile *tile,
						uint32 i);

static void
each_row(const qs_cuda_copy_rows *rows, uint32 chunks, EachRow each, void *context)
{
	uint32 c;
	uint32 i;
	int t;

	for (c = 0; c < chunks; c++)
		for (t = 0; t < rows[c].tiles; t++)
		{
			qb_tile tile = qs_cuda_tile(&rows[c], t);

			for (i = 0; i < tile.rows; i++)
				if ((rows[c].no_keys || !is_null(rows[c].keys, tile.first[0] + i)) &&
					passes(&rows[c], &tile, i))
					each(context, &rows[c], &tile, i);
		}
}

static uint64
key_of(const qs_cuda_copy_rows *rows, const qb_tile *tile, uint32 i)
{
	return rows->no_keys ? 0 : rows->keys->key[tile->first[0] + i];
}

/* Output arrays of keys, and of the values of a tested column. */
typedef struct Written
{
	uint64 *key;
	uint64 *pair; /* values of the tested column, or NULL */
	uint32 tested;
	uint64 count;
} Written;

static void
write_key(void *context, const qs_cuda_copy_rows *rows, const qb_tile *tile, uint32 i)
{
	Written *written = context;
	uint32 tested = written->tested;

	if (written->pair)
		written->pair[written->count] = rows->tested[tested]->key[tile->first[1 + tested] + i];
	written->key[written->count++] = key_of(rows, tile, i);
}

static qb_status
emulated_select(const qs_cuda_copy_rows *rows, uint32 chunks, const uint64 **key, uint64 *count)
{
	qs_cuda *device = rows->keys->device;
	Written written = { .count = 0 };

	if (!make_room(device, qs_cuda_rows_of(rows, chunks)))
		return QB_NO_MEMORY;
	written.key = device->gathered;
	each_row(rows, chunks, write_key, &written);
	*key = device->gathered;
	*count = written.count;
	gpu_emulated_wait();
	return QB_OK;
}

static qb_status
emulated_pairs(const qs_cuda_copy_rows *rows, uint32 tested, const uint64 **key,
			   const uint64 **pair, uint64 *count)
{
	qs_cuda *device = rows->keys->device;
	Written written = { .tested = tested };

	if (!make_room(device, 2 * rows->rows))
		return QB_NO_MEMORY;
	written.key = device->gathered;
	written.pair = device->gathered + rows->rows;
	each_row(rows, 1, write_key, &written);
	*key = written.key;
	*pair = written.pair;
	*count = written.count;
	gpu_emulated_wait();
	return QB_OK;
}

/* Output array of keys, ordered by group.  The first pass only counts the keys of each group. */
typedef struct Split
{
	const qb_groups *groups;
	uint64 *count;
	uint64 *key; /* NULL: the keys are counted */
	uint64 next[QB_GROUPS_MAX];
} Split;

static void
split_row(void *context, const qs_cuda_copy_rows *rows, const qb_tile *tile, uint32 i)
{
	Split *split = context;
	const qb_groups *groups = split->groups;
	const qs_cuda_copy *grouping = rows->tested[groups->column];
	uint64 row = tile->first[1 + groups->column] + i;
	uint32 g = qb_group_of(groups->number, groups->count, groups->null, is_null(grouping, row),
						   (int64) grouping->key[row]);

	if (g == groups->count)
		return;
	if (split->key)
		split->key[split->next[g]++] = key_of(rows, tile, i);
	else
		split->count[g]++;
}

static qb_status
emulated_split(const qs_cuda_copy_rows *rows, uint32 chunks, const qb_groups *groups,
			   const uint64 **key, uint64 *count)
{
	qs_cuda *device = rows->keys->device;
	Split split = { .groups = groups, .count = count };
	uint64 all = 0;
	uint32 g;

	if (!make_room(device, qs_cuda_rows_of(rows, chunks)))
		return QB_NO_MEMORY;
	memset(count, 0, groups->count * sizeof(*count));
	each_row(rows, chunks, split_row, &split);
	for (g = 0; g < groups->count; g++)
	{
		split.next[g] = all;
		all += count[g];
	}
	split.key = device->gathered;
	each_row(rows, chunks, split_row, &split);
	*key = device->gathered;
	gpu_emulated_wait();
	return QB_OK;
}

/* Slots of a hash table of distinct keys, which is at most half full. */
#define KEY_SLOTS (2 * GPU_COUNTS_MAX)

/*
 * True if the table does not have the key.  *slot becomes the slot of the key, or the free slot for
 * it.
 */
static bool
is_new(const uint64 *distinct, const int *index_at, uint64 key, uint32 *slot)
{
	*slot = (uint32) qb_slot_of(qb_slot_hash(key), KEY_SLOTS);
	while (index_at[*slot] >= 0 && distinct[index_at[*slot]] != key)
		*slot = (*slot + 1) % KEY_SLOTS;
	return index_at[*slot] < 0;
}

static qb_status
emulated_counts(qs_cuda *device, const uint64 *key, uint64 count, qs_cuda_counts *counts)
{
	static int index_at[KEY_SLOTS];
	uint32 slot;
	uint64 i;

	memset(index_at, -1, sizeof(index_at));
	counts->found = 0;
	for (i = 0; i < count && counts->found <= counts->most; i++)
	{
		if (is_new(counts->distinct, index_at, key[i], &slot))
		{
			if (counts->found == counts->most)
			{
				counts->found = counts->most + 1;
				break;
			}
			counts->distinct[counts->found] = key[i];
			counts->times[counts->found] = 0;
			index_at[slot] = counts->found++;
		}
		counts->times[index_at[slot]]++;
	}
	return QB_OK;
}

static qb_status
emulated_many(qs_cuda *device, const uint64 *key, const uint64 *count, uint32 groups, uint32 most,
			  bool *many)
{
	static uint64 distinct[GPU_COUNTS_MAX];
	static int64 times[GPU_COUNTS_MAX];
	qs_cuda_counts counts = { .most = most, .distinct = distinct, .times = times };
	qb_status status = QB_OK;
	uint32 i;

	for (i = 0; i < groups && status == QB_OK; i++)
	{
		status = emulated_counts(device, key, count[i], &counts);
		many[i] = counts.found > most;
		key += count[i];
	}
	return status;
}

static uint64
emulated_bytes(const qs_cuda_copy *c)
{
	return (c->room + c->null_words) * sizeof(uint64);
}

const qs_column_ops gpu_emulated_columns = {
	.create = emulated_create,
	.destroy = emulated_destroy,
	.resize = emulated_resize,
	.put = emulated_put,
	.put_nulls = emulated_put_nulls,
	.gather = emulated_gather,
	.select = emulated_select,
	.pairs = emulated_pairs,
	.split = emulated_split,
	.counts = emulated_counts,
	.many = emulated_many,
	.bytes = emulated_bytes,
};
