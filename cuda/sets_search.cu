/*
 * sets_search.cu
 *		A search for pairs: its method, and what it holds on the device.
 *
 * Everything is allocated here, within the device's limit, so an open search
 * never runs out of memory.  If the limit is small, strips and pieces of pairs
 * become small first.
 *
 * cuda/sets_search.cu
 */
#include "sets_search.cuh"

#include "sets.cuh"

#include <new>

/* Counts, and pairs, that are held at a time, unless a request says otherwise. */
#define MOST_STRIP   (UINT64_C(2) << 30)
#define MOST_PAIRS   (UINT64_C(1) << 22)
#define MOST_BLOCKS  (UINT64_C(1) << 16)
#define MOST_COUNTED (UINT64_C(1) << 33) /* pairs looked at in one launch */

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

/* Bytes of a matrix of bits; tiles may be read from any row on. */
static uint64_t
matrix_bytes(const qset_cuda_sets *s, uint64_t words)
{
	return (qs_ceil_div(s->sets, QSET_TILE) + 1) * QSET_TILE * words * sizeof(uint32_t);
}

static qb_status
alloc_bits(qset_cuda_pairs *p, uint64_t words)
{
	p->bits.words = words;
	QS_TRY(qset_device_alloc(p->gpu, &p->held, matrix_bytes(p->request.rows, words),
							 (void **) &p->bits.row));
	p->bits.other = p->bits.row;
	if (p->columns == p->request.rows)
		return QB_OK;
	return qset_device_alloc(p->gpu, &p->held, matrix_bytes(p->columns, words),
							 (void **) &p->bits.other);
}

/* Allocate the bits; the degrees say how many. */
static qb_status
open_bits(qset_cuda_pairs *p)
{
	uint64_t bytes = p->columns->universe * sizeof(uint32_t);
	bool hybrid = p->report.method == QSET_HYBRID;
	uint64_t columns = hybrid ? 0 : p->columns->universe;

	if (!hybrid && !is_resident(p))
		return QB_OK;
	for (uint64_t d = p->columns->sets; hybrid && d >= p->report.heavy_degree && d > 0; d--)
		columns += p->columns->bin[d];
	p->bits.columns = p->report.heavy = columns;
	if (columns == 0)
		return QB_OK;
	QS_TRY(qset_device_alloc(p->gpu, &p->held, bytes, (void **) &p->bits.column));
	if (hybrid)
		QS_TRY(qset_device_alloc(p->gpu, &p->held, bytes, (void **) &p->bits.end));
	p->rows.end = p->sums.end = p->bits.end;
	return alloc_bits(p, bit_words(columns));
}

/* Fill the bits, which stay the same for all strips. */
static qb_status
fill_bits(qset_cuda_pairs *p)
{
	qs_cuda *gpu = p->gpu;

	if (p->bits.columns == 0)
		return QB_OK;
	if (p->report.method == QSET_HYBRID)
		QS_TRY(qset_bits_choose(gpu, p->columns, p->report.heavy_degree, &p->bits));
	else
		QS_TRY(qset_bits_range(gpu, p->columns, 0, p->bits.columns, &p->bits));
	QS_TRY(qset_bits_fill(gpu, p->request.rows, &p->bits, p->bits.row));
	if (p->columns != p->request.rows)
		QS_TRY(qset_bits_fill(gpu, p->columns, &p->bits, p->bits.other));
	return QB_OK;
}

void
qset_search_set_rows(qset_cuda_pairs *p, double rows)
{
	uint64_t tiles = rows < (double) p->most_rows ? (uint64_t) (rows / QSET_TILE) : p->most_rows;

	p->rows_now = tiles > 0 ? tiles * QSET_TILE : QSET_TILE;
	if (p->rows_now > p->most_rows)
		p->rows_now = p->most_rows;
}

/* Choose the rows of a strip, and allocate its counts if it has any. */
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
		qset_search_set_rows(p, (double) p->request.rows->sets * STRIP_MS / p->report.expected_ms);
	if (!counts)
		return QB_OK;
	return qset_device_alloc(p->gpu, &p->held, most * p->strip.width * sizeof(uint32_t),
							 (void **) &p->strip.count);
}

static uint64_t
most_units(const qset_cuda_pairs *p)
{
	return p->most_rows * p->rows.blocks;
}

static qb_status
open_output(qset_cuda_pairs *p)
{
	qs_cuda *gpu = p->gpu;
	uint64_t units = most_units(p);
	uint64_t limit;

	QS_TRY(qset_device_room(gpu, &limit));
	p->out.room =
		limit / 4 / sizeof(qset_pair) < MOST_PAIRS ? limit / 4 / sizeof(qset_pair) : MOST_PAIRS;
	if (p->request.pair_room > 0)
		p->out.room = p->request.pair_room;
	if (p->out.room < p->columns->sets)
		p->out.room = p->columns->sets;
	p->place_here = new (std::nothrow) uint64_t[units + 1];
	if (!p->place_here)
		return QB_NO_MEMORY;
	QS_TRY(
		qset_device_alloc(gpu, &p->held, p->out.room * sizeof(qset_pair), (void **) &p->out.pair));
	QS_TRY(
		qset_device_alloc(gpu, &p->held, p->out.room * sizeof(qset_pair), (void **) &p->ordered));
	QS_TRY(qset_device_alloc(gpu, &p->held, units * sizeof(uint64_t), (void **) &p->out.start));
	QS_TRY(qset_device_alloc(gpu, &p->held, units * sizeof(uint32_t), (void **) &p->out.found));
	QS_TRY(qset_device_alloc(gpu, &p->held, (units + 1) * sizeof(uint64_t), (void **) &p->place));
	return qset_device_alloc(gpu, &p->held, sizeof(uint64_t), (void **) &p->out.cursor);
}

/* Allocate the table that some methods make of each row. */
static qb_status
open_table(qset_cuda_pairs *p)
{
	qset_pairwise pairwise = { p->request.rows,   p->columns,       p->tail,
							   p->request.filter, p->report.method, NULL };

	if (has_lists(p) || p->bits.columns > 0)
		return QB_OK;
	QS_TRY(qset_probe_bytes(p->gpu, &pairwise, p->most_rows, &p->table_bytes));
	if (p->table_bytes == 0)
		return QB_OK;
	return qset_device_alloc(p->gpu, &p->held, p->table_bytes, (void **) &p->table);
}

/*
 * Choose how rows are handed out.  The best pairs of a row are found among all
 * its columns.  If the counters of all columns do not fit, the counts go to
 * the strip first.
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

qb_status
qset_search_elapsed(qset_cuda_pairs *p, phase from, phase to, double *ms)
{
	float time;

	QS_CUDA_TRY(p->gpu, cudaEventElapsedTime(&time, p->at[from], p->at[to]));
	*ms += time;
	return QB_OK;
}

qb_status
qset_search_mark(qset_cuda_pairs *p, phase where)
{
	QS_CUDA_TRY(p->gpu, cudaEventRecord(p->at[where], p->gpu->stream));
	return QB_OK;
}

static qb_status
make_index(qset_cuda_pairs *p)
{
	qset_cuda_sets *columns = p->request.columns ? p->request.columns : p->request.rows;

	if (columns->index.made)
		return QB_OK;
	QS_TRY(qset_search_mark(p, PHASE_BEGIN));
	QS_TRY(qset_index_make(columns));
	QS_TRY(qset_search_mark(p, PHASE_DONE));
	QS_TRY(qs_wait(p->gpu, p->gpu->stream));
	return qset_search_elapsed(p, PHASE_BEGIN, PHASE_DONE, &p->report.index_ms);
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
	QS_TRY(qset_search_mark(p, PHASE_BEGIN));
	QS_TRY(fill_bits(p));
	QS_TRY(qset_search_mark(p, PHASE_COUNTED));
	QS_TRY(qs_wait(p->gpu, p->gpu->stream));
	return qset_search_elapsed(p, PHASE_BEGIN, PHASE_COUNTED, &p->report.product_ms);
}

static qb_status
open_pairs(qs_cuda *gpu, const qset_cuda_request *request, qset_cuda_pairs **pairs)
{
	qset_cuda_pairs *p;
	qb_status status;

	p = new (std::nothrow) qset_cuda_pairs();
	if (!p)
		return QB_NO_MEMORY;
	p->gpu = gpu;
	p->request = *request;
	p->columns = request->columns ? request->columns : request->rows;
	p->tail = !request->columns && !request->directed && request->filter.top == 0;
	qset_cuda_pairs_rows(p, request->first_row,
						 request->row_count > 0 ? request->first_row + request->row_count
												: UINT64_MAX);
	status = open_search(p);
	if (status != QB_OK)
	{
		qset_cuda_pairs_close(p);
		return status;
	}
	*pairs = p;
	return QB_OK;
}

/*
 * Open a search.  If the bits of hybrid need more memory than there is, lists
 * are tried, which need the least.
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
	qs_cuda *gpu;
	uint64_t units;

	if (!p)
		return;
	gpu = p->gpu;
	units = most_units(p);
	cudaSetDevice(gpu->device);
	cudaStreamSynchronize(gpu->stream);
	qset_device_free(gpu, &p->held, p->bits.column, p->columns->universe * sizeof(uint32_t));
	qset_device_free(gpu, &p->held, p->bits.end, p->columns->universe * sizeof(uint32_t));
	if (p->bits.other != p->bits.row)
		qset_device_free(gpu, &p->held, p->bits.other, matrix_bytes(p->columns, p->bits.words));
	qset_device_free(gpu, &p->held, p->bits.row, matrix_bytes(p->request.rows, p->bits.words));
	qset_device_free(gpu, &p->held, p->strip.count,
					 p->most_rows * p->strip.width * sizeof(uint32_t));
	qset_device_free(gpu, &p->held, p->out.pair, p->out.room * sizeof(qset_pair));
	qset_device_free(gpu, &p->held, p->ordered, p->out.room * sizeof(qset_pair));
	qset_device_free(gpu, &p->held, p->out.start, units * sizeof(uint64_t));
	qset_device_free(gpu, &p->held, p->out.found, units * sizeof(uint32_t));
	qset_device_free(gpu, &p->held, p->place, (units + 1) * sizeof(uint64_t));
	qset_device_free(gpu, &p->held, p->table, p->table_bytes);
	qset_device_free(gpu, &p->held, p->out.cursor, sizeof(uint64_t));
	for (int i = 0; i < PHASES; i++)
		if (p->at[i])
			cudaEventDestroy(p->at[i]);
	cudaGetLastError();
	delete[] p->place_here;
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
	return p->held;
}

/*
 * ---- all pairs: lists or hybrid, and which elements become columns of bits ----
 *
 * The cost model has few constants, measured on an H200 (docs/engineering/sets-gpu.md).
 * Only their ratios decide, so a device that is slower in all of them makes
 * the same choices.
 */

/* Per second: events of lists, bits of products, bytes of a strip written and read. */
#define EVENTS_PER_S 9e11
#define BITS_PER_S   1.9e15
#define BYTES_PER_S  3e12

/*
 * Per second: elements of both sets of a pair, by the paper's methods.  It is
 * an estimate, used for expected times only.
 */
#define ELEMENTS_PER_S 1e11

/* The question: all rows against all columns, or against later columns only. */
struct question
{
	const qset_cuda_sets *rows, *columns;
	bool tail;
};

/* Events of the lists of all elements of one degree. */
static double
events_of(const question &q, uint64_t degree)
{
	double elements = (double) q.columns->bin[degree];
	double d = (double) degree;

	if (q.tail)
		return elements * d * (d - 1) / 2;
	/* degrees in the rows are not known: they are taken as proportional to the columns' */
	return elements * d * d * (double) q.rows->elements / (double) q.columns->elements;
}

/*
 * The least degree of columns of bits that is cheapest.  A column of bits
 * costs the same whatever its degree, so going down from the most frequent
 * elements the cost first falls, and then rises.  0: no column of bits pays.
 */
static uint64_t
choose_degree(const question &q, double *lists, double *hybrid)
{
	double pairs = (double) q.rows->sets * (double) q.columns->sets / (q.tail ? 2 : 1);
	double events = 0;
	double left, heavy = 0;
	uint64_t best = 0;

	for (uint64_t d = 1; d <= q.columns->sets; d++)
		events += events_of(q, d);
	*lists = *hybrid = events / EVENTS_PER_S;
	left = events;
	for (uint64_t d = q.columns->sets; d >= 2; d--)
	{
		double cost;

		if (q.columns->bin[d] == 0)
			continue;
		heavy += (double) q.columns->bin[d];
		left -= events_of(q, d);
		cost = left / EVENTS_PER_S + heavy * pairs / BITS_PER_S + pairs * 8 / BYTES_PER_S;
		if (best != 0 && cost > *hybrid)
			break;
		if (best == 0 || cost < *hybrid)
		{
			*hybrid = cost;
			best = d;
		}
	}
	return best;
}

/* Seconds of a method that goes through all pairs, or multiplies all bits. */
static double
cost_of_pairs(const question &q, int method, bool resident)
{
	double pairs = (double) q.rows->sets * (double) q.columns->sets / (q.tail ? 2 : 1);
	double each =
		(double) q.rows->elements / (double) (q.rows->sets > 0 ? q.rows->sets : 1) +
		(double) q.columns->elements / (double) (q.columns->sets > 0 ? q.columns->sets : 1);

	if (method == QSET_BITMAP && resident)
		return pairs * (double) q.columns->universe / BITS_PER_S;
	return pairs * each / ELEMENTS_PER_S;
}

int
qset_choose_method(const qset_cuda_request *r, bool tail, uint64_t *degree, double *expected_ms)
{
	question q = { r->rows, r->columns ? r->columns : r->rows, tail };
	double lists, hybrid;
	uint64_t best = choose_degree(q, &lists, &hybrid);
	int method = r->method;

	if (method == QSET_AUTO)
		method = best > 0 && hybrid < lists ? QSET_HYBRID : QSET_INDEX;
	if (method == QSET_INDEX)
		*expected_ms = lists * 1e3;
	else if (method == QSET_HYBRID)
		*expected_ms = hybrid * 1e3;
	else
		*expected_ms = cost_of_pairs(q, method, r->variant != QSET_VARIANT_OFF) * 1e3;
	if (r->heavy > 0)
		best = r->heavy;
	*degree = method != QSET_HYBRID ? 0 : best > 0 ? best : UINT64_MAX;
	return method;
}
