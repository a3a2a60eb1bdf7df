/*
 * filter_insert.cu
 *		Insertion of rows into a filter on the device.
 *
 * Frequency filters.  A thread computes the first draw of a row by two mixes.  If k p is small, the
 * first draw of most rows shows that the row sets no bit.  All other rows are busy, and wait in a
 * queue of their warp.  When the queue has 32 rows, each lane makes the draws of one row, so that
 * no lane idles.  The queue is not used for rows with copies.  The table of gaps (qf_gaps) is in
 * shared memory.
 *
 * Bloom filters.  A thread sets all positions of a row's key.  Blocked filters
 * are in filter_blocked.cu.
 *
 * Bits.  A bit in device memory is read before it is set, because reading costs less than an
 * atomic.  Bits are never cleared, so a stale 0 only causes a superfluous atomic.  If the filter
 * fits into a block's shared memory, and the batch sets enough bits (BITS_PER_BYTE), each block
 * fills a filter in shared memory, and at the end ORs its words into the filter in device memory.
 *
 * Floor per row: k p + 1 draws, and for each bit one random access to L2.
 *
 * SQL: qfilter_agg(), qfilter_row_agg(), qfilter_count_agg().
 *
 * cuda/filter_insert.cu
 */
#include "filter.cuh"

/* Largest number of rows of a launch.  A row's number within the launch takes 4 bytes. */
#define LAUNCH_ROWS (UINT64_C(1) << 31)

/* Capacity of a warp's queue of busy rows: 31 rows that are left, and 32 new rows. */
#define QUEUE 64

/* The bits of the filter in device memory. */
struct device_bits
{
	static const int threads = QS_BLOCK;
	uint32_t *word;

	__device__ __forceinline__ void
	set(uint32_t position) const
	{
		uint32_t bit = 1u << position % 32;

		if (!(__ldcg(&word[position / 32]) & bit))
			atomicOr(&word[position / 32], bit);
	}
};

/* The bits of a block's filter in shared memory. */
struct shared_bits
{
	static const int threads = QF_LARGE_BLOCK;
	uint32_t *word;

	__device__ __forceinline__ void
	set(uint32_t position) const
	{
		atomicOr(&word[position / 32], 1u << position % 32);
	}
};

__device__ __forceinline__ uint32_t
position_of(const qf_view &v, uint64_t h, uint32_t j)
{
	return qs_reduce_short(qb_mix64(qf_position_input(h, j)), v.m);
}

__device__ __forceinline__ uint64_t
number_of(const qf_rows &r, uint64_t i)
{
	return r.row ? r.row[i] : r.first_row + i;
}

/* Set the positions that the draws of a row choose, by the table of gaps. */
template <typename Bits>
__device__ __forceinline__ void
set_drawn(const qf_view &v, const qf_gaps *gaps, uint64_t h, uint64_t base, Bits bits)
{
	uint64_t t = 0;

	for (uint32_t j = 0; j < v.k;)
	{
		uint32_t gap = qf_gap(gaps, qf_draw(base, t++));

		j += gap;
		if (j < v.k && gap < QF_GAPS)
			bits.set(position_of(v, h, j++));
	}
}

/*
 * As set_drawn(), for a probability without a table of gaps.  Each gap is computed step by step, up
 * to the last position at most, because further steps would not change which bits are set.
 */
template <typename Bits>
__device__ __forceinline__ void
set_by_steps(const qf_view &v, uint64_t q, uint64_t h, uint64_t base, Bits bits)
{
	uint64_t t = 0;

	for (uint32_t j = 0; j < v.k;)
	{
		uint32_t most = min(v.k - j, (uint32_t) QF_GAPS);
		uint32_t gap = qf_gap_by_steps(q, most, qf_draw(base, t++));

		j += gap;
		if (j < v.k && gap < QF_GAPS)
			bits.set(position_of(v, h, j++));
	}
}

/* How rows without copies set bits in frequency filters. */
struct drawn_rows
{
	static const bool draws = true;

	/* Insert one busy row per lane. */
	template <typename Bits>
	static __device__ __forceinline__ void
	take(const qf_view &v, const qf_rows &r, const qf_gaps *gaps, uint32_t i, Bits bits)
	{
		uint64_t base = qf_draw_base(r.nonce_key, number_of(r, i));

		set_drawn(v, gaps, qf_hash(r.fingerprint[i], v.seed_key), base, bits);
	}

	template <typename Bits>
	static __device__ __forceinline__ void
	insert(const qf_view &v, const qf_rows &r, const qf_gaps *gaps, Bits bits)
	{
		__shared__ uint32_t queues[Bits::threads / 32 * QUEUE];
		uint32_t *queue = queues + threadIdx.x / 32 * QUEUE;
		uint64_t stride = (uint64_t) gridDim.x * blockDim.x;
		uint32_t waiting = 0;

		for (uint64_t at = (uint64_t) blockIdx.x * blockDim.x + threadIdx.x - qs_lane();
			 at < r.count; at += stride)
		{
			uint64_t i = at + qs_lane();
			bool busy =
				i < r.count && qf_draw(qf_draw_base(r.nonce_key, number_of(r, i)), 0) >= v.idle;
			uint32_t lanes = __ballot_sync(QS_ALL_LANES, busy);

			if (busy)
				queue[waiting + __popc(lanes & ((1u << qs_lane()) - 1))] = (uint32_t) i;
			waiting += __popc(lanes);
			__syncwarp();
			if (waiting >= 32)
			{
				waiting -= 32;
				take(v, r, gaps, queue[waiting + qs_lane()], bits);
				__syncwarp();
			}
		}
		if (qs_lane() < waiting)
			take(v, r, gaps, queue[qs_lane()], bits);
	}
};

/* Call each(i) for all rows with at least one copy, a thread per row. */
template <typename Each>
__device__ __forceinline__ void
for_rows(const qf_rows &r, Each each)
{
	qs_for_each(r.count, [&](uint64_t i) {
		if (!r.copies || r.copies[i] > 0)
			each(i);
	});
}

struct copied_rows
{
	static const bool draws = true;

	template <typename Bits>
	static __device__ __forceinline__ void
	insert(const qf_view &v, const qf_rows &r, const qf_gaps *gaps, Bits bits)
	{
		for_rows(r, [&](uint64_t i) {
			uint64_t base = qf_draw_base(r.nonce_key, number_of(r, i));
			uint64_t h = qf_hash(r.fingerprint[i], v.seed_key);

			if (r.copies[i] == 1)
				set_drawn(v, gaps, h, base, bits);
			else
				set_by_steps(v, qf_power(v.q, (uint64_t) r.copies[i]), h, base, bits);
		});
	}
};

struct bloom_rows
{
	static const bool draws = false;

	template <typename Bits>
	static __device__ __forceinline__ void
	insert(const qf_view &v, const qf_rows &r, const qf_gaps *, Bits bits)
	{
		for_rows(r, [&](uint64_t i) {
			uint64_t h = qf_hash(r.fingerprint[i], v.seed_key);

			for (uint32_t j = 0; j < v.k; j++)
				bits.set(position_of(v, h, j));
		});
	}
};

/* Copy the table of gaps into shared memory. */
__device__ __forceinline__ const qf_gaps *
shared_gaps(const qf_view &v)
{
	__shared__ union
	{
		qf_gaps gaps;
		uint64_t word[sizeof(qf_gaps) / 8];
	} table;

	static_assert(sizeof(qf_gaps) % 8 == 0, "copied by words");
	for (uint32_t i = threadIdx.x; i < sizeof(qf_gaps) / 8; i += blockDim.x)
		table.word[i] = ((const uint64_t *) v.gaps)[i];
	__syncthreads();
	return &table.gaps;
}

template <typename Rows, typename Bits>
__device__ __forceinline__ void
insert_all(const qf_view &v, const qf_rows &r, Bits bits)
{
	if constexpr (Rows::draws)
		Rows::insert(v, r, shared_gaps(v), bits);
	else
		Rows::insert(v, r, NULL, bits);
}

template <typename Rows>
__global__ void
__launch_bounds__(QS_BLOCK) insert_direct(qf_view v, qf_rows r)
{
	insert_all<Rows>(v, r, device_bits{ v.word });
}

template <typename Rows>
__global__ void
__launch_bounds__(QF_LARGE_BLOCK) insert_shared(qf_view v, qf_rows r)
{
	extern __shared__ uint32_t local[];

	for (uint32_t i = threadIdx.x; i < v.words; i += blockDim.x)
		local[i] = 0;
	__syncthreads();
	insert_all<Rows>(v, r, shared_bits{ local });
	__syncthreads();
	for (uint32_t i = threadIdx.x; i < v.words; i += blockDim.x)
		if (local[i] & ~__ldcg(&v.word[i]))
			atomicOr(&v.word[i], local[i]);
}

/*
 * A filter in each block's shared memory pays if the batch sets at least this many bits per byte of
 * the filter.  Clearing a block's filter and ORing it into device memory takes as long as setting
 * this many bits per byte in L2.
 */
#define BITS_PER_BYTE 4

static bool
pays_shared(const qf_cuda_filter *f, const qf_rows *r)
{
	const qf_params *p = &f->state.params;

	if (f->gpu->bulk == QS_BULK_ALWAYS)
		return true;
	return (double) r->count * p->k * qf_probability(p) >=
		   (double) BITS_PER_BYTE * (double) qf_bits_bytes(f);
}

template <typename Rows>
static qb_status
launch(const qf_cuda_filter *f, const qf_rows *r)
{
	qs_cuda *gpu = f->gpu;
	bool shared = false;

	if (pays_shared(f, r))
		QS_TRY(qf_fits_shared(f, insert_shared<Rows>, &shared));
	if (shared)
		return qs_launch_blocks(gpu, insert_shared<Rows>, qf_shape(f, r->count), f->view, *r);
	return qs_launch(gpu, insert_direct<Rows>, r->count, f->view, *r);
}

static qb_status
insert_some(const qf_cuda_filter *f, const qf_rows *r)
{
	if (f->view.lines > 0)
		return qf_insert_blocked(f, r);
	if (qf_is_bloom(&f->state.params))
		return launch<bloom_rows>(f, r);
	return r->copies ? launch<copied_rows>(f, r) : launch<drawn_rows>(f, r);
}

qb_status
qf_insert_rows(const qf_cuda_filter *f, const qf_rows *rows)
{
	for (uint64_t at = 0; at < rows->count; at += LAUNCH_ROWS)
	{
		qf_rows some = *rows;

		some.fingerprint += at;
		some.row += some.row ? at : 0;
		some.copies += some.copies ? at : 0;
		some.first_row += at;
		some.count = rows->count - at < LAUNCH_ROWS ? rows->count - at : LAUNCH_ROWS;
		QS_TRY(insert_some(f, &some));
	}
	return QB_OK;
}
