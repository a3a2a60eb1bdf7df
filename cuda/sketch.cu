/*
 * sketch.cu
 *		Life cycle of a sketch on the device: create, widen, make room, destroy.
 *
 * Device tables have the layout of dense tables on the host, byte for byte.  A
 * table that grows is made anew beside the old table, which is freed only when
 * the new one is complete.  So a sketch does not change if memory runs out.
 *
 * The high buckets of multilevel are the hard part: a kernel takes them, and a
 * kernel cannot ask for memory.  So before each launch there is room for as
 * many high buckets as the launch could take; see reserve_high().
 *
 * cuda/sketch.cu
 */
#include "sketch.cuh"

#include "sketch_kernels.cuh"

#include <new>

/* Launches that room is made for, unless it would be for more than two buckets of each thread. */
#define LAUNCHES_AHEAD 32

/* Indexed by qs_structure; the slim table of sf is a sub_warp sketch. */
static const qs_cuda_ops *const ops[] = { NULL,
										  &qs_thread_cuda,
										  &qs_warp_cuda,
										  &qs_half_warp_cuda,
										  &qs_sub_warp_cuda,
										  &qs_multilevel_cuda,
										  &qs_sub_warp_cuda };

static_assert(sizeof(ops) / sizeof(ops[0]) == QS_STRUCTURES, "every structure has operations");

/* A wide table of multilevel is as large as a narrow one: only its high buckets are wide. */
static size_t
table_bytes_of(const qs_cuda_sketch *sk, bool wide)
{
	uint64_t rows = qs_has_rows(sk->params.structure) ? sk->params.depth : 1;

	return sk->params.n * rows * sk->ops->bucket_bytes(wide);
}

/* As qs_params_check(), but without its limit of the size: here only memory limits the size. */
static qb_status
check_params(const qs_params *p)
{
	qs_params smallest = *p;

	smallest.n = 1;
	QS_TRY(qs_params_check(&smallest));
	return p->n >= 1 && p->n <= UINT32_MAX ? QB_OK : QB_BAD_SIZE;
}

/* Compute the masks of a sketch, the same as on the host; a thread makes a mask. */
__global__ void
__launch_bounds__(QS_BLOCK)
	fill_masks(uint32_t *masks, uint32_t count, uint64_t seed_key, uint32_t m, uint32_t d)
{
	uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < count)
		masks[i] = qs_mask(seed_key, m, d, i);
}

static qb_status
create_masks(qs_cuda_sketch *sk)
{
	qs_cuda *gpu = sk->gpu;
	uint32_t m = qs_bucket_width(sk->params.structure);
	uint32_t count = sk->view.mask_count;
	void *masks;

	if (m == 0)
		return QB_OK;
	QS_TRY(qs_device_alloc(gpu, count * sizeof(uint32_t), &masks));
	sk->view.masks = (uint32_t *) masks;
	fill_masks<<<(unsigned) qs_ceil_div(count, QS_BLOCK), QS_BLOCK, 0, gpu->stream>>>(
		(uint32_t *) masks, count, sk->view.seed_key, m, sk->params.depth);
	QS_CUDA_LAUNCHED(gpu);
	return QB_OK;
}

/* Allocate the zeroed table, the masks and the word of a sketch whose view has no memory yet. */
static qb_status
create_memory(qs_cuda_sketch *sk)
{
	QS_TRY(qs_device_alloc(sk->gpu, sizeof(uint32_t), (void **) &sk->view.high_used));
	sk->table_bytes = table_bytes_of(sk, sk->view.wide);
	QS_TRY(qs_device_alloc(sk->gpu, sk->table_bytes, (void **) &sk->view.table));
	return create_masks(sk);
}

/* Make a sketch without memory; an sf sketch is a device part. */
static qs_cuda_sketch *
new_sketch(qs_cuda *gpu, const qs_params *p, bool wide)
{
	qs_cuda_sketch *sk = new (std::nothrow) qs_cuda_sketch();

	if (!sk)
		return NULL;
	sk->gpu = gpu;
	sk->params = *p;
	if (qs_has_fat(p->structure))
		sk->params.part = QS_PART_DEVICE;
	sk->ops = ops[p->structure];
	sk->view.n = p->n;
	sk->view.seed_key = qb_seed_key(p->seed);
	sk->view.depth = p->depth;
	sk->view.mask_count = qs_mask_count(p);
	sk->view.wide = wide;
	return sk;
}

qb_status
qs_cuda_create_like(qs_cuda *gpu, const qs_params *p, bool wide, qs_cuda_sketch **sketch)
{
	qs_cuda_sketch *sk;
	qb_status status;

	*sketch = NULL;
	QS_TRY(qs_cuda_enter(gpu));
	QS_TRY(check_params(p));
	sk = new_sketch(gpu, p, wide);
	if (!sk)
		return QB_NO_MEMORY;
	status = create_memory(sk);
	if (status != QB_OK)
	{
		qs_cuda_destroy(sk);
		return status;
	}
	*sketch = sk;
	return QB_OK;
}

qb_status
qs_cuda_create(qs_cuda *gpu, const qs_params *p, qs_cuda_sketch **sketch)
{
	*sketch = NULL;
	QS_TRY(check_params(p));
	QS_TRY(qs_ask_room(gpu, qs_dense_size(p, false)));
	return qs_cuda_create_like(gpu, p, false, sketch);
}

/* Free the tables, but not the masks. */
static void
free_counts(qs_cuda_sketch *sk)
{
	qs_device_free(sk->gpu, sk->view.table, sk->table_bytes);
	qs_device_free(sk->gpu, sk->view.extra, sk->extra_bytes);
	sk->view.table = sk->view.extra = NULL;
	sk->table_bytes = sk->extra_bytes = 0;
}

void
qs_cuda_destroy(qs_cuda_sketch *sk)
{
	if (!sk)
		return;
	cudaSetDevice(sk->gpu->device);
	free_counts(sk);
	qs_device_free(sk->gpu, (void *) sk->view.masks, sk->view.mask_count * sizeof(uint32_t));
	qs_device_free(sk->gpu, sk->view.high_used, sizeof(uint32_t));
	delete sk;
}

uint64_t
qs_cuda_bytes(const qs_cuda_sketch *sk)
{
	size_t masks = sk->view.masks ? sk->view.mask_count * sizeof(uint32_t) : 0;

	return sk->table_bytes + sk->extra_bytes + masks + sizeof(uint32_t);
}

/* Change to counters of 8 bytes; in multilevel only high buckets have them. */
static qb_status
widen_tables(qs_cuda_sketch *sk, uint8_t *table, uint8_t *extra)
{
	qs_cuda *gpu = sk->gpu;

	if (qs_is_multilevel(sk))
		QS_TRY(qs_high_widen(gpu, extra, sk->view.extra, sk->high_room));
	else
		QS_TRY(qs_counters_widen(gpu, table, sk->view.table, sk->table_bytes / 4));
	QS_TRY(qs_wait(gpu, gpu->stream));
	return QB_OK;
}

qb_status
qs_widen(qs_cuda_sketch *sk)
{
	qs_cuda *gpu = sk->gpu;
	size_t table_bytes = qs_is_multilevel(sk) ? 0 : table_bytes_of(sk, true);
	size_t extra_bytes = sk->high_room * qs_high_bytes(true);
	uint8_t *table = NULL, *extra = NULL;
	qb_status status = qs_cuda_enter(gpu);

	if (status != QB_OK || sk->view.wide)
		return status;
	if (table_bytes > 0)
		status = qs_device_alloc(gpu, table_bytes, (void **) &table);
	if (status == QB_OK && extra_bytes > 0)
		status = qs_device_alloc(gpu, extra_bytes, (void **) &extra);
	if (status == QB_OK)
		status = widen_tables(sk, table, extra);
	if (status != QB_OK)
	{
		qs_device_free(gpu, table, table_bytes);
		qs_device_free(gpu, extra, extra_bytes);
		return status;
	}
	if (table)
	{
		qs_device_free(gpu, sk->view.table, sk->table_bytes);
		sk->view.table = table;
		sk->table_bytes = table_bytes;
	}
	qs_device_free(gpu, sk->view.extra, sk->extra_bytes);
	sk->view.extra = extra;
	sk->extra_bytes = extra_bytes;
	sk->view.wide = true;
	return QB_OK;
}

qb_status
qs_read_high_used(const qs_cuda_sketch *sk, uint64_t *used)
{
	qs_cuda *gpu = sk->gpu;

	QS_CUDA_TRY(gpu, cudaMemcpyAsync(gpu->host_result, sk->view.high_used, sizeof(uint32_t),
									 cudaMemcpyDeviceToHost, gpu->stream));
	QS_TRY(qs_wait(gpu, gpu->stream));
	*used = *(const uint32_t *) gpu->host_result;
	return QB_OK;
}

void
qs_replace_high(qs_cuda_sketch *sk, uint8_t *extra, uint64_t room)
{
	qs_device_free(sk->gpu, sk->view.extra, sk->extra_bytes);
	sk->view.extra = extra;
	sk->extra_bytes = room * qs_high_bytes(sk->view.wide);
	sk->high_room = room;
}

qb_status
qs_grow_high(qs_cuda_sketch *sk, uint64_t used, uint64_t room)
{
	qs_cuda *gpu = sk->gpu;
	size_t bytes = room * qs_high_bytes(sk->view.wide);
	uint8_t *extra;
	qb_status status = qs_device_alloc(gpu, bytes, (void **) &extra);
	auto copy = [&]() -> qb_status {
		QS_CUDA_TRY(gpu, cudaMemcpyAsync(extra, sk->view.extra, used * qs_high_bytes(sk->view.wide),
										 cudaMemcpyDeviceToDevice, gpu->stream));
		return QB_OK;
	};

	if (status == QB_OK && used > 0)
		status = copy();
	if (status != QB_OK)
	{
		qs_device_free(gpu, extra, bytes);
		return status;
	}
	qs_replace_high(sk, extra, room);
	return QB_OK;
}

static uint64_t
threads_of(const qs_cuda *gpu)
{
	return (uint64_t) gpu->multiprocessors * gpu->threads;
}

/* The most high buckets that a launch takes and cannot place: one for each warp or thread. */
static uint64_t
loose_buckets(const qs_cuda_sketch *sk, uint64_t keys, bool bulk)
{
	uint64_t threads = threads_of(sk->gpu);
	uint64_t wanted = qs_ceil_div(keys, QS_BLOCK) * QS_BLOCK;

	return bulk ? threads : (wanted < threads ? wanted : threads) / 32;
}

/* The most buckets that ask for a high one in the life of a sketch: each when a counter gets 256. */
static uint64_t
owners_of(const qs_cuda_sketch *sk)
{
	return sk->ever / 256 < sk->params.n ? sk->ever / 256 : sk->params.n;
}

/*
 * Is there room for the high buckets that a launch can ask for?  All owners may ask.  In
 * addition each warp of a launch, or thread of a bulk launch, may be left with one high bucket
 * that it could not place ("loose").  high_bound is the most that earlier launches can have
 * taken.
 */
bool
qs_has_high_room(const qs_cuda_sketch *sk, uint64_t loose)
{
	return sk->high_bound + owners_of(sk) + loose <= sk->high_room;
}

/* Room is made for several launches and for twice as many owners, so it is rarely made. */
qb_status
qs_make_high_room(qs_cuda_sketch *sk, uint64_t loose)
{
	uint64_t used = sk->high_bound, owners = owners_of(sk);
	uint64_t ahead = LAUNCHES_AHEAD * loose, most = 2 * threads_of(sk->gpu);
	uint64_t room = used + owners + loose;
	qb_status status;

	if (room <= sk->high_room)
		return QB_OK;
	status = qs_grow_high(sk, used, 2 * (used + owners) + (ahead < most ? ahead : most));
	return status == QB_NO_MEMORY ? qs_grow_high(sk, used, room) : status;
}

/* Have room; how many high buckets are taken is read only if high_bound does not fit. */
static qb_status
reserve_high(qs_cuda_sketch *sk, uint64_t loose)
{
	uint64_t used;

	if (qs_has_high_room(sk, loose))
		return QB_OK;
	QS_TRY(qs_read_high_used(sk, &used));
	sk->high_bound = used;
	return qs_make_high_room(sk, loose);
}

qb_status
qs_reserve_launch(qs_cuda_sketch *sk, uint64_t keys, bool bulk)
{
	uint64_t loose;

	if (!qs_is_multilevel(sk))
		return QB_OK;
	loose = loose_buckets(sk, keys, bulk);
	QS_TRY(reserve_high(sk, loose));
	sk->high_bound += loose;
	return QB_OK;
}

qb_status
qs_cuda_prepare(qs_cuda_sketch *sk, int64_t weight, uint64_t keys)
{
	uint64_t ever = sk->ever;
	qb_status status = QB_OK;

	if (weight > INT64_MAX - sk->total)
		return QB_TOTAL_OVERFLOW;
	if (!sk->view.wide && sk->total + weight >= QS_WIDE_TOTAL)
		QS_TRY(qs_widen(sk));
	sk->ever += (uint64_t) weight;
	if (qs_is_multilevel(sk))
		status = reserve_high(sk, loose_buckets(sk, keys, qs_wants_bulk(sk, keys)));
	if (status != QB_OK)
		sk->ever = ever;
	return status;
}

const qs_sketch_ops qs_cuda_sketches = {
	.create = qs_cuda_create,
	.load = qs_cuda_load,
	.destroy = qs_cuda_destroy,
	.insert = qs_cuda_insert,
	.insert_all = qs_cuda_insert_all,
	.insert_device = qs_cuda_insert_device,
	.insert_groups = qs_cuda_insert_groups,
	.query = qs_cuda_query,
	.merge_begin = qs_cuda_merge_begin,
	.merge_slice = qs_cuda_merge_slice,
	.freeze = qs_cuda_freeze,
	.read = qs_cuda_read,
	.bytes = qs_cuda_bytes,
	.total = qs_cuda_total,
};

/* ---- batches of keys into sketches: from the device, and from the host through staging ---- */

qb_status
qs_insert_keys(qs_cuda_sketch *sk, const qs_batch *b)
{
	QS_TRY(qs_reserve_launch(sk, b->count, false));
	return sk->ops->insert(sk->gpu, &sk->view, b);
}

static qb_status
insert(qs_cuda_sketch *sk, const qs_batch *b)
{
	return b->weight ? qs_insert_keys(sk, b) : qs_insert_fastest(sk, b);
}

static qb_status
sum_device_weights(qs_cuda *gpu, const qs_batch *b, int64_t *sum)
{
	if (b->weight)
		return qs_weights_sum(gpu, b->weight, b->count, sum);
	*sum = (int64_t) b->count;
	return QB_OK;
}

/* Check whether keys with this sum of weights may be added; if so, make room for them. */
static qb_status
start_insert(qs_cuda_sketch *sk, int64_t sum, uint64_t count)
{
	if (qs_has_fat(sk->params.structure))
		return QB_READ_ONLY;
	if (sum < 0)
		return QB_TOTAL_OVERFLOW;
	QS_TRY(qs_cuda_prepare(sk, sum, count));
	sk->total += sum;
	sk->gpu->stats.insert_batches++;
	sk->gpu->stats.insert_keys += count;
	return QB_OK;
}

qb_status
qs_cuda_insert(qs_cuda_sketch *sk, const uint64_t *key, const int64_t *weight, size_t count)
{
	qs_host_batch b;

	QS_TRY(qs_cuda_enter(sk->gpu));
	QS_TRY(start_insert(sk, qs_weight_sum(weight, count), count));
	b = qs_describe(key, weight, NULL, 0, count);
	return qs_for_pieces(
		sk->gpu, &b, [&](const qs_batch *ready, uint64_t, void *) { return insert(sk, ready); });
}

/* Add batches that fit into a slot, by one launch. */
static qb_status
insert_together(qs_cuda_sketch *sk, const qs_host_batch *b, int batches)
{
	qs_cuda *gpu = sk->gpu;
	qs_slot *slot = &gpu->slot[qs_next_slot(gpu)];
	qs_batch ready;

	QS_TRY(qs_fill_slot_all(gpu, slot, b, batches, &ready));
	QS_TRY(insert(sk, &ready));
	QS_CUDA_TRY(gpu, cudaEventRecord(slot->done, gpu->stream));
	QS_TRY(qs_wait(gpu, gpu->in));
	return QB_OK;
}

qb_status
qs_cuda_insert_all(qs_cuda_sketch *sk, const qs_cuda_keys *run, int runs)
{
	qs_host_batch b[QS_CUDA_TOGETHER];
	uint64_t count = 0;
	int64_t sum = 0;

	QS_TRY(qs_cuda_enter(sk->gpu));
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
	if (!qs_fit(sk->gpu, b, runs))
		return QB_NO_MEMORY;
	QS_TRY(start_insert(sk, sum, count));
	return insert_together(sk, b, runs);
}

qb_status
qs_cuda_insert_device(qs_cuda_sketch *sk, const uint64_t *key, const int64_t *weight, size_t count)
{
	qs_batch b = { key, weight, count };
	int64_t sum;

	QS_TRY(qs_cuda_enter(sk->gpu));
	if (count == 0)
		return QB_OK;
	QS_TRY(sum_device_weights(sk->gpu, &b, &sum));
	QS_TRY(start_insert(sk, sum, count));
	return insert(sk, &b);
}

qb_status
qs_cuda_query_device(qs_cuda_sketch *sk, const uint64_t *key, size_t count, int64_t *estimate)
{
	qs_batch b = { key, NULL, count };

	QS_TRY(qs_cuda_enter(sk->gpu));
	if (count == 0)
		return QB_OK;
	sk->gpu->stats.query_keys += count;
	return sk->ops->query(sk->gpu, &sk->view, &b, estimate);
}

qb_status
qs_cuda_query(qs_cuda_sketch *sk, const uint64_t *key, size_t count, int64_t *estimate)
{
	qs_cuda *gpu = sk->gpu;
	qs_host_batch b;

	QS_TRY(qs_cuda_enter(gpu));
	b = qs_describe(key, NULL, estimate, sizeof(*estimate), count);
	gpu->stats.query_keys += count;
	return qs_for_pieces(gpu, &b, [&](const qs_batch *ready, uint64_t, void *answers) {
		return sk->ops->query(gpu, &sk->view, ready, (int64_t *) answers);
	});
}

/*
 * ---- arithmetic on whole tables of plain counters, and sums of weights ----
 *
 * A thread takes a counter; neighbouring threads take neighbouring counters.
 * Floor: each counter is read once and written once.
 */

template <typename Into, typename From>
__global__ void
__launch_bounds__(QS_BLOCK) merge_counters(Into *into, const From *from, uint64_t count)
{
	uint64_t stride = (uint64_t) gridDim.x * blockDim.x;

	for (uint64_t i = (uint64_t) blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride)
		into[i] += (Into) __ldcs(&from[i]);
}

template <typename Into, typename From>
static qb_status
merge(qs_cuda *gpu, const qs_view *into, const qs_view *from, uint64_t count)
{
	auto kernel = merge_counters<Into, From>;

	return qs_launch(gpu, kernel, count, (Into *) into->table, (const From *) from->table, count);
}

qb_status
qs_counters_merge(qs_cuda *gpu, const qs_view *into, const qs_view *from, uint64_t counters)
{
	if (into->wide)
		return from->wide ? merge<qs_u64, qs_u64>(gpu, into, from, counters)
						  : merge<qs_u64, uint32_t>(gpu, into, from, counters);
	return from->wide ? merge<uint32_t, qs_u64>(gpu, into, from, counters)
					  : merge<uint32_t, uint32_t>(gpu, into, from, counters);
}

__global__ void
__launch_bounds__(QS_BLOCK) widen_counters(uint64_t *to, const uint32_t *from, uint64_t count)
{
	uint64_t stride = (uint64_t) gridDim.x * blockDim.x;

	for (uint64_t i = (uint64_t) blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride)
		__stcs(&to[i], (uint64_t) __ldcs(&from[i]));
}

qb_status
qs_counters_widen(qs_cuda *gpu, uint8_t *to, const uint8_t *from, uint64_t counters)
{
	return qs_launch(gpu, widen_counters, counters, (uint64_t *) to, (const uint32_t *) from,
					 counters);
}

/* Sum the low halves and the high halves of weights; neither sum can overflow. */
__global__ void
__launch_bounds__(QS_BLOCK)
	sum_weights(const int64_t *weight, uint64_t count, uint64_t *low, uint64_t *high)
{
	uint64_t stride = (uint64_t) gridDim.x * blockDim.x;
	uint64_t low_sum = 0, high_sum = 0;

	for (uint64_t i = (uint64_t) blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride)
	{
		uint64_t w = (uint64_t) __ldcs(&weight[i]);

		low_sum += w & UINT32_MAX;
		high_sum += w >> 32;
	}
	for (int lanes = 16; lanes > 0; lanes /= 2)
	{
		low_sum += __shfl_down_sync(QS_ALL_LANES, low_sum, lanes);
		high_sum += __shfl_down_sync(QS_ALL_LANES, high_sum, lanes);
	}
	if (qs_lane() == 0)
	{
		atomicAdd((qs_u64 *) low, low_sum);
		atomicAdd((qs_u64 *) high, high_sum);
	}
}

qb_status
qs_weights_sum(qs_cuda *gpu, const int64_t *weight, uint64_t count, int64_t *sum)
{
	unsigned __int128 total;

	QS_CUDA_TRY(gpu, cudaMemsetAsync(gpu->result, 0, 2 * sizeof(uint64_t), gpu->stream));
	QS_TRY(qs_launch(gpu, sum_weights, count, weight, count, &gpu->result[0], &gpu->result[1]));
	QS_TRY(qs_read_result(gpu, 2));
	total = ((unsigned __int128) gpu->host_result[1] << 32) + gpu->host_result[0];
	*sum = total > INT64_MAX ? -1 : (int64_t) total;
	return QB_OK;
}
