/*
 * sets_pairs.cu
 *		All pairs: strips of rows, and handing out.
 *
 * A search goes through its rows strip by strip.  For each strip the counts are
 * made by the method's kernels, and the last of them hands out the pairs that
 * pass, in whatever order its blocks come; how many each row has is known then,
 * and a second kernel brings them into the order of the rows.  If they are more
 * than there is room for, the rows are counted once more, in pieces that fit,
 * each pair straight to its place.
 *
 * cuda/sets_pairs.cu
 */
#include <new>

#include "sets.cuh"

/* Counts that are held at a time, and pairs, unless a request says otherwise. */
#define MOST_STRIP   (UINT64_C(2) << 30)
#define MOST_PAIRS   (UINT64_C(1) << 22)
#define MOST_UNITS   (UINT64_C(1) << 16)
#define MOST_COUNTED (UINT64_C(1) << 33) /* pairs looked at in one launch */

enum phase
{
	PHASE_BEGIN,
	PHASE_COUNTED,
	PHASE_DONE,
	PHASES
};

struct qi_cuda_pairs
{
	qs_cuda *gpu;
	qi_cuda_request request;
	const qi_cuda_sets *columns;
	bool tail;
	qi_rows rows; /* how rows are counted and handed out */
	qi_rows sums; /* top of many columns: how lists get into the strip before */
	qi_bits bits;
	qi_strip strip;
	uint64_t most_rows; /* of a strip */
	uint64_t end;       /* of the rows wanted */
	qi_output out;
	uint64_t *place;       /* on the device: where the pairs of each unit belong */
	qi_pair *ordered;      /* on the device: pairs of whole units, in order */
	uint32_t *found_here;  /* on the host: pairs of each unit ... */
	uint64_t *place_here;  /* ... and of all before it */
	uint64_t next_unit;    /* the next whose pairs are not in "ordered" yet */
	uint64_t ready, taken; /* pairs in "ordered" */
	uint64_t held;
	cudaEvent_t at[PHASES];
	qi_cuda_report report;
};

/* ---- what a search holds ---- */

static bool
has_lists(const qi_cuda_pairs *p)
{
	return p->report.method == QI_INDEX || p->report.method == QI_HYBRID;
}

static bool
is_resident(const qi_cuda_pairs *p)
{
	return p->report.method == QI_BITMAP && p->request.variant != QI_VARIANT_OFF;
}

static uint64_t
bit_words(uint64_t columns)
{
	return qs_ceil_div(columns > 0 ? columns : 1, 32 * QI_BIT_WORDS) * QI_BIT_WORDS;
}

/* Bytes of a matrix of bits whose rows may be read in tiles from any of them on. */
static uint64_t
matrix_bytes(const qi_cuda_sets *s, uint64_t words)
{
	return (qs_ceil_div(s->sets, QI_TILE) + 1) * QI_TILE * words * sizeof(uint32_t);
}

static qs_status
alloc_bits(qi_cuda_pairs *p, uint64_t words)
{
	p->bits.words = words;
	QS_TRY(qi_device_alloc(p->gpu, &p->held, matrix_bytes(p->request.rows, words),
						   (void **) &p->bits.row));
	p->bits.other = p->bits.row;
	if (p->columns == p->request.rows)
		return QS_OK;
	return qi_device_alloc(p->gpu, &p->held, matrix_bytes(p->columns, words),
						   (void **) &p->bits.other);
}

/* Room for bits; how many is known from the degrees. */
static qs_status
open_bits(qi_cuda_pairs *p)
{
	uint64_t bytes = p->columns->universe * sizeof(uint32_t);
	bool hybrid = p->report.method == QI_HYBRID;
	uint64_t columns = hybrid ? 0 : p->columns->universe;

	if (!hybrid && !is_resident(p))
		return QS_OK;
	for (uint64_t d = p->columns->sets; hybrid && d >= p->report.heavy_degree && d > 0; d--)
		columns += p->columns->bin[d];
	p->bits.columns = p->report.heavy = columns;
	if (columns == 0)
		return QS_OK;
	QS_TRY(qi_device_alloc(p->gpu, &p->held, bytes, (void **) &p->bits.column));
	if (hybrid)
		QS_TRY(qi_device_alloc(p->gpu, &p->held, bytes, (void **) &p->bits.end));
	p->rows.end = p->sums.end = p->bits.end;
	return alloc_bits(p, bit_words(columns));
}

/* The bits, which stay for all strips. */
static qs_status
fill_bits(qi_cuda_pairs *p)
{
	qs_cuda *gpu = p->gpu;

	if (p->bits.columns == 0)
		return QS_OK;
	if (p->report.method == QI_HYBRID)
		QS_TRY(qi_bits_choose(gpu, p->columns, p->report.heavy_degree, &p->bits));
	else
		QS_TRY(qi_bits_range(gpu, p->columns, 0, p->bits.columns, &p->bits));
	QS_TRY(qi_bits_fill(gpu, p->request.rows, &p->bits, p->bits.row));
	if (p->columns != p->request.rows)
		QS_TRY(qi_bits_fill(gpu, p->columns, &p->bits, p->bits.other));
	return QS_OK;
}

/* Rows of a strip, and the memory of its counts if it has any. */
static qs_status
open_strip(qi_cuda_pairs *p)
{
	bool counts = p->bits.columns > 0 || !has_lists(p) || p->sums.into_strip;
	uint64_t rows = p->end - p->request.first_row;
	uint64_t most = MOST_UNITS / p->rows.blocks;
	size_t free_bytes, total_bytes;
	uint64_t limit;

	p->strip.width = qs_ceil_div(p->columns->sets, QI_TILE) * QI_TILE;
	if (p->strip.width == 0)
		p->strip.width = QI_TILE;
	if (most > MOST_COUNTED / p->strip.width)
		most = MOST_COUNTED / p->strip.width;
	if (counts)
	{
		QS_CUDA_TRY(p->gpu, cudaMemGetInfo(&free_bytes, &total_bytes));
		limit = free_bytes / 4 < MOST_STRIP ? free_bytes / 4 : MOST_STRIP;
		if (most > limit / (p->strip.width * sizeof(uint32_t)))
			most = limit / (p->strip.width * sizeof(uint32_t));
	}
	if (p->request.strip_rows > 0 && most > p->request.strip_rows)
		most = p->request.strip_rows;
	most = most / QI_TILE > 0 ? most / QI_TILE * QI_TILE : QI_TILE;
	if (most > rows)
		most = qs_ceil_div(rows > 0 ? rows : 1, QI_TILE) * QI_TILE;
	p->most_rows = most;
	if (!counts)
		return QS_OK;
	return qi_device_alloc(p->gpu, &p->held, most * p->strip.width * sizeof(uint32_t),
						   (void **) &p->strip.count);
}

static uint64_t
most_units(const qi_cuda_pairs *p)
{
	return p->most_rows * p->rows.blocks;
}

static qs_status
open_output(qi_cuda_pairs *p)
{
	qs_cuda *gpu = p->gpu;
	uint64_t units = most_units(p);

	p->out.room = p->request.pair_room > 0 ? p->request.pair_room : MOST_PAIRS;
	if (p->out.room < p->columns->sets)
		p->out.room = p->columns->sets;
	p->found_here = new (std::nothrow) uint32_t[units];
	p->place_here = new (std::nothrow) uint64_t[units + 1];
	if (!p->found_here || !p->place_here)
		return QS_NO_MEMORY;
	QS_TRY(qi_device_alloc(gpu, &p->held, p->out.room * sizeof(qi_pair), (void **) &p->out.pair));
	QS_TRY(qi_device_alloc(gpu, &p->held, p->out.room * sizeof(qi_pair), (void **) &p->ordered));
	QS_TRY(qi_device_alloc(gpu, &p->held, units * sizeof(uint64_t), (void **) &p->out.start));
	QS_TRY(qi_device_alloc(gpu, &p->held, units * sizeof(uint32_t), (void **) &p->out.found));
	QS_TRY(qi_device_alloc(gpu, &p->held, units * sizeof(uint64_t), (void **) &p->place));
	return qi_device_alloc(gpu, &p->held, sizeof(uint64_t), (void **) &p->out.cursor);
}

/*
 * How rows are handed out.  The best of a row are found among all its columns,
 * so if their counters do not fit, the counts go to the strip first.
 */
static void
plan_rows(qi_cuda_pairs *p)
{
	qi_rows *r = &p->rows;

	r->rows = p->request.rows;
	r->columns = p->columns;
	r->tail = p->tail;
	r->same = p->request.columns == NULL;
	r->lists = has_lists(p);
	r->filter = p->request.filter;
	qi_rows_plan(p->gpu, r);
	if (r->blocks == 1 || r->filter.top == 0)
		return;
	p->sums = *r;
	p->sums.into_strip = true;
	r->lists = false;
	qi_rows_plan(p->gpu, r);
}

/* Milliseconds between two phases that are over. */
static qs_status
elapsed(qi_cuda_pairs *p, phase from, phase to, double *ms)
{
	float time;

	QS_CUDA_TRY(p->gpu, cudaEventElapsedTime(&time, p->at[from], p->at[to]));
	*ms += time;
	return QS_OK;
}

static qs_status
mark(qi_cuda_pairs *p, phase where)
{
	QS_CUDA_TRY(p->gpu, cudaEventRecord(p->at[where], p->gpu->stream));
	return QS_OK;
}

static qs_status
make_index(qi_cuda_pairs *p)
{
	qi_cuda_sets *columns = p->request.columns ? p->request.columns : p->request.rows;

	if (columns->index.made)
		return QS_OK;
	QS_TRY(mark(p, PHASE_BEGIN));
	QS_TRY(qi_index_make(columns));
	QS_TRY(mark(p, PHASE_DONE));
	QS_CUDA_TRY(p->gpu, cudaStreamSynchronize(p->gpu->stream));
	return elapsed(p, PHASE_BEGIN, PHASE_DONE, &p->report.index_ms);
}

static qs_status
open_search(qi_cuda_pairs *p)
{
	QS_TRY(qs_cuda_enter(p->gpu));
	for (int i = 0; i < PHASES; i++)
		QS_CUDA_TRY(p->gpu, cudaEventCreate(&p->at[i]));
	QS_TRY(make_index(p));
	p->report.method = qi_choose_method(&p->request, p->tail, &p->report.heavy_degree);
	plan_rows(p);
	QS_TRY(open_bits(p));
	QS_TRY(open_strip(p));
	QS_TRY(open_output(p));
	QS_TRY(mark(p, PHASE_BEGIN));
	QS_TRY(fill_bits(p));
	QS_TRY(mark(p, PHASE_COUNTED));
	QS_CUDA_TRY(p->gpu, cudaStreamSynchronize(p->gpu->stream));
	return elapsed(p, PHASE_BEGIN, PHASE_COUNTED, &p->report.product_ms);
}

static qs_status
open_pairs(qs_cuda *gpu, const qi_cuda_request *request, qi_cuda_pairs **pairs)
{
	qi_cuda_pairs *p;
	qs_status status;
	uint64_t sets = request->rows->sets;

	p = new (std::nothrow) qi_cuda_pairs();
	if (!p)
		return QS_NO_MEMORY;
	p->gpu = gpu;
	p->request = *request;
	p->columns = request->columns ? request->columns : request->rows;
	p->tail = !request->columns && !request->directed && request->filter.top == 0;
	p->strip.first = request->first_row < sets ? request->first_row : sets;
	p->end = sets;
	if (request->row_count > 0 && request->row_count < sets - p->strip.first)
		p->end = p->strip.first + request->row_count;
	status = open_search(p);
	if (status != QS_OK)
	{
		qi_cuda_pairs_close(p);
		return status;
	}
	*pairs = p;
	return QS_OK;
}

/* The bits of hybrid may take more memory than there is; lists need the least. */
qs_status
qi_cuda_pairs_open(qs_cuda *gpu, const qi_cuda_request *request, qi_cuda_pairs **pairs)
{
	qi_cuda_request lists = *request;
	qs_status status;

	*pairs = NULL;
	if (request->method < QI_AUTO || request->method >= QI_METHODS)
		return QS_BAD_METHOD;
	status = open_pairs(gpu, request, pairs);
	lists.method = QI_INDEX;
	if (status == QS_NO_MEMORY && request->method == QI_AUTO)
		status = open_pairs(gpu, &lists, pairs);
	return status;
}

void
qi_cuda_pairs_close(qi_cuda_pairs *p)
{
	qs_cuda *gpu;
	uint64_t units;

	if (!p)
		return;
	gpu = p->gpu;
	units = most_units(p);
	cudaSetDevice(gpu->device);
	cudaStreamSynchronize(gpu->stream);
	qi_device_free(gpu, &p->held, p->bits.column, p->columns->universe * sizeof(uint32_t));
	qi_device_free(gpu, &p->held, p->bits.end, p->columns->universe * sizeof(uint32_t));
	if (p->bits.other != p->bits.row)
		qi_device_free(gpu, &p->held, p->bits.other, matrix_bytes(p->columns, p->bits.words));
	qi_device_free(gpu, &p->held, p->bits.row, matrix_bytes(p->request.rows, p->bits.words));
	qi_device_free(gpu, &p->held, p->strip.count, p->most_rows * p->strip.width * sizeof(uint32_t));
	qi_device_free(gpu, &p->held, p->out.pair, p->out.room * sizeof(qi_pair));
	qi_device_free(gpu, &p->held, p->ordered, p->out.room * sizeof(qi_pair));
	qi_device_free(gpu, &p->held, p->out.start, units * sizeof(uint64_t));
	qi_device_free(gpu, &p->held, p->out.found, units * sizeof(uint32_t));
	qi_device_free(gpu, &p->held, p->place, units * sizeof(uint64_t));
	qi_device_free(gpu, &p->held, p->out.cursor, sizeof(uint64_t));
	for (int i = 0; i < PHASES; i++)
		if (p->at[i])
			cudaEventDestroy(p->at[i]);
	cudaGetLastError();
	delete[] p->found_here;
	delete[] p->place_here;
	delete p;
}

void
qi_cuda_pairs_report(const qi_cuda_pairs *p, qi_cuda_report *report)
{
	*report = p->report;
}

/* ---- strips ---- */

/* The counts of a strip by the method, but for lists. */
static qs_status
count_strip(qi_cuda_pairs *p)
{
	qs_cuda *gpu = p->gpu;
	qi_pairwise pairwise = { p->request.rows, p->columns, p->tail, p->request.filter,
							 p->report.method };
	uint64_t rows = qs_ceil_div(p->strip.rows, QI_TILE) * QI_TILE;

	if (!p->strip.count)
		return QS_OK;
	if (p->bits.columns > 0)
		return qi_bits_multiply(gpu, &p->bits, p->tail, p->request.product, &p->strip);
	QS_CUDA_TRY(gpu, cudaMemsetAsync(p->strip.count, 0, rows * p->strip.width * sizeof(uint32_t),
									 gpu->stream));
	if (has_lists(p))
		return QS_OK;
	return qi_pairwise_count(gpu, &pairwise, &p->strip);
}

/* top of many columns: the lists, into the strip. */
static qs_status
sum_lists(qi_cuda_pairs *p)
{
	qi_output none = {};

	none.units = p->strip.rows * p->sums.blocks;
	return qi_rows_run(p->gpu, &p->sums, &p->strip, &none);
}

/* How many pairs each unit has, and how many come before it. */
static qs_status
read_found(qi_cuda_pairs *p, uint64_t units)
{
	qs_cuda *gpu = p->gpu;
	uint64_t before = 0;

	QS_CUDA_TRY(gpu, cudaMemcpyAsync(p->found_here, p->out.found, units * sizeof(uint32_t),
									 cudaMemcpyDeviceToHost, gpu->stream));
	QS_CUDA_TRY(gpu, cudaStreamSynchronize(gpu->stream));
	for (uint64_t u = 0; u < units; u++)
	{
		p->place_here[u] = before;
		before += p->found_here[u];
	}
	p->place_here[units] = before;
	QS_TRY(elapsed(p, PHASE_BEGIN, PHASE_COUNTED, &p->report.product_ms));
	return elapsed(p, PHASE_COUNTED, PHASE_DONE, &p->report.rows_ms);
}

/* Count the strip that begins at strip.first; what passes is known, and there if it has room. */
static qs_status
run_strip(qi_cuda_pairs *p, uint64_t room)
{
	qi_output out = p->out;

	p->strip.rows = p->end - p->strip.first < p->most_rows ? p->end - p->strip.first : p->most_rows;
	out.room = room;
	out.units = p->strip.rows * p->rows.blocks;
	QS_TRY(mark(p, PHASE_BEGIN));
	QS_TRY(count_strip(p));
	if (p->sums.into_strip)
		QS_TRY(sum_lists(p));
	QS_TRY(mark(p, PHASE_COUNTED));
	QS_CUDA_TRY(p->gpu, cudaMemsetAsync(out.cursor, 0, sizeof(*out.cursor), p->gpu->stream));
	QS_TRY(qi_rows_run(p->gpu, &p->rows, &p->strip, &out));
	QS_TRY(mark(p, PHASE_DONE));
	p->report.strips++;
	return read_found(p, out.units);
}

static qs_status
send_places(qi_cuda_pairs *p, uint64_t units)
{
	QS_CUDA_TRY(p->gpu, cudaMemcpyAsync(p->place, p->place_here, units * sizeof(*p->place),
										cudaMemcpyHostToDevice, p->gpu->stream));
	return QS_OK;
}

/* The next units whose pairs have room, counted again. */
static qs_status
run_piece(qi_cuda_pairs *p, uint64_t units)
{
	qi_output out = p->out;
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
	QS_TRY(qi_rows_run(p->gpu, &p->rows, &p->strip, &out));
	p->next_unit = last;
	p->ready = p->place_here[last] - p->place_here[first];
	p->taken = 0;
	return QS_OK;
}

/* A strip, or the next piece of one; nothing ready afterwards: no pair in it. */
static qs_status
make_ready(qi_cuda_pairs *p)
{
	uint64_t units = p->strip.rows * p->rows.blocks;

	if (p->next_unit < units)
		return run_piece(p, units);
	p->strip.first += p->strip.rows;
	p->strip.rows = 0;
	p->next_unit = 0;
	if (p->strip.first >= p->end)
		return QS_OK;
	QS_TRY(run_strip(p, p->out.room));
	units = p->strip.rows * p->rows.blocks;
	QS_TRY(send_places(p, units));
	if (p->place_here[units] > p->out.room)
		return run_piece(p, units);
	QS_TRY(qi_rows_order(p->gpu, &p->out, p->place, units, p->ordered));
	p->next_unit = units;
	p->ready = p->place_here[units];
	p->taken = 0;
	return QS_OK;
}

static bool
is_over(const qi_cuda_pairs *p)
{
	return p->taken == p->ready && p->next_unit == p->strip.rows * p->rows.blocks &&
		   p->strip.first + p->strip.rows >= p->end;
}

qs_status
qi_cuda_pairs_next(qi_cuda_pairs *p, qi_pair *out, uint64_t room, uint64_t *count, bool *over)
{
	qs_cuda *gpu = p->gpu;

	*count = 0;
	QS_TRY(qs_cuda_enter(gpu));
	if (p->taken == p->ready && !is_over(p))
	{
		p->taken = p->ready = 0;
		QS_TRY(make_ready(p));
	}
	*count = p->ready - p->taken < room ? p->ready - p->taken : room;
	*over = *count == 0 && is_over(p);
	if (*count == 0)
		return QS_OK;
	QS_CUDA_TRY(gpu, cudaMemcpyAsync(out, p->ordered + p->taken, *count * sizeof(*out),
									 cudaMemcpyDeviceToHost, gpu->stream));
	QS_CUDA_TRY(gpu, cudaStreamSynchronize(gpu->stream));
	gpu->stats.bytes_out += *count * sizeof(*out);
	p->taken += *count;
	return QS_OK;
}

qs_status
qi_cuda_pairs_count(qi_cuda_pairs *p, uint64_t *count)
{
	*count = p->ready - p->taken;
	QS_TRY(qs_cuda_enter(p->gpu));
	if (p->next_unit < p->strip.rows * p->rows.blocks)
		*count += p->place_here[p->strip.rows * p->rows.blocks] - p->place_here[p->next_unit];
	for (p->strip.first += p->strip.rows; p->strip.first < p->end; p->strip.first += p->strip.rows)
	{
		QS_TRY(run_strip(p, 0));
		*count += p->place_here[p->strip.rows * p->rows.blocks];
	}
	p->strip.rows = 0;
	p->next_unit = 0;
	p->ready = p->taken = 0;
	return QS_OK;
}
