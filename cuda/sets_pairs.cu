/*
 * sets_pairs.cu
 *		All pairs: strips of rows, and handing out.
 *
 * A search goes through its rows strip by strip.  For each strip the method's
 * kernels make the counts, and the last kernel writes the pairs that pass in
 * the order in which its blocks run.  Then it is known how many pairs each row
 * has, and another kernel brings the pairs into the order of the rows.  If
 * there is not room for all pairs, the rows are counted once more, in pieces
 * that fit, and each pair goes straight to its place.
 *
 * A strip is started without waiting for it, so one thread can keep several
 * devices busy.  The time of the last strip decides how many rows the next one
 * has.
 *
 * cuda/sets_pairs.cu
 */
#include "sets_search.cuh"

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
	QS_CUDA_TRY(gpu, cudaStreamSynchronize(gpu->out));
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
	QS_CUDA_TRY(p->gpu, cudaEventSynchronize(p->at[PHASE_DONE]));
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
