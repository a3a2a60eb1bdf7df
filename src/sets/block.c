/*
 * block.c
 *		All pairs: writes the prepared input, and counts one row by index or hybrid.
 *
 * For each element the index has a list of the sets that have the element.  The index is sf-gssjoin
 * of Ribeiro-Junior and others (paper, section 3).  Building the index takes O(elements) steps with
 * random access.
 *
 * src/sets/block.c
 */
#include "sets/block.h"

/* An element while the index is being filled. */
typedef struct element
{
	uint64_t begin;  /* begin of the element's list, or number of a heavy element */
	uint32_t degree; /* number of columns in the list */
	uint32_t filled; /* number of columns written to the list so far */
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
reserve(qset_block *b, uint64_t count, uint64_t size)
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
	side->set = reserve(b, s->sets, sizeof(uint32_t));
	side->size = reserve(b, s->sets, sizeof(uint32_t));
	if (pairwise && !plan->resident)
	{
		side->offset = reserve(b, s->sets + 1, sizeof(uint64_t));
		side->rank = reserve(b, s->elements, sizeof(uint32_t));
	}
	if (plan->resident)
		side->bits_of = reserve(b, s->sets * b->bitmap_words, sizeof(uint64_t));
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
		b->column_signed = reserve(b, p->column.sets, sizeof(qset_signed));
		b->signature = reserve(b, p->column.signature_words, sizeof(uint64_t));
		b->fraction = qset_signature_fraction(&p->request.filter);
	}
	b->row_start = reserve(b, p->row.sets + 1, sizeof(uint64_t));
	b->entry = reserve(b, rows - heavy, sizeof(uint64_t));
	b->list = reserve(b, columns, b->wide_list ? 4 : 2);
	if (!hybrid)
		return;
	b->bit_words = (p->column.sets + QSET_BLOCK - 1) / QSET_BLOCK * QSET_BLOCK_WORDS;
	b->heavy_start = reserve(b, p->row.sets + 1, sizeof(uint64_t));
	b->heavy = reserve(b, heavy, sizeof(uint32_t));
	b->bits = reserve(b, plan->heavy * b->bit_words, sizeof(uint64_t));
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

static void
fill_side(const qset_preparation *p, const qset_side *s, const qset_block *b,
		  const qset_block_side *side, uint8_t *block)
{
	uint32_t *set = (uint32_t *) (block + side->set);
	uint32_t *size = (uint32_t *) (block + side->size);
	uint64_t *offset = (uint64_t *) (block + side->offset);
	uint32_t *rank = (uint32_t *) (block + side->rank);
	uint64_t *bits = (uint64_t *) (block + side->bits_of);
	uint64_t steps = 0;
	uint64_t i;

	for (i = 0; i < s->sets; i++)
	{
		uint64_t count;
		const uint32_t *element = qset_side_elements(p, s, i, &count);

		set[i] = s->kept[i];
		size[i] = qset_set_size(s->collection, s->kept[i]);
		if (side->rank != 0)
		{
			qset_put(rank + offset[i], element, count, sizeof(*rank));
			offset[i + 1] = offset[i] + count;
		}
		if (side->bits_of != 0)
			qset_bitmap_set(bits + i * b->bitmap_words, element, count);
		qb_pause_after(p->request.memory, &steps, count);
	}
}

/* Set the begin of each element's list, or the number of a heavy element's column of bits. */
static void
assign_lists(const qset_preparation *p, element *e)
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

/* The arrays of an index that is being filled, and the numbers of entries so far. */
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
	uint64_t steps;
} filling;

/* The cost of one write to a list, in steps.  The write is a cache miss. */
#define LIST_STEPS 8

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
	qb_pause_after(f->p->request.memory, &f->steps, LIST_STEPS * count);
}

/*
 * Write the entries of a row.  With "tail", a row is entered directly after its own column.  The
 * row's entries then skip the columns that are in the lists already.
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
	qb_pause_after(f->p->request.memory, &f->steps, LIST_STEPS * count);
}

static void
fill_index(filling *f)
{
	uint64_t i;

	for (i = 0; i < f->p->column.sets; i++)
	{
		list_column(f, i);
		if (f->b->tail)
			enter_row(f, i);
	}
	for (i = 0; !f->b->tail && i < f->p->row.sets; i++)
		enter_row(f, i);
}

static qb_status
make_index(const qset_preparation *p, const qset_block *b, uint8_t *block)
{
	const qb_memory *memory = p->request.memory;
	filling f = { .p = p, .b = b };

	f.element = qset_alloc(memory, p->column.collection->universe, sizeof(element));
	if (!f.element)
		return QB_NO_MEMORY;
	assign_lists(p, f.element);
	f.row_start = (uint64_t *) (block + b->row_start);
	f.entry = (uint64_t *) (block + b->entry);
	f.list = block + b->list;
	f.heavy_start = (uint64_t *) (block + b->heavy_start);
	f.heavy = (uint32_t *) (block + b->heavy);
	f.bits = (uint64_t *) (block + b->bits);
	fill_index(&f);
	qset_release(memory, f.element);
	return QB_OK;
}

qb_status
qset_block_fill(const qset_preparation *p, void *block)
{
	qset_block *b = block;

	qset_block_layout(p, &p->plan, b);
	fill_side(p, &p->column, b, &b->column, block);
	if (!b->same)
		fill_side(p, &p->row, b, &b->row, block);
	return b->row_start != 0 && !b->prefix ? make_index(p, b, block) : QB_OK;
}

/*
 * ---- the counters of one row, by index or hybrid ----
 *
 * For each column from job->from on, every method sets the column's counter to the number of
 * elements that the column has in common with the row.  There are two exceptions.  A technique sets
 * 0 if the sizes already exclude the pair.  The index of prefixes sets only the counters of
 * candidates.  Costs of a row for k columns (techniques.c has the costs of the techniques):
 *
 *	index		one step for each equal element		paper: sf-gssjoin
 *	hybrid		one step for each equal rare element, and k/512 vectors for each
 *				frequent element of the row
 *
 * The paper's index adds to a triangle of counters in memory by atomic operations.  This file uses
 * one row of counters at a time, which stays in the cache.  The hybrid multiplies bit matrices row
 * by row: carry-save adders add the columns of bits of the row's elements, 512 sets at a time.  The
 * cost grows with the frequent elements of the row.  Devices with tensor cores apply AND to whole
 * rows of bits, and count the set bits.  On a CPU this method would make each row cost as much as
 * all frequent elements.
 */

/* Lists are prefetched this many entries ahead. */
#define AHEAD 8

static void
clear_counts(qset_job *job)
{
	size_t width = job->head->wide_row ? 4 : 2;

	memset((uint8_t *) job->count + job->from * width, 0,
		   (job->head->column.sets - job->from) * width);
}

/* ---- index ---- */

/*
 * Add a row's lists to its counters.  The widths are constants in each call, so the compiler makes
 * one loop for each combination.  The loop reads four columns before it increases their counters.
 */
QB_INLINE bool
count_lists(qset_job *job, const uint64_t *entry, uint64_t entries, bool wide_list, bool wide_row)
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
		uint64_t length = entry[i] & ((UINT64_C(1) << QSET_LENGTH_BITS) - 1);
		const uint8_t *p = list + (entry[i] >> QSET_LENGTH_BITS) * width;

		if (i + AHEAD < entries)
			__builtin_prefetch(list + (entry[i + AHEAD] >> QSET_LENGTH_BITS) * width);
		if (!qset_spend(job, length + 2))
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
add_lists(qset_job *job)
{
	const qset_block *b = job->head;
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

/*
 * Set the row's counters to the counts of its heavy elements.  The counters need not be cleared
 * before.
 */
static bool
add_columns(qset_job *job)
{
	const qset_block *b = job->head;
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
	for (at = job->from / QSET_BLOCK * QSET_BLOCK_WORDS; at < b->bit_words; at += QSET_BLOCK_WORDS)
	{
		uint16_t sum[QSET_BLOCK];

		if (!qset_spend(job, 50 + columns))
			return false;
		if (!b->wide_row)
		{
			job->kernels->sum_columns(job->columns, columns, at, (uint16_t *) job->count + at * 64);
			continue;
		}
		job->kernels->sum_columns(job->columns, columns, at, sum);
		for (i = 0; i < QSET_BLOCK; i++)
			((uint32_t *) job->count)[at * 64 + i] = sum[i];
	}
	return true;
}

qb_status
qset_index_row(qset_job *job)
{
	if (job->head->method == QSET_INDEX)
		clear_counts(job);
	else if (!add_columns(job))
		return QB_CANCELLED;
	return add_lists(job) ? QB_OK : QB_CANCELLED;
}
