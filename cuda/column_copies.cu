/*
 * column_copies.cu
 *		Cached columns in device memory, and keys that are brought together from them.
 *
 * Keys are gathered into a buffer of each device, which goes with the last chunk there.
 * The kernels that read the buffer and those that fill it anew run in order.
 *
 * cuda/column_copies.cu
 */
#include <new>

#include "column_cuda.h"
#include "device.cuh"

struct qs_cuda_copy
{
	qs_cuda *gpu;
	uint64_t *key;
	uint64_t room;
	uint64_t *null; /* bitmap of NULLs, or NULL */
	uint64_t null_words;
};

/* Take device memory for so many words, within the limit. */
static qb_status
take_words(qs_cuda *gpu, uint64_t room, uint64_t **word)
{
	*word = NULL;
	QS_TRY(qs_ask_room(gpu, room * sizeof(uint64_t)));
	return qs_cuda_keys_create(gpu, room, word);
}

static void
free_buffer(qs_cuda *gpu, qs_buffer *buffer)
{
	qs_cuda_keys_destroy(gpu, buffer->word, buffer->room);
	*buffer = {};
}

/* Have room for so many words in a buffer; what was in it is lost. */
static qb_status
have_room(qs_cuda *gpu, qs_buffer *buffer, uint64_t wanted)
{
	if (wanted <= buffer->room)
		return QB_OK;
	free_buffer(gpu, buffer);
	QS_TRY(take_words(gpu, wanted, &buffer->word));
	buffer->room = wanted;
	return QB_OK;
}

static void
free_buffers(qs_cuda *gpu)
{
	free_buffer(gpu, &gpu->gathered);
	free_buffer(gpu, &gpu->tiles);
	free_buffer(gpu, &gpu->table);
}

qb_status
qs_cuda_copy_create(qs_cuda *gpu, qs_cuda_copy **copy)
{
	*copy = new (std::nothrow) qs_cuda_copy();
	if (!*copy)
		return QB_NO_MEMORY;
	(*copy)->gpu = gpu;
	gpu->copies++;
	return QB_OK;
}

void
qs_cuda_copy_destroy(qs_cuda_copy *c)
{
	qs_cuda_keys_destroy(c->gpu, c->key, c->room);
	qs_cuda_keys_destroy(c->gpu, c->null, c->null_words);
	if (--c->gpu->copies == 0)
		free_buffers(c->gpu);
	delete c;
}

qb_status
qs_cuda_copy_resize(qs_cuda_copy *c, uint64_t room, uint64_t kept)
{
	uint64_t *key = NULL;
	qb_status status = QB_OK;

	if (room > 0)
		status = take_words(c->gpu, room, &key);
	if (status == QB_NO_MEMORY)
	{
		free_buffers(c->gpu); /* no query is being served */
		status = take_words(c->gpu, room, &key);
	}
	if (status == QB_OK && kept > 0)
		status = qs_cuda_keys_copy(c->gpu, key, c->key, kept);
	if (status != QB_OK)
	{
		qs_cuda_keys_destroy(c->gpu, key, room);
		return status;
	}
	qs_cuda_keys_destroy(c->gpu, c->key, c->room);
	c->key = key;
	c->room = room;
	return QB_OK;
}

qb_status
qs_cuda_copy_put(qs_cuda_copy *c, uint64_t first, const uint64_t *key, size_t count)
{
	return qs_cuda_keys_put(c->gpu, c->key + first, key, count);
}

qb_status
qs_cuda_copy_put_nulls(qs_cuda_copy *c, const uint64_t *nulls, uint64_t words)
{
	QS_TRY(take_words(c->gpu, words, &c->null));
	c->null_words = words;
	return qs_cuda_keys_put(c->gpu, c->null, nulls, words);
}

qb_status
qs_cuda_copy_gather(qs_cuda_copy *c, qs_cuda_run *run, uint32_t runs, const uint64_t **key)
{
	qs_cuda *gpu = c->gpu;
	uint64_t count = 0;

	*key = c->key + run[0].first;
	if (runs == 1)
		return QB_OK;
	for (uint32_t i = 0; i < runs; i++)
	{
		run[i].to = count;
		count += run[i].count;
	}
	QS_TRY(have_room(gpu, &gpu->gathered, count));
	QS_TRY(have_room(gpu, &gpu->tiles, runs * sizeof(*run) / sizeof(uint64_t)));
	*key = gpu->gathered.word;
	return qs_cuda_keys_gather(gpu, gpu->gathered.word, c->key, run, runs, gpu->tiles.word);
}

static qs_cuda_column
values_of(const qs_cuda_copy *c)
{
	return { c->key, c->null };
}

static qs_cuda_rows
device_rows(const qs_cuda_copy *c, const qs_cuda_copy_rows *rows)
{
	qs_cuda_rows device = {};

	device.tests = *rows->tests;
	device.no_keys = rows->no_keys;
	device.key = values_of(c);
	device.tiles = rows->tiles;
	for (uint32_t i = 0; i < rows->tests->columns; i++)
		device.tested[i] = values_of(rows->tested[i]);
	return device;
}

/* Have room for so many keys of rows, and for their tiles with so many words before them. */
static qb_status
have_room_for(qs_cuda *gpu, const qs_cuda_copy_rows *rows, uint64_t keys, uint64_t words)
{
	QS_TRY(have_room(gpu, &gpu->gathered, keys));
	words += qs_ceil_div(rows->tiles * sizeof(qb_tile), sizeof(uint64_t));
	return have_room(gpu, &gpu->tiles, words);
}

qb_status
qs_cuda_copy_select(qs_cuda_copy *c, const qs_cuda_copy_rows *rows, const uint64_t **key,
					uint64_t *count)
{
	qs_cuda *gpu = c->gpu;
	qs_cuda_rows device = device_rows(c, rows);

	QS_TRY(have_room_for(gpu, rows, rows->rows, 0));
	*key = gpu->gathered.word;
	return qs_cuda_keys_select(gpu, gpu->gathered.word, &device, rows->tile, gpu->tiles.word,
							   count);
}

qb_status
qs_cuda_copy_pairs(qs_cuda_copy *c, const qs_cuda_copy_rows *rows, uint32_t tested,
				   const uint64_t **key, const uint64_t **pair, uint64_t *count)
{
	qs_cuda *gpu = c->gpu;
	qs_cuda_rows device = device_rows(c, rows);

	QS_TRY(have_room_for(gpu, rows, 2 * rows->rows, 0));
	*key = gpu->gathered.word;
	*pair = gpu->gathered.word + rows->rows;
	return qs_cuda_keys_pairs(gpu, gpu->gathered.word, gpu->gathered.word + rows->rows, &device,
							  tested, rows->tile, gpu->tiles.word, count);
}

qb_status
qs_cuda_copy_split(qs_cuda_copy *c, const qs_cuda_copy_rows *rows, const qb_groups *groups,
				   const uint64_t **key, uint64_t *count)
{
	qs_cuda *gpu = c->gpu;
	qs_cuda_rows device = device_rows(c, rows);

	QS_TRY(have_room_for(gpu, rows, rows->rows, QS_CUDA_SPLIT_WORDS));
	*key = gpu->gathered.word;
	return qs_cuda_keys_split(gpu, gpu->gathered.word, &device, rows->tile, groups, gpu->tiles.word,
							  count);
}

qb_status
qs_cuda_copy_counts(qs_cuda_copy *c, const uint64_t *key, size_t count, uint32_t most,
					uint64_t *distinct, int64_t *times, uint32_t *found)
{
	qs_cuda *gpu = c->gpu;

	*found = 0;
	QS_TRY(have_room(gpu, &gpu->table, QS_CUDA_COUNTS_WORDS));
	return qs_cuda_keys_count(gpu, key, count, most, gpu->table.word, distinct, times, found);
}

qb_status
qs_cuda_copy_many(qs_cuda_copy *c, const uint64_t *key, const uint64_t *count, uint32_t groups,
				  uint32_t most, bool *many)
{
	qs_cuda *gpu = c->gpu;

	QS_TRY(have_room(gpu, &gpu->table, qs_cuda_many_words(groups, most)));
	return qs_cuda_keys_many(gpu, key, count, groups, most, gpu->table.word, many);
}

uint64_t
qs_cuda_copy_bytes(const qs_cuda_copy *c)
{
	return (c->room + c->null_words) * sizeof(uint64_t);
}

const qs_column_ops qs_cuda_columns = {
	.create = qs_cuda_copy_create,
	.destroy = qs_cuda_copy_destroy,
	.resize = qs_cuda_copy_resize,
	.put = qs_cuda_copy_put,
	.put_nulls = qs_cuda_copy_put_nulls,
	.gather = qs_cuda_copy_gather,
	.select = qs_cuda_copy_select,
	.pairs = qs_cuda_copy_pairs,
	.split = qs_cuda_copy_split,
	.counts = qs_cuda_copy_counts,
	.many = qs_cuda_copy_many,
	.bytes = qs_cuda_copy_bytes,
};
