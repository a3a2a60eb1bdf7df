/*
 * gpu_extra.cu
 *		Operations on a device that only tests and benchmarks use.
 *
 * bench/gpu_extra.cu
 */
#include "filter.cuh"
#include "device.cuh"
#include "sets.cuh"
#include "sketch.cuh"

#include "gpu_extra.h"

/* ---- devices ---- */

void
qs_cuda_get_stats(const qs_cuda *gpu, qs_cuda_stats *stats)
{
	*stats = { gpu->stats.bulk_keys, gpu->stats.device_bytes, gpu->work_bytes };
}

void
qs_cuda_set_bulk(qs_cuda *gpu, qs_cuda_bulk bulk)
{
	gpu->bulk = bulk;
}

void *
qs_cuda_stream(qs_cuda *gpu)
{
	return gpu->stream;
}

qb_status
qs_cuda_host_alloc(qs_cuda *gpu, size_t bytes, void **pointer)
{
	*pointer = NULL;
	QS_TRY(qs_cuda_enter(gpu));
	QS_CUDA_TRY(gpu, cudaMallocHost(pointer, bytes));
	return QB_OK;
}

void
qs_cuda_host_free(qs_cuda *gpu, void *pointer)
{
	cudaSetDevice(gpu->device);
	if (pointer)
		cudaFreeHost(pointer);
}

void
qs_cuda_trim(qs_cuda *gpu)
{
	qs_workspace_free(gpu);
}

/* ---- sketches ---- */

qb_status
qs_cuda_reset(qs_cuda_sketch *sk)
{
	qs_cuda *gpu = sk->gpu;

	QS_TRY(qs_cuda_enter(gpu));
	QS_CUDA_TRY(gpu, cudaMemsetAsync(sk->view.table, 0, sk->table_bytes, gpu->stream));
	if (sk->extra_bytes > 0)
		QS_CUDA_TRY(gpu, cudaMemsetAsync(sk->view.extra, 0, sk->extra_bytes, gpu->stream));
	QS_CUDA_TRY(gpu, cudaMemsetAsync(sk->view.high_used, 0, sizeof(uint32_t), gpu->stream));
	sk->total = 0;
	sk->high_bound = sk->ever = 0;
	return QB_OK;
}

const qs_params *
qs_cuda_params(const qs_cuda_sketch *sk)
{
	return &sk->params;
}

qb_status
qs_cuda_widen(qs_cuda_sketch *sk)
{
	return qs_widen(sk);
}

/* Make "to" a dense sketch with "live" high buckets, and read the device's tables into it. */
static qb_status
read_tables(qs_cuda_sketch *sk, uint64_t live, qs_sketch *to)
{
	qs_cuda_piece piece[2];

	QS_TRY(qs_start_dense(to, sk->view.wide));
	if (live > 0)
		QS_TRY(to->ops->reserve(to, live));
	to->extra_used = live;
	to->keys = sk->keys;
	to->total = sk->total;
	piece[0] = { 0, sk->table_bytes, to->table };
	piece[1] = { sk->table_bytes, live * qs_high_bytes(sk->view.wide), to->extra };
	return qs_cuda_read(sk, piece, live > 0 ? 2 : 1);
}

qb_status
qs_cuda_fetch(qs_cuda_sketch *sk, qs_sketch *to, const qb_memory *memory)
{
	qs_sketch head = {};
	qb_status status;

	QS_TRY(qs_cuda_sync(sk->gpu));
	if (!qs_has_fat(sk->params.structure))
	{
		QS_TRY(qs_cuda_prepare_read(sk));
		QS_TRY(qs_cuda_freeze(sk, &head));
	}
	qs_init(to, &sk->params, memory);
	status = read_tables(sk, head.extra_used, to);
	if (status != QB_OK)
		qs_free(to);
	return status;
}

qb_status
qs_cuda_query_device(qs_cuda_sketch *sk, const uint64_t *key, size_t count, int64_t *estimate)
{
	qs_batch b = { key, NULL, count };

	QS_TRY(qs_cuda_enter(sk->gpu));
	return count == 0 ? QB_OK : sk->ops->query(sk->gpu, &sk->view, &b, estimate);
}

/* ---- filters ---- */

qb_status
qf_cuda_reset(qf_cuda_filter *f)
{
	qs_cuda *gpu = f->gpu;

	QS_TRY(qs_cuda_enter(gpu));
	QS_CUDA_TRY(gpu, cudaMemsetAsync(f->view.word, 0, qf_bits_bytes(f), gpu->stream));
	f->state.rows = 0;
	f->state.keys = {};
	return QB_OK;
}

/* Load the positions of an explicit filter in batches. */
static qb_status
load_positions(qf_cuda_filter *f, const qf_filter *from)
{
	uint32_t position[1024];
	size_t count;
	uint64_t at = 0;

	do
	{
		for (count = 0; count < 1024 && qf_explicit_next(from, &at, &position[count]); count++)
			;
		QS_TRY(qf_cuda_set(f, position, count));
	}
	while (count > 0);
	return QB_OK;
}

qb_status
qf_cuda_load(qs_cuda *gpu, const qf_filter *from, qf_cuda_filter **filter)
{
	qb_status status;

	QS_TRY(qf_cuda_create(gpu, &from->params, filter));
	(*filter)->state.keys = from->keys;
	(*filter)->state.rows = from->rows;
	if (from->encoding == QF_EXPLICIT)
		status = load_positions(*filter, from);
	else
		status = qf_cuda_put(*filter, 0, from->bits, qf_bits_bytes(*filter));
	if (status != QB_OK)
	{
		qf_cuda_destroy(*filter);
		*filter = NULL;
	}
	return status;
}

/* Copy the bits and the number of set bits into a dense filter with allocated bits. */
static qb_status
fetch_bits(qf_cuda_filter *f, qf_filter *to)
{
	QS_TRY(qf_cuda_ones(f, &to->ones));
	const qs_cuda_piece all = { 0, qf_bits_bytes(f), to->bits };

	return qf_cuda_get(f, &all, 1);
}

qb_status
qf_cuda_fetch(qf_cuda_filter *f, qf_filter *to, const qb_memory *memory)
{
	qb_status status;

	QS_TRY(qs_cuda_sync(f->gpu));
	qf_init(to, &f->state.params, memory);
	to->keys = f->state.keys;
	to->rows = f->state.rows;
	status = qf_make_dense(to);
	if (status == QB_OK)
		status = fetch_bits(f, to);
	if (status != QB_OK)
		qf_free(to);
	return status;
}

static bool
same_params(const qf_params *a, const qf_params *b)
{
	return qf_params_mergeable(a, b);
}

qb_status
qf_cuda_merge(qf_cuda_filter *into, const qf_cuda_filter *from)
{
	bool countable = from->state.rows != QF_ROWS_UNKNOWN;

	if (!same_params(&into->state.params, &from->state.params))
		return QB_MISMATCH;
	QS_TRY(qs_cuda_enter(into->gpu));
	QS_TRY(qf_count_rows(&into->state, countable ? from->state.rows : 1, countable));
	qb_keys_take(&into->state.keys, &from->state.keys);
	return qf_cuda_unite(into, from, 0, qf_words(&into->state.params) * 8);
}

qb_status
qf_cuda_query_device(qf_cuda_filter *f, const uint64_t *fingerprint, size_t count, int64_t *set)
{
	QS_TRY(qs_cuda_enter(f->gpu));
	return count == 0 ? QB_OK : qf_launch_query(f, fingerprint, count, set);
}

qb_status
qf_cuda_contains_device(qf_cuda_filter *f, const uint64_t *fingerprint, size_t count, bool *found)
{
	QS_TRY(qs_cuda_enter(f->gpu));
	return count == 0 ? QB_OK : qf_launch_contains(f, fingerprint, count, found);
}

/* ---- collections of sets ---- */

uint64_t
qset_cuda_sets_count(const qset_cuda_sets *s)
{
	return s->sets;
}

qb_status
qset_cuda_sets_load(qs_cuda *gpu, const qset_collection *from, qset_cuda_sets **to)
{
	qb_status status = qset_cuda_sets_create(gpu, from->sets, from->elements, from->universe, to);

	if (status != QB_OK)
		return status;
	status = qset_cuda_sets_put_offsets(*to, 0, from->offset, from->sets + 1);
	if (status == QB_OK && from->elements > 0)
		status = qset_cuda_sets_put_elements(*to, 0, from->rank, from->elements);
	if (status != QB_OK)
	{
		qset_cuda_sets_destroy(*to);
		*to = NULL;
	}
	return status;
}

static bool
endless(void)
{
	return true;
}

qb_status
qset_cuda_pairs_next(qset_cuda_pairs *pairs, qset_pair *out, uint64_t room, uint64_t *count,
					 bool *over)
{
	return qset_cuda_pairs_wait(pairs, endless, out, room, count, over);
}

qb_status
qset_cuda_pairs_count(qset_cuda_pairs *pairs, uint64_t *count)
{
	static qset_pair out[1 << 16];
	uint64_t more;
	bool over = false;

	for (*count = 0; !over; *count += more)
		QS_TRY(qset_cuda_pairs_next(pairs, out, 1 << 16, &more, &over));
	return QB_OK;
}
