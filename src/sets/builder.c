/*
 * builder.c
 *		Making a collection of rows (set id, element) in any order.
 *
 * src/sets/builder.c
 */
#include "sets/builder.h"

#include "base/hash.h"

/* A key to be sorted, and its label. */
typedef struct item
{
	uint64_t key;
	uint64_t label;
} item;

void
qi_builder_init(qi_builder *b, bool wide, uint32_t family, uint32_t collation,
				const qs_memory *memory, const qi_interrupt *interrupt)
{
	memset(b, 0, sizeof(*b));
	b->elements.wide = wide;
	b->family = family;
	b->collation = collation;
	b->memory = memory;
	b->interrupt = interrupt;
}

static void
free_labels(qi_labels *l, const qs_memory *memory)
{
	qi_release(memory, l->slot);
	qi_release(memory, l->low);
	qi_release(memory, l->high);
}

void
qi_builder_free(qi_builder *b)
{
	free_labels(&b->sets, b->memory);
	free_labels(&b->elements, b->memory);
	qi_release(b->memory, b->row);
	b->row = NULL;
	memset(&b->sets, 0, sizeof(b->sets));
	memset(&b->elements, 0, sizeof(b->elements));
}

static uint64_t
labels_memory(const qi_labels *l)
{
	return l->slots * sizeof(*l->slot) + l->room * sizeof(*l->low) * (l->wide ? 2 : 1);
}

uint64_t
qi_builder_memory(const qi_builder *b)
{
	return labels_memory(&b->sets) + labels_memory(&b->elements) + b->room * sizeof(*b->row);
}

/* ---- labels ---- */

/* An array of "room" items with the first "used" of an old one, which is released. */
static uint64_t *
grow_array(const qs_memory *memory, uint64_t *old, uint64_t used, uint64_t room)
{
	uint64_t *array = qi_alloc(memory, room, sizeof(*array));

	if (array && used > 0)
		memcpy(array, old, used * sizeof(*array));
	if (array)
		qi_release(memory, old);
	return array;
}

QS_INLINE uint64_t
first_slot(const qi_labels *l, uint64_t low)
{
	return qs_mix64(low) & (l->slots - 1);
}

/* The slots anew, twice as many. */
static qs_status
grow_slots(qi_labels *l, const qs_memory *memory, const qi_interrupt *interrupt)
{
	uint64_t slots = l->slots ? l->slots * 2 : 1024;
	qi_slot *slot = qi_alloc(memory, slots, sizeof(*slot));
	uint64_t i;

	if (!slot)
		return QS_NO_MEMORY;
	qi_release(memory, l->slot);
	l->slot = slot;
	l->slots = slots;
	for (i = 0; i < l->used; i++)
	{
		uint64_t at = first_slot(l, l->low[i]);

		if (i % QI_PATIENCE == QI_PATIENCE - 1 && qi_stopped(interrupt))
			return QS_CANCELLED;
		while (slot[at].label != 0)
			at = (at + 1) & (slots - 1);
		slot[at] = (qi_slot){ l->low[i], (uint32_t) i + 1 };
	}
	return QS_OK;
}

/* Make sure of room for "more" new labels. */
static qs_status
reserve_labels(qi_labels *l, uint64_t more, const qs_memory *memory, const qi_interrupt *interrupt)
{
	qs_status status = QS_OK;
	uint64_t *array;
	uint64_t room;

	while (status == QS_OK && l->slots < (l->used + more) * 2)
		status = grow_slots(l, memory, interrupt);
	if (status != QS_OK)
		return status;
	if (l->used + more <= l->room)
		return QS_OK;
	room = l->slots / 2;
	array = grow_array(memory, l->low, l->used, room);
	if (!array)
		return QS_NO_MEMORY;
	l->low = array;
	if (l->wide)
	{
		array = grow_array(memory, l->high, l->used, room);
		if (!array)
			return QS_NO_MEMORY;
		l->high = array;
	}
	l->room = room;
	return QS_OK;
}

/* The label of a key, a new one if need be; there is room. */
QS_INLINE uint32_t
label_of(qi_labels *l, uint64_t low, uint64_t high)
{
	uint64_t at = first_slot(l, low);

	for (; l->slot[at].label != 0; at = (at + 1) & (l->slots - 1))
		if (l->slot[at].low == low && (!l->wide || l->high[l->slot[at].label - 1] == high))
			return l->slot[at].label - 1;
	l->low[l->used] = low;
	if (l->wide)
		l->high[l->used] = high;
	l->slot[at] = (qi_slot){ low, (uint32_t) ++l->used };
	return (uint32_t) l->used - 1;
}

/* ---- rows ---- */

static qs_status
compact(qi_builder *b)
{
	uint64_t *scratch = qi_alloc(b->memory, b->rows, sizeof(*scratch));
	bool done;

	if (!scratch)
		return QS_NO_MEMORY;
	done = qi_sort_unique64((int64_t *) b->row, &b->rows, (int64_t *) scratch, b->interrupt);
	qi_release(b->memory, scratch);
	return done ? QS_OK : QS_CANCELLED;
}

static qs_status
reserve_rows(qi_builder *b, uint64_t more)
{
	uint64_t room = b->room ? b->room : 1024;
	uint64_t *row;

	if (b->rows + more <= b->room)
		return QS_OK;
	if (b->rows >= QI_COMPACT)
	{
		qs_status status = compact(b);

		if (status != QS_OK)
			return status;
	}
	while (room / 2 < b->rows + more)
		room *= 2;
	if (room == b->room)
		return QS_OK;
	row = grow_array(b->memory, b->row, b->rows, room);
	if (!row)
		return QS_NO_MEMORY;
	b->row = row;
	b->room = room;
	return QS_OK;
}

static qs_status
reserve(qi_builder *b, uint64_t sets, uint64_t elements, uint64_t rows)
{
	qs_status status = reserve_labels(&b->sets, sets, b->memory, b->interrupt);

	if (status == QS_OK)
		status = reserve_labels(&b->elements, elements, b->memory, b->interrupt);
	if (status == QS_OK)
		status = reserve_rows(b, rows);
	return status;
}

/* Beyond any of the limits, with or without the duplicates? */
static bool
too_many(const qi_builder *b)
{
	return b->sets.used > QI_MAX_SETS || b->elements.used > QI_MAX_UNIVERSE ||
		   b->rows > QI_MAX_ELEMENTS;
}

static void
add_batch(qi_builder *b, const int64_t *id, const uint64_t *low, const uint64_t *high,
		  uint64_t rows)
{
	uint64_t *row = b->row + b->rows;
	uint64_t set = 0;
	uint64_t i;

	for (i = 0; i < rows; i++)
	{
		__builtin_prefetch(&b->elements.slot[first_slot(&b->elements, low[i])]);
		__builtin_prefetch(&b->sets.slot[first_slot(&b->sets, (uint64_t) id[i])]);
	}
	for (i = 0; i < rows; i++)
	{
		if (i == 0 || id[i] != id[i - 1])
			set = (uint64_t) label_of(&b->sets, (uint64_t) id[i], 0) << 32;
		row[i] = set | label_of(&b->elements, low[i], high ? high[i] : 0);
	}
	b->rows += rows;
}

qs_status
qi_builder_add(qi_builder *b, const int64_t *id, const uint64_t *low, const uint64_t *high,
			   uint64_t rows)
{
	uint64_t i;

	for (i = 0; i < rows; i += QI_BATCH)
	{
		uint64_t n = rows - i < QI_BATCH ? rows - i : QI_BATCH;
		qs_status status = reserve(b, n, n, n);

		if (status != QS_OK)
			return status;
		add_batch(b, id + i, low + i, high ? high + i : NULL, n);
		if (too_many(b))
			return QS_TOO_MANY;
	}
	return QS_OK;
}

/* The labels of a collection's elements, for which there is room. */
static bool
label_elements(qi_builder *b, const qi_collection *c, uint32_t *label)
{
	uint64_t i;

	for (i = 0; i < c->universe; i++)
	{
		if (i % QI_PATIENCE == QI_PATIENCE - 1 && qi_stopped(b->interrupt))
			return false;
		label[i] = label_of(&b->elements, c->low[i], c->wide ? c->high[i] : 0);
	}
	return true;
}

/* The rows of a collection, likewise. */
static bool
add_sets(qi_builder *b, const qi_collection *c, const uint32_t *label)
{
	uint64_t asked = 0;
	uint64_t set;
	uint64_t i;

	for (set = 0; set < c->sets; set++)
	{
		uint64_t upper = (uint64_t) label_of(&b->sets, (uint64_t) c->id[set], 0) << 32;

		for (i = c->offset[set]; i < c->offset[set + 1]; i++)
			b->row[b->rows++] = upper | label[c->rank[i]];
		if (i - asked < QI_PATIENCE)
			continue;
		if (qi_stopped(b->interrupt))
			return false;
		asked = i;
	}
	return true;
}

qs_status
qi_builder_add_collection(qi_builder *b, const qi_collection *c)
{
	uint32_t *label = qi_alloc(b->memory, c->universe, sizeof(*label));
	qs_status status = label ? reserve(b, c->sets, c->universe, c->elements) : QS_NO_MEMORY;

	if (status == QS_OK)
	{
		if (!label_elements(b, c, label) || !add_sets(b, c, label))
			status = QS_CANCELLED;
		else if (too_many(b))
			status = QS_TOO_MANY;
	}
	qi_release(b->memory, label);
	return status;
}

/* ---- the end ---- */

/* Sort by key, stably: radix, lowest byte first, bytes in which all agree skipped. */
static bool
sort_items(item **items, uint64_t n, item **scratch, const qi_interrupt *interrupt)
{
	int shift;

	for (shift = 0; shift < 64; shift += 8)
	{
		uint64_t place[256] = { 0 };
		item *from = *items;
		uint64_t sum = 0;
		uint64_t i;

		for (i = 0; i < n; i++)
			place[from[i].key >> shift & 255]++;
		if (n == 0 || place[from[0].key >> shift & 255] == n)
			continue;
		for (i = 0; i < 256; i++)
		{
			uint64_t count = place[i];

			place[i] = sum;
			sum += count;
		}
		for (i = 0; i < n; i++)
		{
			if (i % QI_PATIENCE == 0 && qi_stopped(interrupt))
				return false;
			(*scratch)[place[from[i].key >> shift & 255]++] = from[i];
		}
		*items = *scratch;
		*scratch = from;
	}
	return true;
}

/* Items of all labels in the order of their keys; signed keys unless wide. */
static bool
order_labels(const qi_labels *l, item **items, item **scratch, const qi_interrupt *interrupt)
{
	uint64_t i;

	for (i = 0; i < l->used; i++)
		(*items)[i] = (item){ l->wide ? l->low[i] : l->low[i] ^ UINT64_C(1) << 63, i };
	if (!sort_items(items, l->used, scratch, interrupt))
		return false;
	if (!l->wide)
		return true;
	for (i = 0; i < l->used; i++)
		(*items)[i].key = l->high[(*items)[i].label];
	return sort_items(items, l->used, scratch, interrupt);
}

/* rank[label], and the keys in their order. */
static qs_status
rank_labels(const qi_labels *l, uint32_t *rank, uint64_t *low, uint64_t *high, qi_builder *b)
{
	item *items = qi_alloc(b->memory, l->used, sizeof(item));
	item *scratch = qi_alloc(b->memory, l->used, sizeof(item));
	qs_status status = items && scratch ? QS_OK : QS_NO_MEMORY;
	uint64_t i;

	if (status == QS_OK && !order_labels(l, &items, &scratch, b->interrupt))
		status = QS_CANCELLED;
	for (i = 0; status == QS_OK && i < l->used; i++)
	{
		if (i % QI_PATIENCE == QI_PATIENCE - 1 && qi_stopped(b->interrupt))
			status = QS_CANCELLED;
		rank[items[i].label] = (uint32_t) i;
		low[i] = l->low[items[i].label];
		if (high)
			high[i] = l->high[items[i].label];
	}
	qi_release(b->memory, items);
	qi_release(b->memory, scratch);
	return status;
}

/* Bits that numbers below n need. */
static int
bits_below(uint64_t n)
{
	return n > 1 ? 64 - __builtin_clzll(n - 1) : 0;
}

/*
 * Ranks instead of labels in "row", sorted.  The ranks are packed closely, so
 * that the sort has fewer bytes to look at.
 */
static qs_status
rank_rows(qi_builder *b, uint64_t *row, uint64_t *scratch, const uint32_t *set_rank,
		  const uint32_t *element_rank, uint64_t *rows)
{
	int shift = bits_below(b->elements.used);
	uint64_t i;

	for (i = 0; i < b->rows; i++)
	{
		if (i % QI_PATIENCE == 0 && qi_stopped(b->interrupt))
			return QS_CANCELLED;
		row[i] =
			(uint64_t) set_rank[b->row[i] >> 32] << shift | element_rank[b->row[i] & UINT32_MAX];
	}
	*rows = b->rows;
	return qi_sort_unique64((int64_t *) row, rows, (int64_t *) scratch, b->interrupt)
			   ? QS_OK
			   : QS_CANCELLED;
}

static bool
split_rows(qi_collection *c, const uint64_t *row, const qi_interrupt *interrupt)
{
	int shift = bits_below(c->universe);
	uint64_t i;
	uint64_t set;

	for (i = 0; i < c->elements; i++)
	{
		if (i % QI_PATIENCE == QI_PATIENCE - 1 && qi_stopped(interrupt))
			return false;
		c->rank[i] = (uint32_t) (row[i] & ((UINT64_C(1) << shift) - 1));
		c->offset[(row[i] >> shift) + 1]++;
	}
	for (set = 0; set < c->sets; set++)
		c->offset[set + 1] += c->offset[set];
	return true;
}

static qs_status
finish(qi_builder *b, qi_collection *out, uint32_t *set_rank, uint32_t *element_rank, uint64_t *row,
	   uint64_t *scratch)
{
	qs_status status;
	uint64_t rows;

	out->sets = b->sets.used;
	out->universe = b->elements.used;
	out->elements = b->rows; /* an upper bound until duplicates are gone */
	status = qi_collection_alloc(out, b->memory);
	if (status == QS_OK)
		status = rank_labels(&b->sets, set_rank, (uint64_t *) out->id, NULL, b);
	if (status == QS_OK)
		status = rank_labels(&b->elements, element_rank, out->low, out->high, b);
	if (status == QS_OK)
		status = rank_rows(b, row, scratch, set_rank, element_rank, &rows);
	if (status == QS_OK)
	{
		out->elements = rows;
		status = split_rows(out, row, b->interrupt) ? QS_OK : QS_CANCELLED;
	}
	if (status != QS_OK)
		qi_collection_free(out);
	return status;
}

qs_status
qi_builder_finish(qi_builder *b, qi_collection *out)
{
	uint32_t *set_rank = qi_alloc(b->memory, b->sets.used, sizeof(*set_rank));
	uint32_t *element_rank = qi_alloc(b->memory, b->elements.used, sizeof(*element_rank));
	uint64_t *row = qi_alloc(b->memory, b->rows, sizeof(*row));
	uint64_t *scratch = qi_alloc(b->memory, b->rows, sizeof(*scratch));
	qs_status status = QS_NO_MEMORY;

	*out = (qi_collection){ .family = b->family, .collation = b->collation };
	out->wide = b->elements.wide;
	out->memory = b->memory;
	if (set_rank && element_rank && row && scratch)
		status = finish(b, out, set_rank, element_rank, row, scratch);
	qi_release(b->memory, set_rank);
	qi_release(b->memory, element_rank);
	qi_release(b->memory, row);
	qi_release(b->memory, scratch);
	return status;
}
