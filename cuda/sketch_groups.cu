/*
 * sketch_groups.cu
 *		Keys in device memory into many sketches at once, side by side by sketch.
 *
 * This is for sketches of the same parameters that take their keys directly, with counters
 * of 4 bytes before and after.  Others take their keys one after another.
 *
 * A multilevel sketch needs room for high buckets before the launch.  If it may be too
 * little for any of them, how many are taken is read for all of them together.
 *
 * cuda/sketch_groups.cu
 */
#include "sketch_groups.cuh"

/* The sketches of a call, and what the launch gets of them. */
struct group_list
{
	qs_cuda_sketch *const *sketch;
	const uint64_t *count;
	uint32_t groups;
	uint64_t all;   /* keys */
	uint64_t chunk; /* at least so many keys of a warp */
	qs_group *there;
	uint32_t *used; /* high buckets that are taken, in device memory */
};

/* Have two sketches the same views but for their tables? */
static bool
are_alike(const qs_cuda_sketch *a, const qs_cuda_sketch *b)
{
	return a->gpu == b->gpu && a->params.structure == b->params.structure &&
		   a->params.part == b->params.part && a->view.n == b->view.n &&
		   a->view.seed_key == b->view.seed_key && a->view.depth == b->view.depth &&
		   a->view.mask_count == b->view.mask_count;
}

/* Can all keys be added by one launch? */
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
			!qs_inserts_directly(sk, list->count[i]))
			return false;
	}
	return true;
}

/* The most high buckets that the launch takes for a sketch and cannot place: one for each warp. */
static uint64_t
loose_of(const group_list *list, uint32_t i)
{
	bool takes = qs_is_multilevel(list->sketch[i]) && list->count[i] > 0;

	return takes ? list->count[i] / list->chunk + 2 : 0;
}

/* Give the device the tables. */
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
	QS_CUDA_TRY(gpu, cudaMemcpyAsync(list->there, group, list->groups * sizeof(*group),
									 cudaMemcpyHostToDevice, gpu->stream));
	return QB_OK;
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
	uint32_t used[QS_CUDA_GROUPS_MAX];

	QS_TRY(send_tables(list));
	QS_TRY(qs_launch(gpu, collect_used, list->groups, (const qs_group *) list->there, list->groups,
					 list->used));
	QS_CUDA_TRY(gpu, cudaMemcpyAsync(used, list->used, list->groups * sizeof(*used),
									 cudaMemcpyDeviceToHost, gpu->stream));
	QS_TRY(qs_wait(gpu, gpu->stream));
	for (uint32_t i = 0; i < list->groups; i++)
		list->sketch[i]->high_bound = used[i];
	return QB_OK;
}

/* Make room for high buckets.  The sketches' weights have the new keys already. */
static qb_status
reserve_high(const group_list *list)
{
	bool enough = true;
	uint32_t i;

	for (i = 0; i < list->groups && enough; i++)
		enough = qs_has_high_room(list->sketch[i], loose_of(list, i));
	if (enough)
		return QB_OK;
	QS_TRY(read_used(list));
	for (i = 0; i < list->groups; i++)
		QS_TRY(qs_make_high_room(list->sketch[i], loose_of(list, i)));
	return QB_OK;
}

/* Add the keys to what could have raised counters, or take them off again. */
static void
count_ever(const group_list *list, bool added)
{
	for (uint32_t i = 0; i < list->groups; i++)
		list->sketch[i]->ever += added ? list->count[i] : 0 - list->count[i];
}

/* Have workspace for the tables, and room for high buckets. */
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

/* The keys are added: note it in all sketches. */
static void
note_added(const group_list *list)
{
	qs_cuda_stats *stats = &list->sketch[0]->gpu->stats;

	for (uint32_t i = 0; i < list->groups; i++)
	{
		list->sketch[i]->total += (int64_t) list->count[i];
		list->sketch[i]->high_bound += loose_of(list, i);
	}
	stats->insert_batches++;
	stats->insert_keys += list->all;
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
		list.all += count[i];
	if (list.all == 0)
		return QB_OK;
	QS_TRY(prepare(&list));
	QS_TRY(send_tables(&list));
	grouped = { key, list.all, list.there, sketches, 0 };
	QS_TRY(sketch[0]->ops->groups(sketch[0]->gpu, &sketch[0]->view, &grouped));
	note_added(&list);
	return QB_OK;
}
