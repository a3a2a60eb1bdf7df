/*
 * filter.cu
 *		A filter on the device: create, fill, read, destroy.
 *
 * The bits on the device are those of a dense filter on the host, byte for
 * byte.  A filter never grows: it needs no memory after its creation.
 *
 * cuda/filter.cu
 */
#include <new>

#include "filter.cuh"
#include "kernels.cuh"

/* Make the table of gaps on the host, and copy it. */
static qb_status
create_gaps(qf_cuda_filter *f)
{
	qs_cuda *gpu = f->gpu;
	qf_gaps gaps = {};
	void *memory;

	if (qf_is_bloom(&f->state.params))
		return QB_OK;
	qf_gaps_make(&gaps, &f->state.params);
	f->view.idle = qf_idle_below(&gaps, f->state.params.k);
	QS_TRY(qs_device_alloc(gpu, sizeof(gaps), &memory));
	f->view.gaps = (const qf_gaps *) memory;
	QS_CUDA_TRY(gpu,
				cudaMemcpyAsync(memory, &gaps, sizeof(gaps), cudaMemcpyHostToDevice, gpu->stream));
	QS_CUDA_TRY(gpu, cudaStreamSynchronize(gpu->stream));
	return QB_OK;
}

static qf_cuda_filter *
new_filter(qs_cuda *gpu, const qf_params *p)
{
	qf_cuda_filter *f = new (std::nothrow) qf_cuda_filter();

	if (!f)
		return NULL;
	f->gpu = gpu;
	qf_init(&f->state, p, NULL);
	f->view.m = p->m;
	f->view.q = p->q;
	f->view.k = p->k;
	f->view.lines = p->layout == QF_BLOCKED ? (uint32_t) (p->m / QF_BLOCK_BITS) : 0;
	f->view.seed_key = f->state.seed_key;
	f->view.words = (uint32_t) (qf_words(p) * 2);
	return f;
}

qb_status
qf_cuda_create(qs_cuda *gpu, const qf_params *p, qf_cuda_filter **filter)
{
	qf_cuda_filter *f;
	qb_status status;

	*filter = NULL;
	QS_TRY(qs_cuda_enter(gpu));
	QS_TRY(qf_params_check(p));
	QS_TRY(qs_ask_room(gpu, qf_dense_size(p)));
	f = new_filter(gpu, p);
	if (!f)
		return QB_NO_MEMORY;
	status = qs_device_alloc(gpu, qf_bits_bytes(f), (void **) &f->view.word);
	if (status == QB_OK)
		status = create_gaps(f);
	if (status != QB_OK)
	{
		qf_cuda_destroy(f);
		return status;
	}
	*filter = f;
	return QB_OK;
}

void
qf_cuda_destroy(qf_cuda_filter *f)
{
	if (!f)
		return;
	cudaSetDevice(f->gpu->device);
	cudaStreamSynchronize(f->gpu->stream);
	qs_device_free(f->gpu, f->view.word, qf_bits_bytes(f));
	qs_device_free(f->gpu, (void *) f->view.gaps, sizeof(qf_gaps));
	delete f;
}

uint64_t
qf_cuda_bytes(const qf_cuda_filter *f)
{
	return qf_bits_bytes(f) + (f->view.gaps ? sizeof(qf_gaps) : 0);
}

qb_status
qf_cuda_put(qf_cuda_filter *f, uint64_t offset, const uint8_t *from, size_t bytes)
{
	qs_cuda *gpu = f->gpu;

	QS_TRY(qs_cuda_enter(gpu));
	QS_CUDA_TRY(gpu, cudaMemcpyAsync((uint8_t *) f->view.word + offset, from, bytes,
									 cudaMemcpyHostToDevice, gpu->stream));
	QS_CUDA_TRY(gpu, cudaStreamSynchronize(gpu->stream));
	gpu->stats.bytes_in += bytes;
	return QB_OK;
}

qb_status
qf_cuda_get(qf_cuda_filter *f, uint64_t offset, uint8_t *to, size_t bytes)
{
	qs_cuda *gpu = f->gpu;

	QS_TRY(qs_cuda_enter(gpu));
	QS_CUDA_TRY(gpu, cudaMemcpyAsync(to, (const uint8_t *) f->view.word + offset, bytes,
									 cudaMemcpyDeviceToHost, gpu->stream));
	QS_CUDA_TRY(gpu, cudaStreamSynchronize(gpu->stream));
	gpu->stats.bytes_out += bytes;
	return QB_OK;
}

__global__ void
__launch_bounds__(QS_BLOCK)
	set_positions(uint32_t *word, uint64_t m, const uint32_t *position, uint32_t count)
{
	for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
		if (position[i] < m)
			atomicOr(&word[position[i] / 32], 1u << position[i] % 32);
}

/* Positions that the scratch memory holds. */
#define SCRATCH_POSITIONS (QS_SCRATCH_WORDS * sizeof(uint64_t) / sizeof(uint32_t))

qb_status
qf_cuda_set(qf_cuda_filter *f, const uint32_t *position, size_t count)
{
	qs_cuda *gpu = f->gpu;
	uint32_t *scratch = (uint32_t *) gpu->scratch;

	QS_TRY(qs_cuda_enter(gpu));
	for (size_t at = 0; at < count; at += SCRATCH_POSITIONS)
	{
		size_t piece = count - at < SCRATCH_POSITIONS ? count - at : SCRATCH_POSITIONS;

		QS_CUDA_TRY(gpu, cudaMemcpyAsync(scratch, position + at, piece * sizeof(*position),
										 cudaMemcpyHostToDevice, gpu->stream));
		QS_TRY(qs_launch(gpu, set_positions, piece, f->view.word, f->view.m,
						 (const uint32_t *) scratch, (uint32_t) piece));
	}
	QS_CUDA_TRY(gpu, cudaStreamSynchronize(gpu->stream));
	gpu->stats.bytes_in += count * sizeof(*position);
	return QB_OK;
}

/* Check whether the rows of a batch may be inserted; if so, count them. */
static qb_status
start_insert(qf_cuda_filter *f, const qf_batch *b)
{
	int64_t rows;

	if (b->row && b->copies)
		return QB_MISMATCH;
	rows = qf_batch_rows(b);
	if (rows < 0)
		return QB_TOTAL_OVERFLOW;
	QS_TRY(qf_count_rows(&f->state, rows, b->row == NULL));
	f->gpu->stats.insert_batches++;
	f->gpu->stats.insert_keys += b->count;
	return QB_OK;
}

/* Insert a piece of a batch that has arrived; it begins at row "at". */
static qb_status
insert_piece(qf_cuda_filter *f, const qf_batch *b, uint64_t at, const qs_batch *ready)
{
	qf_rows rows = {};

	rows.fingerprint = ready->key;
	rows.count = ready->count;
	rows.row = b->row ? (const uint64_t *) ready->weight : NULL;
	rows.copies = b->copies ? ready->weight : NULL;
	rows.first_row = b->first_row + at;
	rows.nonce_key = qf_nonce_key(b->nonce);
	return qf_insert_rows(f, &rows);
}

qb_status
qf_cuda_insert(qf_cuda_filter *f, const qf_batch *b)
{
	const int64_t *number = b->row ? (const int64_t *) b->row : b->copies;
	qs_host_batch h;

	QS_TRY(qs_cuda_enter(f->gpu));
	QS_TRY(start_insert(f, b));
	h = qs_describe(b->fingerprint, number, NULL, 0, b->count);
	return qs_for_pieces(f->gpu, &h, [&](const qs_batch *ready, uint64_t at, void *) {
		return insert_piece(f, b, at, ready);
	});
}

qb_status
qf_cuda_insert_device(qf_cuda_filter *f, const qf_batch *b)
{
	qs_batch here = { b->fingerprint, (const int64_t *) b->row, b->count };

	QS_TRY(qs_cuda_enter(f->gpu));
	if (b->count == 0)
		return QB_OK;
	if (b->copies)
		return QB_MISMATCH;
	QS_TRY(start_insert(f, b));
	return insert_piece(f, b, 0, &here);
}

const qf_filter_ops qf_cuda_filters = {
	.create = qf_cuda_create,
	.destroy = qf_cuda_destroy,
	.write = qf_cuda_put,
	.read = qf_cuda_get,
	.set = qf_cuda_set,
	.insert = qf_cuda_insert,
	.insert_device = qf_cuda_insert_device,
	.query = qf_cuda_query,
	.contains = qf_cuda_contains,
	.ones = qf_cuda_ones,
	.bytes = qf_cuda_bytes,
};
