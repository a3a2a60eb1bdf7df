/*
 * candidates.c
 *		All pairs: the counters of one row, by the index of prefixes.
 *
 * The windows of the row's prefix (windows.c) have the columns that share a rare
 * element with it.  Signatures leave out most of them that cannot pass
 * (signature.h).  The elements of the others are counted: by a bitmap of the row if
 * the row is small, since a merge of small sets is one misprediction after another;
 * otherwise by merging.
 *
 * src/sets/candidates.c
 */
#include "sets/block.h"

/* Candidates are prefetched this many ahead. */
#define AHEAD 8

/* The elements of rows up to this size are looked up in a bitmap. */
#define MOST_PROBED 64

/* Sorting one candidate takes as long as looking at the marks of 64 columns so many times. */
#define SORT_COST 16

/* With so many columns of each size it is worth looking for the first that is wanted. */
#define MANY_ALIKE 32

/* Candidates whose common elements are counted at once. */
#define AT_ONCE 256

/* What the row's candidates are compared with. */
static void
make_sieve(const qset_job *job, qset_set_view row, uint64_t most, qset_sieve *s)
{
	const qset_block *b = job->head;

	s->column = (const qset_signed *) (job->block + b->column_signed);
	s->signature = (const uint64_t *) (job->block + b->signature);
	s->from = job->from;
	s->row_size = qset_size_of(job, &b->row, job->row);
	s->row_known = row.count;
	s->share = b->share;
	s->min_count = b->filter.min_count;
	s->least_level = qset_signature_level(job->least);
	s->most_level = qset_signature_level(most);
	qset_sieve_row(s, row.rank, row.count);
}

/* A window of a list that is being sieved. */
typedef struct window
{
	const qset_sieve *sieve;
	const uint8_t *list;
	bool wide;
} window;

QB_INLINE uint32_t
column_at(const window *w, uint64_t at)
{
	return w->wide ? ((const uint32_t *) w->list)[at] : ((const uint16_t *) w->list)[at];
}

QB_INLINE uint64_t
size_at(const window *w, uint64_t at)
{
	return w->sieve->column[column_at(w, at)].size;
}

/* The first place from "low" on, or "high", whose column is larger than a size. */
static uint64_t
behind_size(const window *w, uint64_t low, uint64_t high, uint64_t size)
{
	while (low < high)
	{
		uint64_t middle = low + (high - low) / 2;

		if (size_at(w, middle) <= size)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The first place from "low" on, or "high", of the wanted columns; all are of one size. */
static uint64_t
first_wanted(const window *w, uint64_t low, uint64_t high)
{
	while (low < high)
	{
		uint64_t middle = low + (high - low) / 2;

		if (column_at(w, middle) < w->sieve->from)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * Sieve a window, level by level.  Columns of one size are in the order of their
 * numbers.  So where many are of one size it is worth the search for the first that
 * is wanted.
 */
static uint32_t
sieve_window(const qset_job *job, const window *w, uint64_t length, uint32_t *out)
{
	const qset_sieve *s = w->sieve;
	uint64_t width = w->wide ? 4 : 2;
	uint32_t passed = 0;
	uint64_t last;
	bool by_size;
	uint64_t begin;
	uint64_t end;

	if (s->least_level == s->most_level && length < MANY_ALIKE)
		return job->kernels->sieve(s, s->most_level, w->list, length, w->wide, out);
	last = size_at(w, length - 1);
	by_size = s->from > 0 && length / MANY_ALIKE > last - size_at(w, 0);
	for (begin = 0; begin < length; begin = end)
	{
		uint64_t size = size_at(w, begin);
		int level = qset_signature_level(size);
		uint64_t largest = by_size ? size : qset_signature_largest(level);

		end = last <= largest ? length : behind_size(w, begin, length, largest);
		if (by_size)
			begin = first_wanted(w, begin, end);
		passed += job->kernels->sieve(s, level, w->list + begin * width, end - begin, w->wide,
									  out + passed);
	}
	return passed;
}

/* Keep the columns that were not found before, and mark them.  Returns how many they are. */
static uint32_t
keep_new(uint64_t *marks, uint32_t *column, uint32_t count)
{
	uint32_t kept = 0;
	uint32_t i;

	for (i = 0; i < count; i++)
	{
		uint32_t c = column[i];
		uint64_t bit = UINT64_C(1) << c % 64;

		column[kept] = c;
		kept += (marks[c / 64] & bit) == 0;
		marks[c / 64] |= bit;
	}
	return kept;
}

/* Find the columns in the windows of the row's prefix that may pass, each once. */
static bool
find_candidates(qset_job *job, const uint64_t *entry, uint64_t entries, const qset_sieve *sieve)
{
	const qset_block *b = job->head;
	uint64_t width = b->wide_list ? 4 : 2;
	bool marked = entries > 1;
	uint32_t passed;
	uint64_t i;

	for (i = 0; i < entries; i++)
	{
		uint64_t length = entry[i] & ((UINT64_C(1) << QSET_LENGTH_BITS) - 1);
		uint64_t at = entry[i] >> QSET_LENGTH_BITS;
		window w = { sieve, job->block + b->list + at * width, b->wide_list };
		uint32_t *found = job->found + job->found_count;

		if (!qset_spend(job, length * 2 + 10))
			return false;
		passed = sieve_window(job, &w, length, found);
		job->found_count += marked ? keep_new(job->marks, found, passed) : passed;
	}
	return true;
}

/*
 * Bring the candidates into the order of their numbers, and clear their marks.  Those of
 * one window are mostly of one size, and so in order.
 */
static void
order_candidates(qset_job *job, bool marked)
{
	uint64_t words = (job->head->column.sets + 63) / 64;
	uint64_t first = job->from / 64;
	uint64_t count = job->found_count;
	uint32_t *end = job->found;
	uint64_t i;

	if (!marked && job->kernels->sorted32((const int32_t *) job->found, count))
		return;
	if (!marked)
		keep_new(job->marks, job->found, job->found_count);
	if (count > QSET_SMALL_SORT && words - first < SORT_COST * count)
	{
		for (i = first; i < words; i++)
			if (job->marks[i] != 0)
				end = qset_emit_bits(job->marks[i], (uint32_t) i * 64, end);
		memset(job->marks + first, 0, (words - first) * sizeof(*job->marks));
		return;
	}
	for (i = 0; i < count; i++)
		job->marks[job->found[i] / 64] = 0;
	qset_sort_unique32((int32_t *) job->found, &count,
					   (int32_t *) job->found + qset_row_room(job->head), NULL);
}

/* ---- what candidates have in common with the row: at least one element ---- */

/* A row of one element. */
static bool
count_ones(qset_job *job)
{
	uint32_t i;

	for (i = 0; i < job->found_count; i++)
		qset_set_count(job, job->found[i], 1);
	return qset_spend(job, job->found_count);
}

/* A small row: look up the elements of its candidates in a bitmap. */
static bool
count_by_bitmap(qset_job *job, qset_set_view row)
{
	const qset_block_side *columns = &job->head->column;
	const uint64_t *offset = (const uint64_t *) (job->block + columns->offset);
	const uint32_t *rank = (const uint32_t *) (job->block + columns->rank);
	uint16_t common[AT_ONCE];
	uint32_t n;
	uint32_t i;
	uint32_t j;

	qset_bitmap_set(job->bits, row.rank, row.count);
	for (i = 0; i < job->found_count; i += n)
	{
		n = job->found_count - i < AT_ONCE ? job->found_count - i : AT_ONCE;
		if (!qset_spend(job, n * (5 + row.count)))
			return false;
		job->kernels->probe_sets(job->bits, rank, offset, job->found + i, n, common);
		for (j = 0; j < n; j++)
			qset_set_count(job, job->found[i + j], common[j]);
	}
	qset_bitmap_clear(job->bits, row.rank, row.count);
	return true;
}

/* Any row. */
static bool
count_by_merging(qset_job *job, qset_set_view row)
{
	const qset_block_side *columns = &job->head->column;
	uint32_t i;

	for (i = 0; i < job->found_count; i++)
	{
		qset_set_view column = qset_view_of(job, columns, job->found[i]);
		uint64_t common;

		if (i + AHEAD < job->found_count)
			__builtin_prefetch(qset_view_of(job, columns, job->found[i + AHEAD]).rank);
		if (!qset_spend(job, 10 + (row.count + column.count) / 2))
			return false;
		common = qset_count32(job->kernels, (const int32_t *) row.rank, row.count,
							  (const int32_t *) column.rank, column.count);
		qset_set_count(job, job->found[i], common);
	}
	return true;
}

qb_status
qset_candidates_row(qset_job *job)
{
	const qset_block *b = job->head;
	const uint64_t *start = (const uint64_t *) (job->block + b->row_start) + job->row;
	const uint64_t *entry = (const uint64_t *) (job->block + b->entry) + start[0];
	uint64_t entries = 0;
	qset_set_view row = qset_view_of(job, &b->row, job->row);
	uint64_t most = job->most < b->largest_column ? job->most : b->largest_column;
	qset_sieve sieve;
	bool counted;

	job->next = (uint32_t) b->column.sets; /* no other counters are valid */
	while (entries < start[1] - start[0] && entry[entries] != 0)
		entries++;
	if (entries == 0)
		return QB_OK;
	make_sieve(job, row, most, &sieve);
	if (!find_candidates(job, entry, entries, &sieve))
		return QB_CANCELLED;
	if (job->found_count == 0)
		return QB_OK;
	order_candidates(job, entries > 1);
	if (row.count == 1)
		counted = count_ones(job);
	else if (row.count <= MOST_PROBED && most <= QSET_GALLOP_RATIO * row.count)
		counted = count_by_bitmap(job, row);
	else
		counted = count_by_merging(job, row);
	return counted ? QB_OK : QB_CANCELLED;
}
