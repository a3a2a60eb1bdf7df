/*
 * rows.c
 *		All pairs: the counters of one row, by each method.
 *
 * Every method leaves in the job's counters, for each column from "from" on,
 * how many elements it has in common with the row; 0 also where the sizes
 * already say that the pair cannot pass.  Costs, for k sets of n elements:
 *
 *	merge, search, merge_search, merge_hash		k pairs (single.h)
 *	hash		the row hashed once, k n probes		paper: HI, multiple
 *	bitmap		the row's bitmap, k n probes		paper: BI-dynamic
 *				or k |E|/512 vectors				paper: BI-naive
 *	index		one step for each equal element		paper: sf-gssjoin
 *	hybrid		the same for rare elements, and for each frequent one that
 *				the row has k/512 vectors
 *
 * The paper's index adds to a triangle of counters in memory by atomic
 * operations; one row of counters at a time stays in the cache.  The hybrid's
 * product of bit matrices is made row by row: the columns of the elements that
 * the row has are added by carry-save adders, 512 sets at a time.  That costs
 * what the row has; counting the bits of ANDed rows, as on a device with
 * tensor cores, would cost as much as there are frequent elements.
 *
 * src/sets/rows.c
 */
#include "sets/block.h"

/* Lists that come later are fetched this many entries ahead. */
#define AHEAD 8

QS_INLINE void
set_count(qi_job *job, uint32_t column, uint64_t count)
{
	if (job->head->wide_row)
		((uint32_t *) job->count)[column] = (uint32_t) count;
	else
		((uint16_t *) job->count)[column] = (uint16_t) count;
}

static void
clear_counts(qi_job *job)
{
	size_t width = job->head->wide_row ? 4 : 2;

	memset((uint8_t *) job->count + job->from * width, 0,
		   (job->head->column.sets - job->from) * width);
}

/* ---- index ---- */

/*
 * Add a row's lists to its counters.  The widths are constants in each call,
 * so that each makes a loop of its own.  Columns of a list differ, so four can
 * be read before any is counted.
 */
QS_INLINE bool
count_lists(qi_job *job, const uint64_t *entry, uint64_t entries, bool wide_list, bool wide_row)
{
	const uint8_t *list = job->block + job->head->list;
	const uint64_t width = wide_list ? 4 : 2;
	uint32_t *row4 = job->count;
	uint16_t *row2 = job->count;
	uint64_t i;

#define LISTED(at) (wide_list ? ((const uint32_t *) p)[at] : ((const uint16_t *) p)[at])
#define COUNT(x)   (wide_row ? (void) row4[x]++ : (void) row2[x]++)
	for (i = 0; i < entries; i++)
	{
		uint64_t length = entry[i] & ((UINT64_C(1) << QI_LENGTH_BITS) - 1);
		const uint8_t *p = list + (entry[i] >> QI_LENGTH_BITS) * width;

		if (i + AHEAD < entries)
			__builtin_prefetch(list + (entry[i + AHEAD] >> QI_LENGTH_BITS) * width);
		if (!qi_spend(job, length + 2))
			return false;
		for (; length >= 4; length -= 4, p += 4 * width)
		{
			uint32_t x0 = LISTED(0);
			uint32_t x1 = LISTED(1);
			uint32_t x2 = LISTED(2);
			uint32_t x3 = LISTED(3);

			COUNT(x0);
			COUNT(x1);
			COUNT(x2);
			COUNT(x3);
		}
		for (; length > 0; length--, p += width)
			COUNT(LISTED(0));
	}
#undef LISTED
#undef COUNT
	return true;
}

static bool
add_lists(qi_job *job)
{
	const qi_block *b = job->head;
	const uint64_t *start = (const uint64_t *) (job->block + b->row_start) + job->row;
	const uint64_t *entry = (const uint64_t *) (job->block + b->entry) + start[0];
	uint64_t entries = start[1] - start[0];

	if (b->wide_list)
		return b->wide_row ? count_lists(job, entry, entries, true, true)
						   : count_lists(job, entry, entries, true, false);
	return b->wide_row ? count_lists(job, entry, entries, false, true)
					   : count_lists(job, entry, entries, false, false);
}

/* ---- hybrid ---- */

/* The row's counters from its heavy elements; they need not be cleared before. */
static bool
add_columns(qi_job *job)
{
	const qi_block *b = job->head;
	const uint64_t *start = (const uint64_t *) (job->block + b->heavy_start) + job->row;
	const uint32_t *heavy = (const uint32_t *) (job->block + b->heavy) + start[0];
	const uint64_t *bits = (const uint64_t *) (job->block + b->bits);
	uint32_t columns = (uint32_t) (start[1] - start[0]);
	uint64_t at;
	uint32_t i;

	if (columns == 0)
	{
		clear_counts(job);
		return true;
	}
	for (i = 0; i < columns; i++)
		job->columns[i] = bits + heavy[i] * b->bit_words;
	for (at = job->from / QI_BLOCK * QI_BLOCK_WORDS; at < b->bit_words; at += QI_BLOCK_WORDS)
	{
		uint16_t sum[QI_BLOCK];

		if (!qi_spend(job, 50 + columns))
			return false;
		if (!b->wide_row)
		{
			job->kernels->sum_columns(job->columns, columns, at, (uint16_t *) job->count + at * 64);
			continue;
		}
		job->kernels->sum_columns(job->columns, columns, at, sum);
		for (i = 0; i < QI_BLOCK; i++)
			((uint32_t *) job->count)[at * 64 + i] = sum[i];
	}
	return true;
}

/* ---- index of prefixes ---- */

typedef struct set_view
{
	const uint32_t *rank;
	uint64_t count;
} set_view;

static set_view
view_of(const qi_job *job, const qi_block_side *side, uint64_t i)
{
	const uint64_t *offset = (const uint64_t *) (job->block + side->offset) + i;

	return (set_view){ (const uint32_t *) (job->block + side->rank) + offset[0],
					   offset[1] - offset[0] };
}

static uint32_t
size_of(const qi_job *job, const qi_block_side *side, uint64_t i)
{
	return ((const uint32_t *) (job->block + side->size))[i];
}

/* Columns in the lists of the row's prefix whose size is in range, each once. */
static bool
collect_candidates(qi_job *job, uint64_t least, uint64_t most)
{
	const qi_block *b = job->head;
	const uint64_t *start = (const uint64_t *) (job->block + b->row_start) + job->row;
	const uint64_t *entry = (const uint64_t *) (job->block + b->entry);
	const uint8_t *list = job->block + b->list;
	const uint32_t *size = (const uint32_t *) (job->block + b->column.size);
	uint32_t seen = ++job->visit;
	uint64_t i;

	job->found_count = 0;
	for (i = start[0]; i < start[1]; i++)
	{
		uint64_t length = entry[i] & ((UINT64_C(1) << QI_LENGTH_BITS) - 1);
		uint64_t at = entry[i] >> QI_LENGTH_BITS;
		uint64_t end = at + length;

		if (!qi_spend(job, length * 2 + 2))
			return false;
		for (; at < end; at++)
		{
			uint32_t c =
				b->wide_list ? ((const uint32_t *) list)[at] : ((const uint16_t *) list)[at];

			if (job->stamp[c] == seen)
				continue;
			job->stamp[c] = seen;
			if (size[c] >= least && size[c] <= most)
				job->found[job->found_count++] = c;
		}
	}
	return true;
}

/* Candidates, and their counts by merging; all others are left alone. */
static qs_status
count_candidates(qi_job *job)
{
	const qi_block *b = job->head;
	set_view row = view_of(job, &b->row, job->row);
	uint64_t least;
	uint64_t most;
	uint64_t found;
	uint32_t i;

	qi_filter_sizes(&b->filter, size_of(job, &b->row, job->row), &least, &most);
	if (!collect_candidates(job, least, most))
		return QS_CANCELLED;
	found = job->found_count;
	qi_sort_unique32((int32_t *) job->found, &found, (int32_t *) job->found + qi_row_room(b), NULL);
	for (i = 0; i < found; i++)
	{
		set_view column = view_of(job, &b->column, job->found[i]);

		if (!qi_spend(job, 10 + (row.count + column.count) / 2))
			return QS_CANCELLED;
		set_count(job, job->found[i],
				  qi_count32(job->kernels, (const int32_t *) row.rank, row.count,
							 (const int32_t *) column.rank, column.count));
	}
	job->next = (uint32_t) b->column.sets; /* nothing else is to be looked at */
	return QS_OK;
}

/* ---- one pair after another ---- */

/* What a row needs before its pairs. */
static void
begin_row(qi_job *job, set_view row)
{
	if (job->head->method == QI_HASH)
		qi_hash_build(&job->hash, row.rank, row.count);
	else if (job->bits)
		qi_bitmap_set(job->bits, row.rank, row.count);
}

static void
end_row(qi_job *job, set_view row)
{
	if (job->bits)
		qi_bitmap_clear(job->bits, row.rank, row.count);
}

static uint64_t
count_pair(qi_job *job, set_view row, set_view column)
{
	const uint32_t *a = row.rank;
	const uint32_t *b = column.rank;
	uint64_t n = row.count;
	uint64_t m = column.count;

	switch (job->head->method)
	{
		case QI_MERGE:
			return job->kernels->count32((const int32_t *) a, n, (const int32_t *) b, m);
		case QI_SEARCH:
			return qi_search_count(a, n, b, m);
		case QI_MERGE_SEARCH:
			return qi_path_count(a, n, b, m, qi_search_piece);
		case QI_HASH:
			return qi_hash_count(&job->hash, b, m);
		case QI_MERGE_HASH:
			return qi_path_count(a, n, b, m, qi_hash_piece);
		default:
			return job->kernels->probe(job->bits, b, m);
	}
}

static uint64_t
and_pair(qi_job *job, uint64_t column)
{
	const qi_block *b = job->head;
	const uint64_t *rows = (const uint64_t *) (job->block + b->row.bits_of);
	const uint64_t *columns = (const uint64_t *) (job->block + b->column.bits_of);

	return job->kernels->and_count(rows + job->row * b->bitmap_words,
								   columns + column * b->bitmap_words, b->bitmap_words);
}

static qs_status
count_pairs(qi_job *job)
{
	const qi_block *b = job->head;
	set_view row = { NULL, 0 };
	qs_status status = QS_OK;
	uint64_t least;
	uint64_t most;
	uint64_t c;

	qi_filter_sizes(&b->filter, size_of(job, &b->row, job->row), &least, &most);
	if (!b->resident)
	{
		row = view_of(job, &b->row, job->row);
		begin_row(job, row);
	}
	for (c = job->from; c < b->column.sets && status == QS_OK; c++)
	{
		uint64_t size = size_of(job, &b->column, c);
		uint64_t steps = b->resident ? b->bitmap_words / 4 : size + row.count;
		bool possible = size >= least && size <= most;

		if (!qi_spend(job, possible ? steps + 10 : 1))
			status = QS_CANCELLED;
		else if (!possible)
			set_count(job, (uint32_t) c, 0);
		else if (b->resident)
			set_count(job, (uint32_t) c, and_pair(job, c));
		else
			set_count(job, (uint32_t) c, count_pair(job, row, view_of(job, &b->column, c)));
	}
	end_row(job, row);
	return status;
}

qs_status
qi_count_row(qi_job *job)
{
	switch (job->head->method)
	{
		case QI_INDEX:
			if (job->head->prefix)
				return count_candidates(job);
			clear_counts(job);
			return add_lists(job) ? QS_OK : QS_CANCELLED;
		case QI_HYBRID:
			return add_columns(job) && add_lists(job) ? QS_OK : QS_CANCELLED;
		default:
			return count_pairs(job);
	}
}
