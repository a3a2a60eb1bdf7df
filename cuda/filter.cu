/*
 * filter.cu
 *		A filter on the device: create, fill, read, destroy; lookups.
 *
 * The bits on the device equal a dense filter's bits on the host, byte for byte.  A filter does not
 * grow after its creation.
 *
 * SQL: qfilter_estimate() and qfilter_contains() of arrays use query and contains.  In the filter
 * aggregates, set_positions copies an explicit filter to a GPU, count_ones counts a filter's bits,
 * and unite_words unites the filters that several GPUs filled from cached columns.
 *
 * cuda/filter.cu
 */
#include "filter.cuh"

#include <new>

/* Allocate the zeroed bits; make the table of gaps on the host, and copy it. */
static qb_status
create_memory(qf_cuda_filter *f)
{
	qs_cuda *gpu = f->gpu;
	qf_gaps gaps = {};
	void *memory;

	QS_TRY(qs_device_alloc(gpu, qf_bits_bytes(f), (void **) &f->view.word));
	if (qf_is_bloom(&f->state.params))
		return QB_OK;
	qf_gaps_make(&gaps, &f->state.params);
	f->view.idle = qf_idle_below(&gaps, f->state.params.k);
	QS_TRY(qs_device_alloc(gpu, sizeof(gaps), &memory));
	f->view.gaps = (const qf_gaps *) memory;
	return qs_copy_now(gpu, memory, &gaps, sizeof(gaps), cudaMemcpyHostToDevice);
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
	*filter = NULL;
	QS_TRY(qs_cuda_enter(gpu));
	QS_TRY(qf_params_check(p));
	QS_TRY(qs_ask_room(gpu, qf_dense_size(p)));
	*filter = new_filter(gpu, p);
	if (!*filter)
		return QB_NO_MEMORY;
	return qs_keep(create_memory(*filter), filter, qf_cuda_destroy);
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
	QS_TRY(qs_cuda_enter(f->gpu));
	return qs_copy_now(f->gpu, (uint8_t *) f->view.word + offset, from, bytes,
					   cudaMemcpyHostToDevice);
}

qb_status
qf_cuda_get(qf_cuda_filter *f, const qs_cuda_piece *piece, int count)
{
	QS_TRY(qs_cuda_enter(f->gpu));
	QS_TRY(qs_follow_stream(f->gpu));
	return qs_copy_pieces(f->gpu, { (const uint8_t *) f->view.word, qf_bits_bytes(f), NULL, 0 },
						  piece, count);
}

__global__ void
__launch_bounds__(QS_BLOCK) unite_words(uint64_t *into, const uint64_t *from, uint64_t words)
{
	qs_for_each(words, [&](uint64_t i) { into[i] |= from[i]; });
}

/*
 * The bits of a peer are read in place.  The bits of any other device are first copied to this
 * device.
 */
qb_status
qf_cuda_unite(qf_cuda_filter *into, const qf_cuda_filter *from, uint64_t offset, size_t bytes)
{
	qs_cuda *gpu = into->gpu;
	uint64_t *at = (uint64_t *) ((uint8_t *) into->view.word + offset);
	uint8_t *bits = (uint8_t *) from->view.word + offset;
	bool peers = qs_reads(gpu, from->gpu);
	uint8_t *carried;

	QS_TRY(qs_cuda_enter(gpu));
	if (peers)
		QS_TRY(qs_follow(gpu, from->gpu));
	else if (from->gpu != gpu)
	{
		QS_TRY(qs_workspace(gpu, bytes, &carried));
		QS_TRY(qs_transfer(gpu, carried, from->gpu, bits, bytes));
		bits = carried;
	}
	QS_TRY(qs_launch(gpu, unite_words, bytes / 8, at, (const uint64_t *) bits, bytes / 8));
	return peers ? qs_hold(gpu, from->gpu) : QB_OK;
}

__global__ void
__launch_bounds__(QS_BLOCK)
	set_positions(uint32_t *word, uint64_t m, const uint32_t *position, uint32_t count)
{
	for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
		if (position[i] < m)
			atomicOr(&word[position[i] / 32], 1u << position[i] % 32);
}

/* Positions that fit into the scratch memory. */
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

		QS_TRY(qs_copy(gpu, scratch, position + at, piece * sizeof(*position),
					   cudaMemcpyHostToDevice));
		QS_TRY(qs_launch(gpu, set_positions, piece, f->view.word, f->view.m,
						 (const uint32_t *) scratch, (uint32_t) piece));
	}
	return qs_wait(gpu, gpu->stream);
}

/* Check a batch, and add its rows to the filter's number of rows. */
static qb_status
start_insert(qf_cuda_filter *f, const qf_batch *b)
{
	int64_t rows;

	if (b->row && b->copies)
		return QB_MISMATCH;
	rows = qf_batch_rows(b);
	if (rows < 0)
		return QB_TOTAL_OVERFLOW;
	return qf_count_rows(&f->state, rows, b->row == NULL);
}

/* Insert a piece of a batch from device memory.  The piece begins at row "at" of the batch. */
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
	.unite = qf_cuda_unite,
	.set = qf_cuda_set,
	.insert = qf_cuda_insert,
	.insert_device = qf_cuda_insert_device,
	.query = qf_cuda_query,
	.contains = qf_cuda_contains,
	.ones = qf_cuda_ones,
	.bytes = qf_cuda_bytes,
};

/*
 * ---- lookups, and the number of set bits ----
 *
 * To count set positions, a warp processes a key, and each lane processes some of the key's k
 * positions.  To test whether all positions are set, a thread processes a key, and stops at the
 * first position that is not set.  Almost all absent keys have such a position among the first few.
 * In blocked filters the test reads a whole line (filter_blocked.cu).
 *
 * Floor of counting: the positions of a key are random, so a key reads k random sectors from L2.
 * If the filter fits into shared memory and there are enough keys, each block copies the filter to
 * shared memory.
 */

__device__ __forceinline__ uint32_t
is_set(const uint32_t *word, uint32_t position)
{
	return word[position / 32] >> position % 32 & 1;
}

/* Return position j in any layout, as qf_any_position() does. */
__device__ __forceinline__ uint32_t
any_position(const qf_view &v, uint64_t h, uint32_t j)
{
	uint64_t draw;

	if (v.lines == 0)
		return qs_reduce_short(qb_mix64(qf_position_input(h, j)), v.m);
	draw = qf_block_draw(h, j / QF_BLOCK_DRAWS) >> j % QF_BLOCK_DRAWS * QF_BLOCK_LOG;
	return qf_block(h, v.m) + (uint32_t) (draw % QF_BLOCK_BITS);
}

/* Count the set positions of each key, a warp per key. */
__device__ __forceinline__ void
count_keys(const qf_view &v, const uint32_t *word, const uint64_t *key, uint64_t count,
		   int64_t *set)
{
	qs_for_each_of_warps(count, [&](uint64_t i) {
		uint64_t h = qf_hash(__ldcs(&key[i]), v.seed_key);
		uint32_t ones = 0;

#pragma unroll 4
		for (uint32_t j = qs_lane(); j < v.k; j += 32)
			ones += is_set(word, any_position(v, h, j));
		ones = __reduce_add_sync(QS_ALL_LANES, ones);
		if (qs_lane() == 0)
			__stcs((long long *) &set[i], (long long) ones);
	});
}

/* Test keys in a filter of the standard layout, a thread per key. */
__device__ __forceinline__ void
find_keys_in(const qf_view &v, const uint32_t *word, const uint64_t *key, uint64_t count,
			 bool *found)
{
	qs_for_each(count, [&](uint64_t i) {
		uint64_t h = qf_hash(__ldcs(&key[i]), v.seed_key);
		uint32_t j = 0;

		while (j < v.k && is_set(word, any_position(v, h, j)))
			j++;
		found[i] = j == v.k;
	});
}

/*
 * Return the filter's bits in device memory.  SHARED: copy the bits to the block's shared memory,
 * and return the copy.
 */
template <bool SHARED>
__device__ __forceinline__ const uint32_t *
bits_of(const qf_view &v)
{
	extern __shared__ uint32_t copy[];

	if constexpr (!SHARED)
		return v.word;
	else
		for (uint32_t i = threadIdx.x; i < v.words; i += blockDim.x)
			copy[i] = v.word[i];
	__syncthreads();
	return copy;
}

template <bool SHARED>
__global__ void
__launch_bounds__(SHARED ? QF_LARGE_BLOCK : QS_BLOCK)
	query(qf_view v, const uint64_t *key, uint64_t count, int64_t *set)
{
	count_keys(v, bits_of<SHARED>(v), key, count, set);
}

template <bool SHARED>
__global__ void
__launch_bounds__(SHARED ? QF_LARGE_BLOCK : QS_BLOCK)
	contains(qf_view v, const uint64_t *key, uint64_t count, bool *found)
{
	find_keys_in(v, bits_of<SHARED>(v), key, count, found);
}

/*
 * Copying the filter to each block takes as long as this many reads of bits per byte of the filter.
 */
#define READS_PER_BYTE 4

qb_status
qf_launch_query(const qf_cuda_filter *f, const uint64_t *key, uint64_t count, void *answer)
{
	qs_cuda *gpu = f->gpu;
	int64_t *set = (int64_t *) answer;
	bool pays = gpu->bulk == QS_BULK_ALWAYS ||
				count * f->view.k >= (uint64_t) READS_PER_BYTE * qf_bits_bytes(f);
	bool shared = false;

	if (pays)
		QS_TRY(qf_fits_shared(f, query<true>, &shared));
	if (shared)
		return qs_launch_blocks(gpu, query<true>, qf_shape(f, count * 32), f->view, key, count,
								set);
	return qs_launch(gpu, query<false>, count * 32, f->view, key, count, set);
}

qb_status
qf_launch_contains(const qf_cuda_filter *f, const uint64_t *key, uint64_t count, void *answer)
{
	bool *found = (bool *) answer;
	bool shared;

	if (f->view.lines > 0)
		return qf_contains_blocked(f, key, count, found);
	QS_TRY(qf_wants_shared(f, contains<true>, count, &shared));
	if (shared)
		return qs_launch_blocks(f->gpu, contains<true>, qf_shape(f, count), f->view, key, count,
								found);
	return qs_launch(f->gpu, contains<false>, count, f->view, key, count, found);
}

struct lookup
{
	size_t answer_bytes;
	qb_status (*launch)(const qf_cuda_filter *f, const uint64_t *key, uint64_t count, void *answer);
};

static const lookup count_set = { sizeof(int64_t), qf_launch_query };
static const lookup find_keys = { sizeof(bool), qf_launch_contains };

static qb_status
look_up(qf_cuda_filter *f, const lookup *l, const uint64_t *key, size_t count, void *answer)
{
	qs_host_batch b;

	QS_TRY(qs_cuda_enter(f->gpu));
	b = qs_describe(key, NULL, answer, l->answer_bytes, count);
	return qs_for_pieces(f->gpu, &b, [&](const qs_batch *ready, uint64_t, void *answers) {
		return l->launch(f, ready->key, ready->count, answers);
	});
}

qb_status
qf_cuda_query(qf_cuda_filter *f, const uint64_t *fingerprint, size_t count, int64_t *set)
{
	return look_up(f, &count_set, fingerprint, count, set);
}

qb_status
qf_cuda_contains(qf_cuda_filter *f, const uint64_t *fingerprint, size_t count, bool *found)
{
	return look_up(f, &find_keys, fingerprint, count, found);
}

__global__ void
__launch_bounds__(QS_BLOCK) count_ones(const uint32_t *word, uint64_t words, qs_u64 *ones)
{
	qs_u64 sum = 0;

	qs_for_each(words, [&](uint64_t i) { sum += __popc(word[i]); });
	for (int step = 16; step > 0; step /= 2)
		sum += __shfl_xor_sync(QS_ALL_LANES, sum, step);
	if (qs_lane() == 0)
		atomicAdd(ones, sum);
}

qb_status
qf_cuda_ones(qf_cuda_filter *f, uint64_t *ones)
{
	qs_cuda *gpu = f->gpu;

	QS_TRY(qs_cuda_enter(gpu));
	QS_CUDA_TRY(gpu, cudaMemsetAsync(gpu->result, 0, sizeof(*gpu->result), gpu->stream));
	QS_TRY(qs_launch(gpu, count_ones, f->view.words, f->view.word, (uint64_t) f->view.words,
					 (qs_u64 *) gpu->result));
	QS_TRY(qs_read_result(gpu, 1));
	*ones = gpu->host_result[0];
	return QB_OK;
}
