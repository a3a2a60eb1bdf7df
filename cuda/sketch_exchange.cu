/*
 * sketch_exchange.cu
 *		Sketches to and from the device, and into one another: load, fetch,
 *		merge; as a whole or slice by slice.
 *
 * Tables are copied as they are.  The high buckets of multilevel are in the
 * order in which threads asked for them, and some may be unused.  Fetching
 * leaves out high buckets that are not live, and qs_write() puts the others
 * into the order of their low buckets.
 *
 * cuda/sketch_exchange.cu
 */
extern "C"
{
#include "sketch/explicit.h"
}

#include "sketch.cuh"

/* Copy the tables of a dense sketch to the device. */
static qb_status
load_tables(qs_cuda_sketch *sk, const qs_sketch *from)
{
	qs_cuda *gpu = sk->gpu;
	uint64_t high = qs_is_multilevel(sk) ? from->extra_used : 0;
	uint32_t used = (uint32_t) high;

	QS_CUDA_TRY(gpu, cudaMemcpyAsync(sk->view.table, from->table, sk->table_bytes,
									 cudaMemcpyHostToDevice, gpu->stream));
	gpu->stats.bytes_in += sk->table_bytes;
	if (qs_is_multilevel(sk))
	{
		QS_TRY(qs_grow_high(sk, 0, high));
		QS_CUDA_TRY(gpu, cudaMemcpyAsync(sk->view.extra, from->extra, sk->extra_bytes,
										 cudaMemcpyHostToDevice, gpu->stream));
		gpu->stats.bytes_in += sk->extra_bytes;
		QS_CUDA_TRY(gpu, cudaMemcpyAsync(sk->view.high_used, &used, sizeof(used),
										 cudaMemcpyHostToDevice, gpu->stream));
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
	qb_status status;

	*sketch = NULL;
	if (qs_has_fat(from->params.structure) && (!dense || !qs_has_table(&from->params)))
		return QB_WRONG_PART;
	QS_TRY(qs_ask_room(gpu, qs_dense_size(&from->params, from->wide)));
	QS_TRY(qs_cuda_create_like(gpu, &from->params, dense && from->wide, sketch));
	(*sketch)->keys = from->keys;
	status = dense ? load_tables(*sketch, from) : load_entries(*sketch, from);
	if (status != QB_OK)
	{
		qs_cuda_destroy(*sketch);
		*sketch = NULL;
	}
	return status;
}

/* Leave out high buckets that are not live; *live says how many there are. */
static qb_status
compact_high(qs_cuda_sketch *sk, uint64_t *live)
{
	qs_cuda *gpu = sk->gpu;
	size_t bytes;
	uint8_t *extra;
	qb_status status;

	QS_TRY(qs_high_live(gpu, &sk->view, live));
	bytes = *live * qs_high_bytes(sk->view.wide);
	QS_TRY(qs_device_alloc(gpu, bytes, (void **) &extra));
	status = qs_high_compact(gpu, &sk->view, extra);
	if (status != QB_OK)
	{
		qs_device_free(gpu, extra, bytes);
		return status;
	}
	qs_replace_high(sk, extra, *live);
	sk->high_bound = *live;
	/* the copying kernel has counted them anew: the low half of a word is the number */
	QS_CUDA_TRY(gpu, cudaMemcpyAsync(sk->view.high_used, gpu->result, sizeof(uint32_t),
									 cudaMemcpyDeviceToDevice, gpu->stream));
	return QB_OK;
}

/* Copy the tables from the device into a dense sketch with room for them. */
static qb_status
fetch_tables(qs_cuda_sketch *sk, qs_sketch *to)
{
	qs_cuda *gpu = sk->gpu;

	QS_CUDA_TRY(gpu, cudaMemcpyAsync(to->table, sk->view.table, sk->table_bytes,
									 cudaMemcpyDeviceToHost, gpu->stream));
	if (to->extra_used > 0)
		QS_CUDA_TRY(gpu, cudaMemcpyAsync(to->extra, sk->view.extra,
										 to->extra_used * qs_high_bytes(sk->view.wide),
										 cudaMemcpyDeviceToHost, gpu->stream));
	QS_TRY(qs_wait(gpu, gpu->stream));
	gpu->stats.bytes_out += sk->table_bytes + to->extra_used * qs_high_bytes(sk->view.wide);
	return QB_OK;
}

/* Make an empty dense sketch on the host, with counters as wide as on the device. */
static qb_status
empty_host(const qs_cuda_sketch *sk, uint64_t live, qs_sketch *to, const qb_memory *memory)
{
	qs_init(to, &sk->params, memory);
	QS_TRY(qs_start_dense(to, sk->view.wide));
	if (live > 0)
		QS_TRY(to->ops->reserve(to, live));
	to->extra_used = live;
	to->keys = sk->keys;
	to->total = sk->total;
	return QB_OK;
}

qb_status
qs_cuda_fetch(qs_cuda_sketch *sk, qs_sketch *to, const qb_memory *memory)
{
	uint64_t live = 0;
	qb_status status;

	QS_TRY(qs_cuda_sync(sk->gpu));
	if (qs_is_multilevel(sk))
		QS_TRY(compact_high(sk, &live));
	status = empty_host(sk, live, to, memory);
	if (status == QB_OK)
		status = fetch_tables(sk, to);
	if (status != QB_OK)
		qs_free(to);
	return status;
}

qb_status
qs_cuda_freeze(qs_cuda_sketch *sk, qs_sketch *head)
{
	uint64_t live = 0;

	QS_TRY(qs_cuda_enter(sk->gpu));
	if (qs_has_fat(sk->params.structure))
		return QB_READ_ONLY;
	if (qs_is_multilevel(sk))
		QS_TRY(compact_high(sk, &live));
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

/* Copy bytes of an array to host memory, if any. */
static qb_status
copy_out(qs_cuda *gpu, uint8_t *to, const uint8_t *from, uint64_t bytes)
{
	if (bytes > 0)
		QS_CUDA_TRY(gpu, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, gpu->stream));
	return QB_OK;
}

qb_status
qs_cuda_read(qs_cuda_sketch *sk, uint64_t offset, uint64_t bytes, uint8_t *to)
{
	qs_cuda *gpu = sk->gpu;
	uint64_t table = sk->table_bytes, all = table + sk->extra_bytes;
	uint64_t low;

	QS_TRY(qs_cuda_enter(gpu));
	if (offset > all || bytes > all - offset)
		return QB_NO_MEMORY;
	low = offset >= table ? 0 : bytes < table - offset ? bytes : table - offset;
	QS_TRY(copy_out(gpu, to, sk->view.table + offset, low));
	QS_TRY(copy_out(gpu, to + low, sk->view.extra + (offset + low - table), bytes - low));
	QS_TRY(qs_wait(gpu, gpu->stream));
	gpu->stats.bytes_out += bytes;
	return QB_OK;
}

/* A view of a slice, to be merged only. */
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

/* "into" has room for all that comes with "from". */
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
	QS_TRY(qs_cuda_prepare(into, total, 0));
	into->total += total;
	return QB_OK;
}

/* Copy counters into an empty slice, which needs no more high buckets than the sketch has. */
static qb_status
fill_slice(qs_cuda_sketch *slice, const qs_cuda_sketch *from, qs_slice units)
{
	uint64_t high;

	if (qs_is_multilevel(slice))
	{
		QS_TRY(qs_read_high_used(from, &high));
		QS_TRY(qs_grow_high(slice, 0, high < units.count ? high : units.count));
	}
	return merge_slice(slice, { 0, units.count }, from, units);
}

/* Copy the tables of a sketch to an empty one of another device. */
static qb_status
carry_tables(qs_cuda_sketch *to, const qs_cuda_sketch *from)
{
	qs_cuda *gpu = to->gpu;

	QS_TRY(qs_carry(gpu, to->view.table, from->gpu, from->view.table, from->table_bytes));
	if (!qs_is_multilevel(from))
		return QB_OK;
	QS_TRY(qs_grow_high(to, 0, from->high_room));
	QS_TRY(qs_carry(gpu, to->view.extra, from->gpu, from->view.extra, from->extra_bytes));
	return qs_carry(gpu, to->view.high_used, from->gpu, from->view.high_used, sizeof(uint32_t));
}

/* Add a slice of another device, which is a sketch of its own there. */
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

qb_status
qs_cuda_merge_slice(qs_cuda_sketch *into, qs_slice to, const qs_cuda_sketch *from, qs_slice units)
{
	qs_params params = qs_slice_params(&from->params, units.count);
	qs_cuda_sketch *slice;
	qb_status status;

	QS_TRY(qs_cuda_enter(into->gpu));
	if (into->gpu == from->gpu)
		return merge_slice(into, to, from, units);
	status = qs_cuda_create_like(from->gpu, &params, from->view.wide, &slice);
	if (status != QB_OK)
		return qs_pass_error(into->gpu, from->gpu, status);
	status = fill_slice(slice, from, units);
	if (status == QB_OK)
		status = merge_carried(into, to, slice);
	qs_cuda_destroy(slice);
	return qs_pass_error(into->gpu, from->gpu, status);
}

qb_status
qs_cuda_merge(qs_cuda_sketch *into, const qs_cuda_sketch *from)
{
	if (into->gpu != from->gpu)
		return QB_MISMATCH;
	QS_TRY(qs_cuda_merge_begin(into, &from->params, from->total));
	qb_keys_take(&into->keys, &from->keys);
	return into->ops->merge(into->gpu, &into->view, &from->view);
}
