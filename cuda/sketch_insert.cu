/*
 * sketch_insert.cu
 *		Inserts batches of keys into one sketch or many, looks keys up, and loads a sketch.
 *
 * qs_cuda_insert_groups() adds keys in device memory to many sketches by one launch.  The keys are
 * ordered by sketch.  The sketches must have equal parameters, counters of 4 bytes before and after
 * the call, and too few keys for partitioning.  For other sketches the caller makes one call per
 * sketch.
 *
 * High buckets of multilevel sketches are allocated before the launch.  If any sketch may have too
 * few of them, the numbers of high buckets taken are read for all sketches together.
 *
 * SQL: qsketch_agg() with GROUP BY on cached columns (collect_used).
 *
 * cuda/sketch_insert.cu
 */
extern "C"
{
#include "sketch/explicit.h"
}

#include "sketch_kernels.cuh"

static qb_status
insert(qs_cuda_sketch *sk, const qs_batch *b)
{
	return b->weight ? qs_insert_keys(sk, b) : qs_insert_fastest(sk, b);
}

/*
 * Check whether "count" keys with this sum of weights may be added.  If so, prepare the sketch for
 * the keys, which come in pieces of at most "piece" keys, and add the sum to its total.
 */
static qb_status
start_insert(qs_cuda_sketch *sk, int64_t sum, uint64_t count, uint64_t piece)
{
	if (qs_has_fat(sk->params.structure))
		return QB_READ_ONLY;
	if (sum < 0)
		return QB_TOTAL_OVERFLOW;
	QS_TRY(qs_cuda_prepare(sk, sum, count, piece));
	sk->total += sum;
	return QB_OK;
}

qb_status
qs_cuda_insert(qs_cuda_sketch *sk, const uint64_t *key, const int64_t *weight, size_t count)
{
	qs_host_batch b;

	QS_TRY(qs_cuda_enter(sk->gpu));
	b = qs_describe(key, weight, NULL, 0, count);
	QS_TRY(start_insert(sk, qs_weight_sum(weight, count), count, qs_piece_keys(sk->gpu, &b)));
	return qs_for_pieces(
		sk->gpu, &b, [&](const qs_batch *ready, uint64_t, void *) { return insert(sk, ready); });
}

qb_status
qs_cuda_insert_all(qs_cuda_sketch *sk, const qs_cuda_keys *run, int runs)
{
	qs_cuda *gpu = sk->gpu;
	qs_host_batch b[QS_CUDA_TOGETHER];
	qs_batch ready;
	qs_slot *slot;
	uint64_t count = 0;
	int64_t sum = 0;

	QS_TRY(qs_cuda_enter(gpu));
	if (runs < 1 || runs > QS_CUDA_TOGETHER)
		return QB_NO_MEMORY;
	for (int i = 0; i < runs; i++)
	{
		int64_t more = qs_weight_sum(run[i].weight, run[i].count);

		if (more < 0 || more > INT64_MAX - sum)
			return QB_TOTAL_OVERFLOW;
		sum += more;
		count += run[i].count;
		b[i] = qs_describe(run[i].key, run[i].weight, NULL, 0, run[i].count);
	}
	if (count > qs_piece_keys(gpu, b))
		return QB_NO_MEMORY;
	QS_TRY(start_insert(sk, sum, count, count));
	slot = &gpu->slot[qs_next_slot(gpu)];
	QS_TRY(qs_fill_slot(gpu, slot, b, runs, &ready));
	QS_TRY(insert(sk, &ready));
	QS_CUDA_TRY(gpu, cudaEventRecord(slot->done, gpu->stream));
	return qs_wait(gpu, gpu->in);
}

qb_status
qs_cuda_insert_device(qs_cuda_sketch *sk, const uint64_t *key, size_t count)
{
	qs_batch b = { key, NULL, count };

	QS_TRY(qs_cuda_enter(sk->gpu));
	if (count == 0)
		return QB_OK;
	QS_TRY(start_insert(sk, (int64_t) count, count, count));
	return insert(sk, &b);
}

qb_status
qs_cuda_query(qs_cuda_sketch *sk, const uint64_t *key, size_t count, int64_t *estimate)
{
	qs_cuda *gpu = sk->gpu;
	qs_host_batch b;

	QS_TRY(qs_cuda_enter(gpu));
	b = qs_describe(key, NULL, estimate, sizeof(*estimate), count);
	return qs_for_pieces(gpu, &b, [&](const qs_batch *ready, uint64_t, void *answers) {
		return sk->ops->query(gpu, &sk->view, ready, (int64_t *) answers);
	});
}

/* ---- many sketches by one launch ---- */

/* The sketches of a call, and the arguments of the launch. */
struct group_list
{
	qs_cuda_sketch *const *sketch;
	const uint64_t *count;
	uint32_t groups;
	uint64_t all;   /* number of all keys */
	uint64_t chunk; /* lower limit of the number of keys of a warp */
	qs_group *there;
	uint32_t *used; /* number of high buckets taken by each sketch, in device memory */
};

/* True if two sketches are on the same device and have equal parameters. */
static bool
are_alike(const qs_cuda_sketch *a, const qs_cuda_sketch *b)
{
	return a->gpu == b->gpu && a->params.structure == b->params.structure &&
		   a->params.part == b->params.part && a->view.n == b->view.n &&
		   a->view.seed_key == b->view.seed_key && a->view.depth == b->view.depth &&
		   a->view.mask_count == b->view.mask_count;
}

/* True if all keys can be added by one launch. */
static bool
go_together(const group_list *list)
{
	if (qs_has_fat(list->sketch[0]->params.structure))
		return false;
	for (uint32_t i = 0; i < list->groups; i++)
	{
		const qs_cuda_sketch *sk = list->sketch[i];

		if (!are_alike(sk, list->sketch[0]) || sk->view.wide ||
			list->count[i] >= (uint64_t) (QS_WIDE_TOTAL - sk->total) ||
			qs_wants_bulk(sk, list->count[i]))
			return false;
	}
	return true;
}

/*
 * Return an upper limit of the high buckets of a sketch that the launch takes but leaves unused:
 * one for each warp.
 */
static uint64_t
loose_of(const group_list *list, uint32_t i)
{
	bool takes = qs_is_multilevel(list->sketch[i]) && list->count[i] > 0;

	return takes ? list->count[i] / list->chunk + 2 : 0;
}

static qb_status
send_tables(const group_list *list)
{
	qs_cuda *gpu = list->sketch[0]->gpu;
	qs_group group[QS_CUDA_GROUPS_MAX];
	uint64_t end = 0;

	for (uint32_t i = 0; i < list->groups; i++)
	{
		const qs_view *v = &list->sketch[i]->view;

		end += list->count[i];
		group[i] = { v->table, v->extra, v->high_used, end };
	}
	return qs_copy(gpu, list->there, group, list->groups * sizeof(*group), cudaMemcpyHostToDevice);
}

__global__ void
collect_used(const qs_group *group, uint32_t groups, uint32_t *used)
{
	uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < groups)
		used[i] = *group[i].high_used;
}

/* Read how many high buckets each sketch has taken. */
static qb_status
read_used(const group_list *list)
{
	qs_cuda *gpu = list->sketch[0]->gpu;

	QS_TRY(send_tables(list));
	QS_TRY(qs_launch(gpu, collect_used, list->groups, (const qs_group *) list->there, list->groups,
					 list->used));
	QS_TRY(qs_read_bytes(gpu, list->used, list->groups * sizeof(uint32_t)));
	for (uint32_t i = 0; i < list->groups; i++)
		list->sketch[i]->high_bound = ((const uint32_t *) gpu->host_result)[i];
	return QB_OK;
}

/* Allocate high buckets.  The sketches' "ever" already includes the new keys. */
static qb_status
reserve_high(const group_list *list)
{
	bool enough = true;
	uint64_t room = 0;
	uint32_t i;

	for (i = 0; i < list->groups; i++)
	{
		enough &= qs_has_high_room(list->sketch[i], loose_of(list, i));
		room += list->sketch[i]->high_room;
	}
	if (enough)
		return QB_OK;
	if (room > 0)
		QS_TRY(read_used(list));
	for (i = 0; i < list->groups; i++)
		QS_TRY(qs_make_high_room(list->sketch[i], loose_of(list, i)));
	return QB_OK;
}

/* If "added" is true, add the numbers of keys to the sketches' "ever".  If not, subtract them. */
static void
count_ever(const group_list *list, bool added)
{
	for (uint32_t i = 0; i < list->groups; i++)
		list->sketch[i]->ever += added ? list->count[i] : 0 - list->count[i];
}

/* Allocate workspace for the list of tables, and the high buckets. */
static qb_status
prepare(group_list *list)
{
	qs_cuda *gpu = list->sketch[0]->gpu;
	uint64_t warps = (uint64_t) gpu->multiprocessors * gpu->threads / 32;
	qb_status status = QB_OK;
	uint8_t *work;

	list->chunk = qs_chunk(list->all, warps);
	QS_TRY(qs_workspace(gpu, list->groups * (sizeof(qs_group) + sizeof(uint32_t)), &work));
	list->there = (qs_group *) work;
	list->used = (uint32_t *) (list->there + list->groups);
	count_ever(list, true);
	if (qs_is_multilevel(list->sketch[0]))
		status = reserve_high(list);
	if (status != QB_OK)
		count_ever(list, false);
	return status;
}

/* Add the keys to the sketches' totals, and the loose high buckets to their "high_bound". */
static void
note_added(const group_list *list)
{
	for (uint32_t i = 0; i < list->groups; i++)
	{
		list->sketch[i]->total += (int64_t) list->count[i];
		list->sketch[i]->high_bound += loose_of(list, i);
	}
}

qb_status
qs_cuda_insert_groups(qs_cuda_sketch *const *sketch, const uint64_t *count, uint32_t sketches,
					  const uint64_t *key)
{
	group_list list = { sketch, count, sketches, 0, 0, NULL, NULL };
	qs_grouped grouped;

	if (sketches < 1 || sketches > QS_CUDA_GROUPS_MAX)
		return QB_NO_MEMORY;
	QS_TRY(qs_cuda_enter(sketch[0]->gpu));
	if (!go_together(&list))
		return QB_NO_MEMORY;
	for (uint32_t i = 0; i < sketches; i++)
	{
		sketch[i]->at_rest = false;
		list.all += count[i];
	}
	if (list.all == 0)
		return QB_OK;
	QS_TRY(prepare(&list));
	QS_TRY(send_tables(&list));
	grouped = { key, list.all, list.there, sketches, 0 };
	QS_TRY(sketch[0]->ops->groups(sketch[0]->gpu, &sketch[0]->view, &grouped));
	note_added(&list);
	return QB_OK;
}

/* ---- copying a sketch of the host to the device ---- */

/* Copy the tables of a dense sketch to the device. */
static qb_status
load_tables(qs_cuda_sketch *sk, const qs_sketch *from)
{
	qs_cuda *gpu = sk->gpu;
	uint64_t high = qs_is_multilevel(sk) ? from->extra_used : 0;
	uint32_t used = (uint32_t) high;

	QS_TRY(qs_copy(gpu, sk->view.table, from->table, sk->table_bytes, cudaMemcpyHostToDevice));
	if (qs_is_multilevel(sk))
	{
		QS_TRY(qs_grow_high(sk, 0, high));
		QS_TRY(qs_copy(gpu, sk->view.extra, from->extra, sk->extra_bytes, cudaMemcpyHostToDevice));
		QS_TRY(qs_copy(gpu, sk->view.high_used, &used, sizeof(used), cudaMemcpyHostToDevice));
		QS_TRY(qs_high_sanitize(gpu, &sk->view, high));
		sk->high_bound = high;
		sk->ever = (uint64_t) from->total;
	}
	QS_TRY(qs_wait(gpu, gpu->stream));
	sk->total = from->total;
	return QB_OK;
}

/* Add the entries of an explicit sketch as a batch of weighted keys. */
static qb_status
load_entries(qs_cuda_sketch *sk, const qs_sketch *from)
{
	uint64_t key[QS_EXPLICIT_MAX];
	int64_t count[QS_EXPLICIT_MAX];
	uint64_t position = 0;
	size_t entries = 0;
	qs_entry e;

	while (entries < QS_EXPLICIT_MAX && qs_explicit_next(from, &position, &e))
	{
		key[entries] = e.fingerprint;
		count[entries++] = e.count;
	}
	return qs_cuda_insert(sk, key, count, entries);
}

qb_status
qs_cuda_load(qs_cuda *gpu, const qs_sketch *from, qs_cuda_sketch **sketch)
{
	bool dense = from->encoding == QS_DENSE;

	*sketch = NULL;
	if (qs_has_fat(from->params.structure) && (!dense || !qs_has_table(&from->params)))
		return QB_WRONG_PART;
	QS_TRY(qs_ask_room(gpu, qs_dense_size(&from->params, from->wide)));
	QS_TRY(qs_cuda_create_like(gpu, &from->params, dense && from->wide, sketch));
	(*sketch)->keys = from->keys;
	return qs_keep(dense ? load_tables(*sketch, from) : load_entries(*sketch, from), sketch,
				   qs_cuda_destroy);
}

const qs_sketch_ops qs_cuda_sketches = {
	.create = qs_cuda_create,
	.load = qs_cuda_load,
	.destroy = qs_cuda_destroy,
	.insert = qs_cuda_insert,
	.insert_all = qs_cuda_insert_all,
	.insert_device = qs_cuda_insert_device,
	.insert_groups = qs_cuda_insert_groups,
	.gains_together = qs_cuda_gains_together,
	.query = qs_cuda_query,
	.merge_begin = qs_cuda_merge_begin,
	.merge_slice = qs_cuda_merge_slice,
	.prepare_read = qs_cuda_prepare_read,
	.read_is_ready = qs_cuda_read_is_ready,
	.freeze = qs_cuda_freeze,
	.read = qs_cuda_read,
	.frequent_begin = qs_cuda_frequent_begin,
	.frequent_sample = qs_cuda_frequent_sample,
	.frequent_count = qs_cuda_frequent_count,
	.frequent_collect = qs_cuda_frequent_collect,
	.frequent_read = qs_cuda_frequent_read,
	.bytes = qs_cuda_bytes,
	.total = qs_cuda_total,
};
