/*
 * sets_rows.cu
 *		One row of counters at a time: adding the lists of the inverted index, and writing the
 *		pairs that pass the filter.
 *
 * A block of threads takes a unit: a row and a block of columns, with a
 * counter for each column in shared memory.  It walks the lists of the row's
 * elements (paper, section 3: sf-gssjoin, which adds to a triangle of counters
 * in global memory instead), adds what the strip has, and writes the pairs
 * that pass.  Floor: one atomic addition to shared memory for each event (a
 * pair of equal elements).  Each of the 32 banks makes one addition a clock.  The
 * columns of events are random, so among a warp's 32 additions the fullest
 * bank has 3.5 on average.
 *
 * cuda/sets_rows.cu
 */
#include "sets_lists.cuh"
#include "sets_search.cuh"
#include "sets_wanted.cuh"

/*
 * Two blocks of 1024 threads, or four of 512, must have registers enough on
 * devices where so many can run.
 */
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ % 100 == 0 && __CUDA_ARCH__ <= 1030)
#define BLOCKS_LEAST 2
#else
#define BLOCKS_LEAST 1
#endif
/* Shared memory that the kernel's own variables and the system take for each block. */
#define OWN_SHARED 12288

/* ---- the kernel ---- */

__device__ __forceinline__ unit
unit_of(const task &t, uint64_t number)
{
	unit u;
	uint64_t row = t.strip_first + number / t.blocks;
	uint64_t least;

	u.row = (uint32_t) row;
	u.first = (uint32_t) (number % t.blocks) * t.block_columns;
	u.to = t.columns - u.first > t.block_columns ? u.first + t.block_columns : t.columns;
	u.from = t.tail && u.first <= u.row ? u.row + 1 : u.first;
	if (u.from > u.to)
		u.from = u.to;
	u.size = (uint32_t) (t.row_offset[row + 1] - t.row_offset[row]);
	least = qset_filter_least(&t.filter, u.size);
	if (least == 0 && !qset_filter_passes_nothing(&t.filter))
		least = 1;
	if (least > u.size)
		u.from = u.to; /* no pair of the row can pass */
	u.least = (uint32_t) least;
	u.counted = t.lists;
	u.strip = t.strip ? t.strip + (row - t.strip_first) * t.strip_width : NULL;
	return u;
}

/* Make a unit's counters from its lists.  All threads of the block meet at the end. */
template <typename Set>
__device__ void
count_lists(const task &t, const unit &u, batch *s, uint32_t *counter)
{
	portion first = find_portion<Set>(t, u, t.row_offset[u.row], t.row_offset[u.row + 1]);

	for (uint32_t i = threadIdx.x; i < t.block_columns; i += blockDim.x)
		counter[i] = 0;
	__syncthreads();
	add_lists<Set>(t, u, first, s, counter - u.first);
	__syncthreads();
}

__device__ void
store_counts(const unit &u, const uint32_t *counter)
{
	for (uint32_t b = u.from + threadIdx.x; b < u.to; b += blockDim.x)
		u.strip[b] = get_count(counter, u, b);
}

template <typename Set, bool Top>
__global__ void
__launch_bounds__(THREADS_MAX, BLOCKS_LEAST) work_rows(const task t)
{
	extern __shared__ uint32_t counter[];
	__shared__ uint32_t taken;
	__shared__ batch lists;

	for (;;)
	{
		__syncthreads();
		if (threadIdx.x == 0)
			taken = atomicAdd(t.next, 1);
		__syncthreads();
		if (taken >= t.out.units)
			return;

		uint64_t number = t.out.first_unit + taken;
		unit u = unit_of(t, number);
		cut c = { true, 0, UINT32_MAX };

		if (u.from == u.to)
		{
			if (threadIdx.x == 0 && !t.out.placed && !t.into_strip)
				t.out.found[number] = 0;
			continue;
		}
		if (t.lists)
			count_lists<Set>(t, u, &lists, counter);
		if (t.into_strip)
		{
			store_counts(u, counter);
			continue;
		}
		if (Top)
			c = find_cut(t, u, counter);
		hand_out(t, u, number, c, counter);
	}
}

/* One block adds up "found": the sum before each unit, and the sum of all units. */
__global__ void
__launch_bounds__(THREADS_MAX) place_units(const uint32_t *found, uint64_t units, uint64_t *place)
{
	__shared__ uint64_t before[THREADS_MAX + 1];
	uint64_t each = (units + THREADS_MAX - 1) / THREADS_MAX;
	uint64_t first = threadIdx.x * each;
	uint64_t end = units < first + each ? units : first + each;
	uint64_t sum = 0;

	for (uint64_t n = first; n < end; n++)
		sum += found[n];
	before[threadIdx.x + 1] = sum;
	if (threadIdx.x == 0)
		before[0] = 0;
	__syncthreads();
	for (int d = 1; d <= THREADS_MAX; d *= 2)
	{
		uint64_t more = threadIdx.x + 1 >= d ? before[threadIdx.x + 1 - d] : 0;

		__syncthreads();
		before[threadIdx.x + 1] += more;
		__syncthreads();
	}
	sum = before[threadIdx.x];
	for (uint64_t n = first; n < end; n++)
	{
		place[n] = sum;
		sum += found[n];
	}
	if (threadIdx.x == 0)
		place[units] = before[THREADS_MAX];
}

/* Copy each unit's pairs to where they belong; a block takes a unit. */
__global__ void
__launch_bounds__(QS_BLOCK)
	order_pairs(const qset_output out, const uint64_t *place, uint64_t units, qset_pair *to)
{
	if (place[units] > out.room)
		return;
	for (uint64_t n = blockIdx.x; n < units; n += gridDim.x)
		for (uint32_t i = threadIdx.x; i < out.found[n]; i += blockDim.x)
			to[place[n] + i] = out.pair[out.start[n] + i];
}

/* ---- host ---- */

/*
 * Prefer all columns at a time and small blocks, as long as all threads of a
 * multiprocessor are busy; then large blocks; then some of the columns at a
 * time.
 */
void
qset_rows_plan(qs_cuda *gpu, qset_rows *r)
{
	uint64_t columns = r->columns->sets > 0 ? r->columns->sets : 1;
	uint64_t most = (gpu->shared_max - 2 * OWN_SHARED) / sizeof(uint32_t);

	r->threads = THREADS_MAX / 2;
	r->block_columns = (uint32_t) columns;
	if (r->lists && columns > most / 4)
		r->threads = THREADS_MAX;
	if (r->lists && columns > most / 2)
		r->block_columns = (uint32_t) qs_ceil_div(columns, qs_ceil_div(columns, most / 2));
	r->blocks = (uint32_t) qs_ceil_div(columns, r->block_columns);
	r->shared = r->lists ? r->block_columns * sizeof(uint32_t) : 0;
}

template <typename Set>
static qb_status
launch(qs_cuda *gpu, const qset_rows *r, const task *t)
{
	auto kernel =
		t->filter.top > 0 && !t->into_strip ? work_rows<Set, true> : work_rows<Set, false>;
	int grid;

	QS_CUDA_TRY(gpu, cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
										  (int) r->shared));
	QS_TRY(qs_grid(gpu, kernel, r->threads, r->shared, t->out.units, &grid));
	kernel<<<grid, r->threads, r->shared, gpu->stream>>>(*t);
	QS_CUDA_LAUNCHED(gpu);
	return QB_OK;
}

qb_status
qset_rows_run(qs_cuda *gpu, const qset_rows *r, const qset_strip *strip, const qset_output *out)
{
	const qset_cuda_sets *c = r->columns;
	task t = {};

	t.row_offset = r->rows->offset;
	t.row_element = r->rows->element;
	t.column_offset = c->offset;
	t.start = c->index.start;
	t.rest = c->index.rest;
	t.list = c->index.list;
	t.end = r->end;
	t.strip = strip->count;
	t.strip_first = strip->first;
	t.strip_width = strip->width;
	t.columns = (uint32_t) c->sets;
	t.block_columns = r->block_columns;
	t.blocks = r->blocks;
	t.tail = r->tail;
	t.same = r->same;
	t.lists = r->lists;
	t.into_strip = r->into_strip;
	t.filter = r->filter;
	t.out = *out;
	t.next = (uint32_t *) gpu->scratch;
	QS_CUDA_TRY(gpu, cudaMemsetAsync(t.next, 0, sizeof(*t.next), gpu->stream));
	return qset_short_list(c) ? launch<uint16_t>(gpu, r, &t) : launch<uint32_t>(gpu, r, &t);
}

qb_status
qset_rows_order(qs_cuda *gpu, const qset_output *out, uint64_t *place, uint64_t units,
				qset_pair *to)
{
	int grid;

	place_units<<<1, THREADS_MAX, 0, gpu->stream>>>(out->found, units, place);
	QS_CUDA_LAUNCHED(gpu);
	QS_TRY(qs_grid(gpu, order_pairs, QS_BLOCK, 0, units, &grid));
	order_pairs<<<grid, QS_BLOCK, 0, gpu->stream>>>(*out, place, units, to);
	QS_CUDA_LAUNCHED(gpu);
	return QB_OK;
}

/*
 * ---- all pairs: strips of rows, and handing out ----
 *
 * A search goes through its rows strip by strip.  For each strip the method's
 * kernels make the counts, and the last kernel writes the pairs that pass in
 * the order in which its blocks run.  Then it is known how many pairs each row
 * has, and another kernel brings the pairs into the order of the rows.  If
 * there is not room for all pairs, the rows are counted once more, in pieces
 * that fit, and each pair goes straight to where it belongs.
 *
 * A strip is started without waiting for it, so one thread can keep several
 * devices busy.  The time of the last strip decides how many rows the next one
 * has.
 */

/* ---- a strip ---- */

/* Make the counts of a strip by the method; lists are added later. */
static qb_status
count_strip(qset_cuda_pairs *p)
{
	qs_cuda *gpu = p->gpu;
	qset_pairwise pairwise = { p->request.rows,   p->columns,       p->tail,
							   p->request.filter, p->report.method, p->table };

	if (!p->strip.count)
		return QB_OK;
	if (p->bits.columns > 0)
		return qset_bits_multiply(gpu, &p->bits, p->tail, p->request.product, &p->strip);
	QS_CUDA_TRY(gpu,
				cudaMemsetAsync(p->strip.count, 0,
								p->strip.rows * p->strip.width * sizeof(uint32_t), gpu->stream));
	if (has_lists(p))
		return QB_OK;
	return qset_pairwise_count(gpu, &pairwise, &p->strip);
}

/* "top" with many columns: add the lists to the strip. */
static qb_status
sum_lists(qset_cuda_pairs *p)
{
	qset_output none = {};

	none.units = p->strip.rows * p->sums.blocks;
	return qset_rows_run(p->gpu, &p->sums, &p->strip, &none);
}

static uint64_t
units_of(const qset_cuda_pairs *p)
{
	return p->strip.rows * p->rows.blocks;
}

/* Start the next strip: its pairs will be counted, and also ordered if there is room for them. */
static qb_status
start_strip(qset_cuda_pairs *p, uint64_t room)
{
	qset_output out = p->out;
	uint64_t first = p->strip.first + p->strip.rows;

	p->strip.first = first;
	p->strip.rows = p->end - first < p->rows_now ? p->end - first : p->rows_now;
	p->ready = p->taken = 0;
	p->next_unit = units_of(p);
	out.room = room;
	out.units = units_of(p);
	QS_TRY(qset_search_mark(p, PHASE_BEGIN));
	QS_TRY(count_strip(p));
	if (p->sums.into_strip)
		QS_TRY(sum_lists(p));
	QS_TRY(qset_search_mark(p, PHASE_COUNTED));
	QS_CUDA_TRY(p->gpu, cudaMemsetAsync(out.cursor, 0, sizeof(*out.cursor), p->gpu->stream));
	QS_TRY(qset_rows_run(p->gpu, &p->rows, &p->strip, &out));
	QS_TRY(qset_rows_order(p->gpu, &out, p->place, out.units, p->ordered));
	QS_TRY(qset_search_mark(p, PHASE_DONE));
	p->report.strips++;
	p->running = true;
	return QB_OK;
}

/* Copy from the device, beside work that the device was given since the last phase. */
static qb_status
bring(qset_cuda_pairs *p, void *to, const void *from, uint64_t bytes)
{
	qs_cuda *gpu = p->gpu;

	QS_CUDA_TRY(gpu, cudaStreamWaitEvent(gpu->out, p->at[PHASE_DONE], 0));
	QS_CUDA_TRY(gpu, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, gpu->out));
	QS_TRY(qs_wait(gpu, gpu->out));
	gpu->stats.bytes_out += bytes;
	return QB_OK;
}

/* Take more rows if the last ones took less time than allowed, fewer if they took more. */
static void
adapt_rows(qset_cuda_pairs *p, double ms)
{
	double rows = (double) p->strip.rows;

	if (p->request.strip_rows > 0)
		return;
	if (ms > 2 * STRIP_MS)
		qset_search_set_rows(p, rows * STRIP_MS / ms);
	else if (ms < STRIP_MS / 2 && p->strip.rows == p->rows_now)
		qset_search_set_rows(p, 2 * rows);
}

/* Wait for the strip; *pairs is the number of its pairs that pass. */
static qb_status
finish_strip(qset_cuda_pairs *p, uint64_t *pairs)
{
	double product = 0, rows = 0;

	p->running = false;
	QS_TRY(qs_wait_event(p->gpu, p->at[PHASE_DONE]));
	QS_TRY(bring(p, p->gpu->host_result, p->out.cursor, sizeof(uint64_t)));
	*pairs = p->gpu->host_result[0];
	QS_TRY(qset_search_elapsed(p, PHASE_BEGIN, PHASE_COUNTED, &product));
	QS_TRY(qset_search_elapsed(p, PHASE_COUNTED, PHASE_DONE, &rows));
	p->report.product_ms += product;
	p->report.rows_ms += rows;
	adapt_rows(p, product + rows);
	return QB_OK;
}

/* ---- pieces of it ---- */

/* Count again the next units whose pairs have room. */
static qb_status
run_piece(qset_cuda_pairs *p)
{
	qset_output out = p->out;
	uint64_t units = units_of(p);
	uint64_t first = p->next_unit;
	uint64_t last = first;

	while (last < units && p->place_here[last + 1] - p->place_here[first] <= p->out.room)
		last++;
	out.pair = p->ordered;
	out.start = p->place;
	out.placed = true;
	out.base = p->place_here[first];
	out.first_unit = first;
	out.units = last - first;
	QS_TRY(qset_rows_run(p->gpu, &p->rows, &p->strip, &out));
	QS_TRY(qset_search_mark(p, PHASE_DONE));
	p->next_unit = last;
	p->ready = p->place_here[last] - p->place_here[first];
	p->taken = 0;
	return QB_OK;
}

/* ---- the interface ---- */

static bool
has_pieces(const qset_cuda_pairs *p)
{
	return p->next_unit < units_of(p);
}

/* Are all strips started? */
static bool
is_last(const qset_cuda_pairs *p)
{
	return p->strip.first + p->strip.rows >= p->end;
}

static bool
is_over(const qset_cuda_pairs *p)
{
	return p->taken == p->ready && !p->running && !has_pieces(p) && is_last(p);
}

void
qset_cuda_pairs_rows(qset_cuda_pairs *p, uint64_t first, uint64_t end)
{
	uint64_t sets = p->request.rows->sets;

	p->end = end < sets ? end : sets;
	p->strip.first = first < p->end ? first : p->end;
	p->strip.rows = 0;
	p->running = false;
	p->next_unit = p->ready = p->taken = 0;
}

qb_status
qset_cuda_pairs_start(qset_cuda_pairs *p)
{
	if (p->running || p->taken < p->ready || has_pieces(p) || is_last(p))
		return QB_OK;
	QS_TRY(qs_cuda_enter(p->gpu));
	return start_strip(p, p->out.room);
}

qb_status
qset_cuda_pairs_ready(qset_cuda_pairs *p, bool *ready)
{
	cudaError_t error = p->running ? cudaEventQuery(p->at[PHASE_DONE]) : cudaSuccess;

	*ready = error == cudaSuccess;
	if (error == cudaErrorNotReady)
		cudaGetLastError(); /* "not ready" is no error */
	else
		QS_CUDA_TRY(p->gpu, error);
	return QB_OK;
}

qb_status
qset_cuda_pairs_begin(qset_cuda_pairs *p, uint64_t first, uint64_t end)
{
	qset_cuda_pairs_rows(p, first, end);
	return qset_cuda_pairs_start(p);
}

/* Finish a strip, or make the next piece of one.  Nothing is ready afterwards if it has no pair. */
static qb_status
make_ready(qset_cuda_pairs *p)
{
	uint64_t pairs;

	if (has_pieces(p))
		return run_piece(p);
	QS_TRY(qset_cuda_pairs_start(p));
	if (!p->running)
		return QB_OK;
	QS_TRY(finish_strip(p, &pairs));
	if (pairs <= p->out.room)
	{
		p->ready = pairs;
		return QB_OK;
	}
	QS_TRY(bring(p, p->place_here, p->place, (units_of(p) + 1) * sizeof(*p->place)));
	p->next_unit = 0;
	return run_piece(p);
}

qb_status
qset_cuda_pairs_next(qset_cuda_pairs *p, qset_pair *out, uint64_t room, uint64_t *count, bool *over)
{
	*count = 0;
	QS_TRY(qs_cuda_enter(p->gpu));
	if (p->taken == p->ready && !is_over(p))
		QS_TRY(make_ready(p));
	*count = p->ready - p->taken < room ? p->ready - p->taken : room;
	*over = *count == 0 && is_over(p);
	if (*count == 0)
		return QB_OK;
	QS_TRY(bring(p, out, p->ordered + p->taken, *count * sizeof(*out)));
	p->taken += *count;
	return QB_OK;
}

qb_status
qset_cuda_pairs_wait(qset_cuda_pairs *p, bool (*patience)(void), qset_pair *out, uint64_t room,
					 uint64_t *count, bool *over)
{
	bool ready = false;

	*count = 0;
	*over = false;
	QS_TRY(qset_cuda_pairs_start(p));
	while (!ready)
	{
		QS_TRY(qset_cuda_pairs_ready(p, &ready));
		if (!ready && !patience())
			return QB_OK;
	}
	return qset_cuda_pairs_next(p, out, room, count, over);
}

qb_status
qset_cuda_pairs_count(qset_cuda_pairs *p, uint64_t *count)
{
	uint64_t pairs;

	*count = p->ready - p->taken;
	QS_TRY(qs_cuda_enter(p->gpu));
	if (has_pieces(p))
		*count += p->place_here[units_of(p)] - p->place_here[p->next_unit];
	if (p->running)
	{
		QS_TRY(finish_strip(p, &pairs));
		*count += pairs;
	}
	while (!is_last(p))
	{
		QS_TRY(start_strip(p, 0));
		QS_TRY(finish_strip(p, &pairs));
		*count += pairs;
	}
	p->next_unit = units_of(p);
	p->ready = p->taken = 0;
	return QB_OK;
}
