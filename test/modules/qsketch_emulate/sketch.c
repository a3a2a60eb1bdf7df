/*
 * sketch.c
 *		Sketches on an emulated device, which is the CPU.
 *
 * test/modules/qsketch_emulate/sketch.c
 */
#include "emulate.h"
#include "gpu/sketch_gpu.h"

#include "base/slot.h"
#include "engine/sketch_engine.h"
#include "sketch_cuda.h"

struct qs_cuda_sketch
{
	qs_cuda *device;
	qs_sketch sketch;
	int polls;     /* calls of read_is_ready() until it returns true */
	uint64 wanted; /* wanted number of frequent keys */
	uint64 frequent_slots;
	qs_frequent_key *frequent; /* table of frequent keys, or NULL */
	qs_frequent_key *collected;
	bool counting; /* counting has begun, so samples are refused */
	qs_frequent head;
	uint32 *rows; /* number of samples by the step of their estimate (qs_step_of()) */
	uint64 sampled;
};

/* Calls of read_is_ready() after a preparation until it returns true. */
#define POLLS 3

/* A sketch with at least this many bytes of tables receives the keys of several chunks together. */
#define GAINS_BYTES (3 << 19)

/*
 * Set *sketch to "created" after success.  After a failure, free "created" and set *sketch to NULL.
 * Returns the status.
 */
static qb_status
keep(qb_status status, qs_cuda_sketch *created, qs_cuda_sketch **sketch)
{
	*sketch = status == QB_OK ? created : NULL;
	if (status != QB_OK)
		free(created);
	return status;
}

static qb_status
emulated_create(qs_cuda *device, const qs_params *params, qs_cuda_sketch **sketch)
{
	qs_cuda_sketch *created = calloc(1, sizeof(*created));
	qb_status status = QB_NO_MEMORY;

	if (created)
	{
		created->device = device;
		qs_init(&created->sketch, params, &created->device->memory);
		status = qs_make_dense(&created->sketch);
		if (status != QB_OK)
			qs_free(&created->sketch);
	}
	return keep(status, created, sketch);
}

static qb_status
emulated_load(qs_cuda *device, const qs_sketch *from, qs_cuda_sketch **sketch)
{
	qs_cuda_sketch *created = calloc(1, sizeof(*created));
	qb_status status = QB_NO_MEMORY;

	if (created)
	{
		created->device = device;
		status = qs_copy(&created->sketch, from, &created->device->memory);
	}
	return keep(status, created, sketch);
}

static void
free_frequent(qs_cuda_sketch *sketch)
{
	free(sketch->frequent);
	free(sketch->collected);
	free(sketch->rows);
	sketch->frequent = sketch->collected = NULL;
	sketch->rows = NULL;
}

static void
emulated_destroy(qs_cuda_sketch *sketch)
{
	free_frequent(sketch);
	qs_free(&sketch->sketch);
	free(sketch);
}

/* Steps that can fail are first, so that a failure changes nothing. */
static qb_status
emulated_insert(qs_cuda_sketch *sketch, const uint64 *key, const int64 *weight, size_t count)
{
	qs_sketch *sk = &sketch->sketch;
	qb_status status = sk->ops->reserve ? sk->ops->reserve(sk, count) : QB_OK;

	gpu_emulated_wait();
	return status == QB_OK ? qs_engine_cpu.insert(sk, key, weight, count) : status;
}

static qb_status
emulated_insert_device(qs_cuda_sketch *sketch, const uint64 *key, size_t count)
{
	return emulated_insert(sketch, key, NULL, count);
}

/* Joins the batches into one batch, so that either all keys are added or no key is added. */
static qb_status
emulated_insert_all(qs_cuda_sketch *sketch, const qs_cuda_keys *batch, int batches)
{
	size_t most = (size_t) batches * GPU_SLOT_KEYS;
	uint64 *key = malloc(most * sizeof(uint64));
	int64 *weight = malloc(most * sizeof(int64));
	qb_status status = QB_NO_MEMORY;
	size_t count = 0;
	int i;

	for (i = 0; i < batches && key && weight; i++)
	{
		memcpy(key + count, batch[i].key, batch[i].count * sizeof(uint64));
		if (batch[i].weight)
			memcpy(weight + count, batch[i].weight, batch[i].count * sizeof(int64));
		count += batch[i].count;
	}
	if (key && weight)
		status = emulated_insert(sketch, key, batch[0].weight ? weight : NULL, count);
	free(key);
	free(weight);
	return status;
}

/* Fails before any key is added if a sketch has or needs counters of 8 bytes, or lacks memory. */
static qb_status
emulated_insert_groups(qs_cuda_sketch *const *sketch, const uint64 *count, uint32 sketches,
					   const uint64 *key)
{
	qb_status status = QB_OK;
	uint32 i;

	for (i = 0; i < sketches && status == QB_OK; i++)
	{
		qs_sketch *sk = &sketch[i]->sketch;

		if (sk->wide || sk->total + (int64) count[i] >= QS_WIDE_TOTAL)
			status = QB_NO_MEMORY;
		else if (sk->ops->reserve)
			status = sk->ops->reserve(sk, count[i]);
	}
	gpu_emulated_wait();
	for (i = 0; i < sketches && status == QB_OK; i++)
	{
		status = qs_engine_cpu.insert(&sketch[i]->sketch, key, NULL, count[i]);
		key += count[i];
	}
	return status;
}

static uint64
emulated_bytes(const qs_cuda_sketch *sketch)
{
	const qs_sketch *sk = &sketch->sketch;

	return qs_tables_bytes(&sk->params, sk->wide, sk->extra_room);
}

/* As on a GPU, only large tables gain from one call for the keys of several chunks. */
static bool
emulated_gains_together(const qs_cuda_sketch *sketch)
{
	return emulated_bytes(sketch) >= GAINS_BYTES;
}

static qb_status
emulated_query(qs_cuda_sketch *sketch, const uint64 *key, size_t count, int64 *estimate)
{
	qs_query(&sketch->sketch, key, count, estimate);
	return QB_OK;
}

static qb_status
emulated_merge_begin(qs_cuda_sketch *sketch, const qs_params *from, int64 total)
{
	qs_sketch head;

	qs_init(&head, from, NULL);
	head.encoding = QS_DENSE;
	head.total = total;
	return qs_merge_begin(&sketch->sketch, &head);
}

/* Suspends the limit of memory, because a merge that ran out of memory could not be undone. */
static qb_status
merge_slice(qs_cuda_sketch *sketch, qs_slice to, const qs_sketch *from, qs_slice units)
{
	qb_status status;

	sketch->device->unlimited = true;
	status = qs_merge_slice(&sketch->sketch, to, from, units);
	sketch->device->unlimited = false;
	return status == QB_NO_MEMORY ? QB_DEVICE_ERROR : status;
}

/* As for GPUs that are no peers, a slice of another device is first copied on that device. */
static qb_status
emulated_merge_slice(qs_cuda_sketch *sketch, qs_slice to, const qs_cuda_sketch *from,
					 qs_slice units)
{
	qs_sketch slice;
	qb_status status;

	if (sketch->device == from->device)
		return merge_slice(sketch, to, &from->sketch, units);
	status = qs_take_slice(&slice, &from->sketch, units, &from->device->memory);
	if (status != QB_OK)
		return status;
	gpu_emulated_wait();
	status = merge_slice(sketch, to, &slice, (qs_slice){ 0, units.count });
	qs_free(&slice);
	return status;
}

static qb_status
emulated_prepare_read(qs_cuda_sketch *sketch)
{
	sketch->polls = POLLS;
	return qs_has_fat(sketch->sketch.params.structure) ? QB_READ_ONLY : QB_OK;
}

static bool
emulated_read_is_ready(qs_cuda_sketch *sketch)
{
	if (sketch->polls > 0)
		sketch->polls--;
	return sketch->polls == 0;
}

static qb_status
emulated_freeze(qs_cuda_sketch *sketch, qs_sketch *head)
{
	*head = sketch->sketch;
	return QB_OK;
}

static qb_status
read_piece(const qs_sketch *sk, uint64 offset, uint64 bytes, uint8 *to)
{
	uint64 table = sk->table ? qs_table_bytes(&sk->params, sk->wide) : 0;
	uint64 extra = sk->extra ? qs_extra_bytes(&sk->params, sk->wide) : 0;
	uint64 first = offset < table ? Min(bytes, table - offset) : 0;

	if (sk->extra && sk->ops->live_extra)
		extra *= sk->extra_used;
	if (offset > table + extra || bytes > table + extra - offset)
		return QB_NO_MEMORY;
	if (first > 0)
		memcpy(to, sk->table + offset, first);
	if (bytes > first)
		memcpy(to + first, sk->extra + (offset + first - table), bytes - first);
	return QB_OK;
}

static qb_status
emulated_read(qs_cuda_sketch *sketch, const qs_cuda_piece *piece, int count)
{
	qb_status status = QB_OK;
	int i;

	for (i = 0; i < count && status == QB_OK; i++)
		status = read_piece(&sketch->sketch, piece[i].offset, piece[i].bytes, piece[i].to);
	return status;
}

static qb_status
emulated_frequent_begin(qs_cuda_sketch *sketch, uint64 wanted, uint64 slots)
{
	if (!qs_frequent_is_valid(wanted, slots))
		return QB_NO_MEMORY;
	free_frequent(sketch);
	sketch->wanted = wanted;
	sketch->frequent_slots = slots;
	sketch->sampled = 0;
	sketch->counting = false;
	sketch->head = (qs_frequent){ .least = 1 };
	sketch->frequent = calloc(1, qs_frequent_bytes(slots));
	sketch->rows = calloc(QS_ESTIMATE_STEPS, sizeof(uint32));
	if (sketch->frequent && sketch->rows)
		return QB_OK;
	free_frequent(sketch);
	return QB_NO_MEMORY;
}

static qb_status
emulated_frequent_sample(qs_cuda_sketch *sketch, const uint64 *key, size_t count)
{
	uint64 samples = Min(count, QS_FREQUENT_SAMPLE);
	uint64 i;

	if (sketch->frequent == NULL || sketch->counting)
		return QB_NO_MEMORY;
	for (i = 0; i < samples; i++)
		sketch->rows[qs_step_of(qs_estimate(&sketch->sketch, key[i * (count / samples)]))]++;
	sketch->sampled += samples;
	return QB_OK;
}

/* Returns the slot of a key, or the free slot for it.  NULL: no probed slot is free. */
static qs_frequent_key *
find_slot(const qs_cuda_sketch *sketch, uint64 key)
{
	qs_frequent_key *slot = sketch->frequent;
	uint64 slots = sketch->frequent_slots;
	uint64 at = qb_slot_hash(key) & (slots - 1);
	int i;

	if (key == 0)
		return &slot[slots];
	for (i = 0; i < QS_FREQUENT_PROBES; i++, at = (at + 1) & (slots - 1))
		if (slot[at].key == 0 || slot[at].key == key)
			return &slot[at];
	return NULL;
}

static qb_status
emulated_frequent_count(qs_cuda_sketch *sketch, const uint64 *key, size_t count)
{
	size_t i;

	if (sketch->frequent == NULL)
		return QB_NO_MEMORY;
	if (!sketch->counting)
		sketch->head.least = qs_frequent_least(sketch->rows, sketch->sampled, sketch->sketch.total,
											   sketch->wanted, sketch->frequent_slots);
	sketch->counting = true;
	gpu_emulated_wait();
	for (i = 0; i < count; i++)
	{
		int64 estimate = qs_estimate(&sketch->sketch, key[i]);
		qs_frequent_key *slot;

		if (estimate < sketch->head.least || estimate <= sketch->head.dropped)
			continue;
		slot = find_slot(sketch, key[i]);
		if (slot == NULL)
		{
			sketch->head.dropped = Max(sketch->head.dropped, estimate);
			continue;
		}
		slot->key = key[i];
		slot->times++;
	}
	return QB_OK;
}

static qb_status
emulated_frequent_collect(qs_cuda_sketch *sketch, bool all, qs_frequent *head)
{
	uint32 *keys = calloc(QS_ESTIMATE_STEPS, sizeof(uint32));
	const qs_frequent_key *slot = sketch->frequent;
	uint64 taken = 0;
	uint64 i;

	for (i = 0; keys && slot && i <= sketch->frequent_slots; i++)
		if (slot[i].times > 0)
			keys[qs_step_of((int64) slot[i].times)]++;
	if (keys == NULL || slot == NULL)
	{
		free(keys);
		return QB_NO_MEMORY;
	}
	qs_frequent_cut(keys, sketch->wanted, all, &sketch->head);
	free(keys);
	sketch->collected = calloc(sketch->head.count + 1, sizeof(qs_frequent_key));
	if (sketch->collected == NULL)
		return QB_NO_MEMORY;
	for (i = 0; i <= sketch->frequent_slots; i++)
		if ((int64) slot[i].times > sketch->head.left_out)
			sketch->collected[taken++] = slot[i];
	*head = sketch->head;
	free(sketch->frequent);
	sketch->frequent = NULL;
	return QB_OK;
}

static qb_status
emulated_frequent_read(qs_cuda_sketch *sketch, uint64 offset, uint64 bytes, void *to)
{
	uint64 all = sketch->collected ? sketch->head.count * sizeof(qs_frequent_key) : 0;

	if (offset > all || bytes > all - offset)
		return QB_NO_MEMORY;
	memcpy(to, (const uint8 *) sketch->collected + offset, bytes);
	if (all > 0 && offset + bytes == all)
	{
		free(sketch->collected);
		sketch->collected = NULL;
	}
	return QB_OK;
}

static int64
emulated_total(const qs_cuda_sketch *sketch)
{
	return sketch->sketch.total;
}

const qs_sketch_ops gpu_emulated_sketches = {
	.create = emulated_create,
	.load = emulated_load,
	.destroy = emulated_destroy,
	.insert = emulated_insert,
	.insert_all = emulated_insert_all,
	.insert_device = emulated_insert_device,
	.insert_groups = emulated_insert_groups,
	.gains_together = emulated_gains_together,
	.query = emulated_query,
	.merge_begin = emulated_merge_begin,
	.merge_slice = emulated_merge_slice,
	.prepare_read = emulated_prepare_read,
	.read_is_ready = emulated_read_is_ready,
	.freeze = emulated_freeze,
	.read = emulated_read,
	.frequent_begin = emulated_frequent_begin,
	.frequent_sample = emulated_frequent_sample,
	.frequent_count = emulated_frequent_count,
	.frequent_collect = emulated_frequent_collect,
	.frequent_read = emulated_frequent_read,
	.bytes = emulated_bytes,
	.total = emulated_total,
};
