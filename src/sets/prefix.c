/*
 * prefix.c
 *		All pairs: fills the index of prefixes, and counts one row by this index.
 *
 * The windows of the row's prefix (see enter_row()) contain the columns that share a rare element
 * with the row.  Signatures exclude most of the columns that cannot pass (filter.h).  The common
 * elements of the remaining columns are counted.  A small row is counted by a bitmap, since a merge
 * of small sets loses most time by mispredictions.  A larger row is counted by merging or
 * galloping.
 *
 * src/sets/prefix.c
 */
#include "sets/block.h"

/* Candidates are prefetched this many candidates ahead. */
#define AHEAD 8

/* Rows up to this size are counted by a bitmap, unless a column is large enough for galloping. */
#define MOST_PROBED 64

/* The cost of sorting one candidate, in accesses to words of seen bits. */
#define SORT_COST 16

/*
 * With "tail", sieve_window() searches for the first column after the row if a window has at least
 * this many columns of each size on average.
 */
#define MANY_ALIKE 32

/* The number of candidates that one call of probe_sets() counts. */
#define AT_ONCE 256

/* Make the data with which the row's candidates are sieved. */
static void
make_sieve(const qset_job *job, qset_set_view row, uint64_t most, qset_sieve *s)
{
	const qset_block *b = job->head;

	s->column = (const qset_signed *) (job->block + b->column_signed);
	s->signature = (const uint64_t *) (job->block + b->signature);
	s->from = job->from;
	s->row_size = qset_size_of(job, &b->row, job->row);
	s->row_known = row.count;
	s->fraction = b->fraction;
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

/*
 * Return the first index of low .. high - 1 whose column has at least "least" elements, or "high".
 * If by_size is false, all columns have one size, and the result is the first index whose column
 * number is at least "least".
 */
static uint64_t
first_column(const window *w, uint64_t low, uint64_t high, bool by_size, uint64_t least)
{
	while (low < high)
	{
		uint64_t middle = low + (high - low) / 2;

		if ((by_size ? size_at(w, middle) : column_at(w, middle)) < least)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * Sieve a window, level by level.  Columns of one size are sorted by number.  So with "tail", if
 * many columns have one size, a search finds the first column after the row.
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

		end = last <= largest ? length : first_column(w, begin, length, true, largest + 1);
		if (by_size)
			begin = first_column(w, begin, end, false, s->from);
		passed += job->kernels->sieve(s, level, w->list + begin * width, end - begin, w->wide,
									  out + passed);
	}
	return passed;
}

/* Keep the columns that are not marked in "seen", and mark them.  Returns their number. */
static uint32_t
keep_new(uint64_t *seen, uint32_t *column, uint32_t count)
{
	uint32_t kept = 0;
	uint32_t i;

	for (i = 0; i < count; i++)
	{
		uint32_t c = column[i];
		uint64_t bit = UINT64_C(1) << c % 64;

		column[kept] = c;
		kept += (seen[c / 64] & bit) == 0;
		seen[c / 64] |= bit;
	}
	return kept;
}

/* Collect the columns that may pass from the windows of the row's prefix, without duplicates. */
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
		job->found_count += marked ? keep_new(job->seen, found, passed) : passed;
	}
	return true;
}

/*
 * Sort the candidates by number, and clear their seen bits.  The candidates of one window usually
 * have one size, and are then sorted already.
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
		keep_new(job->seen, job->found, job->found_count);
	if (count > QSET_SMALL_SORT && words - first < SORT_COST * count)
	{
		for (i = first; i < words; i++)
			if (job->seen[i] != 0)
				end = qset_emit_bits(job->seen[i], (uint32_t) i * 64, end);
		memset(job->seen + first, 0, (words - first) * sizeof(*job->seen));
		return;
	}
	for (i = 0; i < count; i++)
		job->seen[job->found[i] / 64] = 0;
	qset_sort_unique32((int32_t *) job->found, &count,
					   (int32_t *) job->found + qset_row_room(job->head), NULL);
}

/* ---- counting the common elements of the row and each candidate, which are at least one ---- */

/* Count for a row of one element, which all candidates have. */
static bool
count_ones(qset_job *job)
{
	uint32_t i;

	for (i = 0; i < job->found_count; i++)
		qset_set_count(job, job->found[i], 1);
	return qset_spend(job, job->found_count);
}

/* Count for a small row: look up the elements of its candidates in the row's bitmap. */
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

/* Count for a row of any size, by merging or galloping. */
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

	job->next = (uint32_t) b->column.sets; /* so that find_more() does not read old counters */
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

/*
 * ---- all pairs: filling the index of prefixes ----
 *
 * The list of an element has the columns whose prefix has the element, sorted by size.  A row's
 * entry is a window of the list.  Two filters exclude columns by their sizes:
 *
 *	filter of sizes		a column is at least J times as large as the row
 *	filter of positions	"behind" is the number of the row's elements from this element on;
 *						if this element is the first common element, at most "behind"
 *						elements are common, which limits the size of the column
 *
 * A row's rare elements have short lists and wide windows, and its frequent elements have long
 * lists and narrow windows.  Lists do not store the position of the element in each column, because
 * positions would take memory and exclude few more candidates.
 *
 * Rows are entered in the order of their sizes, too.  So the first column that is large enough
 * moves only forward in a list.
 *
 * With "tail", a row needs only later columns.  A list is sorted by size, and columns of equal size
 * are sorted by number.  So a window that begins with the row's size begins after the row.  Other
 * windows may also have earlier columns, which the sieve skips.
 */

/* The list of an element. */
typedef struct list
{
	uint64_t begin; /* index of the first column that is large enough for the next rows */
	uint64_t end;   /* index after the last column in the list */
	uint64_t row;   /* with "tail": index of the next row in the list */
} list;

/* A result of qset_filter_most(): the greatest size of a column for rows of one size. */
typedef struct limit
{
	uint64_t size;
	uint64_t most;
} limit;

/* The index of prefixes that is being filled. */
typedef struct windows
{
	const qset_preparation *p;
	const qset_block *b;
	list *list;            /* by element */
	uint32_t *order;       /* numbers of the columns, later of the rows, sorted by size */
	uint32_t *column_size; /* sizes of columns, by index in the lists */
	limit *limit;          /* last results of qset_filter_most(), by the number of elements left */
	uint64_t steps;
} windows;

/* Count accesses to elements, each a possible cache miss.  Pause after many accesses. */
static void
count_accesses(windows *w, uint64_t accesses)
{
	qb_pause_after(w->p->request.memory, &w->steps, 16 * accesses);
}

/* Write the numbers of sets to w->order, sorted by size, then by number. */
static qb_status
order_by_size(windows *w, const qset_side *s, const uint32_t *size)
{
	uint64_t *start = qset_alloc(w->p->request.memory, s->largest + 2, sizeof(*start));
	uint64_t i;

	if (!start)
		return QB_NO_MEMORY;
	for (i = 0; i < s->sets; i++)
		start[size[i] + 1]++;
	for (i = 0; i < s->largest; i++)
		start[i + 1] += start[i];
	for (i = 0; i < s->sets; i++)
	{
		count_accesses(w, 1);
		w->order[start[size[i]]++] = (uint32_t) i;
	}
	qset_release(w->p->request.memory, start);
	return QB_OK;
}

/* Set the begin of each list.  The lists are contiguous. */
static void
set_list_starts(windows *w)
{
	uint64_t at = 0;
	uint64_t i;

	for (i = 0; i < w->p->column.collection->universe; i++)
	{
		w->list[i] = (list){ at, at, at };
		at += w->p->prefix_degree[i];
		count_accesses(w, 1);
	}
}

static void
fill_lists(windows *w, const uint32_t *size, uint8_t *listed)
{
	const qset_side *s = &w->p->column;
	uint64_t i;
	uint64_t e;

	for (i = 0; i < s->sets; i++)
	{
		uint32_t column = w->order[i];

		for (e = s->prefix_offset[column]; e < s->prefix_offset[column + 1]; e++)
		{
			uint64_t at = w->list[s->prefix[e]].end++;

			w->column_size[at] = size[column];
			if (w->b->wide_list)
				((uint32_t *) listed)[at] = column;
			else
				((uint16_t *) listed)[at] = (uint16_t) column;
		}
		count_accesses(w, e - s->prefix_offset[column] + 1);
	}
}

/*
 * Return the first index of low .. high - 1 whose column is larger than "most", or "high".  The
 * number of steps does not depend on the columns, so no branch is mispredicted.
 */
static uint64_t
end_of_sizes(const windows *w, uint64_t low, uint64_t high, uint64_t most)
{
	uint64_t count = high - low;

	if (count == 0 || w->column_size[high - 1] <= most)
		return high;
	while (count > 1)
	{
		uint64_t half = count / 2;

		low += qset_step(w->column_size[low + half - 1] <= most, half);
		count -= half;
	}
	return low;
}

/*
 * Return qset_filter_most(), which needs a division.  The last results are cached, because rows of
 * one size are entered one after another.
 */
QB_INLINE uint64_t
most_of(windows *w, uint64_t size, uint64_t behind)
{
	limit *l = &w->limit[behind];

	if (l->size != size)
		*l = (limit){ size, qset_filter_most(&w->p->request.filter, size, behind) };
	return l->most;
}

/*
 * Write the windows of a row that are not empty.  The other entries of the row remain zero.
 * "behind" is the number of the row's elements that are left, from the current element of its
 * prefix on.  After the last element of the prefix, too few elements are left for a pair.
 */
static void
enter_row(windows *w, uint64_t row, uint64_t size, uint64_t *entry)
{
	const qset_side *s = &w->p->row;
	uint64_t least = qset_filter_least(&w->p->request.filter, size);
	uint64_t behind = least - 1 + s->prefix_offset[row + 1] - s->prefix_offset[row];
	uint64_t e;

	for (e = s->prefix_offset[row]; e < s->prefix_offset[row + 1]; e++)
	{
		list *l = &w->list[s->prefix[e]];
		uint64_t most = most_of(w, size, behind--);
		uint64_t begin;
		uint64_t end;

		while (l->begin < l->end && w->column_size[l->begin] < least)
			l->begin++;
		begin = l->begin;
		if (w->b->tail && w->column_size[l->row++] == w->column_size[begin])
			begin = l->row;
		end = most == UINT64_MAX ? l->end : end_of_sizes(w, begin, l->end, most);
		if (end > begin)
			*entry++ = qset_entry(begin, end - begin);
	}
}

static void
enter_rows(windows *w, uint8_t *block)
{
	const qset_side *s = &w->p->row;
	const uint32_t *size = (const uint32_t *) (block + w->b->row.size);
	uint64_t *row_start = (uint64_t *) (block + w->b->row_start);
	uint64_t *entry = (uint64_t *) (block + w->b->entry);
	uint64_t i;

	memcpy(row_start, s->prefix_offset, (s->sets + 1) * sizeof(*row_start));
	for (i = 0; i < s->sets; i++)
	{
		uint32_t row = w->order[i];

		enter_row(w, row, size[row], entry + row_start[row]);
		count_accesses(w, 8 * (row_start[row + 1] - row_start[row]) + 1);
	}
}

/* Make the columns' signatures from their elements, which are in the block. */
static void
sign_columns(windows *w, const uint32_t *size, uint8_t *block)
{
	const uint64_t *offset = (const uint64_t *) (block + w->b->column.offset);
	const uint32_t *rank = (const uint32_t *) (block + w->b->column.rank);
	qset_signed *column = (qset_signed *) (block + w->b->column_signed);
	uint64_t *signature = (uint64_t *) (block + w->b->signature);
	uint32_t at = 0;
	uint64_t i;

	for (i = 0; i < w->b->column.sets; i++)
	{
		int level = qset_signature_level(size[i]);

		column[i] = (qset_signed){ size[i], at };
		qset_signature_make(signature + at, level, rank + offset[i], offset[i + 1] - offset[i]);
		at += UINT32_C(1) << level;
		count_accesses(w, size[i] + 1);
	}
}

static qb_status
fill(windows *w, uint8_t *block)
{
	const uint32_t *column_size = (const uint32_t *) (block + w->b->column.size);
	qb_status status = order_by_size(w, &w->p->column, column_size);

	if (status != QB_OK)
		return status;
	set_list_starts(w);
	fill_lists(w, column_size, block + w->b->list);
	if (!w->b->same)
		status = order_by_size(w, &w->p->row, (const uint32_t *) (block + w->b->row.size));
	if (status != QB_OK)
		return status;
	enter_rows(w, block);
	sign_columns(w, column_size, block);
	return QB_OK;
}

qb_status
qset_fill_windows(const qset_preparation *p, const qset_block *b, uint8_t *block)
{
	const qb_memory *memory = p->request.memory;
	uint64_t sets = p->row.sets > p->column.sets ? p->row.sets : p->column.sets;
	windows w = { .p = p,
				  .b = b,
				  .list = qset_alloc(memory, p->column.collection->universe, sizeof(*w.list)),
				  .order = qset_alloc(memory, sets, sizeof(*w.order)),
				  .column_size = qset_alloc(memory, p->column.prefix_elements, sizeof(uint32_t)),
				  .limit = qset_alloc(memory, p->row.largest + 1, sizeof(*w.limit)) };
	qb_status status = QB_NO_MEMORY;

	if (w.list && w.order && w.column_size && w.limit)
		status = fill(&w, block);
	qset_release(memory, w.list);
	qset_release(memory, w.order);
	qset_release(memory, w.column_size);
	qset_release(memory, w.limit);
	return status;
}
