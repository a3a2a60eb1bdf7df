/*
 * block.c
 *		All pairs: the prepared input.
 *
 * Index (paper, section 3: sf-gssjoin of Ribeiro-Junior and others): one list
 * for each element, of the sets that have it.  Building it takes O(elements)
 * steps, with random access.
 *
 * src/sets/block.c
 */
#include "sets/block.h"

/* What filling the index knows of an element. */
typedef struct element
{
	uint64_t begin;  /* where its list begins; for a heavy element: its number */
	uint32_t degree; /* columns in its list */
	uint32_t filled; /* columns that are in the list so far */
	bool heavy;
} element;

const uint32_t *
qset_side_elements(const qset_preparation *p, const qset_side *s, uint64_t i, uint64_t *count)
{
	const uint32_t *rank = qset_set_ranks(s->collection, s->kept[i]);
	uint64_t size = qset_set_size(s->collection, s->kept[i]);
	uint32_t *mapped = (uint32_t *) p->buffer + 2 * (p->row.largest + p->column.largest);
	uint64_t e;

	*count = size;
	if (!s->map)
		return rank;
	*count = 0;
	for (e = 0; e < size; e++)
		if (s->map[rank[e]] != UINT32_MAX)
			mapped[(*count)++] = s->map[rank[e]];
	return mapped;
}

/* ---- layout ---- */

static uint64_t
place(qset_block *b, uint64_t count, uint64_t size)
{
	uint64_t at = b->bytes;

	b->bytes += (count * size + 7) / 8 * 8;
	return at;
}

static void
layout_side(const qset_side *s, const qset_plan *plan, bool pairwise, qset_block *b,
			qset_block_side *side)
{
	side->sets = s->sets;
	side->set = place(b, s->sets, sizeof(uint32_t));
	side->size = place(b, s->sets, sizeof(uint32_t));
	if (pairwise && !plan->resident)
	{
		side->offset = place(b, s->sets + 1, sizeof(uint64_t));
		side->rank = place(b, s->elements, sizeof(uint32_t));
	}
	if (plan->resident)
		side->bits_of = place(b, s->sets * b->bitmap_words, sizeof(uint64_t));
}

static void
layout_index(const qset_preparation *p, const qset_plan *plan, qset_block *b)
{
	bool hybrid = plan->method == QSET_HYBRID;
	uint64_t rows = plan->prefix ? p->row.prefix_elements : p->row.elements;
	uint64_t columns = plan->prefix ? p->column.prefix_elements : p->column.elements;
	uint64_t heavy = 0;
	uint64_t d;

	for (d = p->heavy_degree; hybrid && d <= p->column.sets; d++)
	{
		heavy += p->bin[d].occurrences;
		columns -= p->bin[d].elements * d;
	}
	if (plan->prefix)
	{
		b->column_signed = place(b, p->column.sets, sizeof(qset_signed));
		b->signature = place(b, p->column.signature_words, sizeof(uint64_t));
		b->share = qset_signature_share(&p->request.filter);
	}
	b->row_start = place(b, p->row.sets + 1, sizeof(uint64_t));
	b->entry = place(b, rows - heavy, sizeof(uint64_t));
	b->list = place(b, columns, b->wide_list ? 4 : 2);
	if (!hybrid)
		return;
	b->bit_words = (p->column.sets + QSET_BLOCK - 1) / QSET_BLOCK * QSET_BLOCK_WORDS;
	b->heavy_start = place(b, p->row.sets + 1, sizeof(uint64_t));
	b->heavy = place(b, heavy, sizeof(uint32_t));
	b->bits = place(b, plan->heavy * b->bit_words, sizeof(uint64_t));
}

void
qset_block_layout(const qset_preparation *p, const qset_plan *plan, qset_block *b)
{
	bool index = plan->method == QSET_INDEX || plan->method == QSET_HYBRID;
	qset_plan own = *plan;
	uint64_t most = p->row.largest < p->column.largest ? p->row.largest : p->column.largest;

	own.prefix = plan->prefix && plan->method == QSET_INDEX;
	own.resident = plan->resident && plan->method == QSET_BITMAP;
	memset(b, 0, sizeof(*b));
	b->bytes = sizeof(*b);
	b->method = plan->method;
	b->prefix = own.prefix;
	b->resident = own.resident;
	b->tail = plan->tail;
	b->same = p->request.columns == NULL;
	b->wide_list = p->column.sets > (uint64_t) UINT16_MAX + 1;
	b->wide_row = most > UINT16_MAX;
	b->filter = p->request.filter;
	b->bitmap_words = qset_bitmap_words(p->column.collection->universe);
	b->most_heavy = plan->heavy < p->row.largest ? plan->heavy : p->row.largest;
	b->largest_row = p->row.largest;
	b->largest_column = p->column.largest;
	layout_side(&p->column, &own, !index || own.prefix, b, &b->column);
	if (b->same)
		b->row = b->column;
	else
		layout_side(&p->row, &own, !index || own.prefix, b, &b->row);
	if (index)
		layout_index(p, &own, b);
}

/* ---- filling ---- */

static qb_status
fill_side(const qset_preparation *p, const qset_side *s, const qset_block *b,
		  const qset_block_side *side, uint8_t *block)
{
	uint32_t *set = (uint32_t *) (block + side->set);
	uint32_t *size = (uint32_t *) (block + side->size);
	uint64_t *offset = (uint64_t *) (block + side->offset);
	uint32_t *rank = (uint32_t *) (block + side->rank);
	uint64_t *bits = (uint64_t *) (block + side->bits_of);
	uint64_t asked = 0;
	uint64_t i;

	for (i = 0; i < s->sets; i++)
	{
		uint64_t count;
		const uint32_t *element = qset_side_elements(p, s, i, &count);

		set[i] = s->kept[i];
		size[i] = qset_set_size(s->collection, s->kept[i]);
		if (side->rank != 0)
		{
			if (count > 0)
				memcpy(rank + offset[i], element, count * sizeof(*rank));
			offset[i + 1] = offset[i] + count;
		}
		if (side->bits_of != 0)
			qset_bitmap_set(bits + i * b->bitmap_words, element, count);
		asked += count;
		if (asked < QSET_PATIENCE)
			continue;
		asked = 0;
		if (qset_stopped(p->request.interrupt))
			return QB_CANCELLED;
	}
	return QB_OK;
}

/* Decide where each element's list begins, or which column of bits belongs to the element. */
static void
place_elements(const qset_preparation *p, element *e)
{
	const uint32_t *degree = p->degree;
	bool hybrid = p->plan.method == QSET_HYBRID;
	uint64_t list = 0;
	uint64_t heavy = 0;
	uint64_t i;

	for (i = 0; i < p->column.collection->universe; i++)
	{
		e[i].degree = degree[i];
		e[i].heavy = hybrid && degree[i] >= p->heavy_degree;
		if (e[i].heavy)
			e[i].begin = heavy++;
		else
		{
			e[i].begin = list;
			list += degree[i];
		}
	}
}

/* The arrays of an index that is being filled, and how far filling has come. */
typedef struct filling
{
	const qset_preparation *p;
	const qset_block *b;
	element *element;
	uint64_t *row_start;
	uint64_t *entry;
	uint8_t *list;
	uint64_t *heavy_start;
	uint32_t *heavy;
	uint64_t *bits;
	uint64_t entries;
	uint64_t heavies;
	uint64_t asked;
} filling;

QB_INLINE void
put_in_list(filling *f, uint64_t at, uint64_t column)
{
	if (f->b->wide_list)
		((uint32_t *) f->list)[at] = (uint32_t) column;
	else
		((uint16_t *) f->list)[at] = (uint16_t) column;
}

/* Add a column to the lists of its elements. */
static void
list_column(filling *f, uint64_t column)
{
	uint64_t count;
	const uint32_t *e = qset_side_elements(f->p, &f->p->column, column, &count);
	uint64_t i;

	for (i = 0; i < count; i++)
	{
		element *x = &f->element[e[i]];

		if (x->heavy)
			f->bits[x->begin * f->b->bit_words + column / 64] |= UINT64_C(1) << column % 64;
		else
			put_in_list(f, x->begin + x->filled++, column);
	}
	f->asked += count;
}

/*
 * Make the entries of a row.  With "tail" the lists already have every column
 * up to the row itself, and the row wants only the columns that are added
 * later.
 */
static void
enter_row(filling *f, uint64_t row)
{
	uint64_t count;
	const uint32_t *e = qset_side_elements(f->p, &f->p->row, row, &count);
	uint64_t i;

	for (i = 0; i < count; i++)
	{
		const element *x = &f->element[e[i]];
		uint64_t passed = f->b->tail ? x->filled : 0;

		if (x->heavy)
			f->heavy[f->heavies++] = (uint32_t) x->begin;
		else if (x->degree > passed)
			f->entry[f->entries++] = qset_entry(x->begin + passed, x->degree - passed);
	}
	f->row_start[row + 1] = f->entries;
	if (f->b->heavy_start != 0)
		f->heavy_start[row + 1] = f->heavies;
	f->asked += count;
}

static bool
go_on(filling *f)
{
	if (f->asked < QSET_PATIENCE / 8)
		return true;
	f->asked = 0;
	return !qset_stopped(f->p->request.interrupt);
}

static qb_status
fill_index(filling *f)
{
	uint64_t i;

	for (i = 0; i < f->p->column.sets; i++)
	{
		list_column(f, i);
		if (f->b->tail)
			enter_row(f, i);
		if (!go_on(f))
			return QB_CANCELLED;
	}
	for (i = 0; !f->b->tail && i < f->p->row.sets; i++)
	{
		enter_row(f, i);
		if (!go_on(f))
			return QB_CANCELLED;
	}
	return QB_OK;
}

static qb_status
make_index(const qset_preparation *p, const qset_block *b, uint8_t *block)
{
	const qb_memory *memory = p->request.memory;
	filling f = { .p = p, .b = b };
	qb_status status;

	f.element = qset_alloc(memory, p->column.collection->universe, sizeof(element));
	if (!f.element)
		return QB_NO_MEMORY;
	place_elements(p, f.element);
	f.row_start = (uint64_t *) (block + b->row_start);
	f.entry = (uint64_t *) (block + b->entry);
	f.list = block + b->list;
	f.heavy_start = (uint64_t *) (block + b->heavy_start);
	f.heavy = (uint32_t *) (block + b->heavy);
	f.bits = (uint64_t *) (block + b->bits);
	status = fill_index(&f);
	qset_release(memory, f.element);
	return status;
}

qb_status
qset_fill(qset_preparation *p, void *block)
{
	qset_block *b = block;
	qb_status status;

	qset_block_layout(p, &p->plan, b);
	status = fill_side(p, &p->column, b, &b->column, block);
	if (status == QB_OK && !b->same)
		status = fill_side(p, &p->row, b, &b->row, block);
	if (status == QB_OK && b->prefix)
		status = qset_fill_windows(p, b, block);
	else if (status == QB_OK && b->row_start != 0)
		status = make_index(p, b, block);
	return status;
}
