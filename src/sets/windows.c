/*
 * windows.c
 *		All pairs: filling the index of prefixes.
 *
 * The list of an element has the columns whose prefix has it, in the order of
 * their sizes.  A row's entry is only a window of that list, which leaves out
 * columns whose size shows that they cannot pass:
 *
 *	filter of sizes		a column is at least J times as large as the row
 *	filter of places	if the element is the first common one and "behind"
 *						elements of the row are left, itself included, at most so
 *						many are common; so the column is not too large
 *
 * The row's rare elements have short lists and wide windows, its frequent ones
 * long lists and narrow windows.  The place of the element in the column is not
 * kept: that would cost memory, and windows leave few candidates to it.
 *
 * Within one collection a row wants later columns only, but a list is in the
 * order of sizes.  So a window also has earlier columns, which whoever reads it
 * passes over, unless all of its columns are of one size.
 *
 * src/sets/windows.c
 */
#include "sets/block.h"

/* The index that is being filled. */
typedef struct windows
{
	const qset_preparation *p;
	const qset_block *b;
	uint64_t *begin; /* by element, and one more: where its list begins */
	uint64_t *end;   /* by element: behind the last column that is in its list */
	uint64_t *row_start;
	uint64_t *entry;
	uint8_t *list;
	const uint32_t *column_size;
	const uint32_t *row_size;
	const uint64_t *row_offset;
	uint64_t asked;
} windows;

QB_INLINE uint32_t
listed_column(const windows *w, uint64_t at)
{
	return w->b->wide_list ? ((const uint32_t *) w->list)[at] : ((const uint16_t *) w->list)[at];
}

static bool
go_on(windows *w, uint64_t steps)
{
	w->asked += steps;
	if (w->asked < QSET_PATIENCE / 16)
		return true;
	w->asked = 0;
	return !qset_stopped(w->p->request.interrupt);
}

/* Write the columns' numbers in the order of their sizes, equal ones by number. */
static qb_status
order_by_size(windows *w, uint32_t *order)
{
	const qset_side *s = &w->p->column;
	uint64_t *place = qset_alloc(w->p->request.memory, s->largest + 2, sizeof(*place));
	uint64_t i;

	if (!place)
		return QB_NO_MEMORY;
	for (i = 0; i < s->sets; i++)
		place[w->column_size[i] + 1]++;
	for (i = 0; i < s->largest; i++)
		place[i + 1] += place[i];
	for (i = 0; i < s->sets && go_on(w, 1); i++)
		order[place[w->column_size[i]]++] = (uint32_t) i;
	qset_release(w->p->request.memory, place);
	return i == s->sets ? QB_OK : QB_CANCELLED;
}

static qb_status
fill_lists(windows *w, const uint32_t *order)
{
	const qset_preparation *p = w->p;
	const qset_side *s = &p->column;
	uint64_t i;
	uint64_t e;

	for (i = 0; i < p->column.collection->universe; i++)
	{
		w->end[i] = w->begin[i];
		w->begin[i + 1] = w->begin[i] + p->prefix_degree[i];
		if (!go_on(w, 1))
			return QB_CANCELLED;
	}
	for (i = 0; i < s->sets; i++)
	{
		uint32_t column = order[i];

		for (e = s->prefix_offset[column]; e < s->prefix_offset[column + 1]; e++)
		{
			uint64_t at = w->end[s->prefix[e]]++;

			if (w->b->wide_list)
				((uint32_t *) w->list)[at] = column;
			else
				((uint16_t *) w->list)[at] = (uint16_t) column;
		}
		if (!go_on(w, e - s->prefix_offset[column] + 1))
			return QB_CANCELLED;
	}
	return QB_OK;
}

/* The first place from "low" on, or "high", whose column has at least this size. */
static uint64_t
find_size(const windows *w, uint64_t low, uint64_t high, uint64_t size)
{
	while (low < high)
	{
		uint64_t middle = low + (high - low) / 2;

		if (w->column_size[listed_column(w, middle)] < size)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The same by number, where all columns are of one size. */
static uint64_t
find_number(const windows *w, uint64_t low, uint64_t high, uint64_t number)
{
	while (low < high)
	{
		uint64_t middle = low + (high - low) / 2;

		if (listed_column(w, middle) < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The window of an element's list with columns of these sizes. */
static uint64_t
window_of(const windows *w, uint64_t row, uint32_t element, uint64_t least, uint64_t most)
{
	uint64_t low = find_size(w, w->begin[element], w->end[element], least);
	uint64_t high =
		most == UINT64_MAX ? w->end[element] : find_size(w, low, w->end[element], most + 1);

	if (w->b->tail && low < high &&
		w->column_size[listed_column(w, low)] == w->column_size[listed_column(w, high - 1)])
		low = find_number(w, low, high, row + 1);
	return qset_entry(low, high - low);
}

static qb_status
enter_rows(windows *w)
{
	const qset_filter *f = &w->p->request.filter;
	const qset_side *s = &w->p->row;
	uint64_t entries = 0;
	uint64_t i;
	uint64_t e;

	for (i = 0; i < s->sets; i++)
	{
		uint64_t size = w->row_size[i];
		uint64_t behind = w->row_offset[i + 1] - w->row_offset[i]; /* elements that a column has */
		uint64_t least = qset_filter_least(f, size);

		for (e = s->prefix_offset[i]; e < s->prefix_offset[i + 1]; e++)
		{
			uint64_t window =
				window_of(w, i, s->prefix[e], least, qset_filter_most(f, size, behind--));

			if (window << (64 - QSET_LENGTH_BITS) != 0)
				w->entry[entries++] = window;
		}
		w->row_start[i + 1] = entries;
		if (!go_on(w, 8 * (e - s->prefix_offset[i]) + 1))
			return QB_CANCELLED;
	}
	return QB_OK;
}

qb_status
qset_fill_windows(const qset_preparation *p, const qset_block *b, uint8_t *block)
{
	const qb_memory *memory = p->request.memory;
	uint32_t *order = qset_alloc(memory, p->column.sets, sizeof(*order));
	qb_status status = QB_NO_MEMORY;
	windows w = { .p = p,
				  .b = b,
				  .begin = qset_alloc(memory, p->column.collection->universe + 1, sizeof(*w.begin)),
				  .end = qset_alloc(memory, p->column.collection->universe, sizeof(*w.end)),
				  .row_start = (uint64_t *) (block + b->row_start),
				  .entry = (uint64_t *) (block + b->entry),
				  .list = block + b->list,
				  .column_size = (const uint32_t *) (block + b->column.size),
				  .row_size = (const uint32_t *) (block + b->row.size),
				  .row_offset = (const uint64_t *) (block + b->row.offset) };

	if (order && w.begin && w.end)
		status = order_by_size(&w, order);
	if (status == QB_OK)
		status = fill_lists(&w, order);
	if (status == QB_OK)
		status = enter_rows(&w);
	qset_release(memory, order);
	qset_release(memory, w.begin);
	qset_release(memory, w.end);
	return status;
}
