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
 * Rows are entered in the order of their sizes, too.  So the place from which on a
 * list's columns are large enough only moves forward.
 *
 * Within one collection a row wants later columns only, but a list is in the
 * order of sizes, equal ones by number.  So a window that begins with the row's own
 * size begins behind the row.  Any other window also has earlier columns, which
 * whoever reads it passes over.
 *
 * src/sets/windows.c
 */
#include "sets/block.h"

/* The list of an element. */
typedef struct list
{
	uint64_t begin; /* the first column that is large enough for the rows to come */
	uint64_t end;   /* behind the last column that is in the list */
	uint64_t row;   /* within one collection: the next row that the list has as a column */
} list;

/* The most elements of a column, for a row of a size and the elements left of it. */
typedef struct limit
{
	uint64_t size;
	uint64_t most;
} limit;

/* The index that is being filled. */
typedef struct windows
{
	const qset_preparation *p;
	const qset_block *b;
	list *list;            /* by element */
	uint32_t *order;       /* sets in the order of their sizes: columns, then rows */
	uint32_t *column_size; /* by place in the lists */
	limit *limit;          /* by elements left: what was asked last */
	uint64_t asked;
} windows;

static bool
go_on(windows *w, uint64_t steps)
{
	w->asked += steps;
	if (w->asked < QSET_PATIENCE / 16)
		return true;
	w->asked = 0;
	return !qset_stopped(w->p->request.interrupt);
}

/* Write the numbers of sets in the order of their sizes, equal ones by number. */
static qb_status
order_by_size(windows *w, const qset_side *s, const uint32_t *size)
{
	uint64_t *place = qset_alloc(w->p->request.memory, s->largest + 2, sizeof(*place));
	uint64_t i;

	if (!place)
		return QB_NO_MEMORY;
	for (i = 0; i < s->sets; i++)
		place[size[i] + 1]++;
	for (i = 0; i < s->largest; i++)
		place[i + 1] += place[i];
	for (i = 0; i < s->sets && go_on(w, 1); i++)
		w->order[place[size[i]]++] = (uint32_t) i;
	qset_release(w->p->request.memory, place);
	return i == s->sets ? QB_OK : QB_CANCELLED;
}

/* Place the lists one behind another. */
static bool
place_lists(windows *w)
{
	uint64_t at = 0;
	uint64_t i;

	for (i = 0; i < w->p->column.collection->universe; i++)
	{
		w->list[i] = (list){ at, at, at };
		at += w->p->prefix_degree[i];
		if (!go_on(w, 1))
			return false;
	}
	return true;
}

static qb_status
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
		if (!go_on(w, e - s->prefix_offset[column] + 1))
			return QB_CANCELLED;
	}
	return QB_OK;
}

/*
 * The first place of low .. high - 1, or "high", whose column is larger than this.  The
 * steps do not depend on what is found, so they need no prediction.
 */
static uint64_t
behind_size(const windows *w, uint64_t low, uint64_t high, uint64_t most)
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

/* As qset_filter_most(), which takes a division; rows of one size come one after another. */
QB_INLINE uint64_t
most_of(windows *w, uint64_t size, uint64_t behind)
{
	limit *l = &w->limit[behind];

	if (l->size != size)
		*l = (limit){ size, qset_filter_most(&w->p->request.filter, size, behind) };
	return l->most;
}

/*
 * Write the windows of a row that have any columns; the other entries stay zero.  Behind
 * the last element of a prefix there are too few elements for a pair, and with it there
 * are just enough.
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
		end = most == UINT64_MAX ? l->end : behind_size(w, begin, l->end, most);
		if (end > begin)
			*entry++ = qset_entry(begin, end - begin);
	}
}

static qb_status
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
		if (!go_on(w, 8 * (row_start[row + 1] - row_start[row]) + 1))
			return QB_CANCELLED;
	}
	return QB_OK;
}

/* Make the columns' signatures of their elements, which are in the block already. */
static qb_status
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
		if (!go_on(w, size[i] + 1))
			return QB_CANCELLED;
	}
	return QB_OK;
}

static qb_status
fill(windows *w, uint8_t *block)
{
	const uint32_t *column_size = (const uint32_t *) (block + w->b->column.size);
	qb_status status = order_by_size(w, &w->p->column, column_size);

	if (status == QB_OK && !place_lists(w))
		status = QB_CANCELLED;
	if (status == QB_OK)
		status = fill_lists(w, column_size, block + w->b->list);
	if (status == QB_OK && !w->b->same)
		status = order_by_size(w, &w->p->row, (const uint32_t *) (block + w->b->row.size));
	if (status == QB_OK)
		status = enter_rows(w, block);
	return status == QB_OK ? sign_columns(w, column_size, block) : status;
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
