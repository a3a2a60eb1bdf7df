/*
 * pairs.c
 *		All pairs: counts the rows of a shard, returns the pairs that pass, and makes shards.
 *
 * src/sets/pairs.c
 */
#include "sets/pairs.h"

#include "sets/block.h"

/* The number of counters that one call of find16() or find32() reads. */
#define SCAN 4096

static const uint32_t *
sets_of(const qset_job *job, const qset_block_side *side)
{
	return (const uint32_t *) (job->block + side->set);
}

static const uint32_t *
sizes_of(const qset_job *job, const qset_block_side *side)
{
	return (const uint32_t *) (job->block + side->size);
}

qb_status
qset_fill(qset_preparation *p, void *block)
{
	const qset_block *b = block;
	qb_status status = qset_block_fill(p, block);

	return status == QB_OK && b->prefix ? qset_fill_windows(p, b, block) : status;
}

/* ---- opening and closing ---- */

/*
 * Return the length of the array of found columns.  The index of prefixes needs room for every
 * column twice: a window is sieved behind the found columns, and sorting takes a second copy.
 * Other methods scan SCAN counters at a time, so they need room for SCAN columns and QSET_SLACK.
 */
static uint64_t
found_room(const qset_block *b)
{
	return b->prefix ? 2 * qset_row_room(b) : SCAN + QSET_SLACK;
}

static bool
alloc_for_method(qset_job *job)
{
	const qset_block *b = job->head;
	const qb_memory *m = job->memory;
	bool all = true;

	if (b->prefix)
		all = (job->seen = qset_alloc(m, qset_row_room(b) / 64, sizeof(*job->seen)));
	if (b->prefix || (b->method == QSET_BITMAP && !b->resident))
		all = all && (job->bits = qset_alloc(m, b->bitmap_words, sizeof(*job->bits)));
	if (b->method == QSET_HASH)
	{
		job->hash.start = qset_alloc(m, qset_hash_starts(b->largest_row), sizeof(uint32_t));
		job->hash.item = qset_alloc(m, b->largest_row, sizeof(uint32_t));
		all = job->hash.start && job->hash.item;
	}
	if (b->method == QSET_HYBRID)
		all = (job->columns = qset_alloc(m, b->most_heavy, sizeof(*job->columns)));
	return all;
}

qb_status
qset_job_open(qset_job *job, const void *block, const qset_kernels *kernels,
			  const qb_memory *memory, const qset_interrupt *interrupt)
{
	const qset_block *b = block;
	uint64_t top = b->filter.top < b->column.sets ? b->filter.top : b->column.sets;

	memset(job, 0, sizeof(*job));
	job->block = block;
	job->head = b;
	job->kernels = kernels;
	job->memory = memory;
	job->interrupt = interrupt;
	job->patience = QSET_PATIENCE;
	job->count = qset_alloc(memory, qset_row_room(b), b->wide_row ? 4 : 2);
	job->found = qset_alloc(memory, found_room(b), sizeof(*job->found));
	if (b->filter.top > 0)
		job->best.pair = qset_alloc(memory, 2 * top, sizeof(*job->best.pair));
	job->best.room = top;
	job->best.order = b->filter.order;
	if (!job->count || !job->found || (b->filter.top > 0 && !job->best.pair) ||
		!alloc_for_method(job))
		return QB_NO_MEMORY;
	return QB_OK;
}

void
qset_job_close(qset_job *job)
{
	qset_release(job->memory, job->count);
	qset_release(job->memory, job->found);
	qset_release(job->memory, job->best.pair);
	qset_release(job->memory, job->seen);
	qset_release(job->memory, job->bits);
	qset_release(job->memory, job->hash.start);
	qset_release(job->memory, job->hash.item);
	qset_release(job->memory, job->columns);
}

uint64_t
qset_job_rows(const qset_job *job)
{
	return job->head->row.sets;
}

void
qset_job_shard(qset_job *job, uint64_t first, uint64_t end, uint64_t step)
{
	uint64_t rows = job->head->row.sets;

	job->row = first;
	job->end = end < rows ? end : rows;
	job->step = step;
	job->counted = false;
}

int64_t
qset_job_row_of(const qset_job *job, uint32_t set)
{
	const uint32_t *sets = sets_of(job, &job->head->row);
	uint64_t low = 0;
	uint64_t high = job->head->row.sets;

	while (low < high)
	{
		uint64_t middle = low + (high - low) / 2;

		if (sets[middle] < set)
			low = middle + 1;
		else
			high = middle;
	}
	return low < job->head->row.sets && sets[low] == set ? (int64_t) low : -1;
}

/* ---- rows ---- */

static qb_status
count_row(qset_job *job)
{
	switch (job->head->method)
	{
		case QSET_INDEX:
			return job->head->prefix ? qset_candidates_row(job) : qset_index_row(job);
		case QSET_HYBRID:
			return qset_index_row(job);
		default:
			return qset_technique_row(job);
	}
}

/*
 * Begin and count the job's row.  A row that is too small for the least count has no found columns.
 */
static qb_status
start_row(qset_job *job)
{
	const qset_block *b = job->head;
	uint32_t size = sizes_of(job, &b->row)[job->row];
	uint64_t least;

	qset_filter_sizes(&b->filter, size, &least, &job->most);
	job->counted = true;
	job->found_count = 0;
	job->found_next = 0;
	job->best.count = 0;
	job->best.size = size;
	job->from = b->tail ? (uint32_t) job->row + 1 : 0;
	if (least == 0 && !qset_filter_passes_nothing(&b->filter))
		least = 1;
	job->next = (uint32_t) b->column.sets;
	if (least > size || job->from >= b->column.sets)
		return QB_OK;
	job->least = (uint32_t) least;
	job->next = job->from;
	return count_row(job);
}

/* Find columns among the next counters.  False: the row has no more counters. */
static bool
find_more(qset_job *job)
{
	const qset_block *b = job->head;
	uint32_t columns = (uint32_t) b->column.sets;
	qset_slice s = { .row = job->count, .from = job->next, .least = job->least };

	if (s.from == columns)
		return false;
	s.to = columns - s.from < SCAN ? columns : s.from + SCAN;
	if (job->most < UINT32_MAX)
	{
		s.most = (uint32_t) job->most;
		s.size = sizes_of(job, &b->column);
	}
	job->found_next = job->found_count = 0;
	if (b->wide_row || job->least <= UINT16_MAX)
		job->found_count =
			(b->wide_row ? job->kernels->find32 : job->kernels->find16)(&s, job->found);
	job->next = s.to;
	return true;
}

/* Data that all pairs of a row have in common. */
typedef struct row_view
{
	const qset_filter *filter;
	const void *count;
	const uint32_t *column_size;
	const uint32_t *column_set;
	uint64_t itself; /* the column that is the row's own set; UINT64_MAX: none */
	uint32_t set;
	uint32_t size;
	bool wide;
} row_view;

static row_view
view_row(const qset_job *job)
{
	const qset_block *b = job->head;

	return (row_view){ .filter = &b->filter,
					   .count = job->count,
					   .column_size = sizes_of(job, &b->column),
					   .column_set = sets_of(job, &b->column),
					   .itself = b->same ? job->row : UINT64_MAX,
					   .set = sets_of(job, &b->row)[job->row],
					   .size = sizes_of(job, &b->row)[job->row],
					   .wide = b->wide_row };
}

/*
 * Set *pair to the pair of the row and a column.  False: the pair does not pass, or the column is
 * the row's own set.
 */
QB_INLINE bool
make_pair(const row_view *row, uint32_t column, qset_pair *pair)
{
	uint32_t common = row->wide ? ((const uint32_t *) row->count)[column]
								: ((const uint16_t *) row->count)[column];

	pair->a = row->set;
	pair->b = row->column_set[column];
	pair->common = common;
	pair->either = row->size + row->column_size[column] - common;
	return column != row->itself && qset_filter_pass(row->filter, common, pair->either);
}

/*
 * Make the pairs of found columns in a loop without a branch.  All pairs pass, because the filter
 * has only a least count.
 */
static void
make_pairs(const row_view *row, const uint32_t *column, uint64_t count, qset_pair *out)
{
	const uint16_t *narrow = row->count;
	const uint32_t *wide = row->count;
	uint64_t i;

	for (i = 0; i < count; i++)
	{
		uint32_t common = row->wide ? wide[column[i]] : narrow[column[i]];
		uint32_t either = row->size + row->column_size[column[i]] - common;

		out[i] = (qset_pair){ row->set, row->column_set[column[i]], common, either };
	}
}

/* Write at most "room" found pairs to "out".  Returns their number. */
static uint64_t
take_found(qset_job *job, qset_pair *out, uint64_t room)
{
	row_view row = view_row(job);
	const uint32_t *found = job->found;
	uint32_t at = job->found_next;
	uint32_t end = job->found_count;
	uint64_t n = 0;

	/* all found columns pass: all reach the least count, and none is the row's own set */
	if (job->head->tail && row.filter->numerator == 0 && !job->head->prefix)
	{
		n = end - at < room ? end - at : room;
		make_pairs(&row, found + at, n, out);
		at += (uint32_t) n;
	}
	while (n < room && at < end)
		n += make_pair(&row, found[at++], &out[n]);
	job->found_next = at;
	return n;
}

/* ---- sorting the best pairs ---- */

QB_INLINE bool
pair_before(const qset_pair *x, const qset_pair *y)
{
	return x->a != y->a ? x->a < y->a : x->b < y->b;
}

/* Sort pairs by a, then b, by a bottom-up merge sort.  The result is in "pair". */
static void
sort_pairs(qset_pair *pair, uint64_t count, qset_pair *scratch)
{
	qset_pair *from = pair;
	qset_pair *to = scratch;
	uint64_t width;

	for (width = 1; width < count; width *= 2)
	{
		uint64_t at;
		qset_pair *other = from;

		for (at = 0; at < count; at += 2 * width)
		{
			uint64_t i = at;
			uint64_t middle = at + width < count ? at + width : count;
			uint64_t j = middle;
			uint64_t end = at + 2 * width < count ? at + 2 * width : count;
			uint64_t k;

			for (k = at; k < end; k++)
				to[k] = i < middle && (j == end || !pair_before(&from[j], &from[i])) ? from[i++]
																					 : from[j++];
		}
		from = to;
		to = other;
	}
	if (from != pair && count > 0)
		memcpy(pair, from, count * sizeof(*pair));
}

uint64_t
qset_finish_top(qset_pair *pair, uint64_t count, qset_pair *scratch)
{
	uint64_t kept = 0;
	uint64_t i;

	for (i = 0; i < count; i++)
		if (pair[i].a > pair[i].b)
		{
			uint32_t a = pair[i].a;

			pair[i].a = pair[i].b;
			pair[i].b = a;
		}
	sort_pairs(pair, count, scratch);
	for (i = 0; i < count; i++)
		if (kept == 0 || pair_before(&pair[kept - 1], &pair[i]))
			pair[kept++] = pair[i];
	return kept;
}

/* ---- returning pairs ---- */

/* Find the best of all pairs of the row, and sort the best pairs by b. */
static void
find_best(qset_job *job)
{
	row_view row = view_row(job);

	do
		while (job->found_next < job->found_count)
		{
			qset_pair pair;

			if (make_pair(&row, job->found[job->found_next++], &pair))
				qset_best_offer(&job->best, &pair);
		}
	while (find_more(job));
	sort_pairs(job->best.pair, job->best.count, job->best.pair + job->best.room);
	job->best_next = 0;
}

/* Count a row and, with "top", find its best pairs. */
static qb_status
begin_row(qset_job *job)
{
	bool top = job->head->filter.top > 0;
	qb_status status;

	if (!qset_spend(job, 20 + (job->head->column.sets >> (top ? 3 : 4))))
		return QB_CANCELLED;
	status = start_row(job);
	if (status == QB_OK && top)
		find_best(job);
	return status;
}

/* Write the row's next pairs while *n < "room".  False: the row has no more pairs. */
static bool
take_pairs(qset_job *job, qset_pair *out, uint64_t room, uint64_t *n)
{
	if (job->head->filter.top == 0)
	{
		if (job->found_next < job->found_count)
			*n += take_found(job, out + *n, room - *n);
		return job->found_next < job->found_count || find_more(job);
	}
	while (*n < room && job->best_next < job->best.count)
		out[(*n)++] = job->best.pair[job->best_next++];
	return job->best_next < job->best.count;
}

qb_status
qset_job_next(qset_job *job, qset_pair *out, uint64_t room, uint64_t *count)
{
	uint64_t n = 0;

	*count = 0;
	while (n < room && job->row < job->end)
	{
		qb_status status = job->counted ? QB_OK : begin_row(job);

		if (status != QB_OK)
			return status;
		if (take_pairs(job, out, room, &n))
			continue;
		job->row += job->step;
		job->counted = false;
	}
	*count = n;
	return QB_OK;
}

/*
 * ---- all pairs: cutting the rows into shards of about the same work ----
 *
 * Shards are ranges of rows, so the pairs of one shard precede the pairs of the next shard.  The
 * steps of a row are estimated from the lengths of its lists or, for methods that count pair after
 * pair, from the number of columns and the cost of a pair.  Cutting takes O(rows + entries) steps.
 */

/*
 * The number of counters that one step reads, and the number of bits of a heavy element's column
 * that one step adds.
 */
#define SCANNED 16
#define ADDED   100

/* The cost of beginning a pair, in steps. */
#define PAIR_STEPS 16

static uint64_t
listed_steps(const qset_block *b, const uint8_t *block, uint64_t row, uint64_t columns)
{
	const uint64_t *start = (const uint64_t *) (block + b->row_start) + row;
	const uint64_t *entry = (const uint64_t *) (block + b->entry);
	const uint64_t *heavy = (const uint64_t *) (block + b->heavy_start) + row;
	uint64_t steps = columns / SCANNED;
	uint64_t i;

	for (i = start[0]; i < start[1]; i++)
		steps += 1 + (entry[i] & ((UINT64_C(1) << QSET_LENGTH_BITS) - 1));
	if (b->heavy_start != 0)
		steps += (heavy[1] - heavy[0]) * (1 + columns / ADDED);
	return steps;
}

/* Return the approximate number of steps of a row, at least 1. */
static uint64_t
row_steps(const qset_job *job, uint64_t row)
{
	const qset_block *b = job->head;
	uint64_t columns = b->column.sets - (b->tail ? row + 1 : 0);
	uint64_t size = ((const uint32_t *) (job->block + b->row.size))[row];

	if (b->row_start != 0)
		return 1 + listed_steps(b, job->block, row, columns);
	return 1 + columns * (b->resident ? b->bitmap_words / QSET_BLOCK_WORDS + 1 : size + PAIR_STEPS);
}

/* Return the number of steps that row_steps() itself takes for a row. */
static uint64_t
asking_steps(const qset_job *job, uint64_t row)
{
	const uint64_t *start = (const uint64_t *) (job->block + job->head->row_start) + row;

	return job->head->row_start != 0 ? start[1] - start[0] + 5 : 5;
}

/* Return row_steps(), or 0 if the job must stop. */
static uint64_t
job_steps(void *context, uint64_t row)
{
	qset_job *job = context;

	return qset_spend(job, asking_steps(job, row)) ? row_steps(job, row) : 0;
}

qb_status
qset_cut_rows(uint64_t rows, uint64_t (*steps_of)(void *context, uint64_t row), void *context,
			  uint64_t *first, uint64_t shards)
{
	unsigned __int128 all = 0;
	unsigned __int128 before = 0;
	uint64_t shard = 0;
	uint64_t steps = 1;
	uint64_t i;

	for (i = 0; i < rows && steps > 0; i++)
		all += steps = steps_of(context, i);
	for (i = 0; i < rows && steps > 0; i++)
	{
		while (shard < shards && before * shards >= all * shard)
			first[shard++] = i;
		before += steps = steps_of(context, i);
	}
	while (shard <= shards)
		first[shard++] = rows;
	return steps > 0 ? QB_OK : QB_CANCELLED;
}

qb_status
qset_job_split(qset_job *job, uint64_t *first, uint64_t shards)
{
	return qset_cut_rows(job->head->row.sets, job_steps, job, first, shards);
}

/* ---- the best pairs of one set ---- */

/* Move the pair at the root down to its position in a heap of "count" pairs. */
static void
sink(const qset_best *best, uint64_t count)
{
	qset_pair *heap = best->pair;
	qset_pair x = heap[0];
	uint64_t at = 0;

	for (;;)
	{
		uint64_t child = 2 * at + 1;

		if (child + 1 < count &&
			qset_pair_better(best->order, best->size, &heap[child], &heap[child + 1]))
			child++;
		if (child >= count || !qset_pair_better(best->order, best->size, &x, &heap[child]))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = x;
}

void
qset_best_offer(qset_best *best, const qset_pair *pair)
{
	qset_pair *heap = best->pair;
	uint64_t at = best->count;

	if (at == best->room)
	{
		if (!qset_pair_better(best->order, best->size, pair, &heap[0]))
			return;
		heap[0] = *pair;
		sink(best, at);
		return;
	}
	for (; at > 0 && qset_pair_better(best->order, best->size, &heap[(at - 1) / 2], pair);
		 at = (at - 1) / 2)
		heap[at] = heap[(at - 1) / 2];
	heap[at] = *pair;
	best->count++;
}

/* The cost of sinking a pair in a heap of millions of pairs, in steps: several cache misses. */
#define SINK_STEPS 64

/* Repeatedly move the worst of the remaining pairs behind the remaining pairs. */
void
qset_best_sort(qset_best *best, const qb_memory *memory)
{
	uint64_t rest;

	for (rest = best->count; rest > 1; rest--)
	{
		qset_pair worst = best->pair[0];

		qset_pause_at(memory, rest * SINK_STEPS);
		best->pair[0] = best->pair[rest - 1];
		sink(best, rest - 1);
		best->pair[rest - 1] = worst;
	}
}
