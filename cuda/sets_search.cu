/*
 * sets_search.cu
 *		A search for pairs: allocates its memory, counts strips of rows, and returns the pairs
 *		that pass.
 *
 * Opening a search allocates all its memory, within the device's limit, so an open search never
 * runs out of memory.  With a small limit, strips have few rows and pieces have few pairs.
 *
 * cuda/sets_search.cu
 */
#include "sets.cuh"

#include <new>

/*
 * Limits: bytes of a strip's counts, pairs on the device, units of a strip, and pairs that a launch
 * counts.  A strip of QSET_TILE rows, or the pairs of one row, may exceed a limit.
 */
#define MOST_STRIP   (UINT64_C(2) << 30)
#define MOST_PAIRS   (UINT64_C(1) << 22)
#define MOST_BLOCKS  (UINT64_C(1) << 16)
#define MOST_COUNTED (UINT64_C(1) << 33)

/* Target time of a strip in ms, if the whole search takes more than twice this time. */
#define STRIP_MS 25.0

enum phase
{
	PHASE_BEGIN,
	PHASE_COUNTED,
	PHASE_DONE,
	PHASES
};

struct qset_cuda_pairs
{
	qs_cuda *gpu;
	qset_cuda_request request;
	const qset_cuda_sets *columns;
	bool tail;
	qset_rows rows; /* how rows are counted, and how their pairs are written */
	qset_rows sums; /* "top" with many columns: how the lists are first added to the strip */
	qset_bits bits;
	qset_strip strip;
	uint64_t most_rows; /* capacity of the strip in rows */
	uint64_t rows_now;  /* number of rows of the next strip */
	uint64_t end;       /* end of the rows to search */
	bool running;       /* the strip is started and not finished */
	uint32_t *table;    /* table of the methods hash and bitmap */
	qset_output out;
	uint64_t *offset; /* on the device: index of each unit's first pair, and number of all pairs */
	qset_pair *ordered;    /* on the device: the pairs of whole units, in order */
	uint64_t *host_offset; /* host copy of "offset", for a strip that is counted in pieces */
	uint64_t next_unit;    /* the first unit whose pairs are not in "ordered" yet */
	uint64_t ready, taken; /* number of pairs in "ordered", and how many of them were returned */
	qset_memory memory;
	cudaEvent_t at[PHASES];
	qset_cuda_report report;
};

/* True if the method adds lists of the index. */
static inline bool
has_lists(const qset_cuda_pairs *p)
{
	return p->report.method == QSET_INDEX || p->report.method == QSET_HYBRID;
}

static bool
is_resident(const qset_cuda_pairs *p)
{
	return p->report.method == QSET_BITMAP && p->request.variant != QSET_VARIANT_OFF;
}

static uint64_t
bit_words(uint64_t columns)
{
	return qs_ceil_div(columns > 0 ? columns : 1, 32 * QSET_BIT_WORDS) * QSET_BIT_WORDS;
}

/* Return the words of a bit matrix.  It has spare rows, so that a tile may begin at any row. */
static uint64_t
matrix_words(const qset_cuda_sets *s, uint64_t words)
{
	return (qs_ceil_div(s->sets, QSET_TILE) + 1) * QSET_TILE * words;
}

static qb_status
alloc_bits(qset_cuda_pairs *p, uint64_t words)
{
	p->bits.words = words;
	QS_TRY(qset_alloc(&p->memory, matrix_words(p->request.rows, words), &p->bits.row));
	p->bits.other = p->bits.row;
	if (p->columns == p->request.rows)
		return QB_OK;
	return qset_alloc(&p->memory, matrix_words(p->columns, words), &p->bits.other);
}

/*
 * Allocate the bit matrices.  For hybrid their number of columns is the number of elements of at
 * least the degree heavy_degree, and for bitmap the number of all elements.
 */
static qb_status
open_bits(qset_cuda_pairs *p)
{
	bool hybrid = p->report.method == QSET_HYBRID;
	uint64_t columns = hybrid ? 0 : p->columns->universe;

	if (!hybrid && !is_resident(p))
		return QB_OK;
	for (uint64_t d = p->columns->sets; hybrid && d >= p->report.heavy_degree && d > 0; d--)
		columns += p->columns->index.bin[d];
	p->bits.columns = p->report.heavy = columns;
	if (columns == 0)
		return QB_OK;
	QS_TRY(qset_alloc(&p->memory, p->columns->universe, &p->bits.column));
	if (hybrid)
		QS_TRY(qset_alloc(&p->memory, p->columns->universe, &p->bits.end));
	p->rows.end = p->sums.end = p->bits.end;
	return alloc_bits(p, bit_words(columns));
}

/* Fill the bit matrices, which all strips use. */
static qb_status
fill_bits(qset_cuda_pairs *p)
{
	qs_cuda *gpu = p->gpu;

	if (p->bits.columns == 0)
		return QB_OK;
	if (p->report.method == QSET_HYBRID)
		QS_TRY(qset_bits_choose(gpu, p->columns, p->report.heavy_degree, &p->bits));
	else
		QS_TRY(qset_number_all(gpu, p->bits.column, p->bits.columns));
	QS_TRY(qset_bits_fill(gpu, p->request.rows, &p->bits, p->bits.row));
	if (p->columns != p->request.rows)
		QS_TRY(qset_bits_fill(gpu, p->columns, &p->bits, p->bits.other));
	return QB_OK;
}

/* Set the number of rows of the next strip to about "rows". */
static void
set_rows(qset_cuda_pairs *p, double rows)
{
	uint64_t tiles = rows < (double) p->most_rows ? (uint64_t) (rows / QSET_TILE) : p->most_rows;

	p->rows_now = tiles > 0 ? tiles * QSET_TILE : QSET_TILE;
	if (p->rows_now > p->most_rows)
		p->rows_now = p->most_rows;
}

/* Choose the number of rows of a strip, and allocate its counts if the method needs them. */
static qb_status
open_strip(qset_cuda_pairs *p)
{
	bool counts = p->bits.columns > 0 || !has_lists(p) || p->sums.into_strip;
	uint64_t rows = p->end - p->strip.first;
	uint64_t most = MOST_BLOCKS / p->rows.blocks;
	uint64_t limit;

	p->strip.width = qs_ceil_div(p->columns->sets, QSET_TILE) * QSET_TILE;
	if (p->strip.width == 0)
		p->strip.width = QSET_TILE;
	if (most > MOST_COUNTED / p->strip.width)
		most = MOST_COUNTED / p->strip.width;
	if (counts)
	{
		QS_TRY(qset_device_room(p->gpu, &limit));
		limit = limit / 4 < MOST_STRIP ? limit / 4 : MOST_STRIP;
		if (most > limit / (p->strip.width * sizeof(uint32_t)))
			most = limit / (p->strip.width * sizeof(uint32_t));
	}
	if (p->request.strip_rows > 0 && most > p->request.strip_rows)
		most = p->request.strip_rows;
	most = most / QSET_TILE > 0 ? most / QSET_TILE * QSET_TILE : QSET_TILE;
	if (most > rows)
		most = qs_ceil_div(rows > 0 ? rows : 1, QSET_TILE) * QSET_TILE;
	p->most_rows = p->rows_now = most;
	if (p->request.strip_rows == 0 && p->report.expected_ms > 2 * STRIP_MS)
		set_rows(p, (double) p->request.rows->sets * STRIP_MS / p->report.expected_ms);
	if (!counts)
		return QB_OK;
	return qset_alloc(&p->memory, most * p->strip.width, &p->strip.count);
}

static qb_status
open_output(qset_cuda_pairs *p)
{
	qs_cuda *gpu = p->gpu;
	uint64_t units = p->most_rows * p->rows.blocks;
	uint64_t limit;

	QS_TRY(qset_device_room(gpu, &limit));
	p->out.room =
		limit / 4 / sizeof(qset_pair) < MOST_PAIRS ? limit / 4 / sizeof(qset_pair) : MOST_PAIRS;
	if (p->request.pair_room > 0)
		p->out.room = p->request.pair_room;
	if (p->out.room < p->columns->sets)
		p->out.room = p->columns->sets;
	p->host_offset = new (std::nothrow) uint64_t[units + 1];
	if (!p->host_offset)
		return QB_NO_MEMORY;
	QS_TRY(qset_alloc(&p->memory, p->out.room, &p->out.pair));
	QS_TRY(qset_alloc(&p->memory, p->out.room, &p->ordered));
	QS_TRY(qset_alloc(&p->memory, units, &p->out.start));
	QS_TRY(qset_alloc(&p->memory, units, &p->out.found));
	QS_TRY(qset_alloc(&p->memory, (units + 1), &p->offset));
	return qset_alloc(&p->memory, 1, &p->out.cursor);
}

/* Allocate the tables of the methods hash and bitmap. */
static qb_status
open_table(qset_cuda_pairs *p)
{
	qset_pairwise pairwise = { p->request.rows,   p->columns,       p->tail,
							   p->request.filter, p->report.method, NULL };
	uint64_t words;

	if (has_lists(p) || p->bits.columns > 0)
		return QB_OK;
	QS_TRY(qset_probe_words(p->gpu, &pairwise, p->most_rows, &words));
	if (words == 0)
		return QB_OK;
	return qset_alloc(&p->memory, words, &p->table);
}

/*
 * Choose how rows are counted.  The best pairs of a row are chosen among all its columns.  So if
 * "top" is set and a unit cannot have counters of all columns, the counts are first written to the
 * strip.
 */
static void
plan_rows(qset_cuda_pairs *p)
{
	qset_rows *r = &p->rows;

	r->rows = p->request.rows;
	r->columns = p->columns;
	r->tail = p->tail;
	r->same = p->request.columns == NULL;
	r->lists = has_lists(p);
	r->filter = p->request.filter;
	qset_rows_plan(p->gpu, r);
	if (r->blocks == 1 || r->filter.top == 0)
		return;
	p->sums = *r;
	p->sums.into_strip = true;
	r->lists = false;
	qset_rows_plan(p->gpu, r);
}

/* Add the ms between two phases to *ms.  Both phases must have ended. */
static qb_status
elapsed(qset_cuda_pairs *p, phase from, phase to, double *ms)
{
	float time;

	QS_CUDA_TRY(p->gpu, cudaEventElapsedTime(&time, p->at[from], p->at[to]));
	*ms += time;
	return QB_OK;
}

/* Record the event of a phase in the stream. */
static qb_status
mark(qset_cuda_pairs *p, phase where)
{
	QS_CUDA_TRY(p->gpu, cudaEventRecord(p->at[where], p->gpu->stream));
	return QB_OK;
}

static qb_status
make_index(qset_cuda_pairs *p)
{
	qset_cuda_sets *columns = p->request.columns ? p->request.columns : p->request.rows;

	if (columns->index.built)
		return QB_OK;
	QS_TRY(mark(p, PHASE_BEGIN));
	QS_TRY(qset_index_make(columns));
	QS_TRY(mark(p, PHASE_DONE));
	QS_TRY(qs_wait(p->gpu, p->gpu->stream));
	return elapsed(p, PHASE_BEGIN, PHASE_DONE, &p->report.index_ms);
}

static qb_status
open_search(qset_cuda_pairs *p)
{
	QS_TRY(qs_cuda_enter(p->gpu));
	for (int i = 0; i < PHASES; i++)
		QS_CUDA_TRY(p->gpu, cudaEventCreate(&p->at[i]));
	QS_TRY(make_index(p));
	p->report.method =
		qset_choose_method(&p->request, p->tail, &p->report.heavy_degree, &p->report.expected_ms);
	plan_rows(p);
	QS_TRY(open_bits(p));
	QS_TRY(open_strip(p));
	QS_TRY(open_table(p));
	QS_TRY(open_output(p));
	QS_TRY(mark(p, PHASE_BEGIN));
	QS_TRY(fill_bits(p));
	QS_TRY(mark(p, PHASE_COUNTED));
	QS_TRY(qs_wait(p->gpu, p->gpu->stream));
	return elapsed(p, PHASE_BEGIN, PHASE_COUNTED, &p->report.product_ms);
}

/* Restrict the search to the rows from "first" to end - 1. */
static void
set_range(qset_cuda_pairs *p, uint64_t first, uint64_t end)
{
	uint64_t sets = p->request.rows->sets;

	p->end = end < sets ? end : sets;
	p->strip.first = first < p->end ? first : p->end;
	p->strip.rows = 0;
	p->running = false;
	p->next_unit = p->ready = p->taken = 0;
}

static qb_status
open_pairs(qs_cuda *gpu, const qset_cuda_request *request, qset_cuda_pairs **pairs)
{
	qset_cuda_pairs *p = new (std::nothrow) qset_cuda_pairs();

	*pairs = p;
	if (!p)
		return QB_NO_MEMORY;
	p->gpu = p->memory.gpu = gpu;
	p->request = *request;
	p->columns = request->columns ? request->columns : request->rows;
	p->tail = !request->columns && !request->directed && request->filter.top == 0;
	set_range(p, request->first_row,
			  request->row_count > 0 ? request->first_row + request->row_count : UINT64_MAX);
	return qs_keep(open_search(p), pairs, qset_cuda_pairs_close);
}

/*
 * Open a search.  If there is too little memory and the method is QSET_AUTO, try the method index,
 * which needs the least memory.
 */
qb_status
qset_cuda_pairs_open(qs_cuda *gpu, const qset_cuda_request *request, qset_cuda_pairs **pairs)
{
	qset_cuda_request lists = *request;
	qb_status status;

	*pairs = NULL;
	if (request->method < QSET_AUTO || request->method >= QSET_METHODS)
		return QB_BAD_METHOD;
	status = open_pairs(gpu, request, pairs);
	lists.method = QSET_INDEX;
	if (status == QB_NO_MEMORY && request->method == QSET_AUTO)
		status = open_pairs(gpu, &lists, pairs);
	return status;
}

void
qset_cuda_pairs_close(qset_cuda_pairs *p)
{
	if (!p)
		return;
	cudaSetDevice(p->gpu->device);
	cudaStreamSynchronize(p->gpu->stream);
	qset_free(&p->memory);
	for (int i = 0; i < PHASES; i++)
		if (p->at[i])
			cudaEventDestroy(p->at[i]);
	cudaGetLastError();
	delete[] p->host_offset;
	delete p;
}

void
qset_cuda_pairs_report(const qset_cuda_pairs *p, qset_cuda_report *report)
{
	*report = p->report;
}

uint64_t
qset_cuda_pairs_bytes(const qset_cuda_pairs *p)
{
	return p->memory.bytes;
}

/*
 * ---- strips of rows, and returning pairs ----
 *
 * A search processes its rows strip by strip.  For each strip the kernels of the method compute the
 * counts.  The kernel of qset_rows_run() writes the pairs that pass, in the order in which its
 * blocks run.  Then qset_rows_order() copies the pairs into the order of the rows.  If not all
 * pairs fit, the rows are counted again in pieces whose pairs fit, and each pair is written to its
 * final index.
 *
 * The host starts a strip and does not wait for it, so one thread can keep several devices busy.
 * The time of the last strip decides how many rows the next strip has.
 */

/* ---- a strip ---- */

/* Compute the counts of a strip by the method, without the lists. */
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

/* Add the lists to the strip, for "top" with many columns. */
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

/* Start the next strip.  Its pairs are counted, and also ordered if they fit. */
static qb_status
start_strip(qset_cuda_pairs *p)
{
	qset_output out = p->out;
	uint64_t first = p->strip.first + p->strip.rows;

	p->strip.first = first;
	p->strip.rows = p->end - first < p->rows_now ? p->end - first : p->rows_now;
	p->ready = p->taken = 0;
	p->next_unit = units_of(p);
	out.units = units_of(p);
	QS_TRY(mark(p, PHASE_BEGIN));
	QS_TRY(count_strip(p));
	if (p->sums.into_strip)
		QS_TRY(sum_lists(p));
	QS_TRY(mark(p, PHASE_COUNTED));
	QS_CUDA_TRY(p->gpu, cudaMemsetAsync(out.cursor, 0, sizeof(*out.cursor), p->gpu->stream));
	QS_TRY(qset_rows_run(p->gpu, &p->rows, &p->strip, &out));
	QS_TRY(qset_rows_order(p->gpu, &out, p->offset, out.units, p->ordered));
	QS_TRY(mark(p, PHASE_DONE));
	p->report.strips++;
	p->running = true;
	return QB_OK;
}

/* Copy from the device after PHASE_DONE, in parallel with later work, and wait. */
static qb_status
bring(qset_cuda_pairs *p, void *to, const void *from, uint64_t bytes)
{
	qs_cuda *gpu = p->gpu;

	QS_CUDA_TRY(gpu, cudaStreamWaitEvent(gpu->out, p->at[PHASE_DONE], 0));
	QS_CUDA_TRY(gpu, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, gpu->out));
	return qs_wait(gpu, gpu->out);
}

/*
 * Double the rows of a strip if the last strip took less than half its target time.  Reduce the
 * rows if the strip took more than twice its target time.
 */
static void
adapt_rows(qset_cuda_pairs *p, double ms)
{
	double rows = (double) p->strip.rows;

	if (p->request.strip_rows > 0)
		return;
	if (ms > 2 * STRIP_MS)
		set_rows(p, rows * STRIP_MS / ms);
	else if (ms < STRIP_MS / 2 && p->strip.rows == p->rows_now)
		set_rows(p, 2 * rows);
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
	QS_TRY(elapsed(p, PHASE_BEGIN, PHASE_COUNTED, &product));
	QS_TRY(elapsed(p, PHASE_COUNTED, PHASE_DONE, &rows));
	p->report.product_ms += product;
	p->report.rows_ms += rows;
	adapt_rows(p, product + rows);
	return QB_OK;
}

/* ---- pieces of a strip ---- */

/* Start counting the next units again, up to the last unit whose pairs fit. */
static qb_status
run_piece(qset_cuda_pairs *p)
{
	qset_output out = p->out;
	uint64_t units = units_of(p);
	uint64_t first = p->next_unit;
	uint64_t last = first;

	while (last < units && p->host_offset[last + 1] - p->host_offset[first] <= p->out.room)
		last++;
	out.pair = p->ordered;
	out.start = p->offset;
	out.start_given = true;
	out.base = p->host_offset[first];
	out.first_unit = first;
	out.units = last - first;
	QS_TRY(qset_rows_run(p->gpu, &p->rows, &p->strip, &out));
	QS_TRY(mark(p, PHASE_DONE));
	p->next_unit = last;
	p->ready = p->host_offset[last] - p->host_offset[first];
	p->taken = 0;
	return QB_OK;
}

/* ---- the interface ---- */

static bool
has_pieces(const qset_cuda_pairs *p)
{
	return p->next_unit < units_of(p);
}

/* True if all strips are started. */
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

/*
 * Start the next strip, if any strip is left, and do not wait for it.  Does nothing while the last
 * strip still runs or has pairs left.
 */
static qb_status
start_next(qset_cuda_pairs *p)
{
	if (p->running || p->taken < p->ready || has_pieces(p) || is_last(p))
		return QB_OK;
	QS_TRY(qs_cuda_enter(p->gpu));
	return start_strip(p);
}

/* Set *ready to false if the device still works on a strip, and to true if not. */
static qb_status
check_ready(qset_cuda_pairs *p, bool *ready)
{
	cudaError_t state = p->running ? qs_query_event(p->at[PHASE_DONE]) : cudaSuccess;

	*ready = state == cudaSuccess;
	if (state != cudaErrorNotReady)
		QS_CUDA_TRY(p->gpu, state);
	return QB_OK;
}

qb_status
qset_cuda_pairs_begin(qset_cuda_pairs *p, uint64_t first, uint64_t end)
{
	set_range(p, first, end);
	return start_next(p);
}

/*
 * Finish the strip, or start its next piece.  If no pair of the strip passes, p->ready is 0
 * afterwards.
 */
static qb_status
make_ready(qset_cuda_pairs *p)
{
	uint64_t pairs;

	if (has_pieces(p))
		return run_piece(p);
	QS_TRY(start_next(p));
	if (!p->running)
		return QB_OK;
	QS_TRY(finish_strip(p, &pairs));
	if (pairs <= p->out.room)
	{
		p->ready = pairs;
		return QB_OK;
	}
	QS_TRY(bring(p, p->host_offset, p->offset, (units_of(p) + 1) * sizeof(*p->offset)));
	p->next_unit = 0;
	return run_piece(p);
}

static qb_status
take_next(qset_cuda_pairs *p, qset_pair *out, uint64_t room, uint64_t *count, bool *over)
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
	QS_TRY(start_next(p));
	while (!ready)
	{
		QS_TRY(check_ready(p, &ready));
		if (!ready && !patience())
			return QB_OK;
	}
	return take_next(p, out, room, count, over);
}

const qset_sets_ops qset_cuda_collections = {
	.create = qset_cuda_sets_create,
	.copy = qset_cuda_sets_copy,
	.destroy = qset_cuda_sets_destroy,
	.put_offsets = qset_cuda_sets_put_offsets,
	.put_elements = qset_cuda_sets_put_elements,
	.index = qset_cuda_sets_index,
	.bytes = qset_cuda_sets_bytes,
	.search = qset_cuda_pairs_open,
	.end = qset_cuda_pairs_close,
	.search_bytes = qset_cuda_pairs_bytes,
	.report = qset_cuda_pairs_report,
	.begin = qset_cuda_pairs_begin,
	.next = qset_cuda_pairs_wait,
};
