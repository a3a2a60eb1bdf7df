/*
 * sketch.cu
 *		A sketch on the device: creates, widens, grows, prepares for reading, reads, merges and
 *		destroys it.
 *
 * Device tables have the layout of dense tables on the host, byte for byte.  A table grows by a
 * copy into a new table, and the old table is freed only when the new table is complete.  So a lack
 * of memory does not change a sketch.
 *
 * Kernels take high buckets of multilevel, but cannot allocate memory.  So before each launch the
 * host allocates all high buckets that the launch could take; see reserve_high().
 *
 * SQL: qsketch_agg() and lookups of arrays make sketches on a GPU (fill_masks).  A total weight of
 * 2^32 or more needs widen_counters.
 *
 * cuda/sketch.cu
 */
#include "sketch_kernels.cuh"

#include <new>

/*
 * High buckets are allocated for this many launches in advance, but at most two high buckets per
 * resident thread.
 */
#define LAUNCHES_AHEAD 32

/*
 * If one high bucket per bucket needs at most this many bytes, room_for_live() does not count the
 * live high buckets.
 */
#define UNCOUNTED_BYTES ((size_t) 16 << 20)

/* Indexed by qs_structure.  The slim table of sf is handled as a sub_warp sketch. */
static const qs_cuda_ops *const ops[] = { NULL,
										  &qs_thread_cuda,
										  &qs_warp_cuda,
										  &qs_half_warp_cuda,
										  &qs_sub_warp_cuda,
										  &qs_multilevel_cuda,
										  &qs_sub_warp_cuda };

static_assert(sizeof(ops) / sizeof(ops[0]) == QS_STRUCTURES, "every structure has operations");

/*
 * Return the bytes of the table.  In multilevel only high buckets have wide counters, so the size
 * of the table does not depend on "wide".
 */
static size_t
table_bytes_of(const qs_cuda_sketch *sk, bool wide)
{
	uint64_t rows = qs_has_rows(sk->params.structure) ? sk->params.depth : 1;

	return sk->params.n * rows * sk->ops->bucket_bytes(wide);
}

/* Check the parameters as qs_params_check() does, but allow up to 2^32 - 1 buckets. */
static qb_status
check_params(const qs_params *p)
{
	qs_params smallest = *p;

	smallest.n = 1;
	QS_TRY(qs_params_check(&smallest));
	return p->n >= 1 && p->n <= UINT32_MAX ? QB_OK : QB_BAD_SIZE;
}

/* Compute the masks of a sketch as on the host, a thread per mask. */
__global__ void
__launch_bounds__(QS_BLOCK)
	fill_masks(uint32_t *masks, uint32_t count, uint64_t seed_key, uint32_t m, uint32_t d)
{
	uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < count)
		masks[i] = qs_mask(seed_key, m, d, i);
}

/*
 * A sketch's header begins with USED_BYTES bytes for the number of high buckets taken.  The masks
 * follow.
 */
#define USED_BYTES 16

static size_t
header_bytes(const qs_cuda_sketch *sk)
{
	bool masks = qs_bucket_width(sk->params.structure) > 0;

	return USED_BYTES + (masks ? sk->view.mask_count * sizeof(uint32_t) : 0);
}

static qb_status
create_header(qs_cuda_sketch *sk)
{
	qs_cuda *gpu = sk->gpu;
	uint32_t m = qs_bucket_width(sk->params.structure);
	uint32_t count = sk->view.mask_count;
	uint8_t *header;

	QS_TRY(qs_device_take(gpu, header_bytes(sk), (void **) &header));
	sk->view.high_used = (uint32_t *) header;
	QS_CUDA_TRY(gpu, cudaMemsetAsync(header, 0, USED_BYTES, gpu->stream));
	if (m == 0)
		return QB_OK;
	sk->view.masks = (uint32_t *) (header + USED_BYTES);
	fill_masks<<<(unsigned) qs_ceil_div(count, QS_BLOCK), QS_BLOCK, 0, gpu->stream>>>(
		(uint32_t *) sk->view.masks, count, sk->view.seed_key, m, sk->params.depth);
	return qs_launched(gpu);
}

/* Allocate the zeroed table and the header of a sketch whose view has no memory yet. */
static qb_status
create_memory(qs_cuda_sketch *sk)
{
	QS_TRY(create_header(sk));
	sk->table_bytes = table_bytes_of(sk, sk->view.wide);
	return qs_device_alloc(sk->gpu, sk->table_bytes, (void **) &sk->view.table);
}

/* Make a sketch without device memory.  For sf, make a device part (QS_PART_DEVICE). */
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
	*sketch = NULL;
	QS_TRY(qs_cuda_enter(gpu));
	QS_TRY(check_params(p));
	*sketch = new_sketch(gpu, p, wide);
	if (!*sketch)
		return QB_NO_MEMORY;
	return qs_keep(create_memory(*sketch), sketch, qs_cuda_destroy);
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
	qs_cuda_frequent_end(sk);
	free_counts(sk);
	qs_device_free(sk->gpu, sk->view.high_used, header_bytes(sk));
	if (sk->read_ready)
		cudaEventDestroy(sk->read_ready);
	delete sk;
}

uint64_t
qs_cuda_bytes(const qs_cuda_sketch *sk)
{
	return sk->table_bytes + sk->extra_bytes + header_bytes(sk);
}

/* Copy counters of 4 bytes to counters of 8 bytes. */
__global__ void
__launch_bounds__(QS_BLOCK) widen_counters(uint64_t *to, const uint32_t *from, uint64_t count)
{
	qs_for_each(count, [&](uint64_t i) { __stcs(&to[i], (uint64_t) __ldcs(&from[i])); });
}

/*
 * Copy the counters into tables with counters of 8 bytes, and wait.  In multilevel only high
 * buckets have such counters.
 */
static qb_status
widen_tables(qs_cuda_sketch *sk, uint8_t *table, uint8_t *extra)
{
	qs_cuda *gpu = sk->gpu;
	const qs_view *v = &sk->view;
	uint64_t high = sk->high_room * QS_HIGH_COUNTERS, counters = sk->table_bytes / 4;

	if (!qs_is_multilevel(sk))
		QS_TRY(qs_launch(gpu, widen_counters, counters, (uint64_t *) table,
						 (const uint32_t *) v->table, counters));
	else if (high > 0)
		QS_TRY(qs_launch(gpu, widen_counters, high, (uint64_t *) extra, (const uint32_t *) v->extra,
						 high));
	return qs_wait(gpu, gpu->stream);
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

/* Read how many high buckets are taken. */
static qb_status
read_high_used(const qs_cuda_sketch *sk, uint64_t *used)
{
	qs_cuda *gpu = sk->gpu;

	QS_TRY(qs_read_bytes(gpu, sk->view.high_used, sizeof(uint32_t)));
	*used = *(const uint32_t *) gpu->host_result;
	return QB_OK;
}

/* Replace the table of high buckets by a table of "room" high buckets, and free the old table. */
static void
replace_high(qs_cuda_sketch *sk, uint8_t *extra, uint64_t room)
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

	if (status == QB_OK)
		status = qs_copy(gpu, extra, sk->view.extra, used * qs_high_bytes(sk->view.wide),
						 cudaMemcpyDeviceToDevice);
	if (status != QB_OK)
	{
		qs_device_free(gpu, extra, bytes);
		return status;
	}
	replace_high(sk, extra, room);
	return QB_OK;
}

static uint64_t
threads_of(const qs_cuda *gpu)
{
	return (uint64_t) gpu->multiprocessors * gpu->threads;
}

/*
 * Return an upper limit of the high buckets that a launch takes but leaves unused: one for each
 * warp, or one for each thread of a bulk launch.
 */
static uint64_t
loose_buckets(const qs_cuda_sketch *sk, uint64_t keys, bool bulk)
{
	uint64_t threads = threads_of(sk->gpu);
	uint64_t wanted = qs_ceil_div(keys, QS_BLOCK) * QS_BLOCK;

	return bulk ? threads : (wanted < threads ? wanted : threads) / 32;
}

/* Return an upper limit of the high buckets that all launches for these keys leave unused. */
static uint64_t
loose_of_pieces(const qs_cuda_sketch *sk, uint64_t keys, uint64_t piece)
{
	uint64_t each = keys < piece ? keys : piece;

	if (keys == 0)
		return 0;
	return qs_ceil_div(keys, each) * qs_fastest_launches(sk, each) *
		   loose_buckets(sk, each, qs_wants_bulk(sk, each));
}

/*
 * Return an upper limit of the buckets that need a high bucket.  A bucket needs a high bucket when
 * one of its counters reaches 256.
 */
static uint64_t
owners_of(const qs_cuda_sketch *sk)
{
	return sk->ever / 256 < sk->params.n ? sk->ever / 256 : sk->params.n;
}

/*
 * True if enough high buckets are allocated for a launch.  high_bound counts the high buckets taken
 * when the host last read their number, and the high buckets that later launches may have left
 * unused.  In addition, each bucket that can need a high bucket may take one (owners_of()), and
 * this launch may leave "loose" high buckets unused (loose_buckets()).
 */
bool
qs_has_high_room(const qs_cuda_sketch *sk, uint64_t loose)
{
	return sk->high_bound + owners_of(sk) + loose <= sk->high_room;
}

/*
 * Allocate twice the high buckets that the sketch needs now, and "loose" high buckets for several
 * launches, so that allocations are rare.  If there is too little memory, allocate only the high
 * buckets for this launch.
 */
qb_status
qs_make_high_room(qs_cuda_sketch *sk, uint64_t loose)
{
	uint64_t used = sk->high_bound, owners = owners_of(sk);
	uint64_t ahead = LAUNCHES_AHEAD * loose, most = 2 * threads_of(sk->gpu);
	uint64_t room = used + owners + loose;
	qb_status status;

	if (room <= sk->high_room)
		return QB_OK;
	if (ahead > most)
		ahead = most > loose ? most : loose;
	status = qs_grow_high(sk, used, 2 * (used + owners) + ahead);
	return status == QB_NO_MEMORY ? qs_grow_high(sk, used, room) : status;
}

/*
 * Allocate the high buckets for a launch.  Reads the number of high buckets taken only if the upper
 * limits in qs_has_high_room() leave too few free high buckets.
 */
static qb_status
reserve_high(qs_cuda_sketch *sk, uint64_t loose)
{
	if (qs_has_high_room(sk, loose))
		return QB_OK;
	if (sk->high_room > 0)
		QS_TRY(read_high_used(sk, &sk->high_bound));
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
qs_insert_keys(qs_cuda_sketch *sk, const qs_batch *b)
{
	QS_TRY(qs_reserve_launch(sk, b->count, false));
	return sk->ops->insert(sk->gpu, &sk->view, b);
}

qb_status
qs_cuda_prepare(qs_cuda_sketch *sk, int64_t weight, uint64_t keys, uint64_t piece)
{
	uint64_t ever = sk->ever;
	qb_status status = QB_OK;

	sk->at_rest = false;
	if (weight > INT64_MAX - sk->total)
		return QB_TOTAL_OVERFLOW;
	if (!sk->view.wide && sk->total + weight >= QS_WIDE_TOTAL)
		QS_TRY(qs_widen(sk));
	sk->ever += (uint64_t) weight;
	if (qs_is_multilevel(sk))
		status = reserve_high(sk, loose_of_pieces(sk, keys, piece));
	if (status != QB_OK)
		sk->ever = ever;
	return status;
}

/*
 * ---- reading from the device, and merging slice by slice ----
 *
 * Tables are copied unchanged.  The high buckets of multilevel are in the order in which threads
 * took them, and some may be unused.  compact_high() removes high buckets that are not live.  Later
 * qs_write() orders the live high buckets by their low buckets.
 */

/*
 * Allocate zeroed memory for all live high buckets.  *live becomes the capacity of this memory in
 * high buckets.  A bucket has at most one high bucket, so one high bucket per bucket is enough.  If
 * that memory would exceed UNCOUNTED_BYTES or is not free, the function counts the live high
 * buckets, and waits for the count.
 */
static qb_status
room_for_live(qs_cuda_sketch *sk, uint64_t *live, uint8_t **extra)
{
	uint64_t each = qs_high_bytes(sk->view.wide);
	qb_status status = QB_NO_MEMORY;

	*live = sk->params.n;
	if (*live * each <= UNCOUNTED_BYTES && qs_ask_room(sk->gpu, *live * each) == QB_OK)
		status = qs_device_alloc(sk->gpu, *live * each, (void **) extra);
	if (status != QB_NO_MEMORY)
		return status;
	QS_TRY(qs_high_collect(sk->gpu, &sk->view, NULL, live));
	return qs_device_alloc(sk->gpu, *live * each, (void **) extra);
}

/* Replace the table of high buckets by a table of the live high buckets. */
static qb_status
compact_high(qs_cuda_sketch *sk)
{
	qs_cuda *gpu = sk->gpu;
	uint64_t live;
	uint8_t *extra;
	qb_status status;

	QS_TRY(room_for_live(sk, &live, &extra));
	status = qs_high_collect(gpu, &sk->view, extra, NULL);
	if (status != QB_OK)
	{
		qs_device_free(gpu, extra, live * qs_high_bytes(sk->view.wide));
		return status;
	}
	replace_high(sk, extra, live);
	sk->high_bound = live;
	/* the number of live high buckets, which qs_high_collect() has written, fits into 4 bytes */
	return qs_copy(gpu, sk->view.high_used, gpu->result, sizeof(uint32_t),
				   cudaMemcpyDeviceToDevice);
}

qb_status
qs_cuda_prepare_read(qs_cuda_sketch *sk)
{
	QS_TRY(qs_cuda_enter(sk->gpu));
	if (qs_has_fat(sk->params.structure))
		return QB_READ_ONLY;
	sk->at_rest = false;
	if (qs_is_multilevel(sk))
		QS_TRY(compact_high(sk));
	if (!sk->read_ready)
		QS_CUDA_TRY(sk->gpu, cudaEventCreateWithFlags(&sk->read_ready, cudaEventDisableTiming));
	QS_CUDA_TRY(sk->gpu, cudaEventRecord(sk->read_ready, sk->gpu->stream));
	return QB_OK;
}

bool
qs_cuda_read_is_ready(qs_cuda_sketch *sk)
{
	return !sk->read_ready || qs_query_event(sk->read_ready) != cudaErrorNotReady;
}

/*
 * Read the number of high buckets of a prepared sketch.  Does not wait for kernels that were queued
 * after the preparation.
 */
static qb_status
read_live(qs_cuda_sketch *sk, uint64_t *live)
{
	qs_cuda *gpu = sk->gpu;

	*live = 0;
	QS_CUDA_TRY(gpu, cudaStreamWaitEvent(gpu->out, sk->read_ready, 0));
	sk->at_rest = true;
	if (!qs_is_multilevel(sk))
		return QB_OK;
	QS_CUDA_TRY(gpu, cudaMemcpyAsync(gpu->host_result, sk->view.high_used, sizeof(uint32_t),
									 cudaMemcpyDeviceToHost, gpu->out));
	QS_TRY(qs_wait(gpu, gpu->out));
	sk->high_bound = *live = *(const uint32_t *) gpu->host_result;
	return QB_OK;
}

qb_status
qs_cuda_freeze(qs_cuda_sketch *sk, qs_sketch *head)
{
	uint64_t live;

	QS_TRY(qs_cuda_enter(sk->gpu));
	if (!sk->read_ready)
		return QB_MISMATCH;
	QS_TRY(read_live(sk, &live));
	qs_init(head, &sk->params, NULL);
	head->encoding = QS_DENSE;
	head->wide = sk->view.wide;
	head->total = sk->total;
	head->keys = sk->keys;
	head->extra_used = live;
	head->table = sk->view.table;
	head->extra = live > 0 ? sk->view.extra : NULL;
	return QB_OK;
}

int64_t
qs_cuda_total(const qs_cuda_sketch *sk)
{
	return sk->total;
}

qb_status
qs_cuda_read(qs_cuda_sketch *sk, const qs_cuda_piece *piece, int count)
{
	QS_TRY(qs_cuda_enter(sk->gpu));
	if (!sk->at_rest)
		QS_TRY(qs_follow_stream(sk->gpu));
	return qs_copy_pieces(sk->gpu,
						  { sk->view.table, sk->table_bytes, sk->view.extra, sk->extra_bytes },
						  piece, count);
}

/* Return the view of a slice, for merging only. */
static qs_view
view_of(const qs_cuda_sketch *sk, qs_slice units)
{
	qs_params slice = qs_slice_params(&sk->params, units.count);
	qs_view view = sk->view;

	view.table += units.first * sk->ops->bucket_bytes(sk->view.wide);
	view.n = slice.n;
	view.depth = slice.depth;
	return view;
}

/* Add units of "from" to a slice.  Enough high buckets of "into" are allocated. */
static qb_status
merge_slice(qs_cuda_sketch *into, qs_slice to, const qs_cuda_sketch *from, qs_slice units)
{
	qs_view target = view_of(into, to), source = view_of(from, units);

	return into->ops->merge(into->gpu, &target, &source);
}

qb_status
qs_cuda_merge_begin(qs_cuda_sketch *into, const qs_params *from, int64_t total)
{
	if (!qs_params_mergeable(&into->params, from))
		return QB_MISMATCH;
	if (total > INT64_MAX - into->total)
		return QB_TOTAL_OVERFLOW;
	QS_TRY(qs_cuda_enter(into->gpu));
	QS_TRY(qs_cuda_prepare(into, total, 0, 0));
	into->total += total;
	return QB_OK;
}

/*
 * Copy counters into an empty slice.  The slice needs no more high buckets than "from" has taken.
 */
static qb_status
fill_slice(qs_cuda_sketch *slice, const qs_cuda_sketch *from, qs_slice units)
{
	uint64_t high;

	if (qs_is_multilevel(slice))
	{
		QS_TRY(read_high_used(from, &high));
		QS_TRY(qs_grow_high(slice, 0, high < units.count ? high : units.count));
	}
	return merge_slice(slice, { 0, units.count }, from, units);
}

/* Copy the tables of a sketch to an empty sketch on another device. */
static qb_status
carry_tables(qs_cuda_sketch *to, const qs_cuda_sketch *from)
{
	qs_cuda *gpu = to->gpu;

	QS_TRY(qs_transfer(gpu, to->view.table, from->gpu, from->view.table, from->table_bytes));
	if (!qs_is_multilevel(from))
		return QB_OK;
	QS_TRY(qs_grow_high(to, 0, from->high_room));
	QS_TRY(qs_transfer(gpu, to->view.extra, from->gpu, from->view.extra, from->extra_bytes));
	return qs_transfer(gpu, to->view.high_used, from->gpu, from->view.high_used, sizeof(uint32_t));
}

/* Copy a slice, which is a sketch on another device, to the device of "into", and add the slice. */
static qb_status
merge_carried(qs_cuda_sketch *into, qs_slice to, const qs_cuda_sketch *slice)
{
	qs_cuda_sketch *carried;
	qb_status status;

	QS_TRY(qs_cuda_create_like(into->gpu, &slice->params, slice->view.wide, &carried));
	status = carry_tables(carried, slice);
	if (status == QB_OK)
		status = merge_slice(into, to, carried, { 0, to.count });
	qs_cuda_destroy(carried);
	return status;
}

/* Add a slice of a peer, which is read in place. */
static qb_status
merge_peer(qs_cuda_sketch *into, qs_slice to, const qs_cuda_sketch *from, qs_slice units)
{
	QS_TRY(qs_follow(into->gpu, from->gpu));
	QS_TRY(merge_slice(into, to, from, units));
	return qs_hold(into->gpu, from->gpu);
}

qb_status
qs_cuda_merge_slice(qs_cuda_sketch *into, qs_slice to, const qs_cuda_sketch *from, qs_slice units)
{
	qs_params params = qs_slice_params(&from->params, units.count);
	qs_cuda_sketch *slice;
	qb_status status;

	QS_TRY(qs_cuda_enter(into->gpu));
	into->at_rest = false;
	if (into->gpu == from->gpu)
		return merge_slice(into, to, from, units);
	if (qs_reads(into->gpu, from->gpu))
		return merge_peer(into, to, from, units);
	status = qs_cuda_create_like(from->gpu, &params, from->view.wide, &slice);
	if (status != QB_OK)
		return qs_pass_error(into->gpu, from->gpu, status);
	status = fill_slice(slice, from, units);
	if (status == QB_OK)
		status = merge_carried(into, to, slice);
	qs_cuda_destroy(slice);
	return qs_pass_error(into->gpu, from->gpu, status);
}
