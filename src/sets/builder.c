/*
 * builder.c
 *		Making a collection of rows (set id, element) in any order.
 *
 * src/sets/builder.c
 */
#include "sets/builder.h"

/* The ends of so many sets at once stay in the cache; of more, one of PARTS of them do. */
#define FEW_SETS 4096
#define PARTS    256

void
qi_builder_init(qi_builder *b, bool wide, const qs_keys *keys, const qs_memory *memory,
				const qi_interrupt *interrupt)
{
	memset(b, 0, sizeof(*b));
	b->elements.wide = wide;
	b->keys = *keys;
	b->memory = memory;
	b->interrupt = interrupt;
}

void
qi_builder_free(qi_builder *b)
{
	qi_labels_free(&b->sets, b->memory);
	qi_labels_free(&b->elements, b->memory);
	qi_release(b->memory, b->row);
	b->row = NULL;
}

uint64_t
qi_builder_memory(const qi_builder *b)
{
	return qi_labels_memory(&b->sets) + qi_labels_memory(&b->elements) + b->room * sizeof(*b->row);
}

/* ---- rows ---- */

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
	uint64_t room = b->room ? b->room : 64;
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

/* Beyond any of the limits, with or without the duplicates? */
static bool
too_many(const qi_builder *b)
{
	return b->sets.used > QI_MAX_SETS || b->elements.used > QI_MAX_UNIVERSE ||
		   b->rows > QI_MAX_ELEMENTS;
}

static qs_status
add_batch(qi_builder *b, const int64_t *id, const uint64_t *low, const uint64_t *high, uint32_t n)
{
	uint32_t set[QI_BATCH];
	uint32_t element[QI_BATCH];
	qs_status status = reserve_rows(b, n);
	uint64_t *row = b->row + b->rows;
	uint32_t i;

	if (status == QS_OK)
		status =
			qi_labels_of(&b->sets, (const uint64_t *) id, NULL, n, set, b->memory, b->interrupt);
	if (status == QS_OK)
		status = qi_labels_of(&b->elements, low, high, n, element, b->memory, b->interrupt);
	if (status != QS_OK)
		return status;
	for (i = 0; i < n; i++)
		row[i] = (uint64_t) set[i] << 32 | element[i];
	b->rows += n;
	return too_many(b) ? QS_TOO_MANY : QS_OK;
}

qs_status
qi_builder_add(qi_builder *b, const int64_t *id, const uint64_t *low, const uint64_t *high,
			   uint64_t rows)
{
	qs_status status = QS_OK;
	uint64_t i;

	for (i = 0; status == QS_OK && i < rows; i += QI_BATCH)
		status = add_batch(b, id + i, low + i, high ? high + i : NULL,
						   rows - i < QI_BATCH ? (uint32_t) (rows - i) : QI_BATCH);
	return status;
}

/* Labels here of another's sets and elements; both arrays are to be released. */
typedef struct translation
{
	uint32_t *set;
	uint32_t *element;
} translation;

/* Make the translation, and room for rows. */
static qs_status
translate(qi_builder *b, const uint64_t *id, uint64_t sets, const uint64_t *low,
		  const uint64_t *high, uint64_t elements, uint64_t rows, translation *t)
{
	qs_status status;

	t->set = qi_alloc(b->memory, sets, sizeof(*t->set));
	t->element = qi_alloc(b->memory, elements, sizeof(*t->element));
	status = t->set && t->element ? reserve_rows(b, rows) : QS_NO_MEMORY;
	if (status == QS_OK)
		status = qi_labels_of_all(&b->sets, id, NULL, sets, t->set, b->memory, b->interrupt);
	if (status == QS_OK)
		status = qi_labels_of_all(&b->elements, low, high, elements, t->element, b->memory,
								  b->interrupt);
	return status;
}

static void
translation_free(translation *t, const qs_memory *memory)
{
	qi_release(memory, t->set);
	qi_release(memory, t->element);
}

static bool
add_sets(qi_builder *b, const qi_collection *c, const translation *t)
{
	uint64_t set;
	uint64_t i;
	uint64_t asked = 0;

	for (set = 0; set < c->sets; set++)
	{
		uint64_t upper = (uint64_t) t->set[set] << 32;

		for (i = c->offset[set]; i < c->offset[set + 1]; i++)
			b->row[b->rows++] = upper | t->element[c->rank[i]];
		if (i - asked < QI_PATIENCE)
			continue;
		asked = i;
		if (qi_stopped(b->interrupt))
			return false;
	}
	return true;
}

qs_status
qi_builder_add_collection(qi_builder *b, const qi_collection *c)
{
	translation t;
	qs_status status = translate(b, (const uint64_t *) c->id, c->sets, c->low, c->high, c->universe,
								 c->elements, &t);

	if (status == QS_OK && !add_sets(b, c, &t))
		status = QS_CANCELLED;
	if (status == QS_OK && too_many(b))
		status = QS_TOO_MANY;
	translation_free(&t, b->memory);
	return status;
}

/* ---- images ---- */

/* What an image begins with; keys of sets, lower and upper halves of elements, and rows follow. */
typedef struct image_head
{
	uint64_t sets;
	uint64_t elements;
	uint64_t rows;
	uint64_t wide;
} image_head;

uint64_t
qi_builder_image_bytes(const qi_builder *b)
{
	return sizeof(image_head) +
		   (b->sets.used + b->elements.used * (b->elements.wide ? 2 : 1) + b->rows) *
			   sizeof(uint64_t);
}

static uint64_t *
put_array(uint64_t *to, const uint64_t *from, uint64_t count)
{
	if (count > 0)
		memcpy(to, from, count * sizeof(*to));
	return to + count;
}

void
qi_builder_write(const qi_builder *b, void *image)
{
	image_head *head = image;
	uint64_t *at = (uint64_t *) (head + 1);

	*head = (image_head){ b->sets.used, b->elements.used, b->rows, b->elements.wide };
	at = put_array(at, b->sets.low, b->sets.used);
	at = put_array(at, b->elements.low, b->elements.used);
	if (b->elements.wide)
		at = put_array(at, b->elements.high, b->elements.used);
	put_array(at, b->row, b->rows);
}

uint64_t
qi_builder_image_rows(const void *image)
{
	return ((const image_head *) image)->rows;
}

static bool
add_rows(qi_builder *b, const uint64_t *row, uint64_t rows, const translation *t)
{
	uint64_t *to = b->row + b->rows;
	uint64_t i;

	for (i = 0; i < rows; i++)
	{
		if (i % QI_PATIENCE == 0 && qi_stopped(b->interrupt))
			return false;
		to[i] = (uint64_t) t->set[row[i] >> 32] << 32 | t->element[row[i] & UINT32_MAX];
	}
	b->rows += rows;
	return true;
}

qs_status
qi_builder_add_image(qi_builder *b, const void *image)
{
	const image_head *head = image;
	const uint64_t *id = (const uint64_t *) (head + 1);
	const uint64_t *low = id + head->sets;
	const uint64_t *high = head->wide ? low + head->elements : NULL;
	const uint64_t *row = low + head->elements * (head->wide ? 2 : 1);
	translation t;
	qs_status status = translate(b, id, head->sets, low, high, head->elements, head->rows, &t);

	if (status == QS_OK && !add_rows(b, row, head->rows, &t))
		status = QS_CANCELLED;
	if (status == QS_OK && too_many(b))
		status = QS_TOO_MANY;
	translation_free(&t, b->memory);
	return status;
}

/* ---- the end ---- */

/* What is needed on the way only; to be released. */
typedef struct ranks
{
	uint32_t *set;
	uint32_t *element;
	uint64_t *place;
} ranks;

/* Where each set's elements begin, in the order of the ids; duplicates count. */
static bool
place_sets(const qi_builder *b, const uint32_t *set_rank, uint64_t *offset)
{
	uint64_t i;

	for (i = 0; i < b->rows; i++)
	{
		if (i % QI_PATIENCE == 0 && qi_stopped(b->interrupt))
			return false;
		offset[set_rank[b->row[i] >> 32] + 1]++;
	}
	for (i = 0; i < b->sets.used; i++)
		offset[i + 1] += offset[i];
	return true;
}

/* A row in ranks. */
QS_INLINE uint64_t
ranked(const ranks *r, uint64_t row)
{
	return (uint64_t) r->set[row >> 32] << 32 | r->element[row & UINT32_MAX];
}

/* Each row's element to its set, in any order; place[set] goes on to its end. */
static bool
scatter(const qi_builder *b, const ranks *r, uint32_t *rank)
{
	uint64_t i;

	for (i = 0; i < b->rows; i++)
	{
		uint64_t row = ranked(r, b->row[i]);

		if (i % QI_PATIENCE == 0 && qi_stopped(b->interrupt))
			return false;
		rank[r->place[row >> 32]++] = (uint32_t) row;
	}
	return true;
}

/*
 * The same for so many sets that the places written to would not stay in the
 * cache: rows first go to one of PARTS ranges of sets, where those that follow
 * one another in memory are few.
 */
static qs_status
scatter_in_parts(const qi_builder *b, const ranks *r, const uint64_t *offset, uint32_t *rank)
{
	uint64_t *row = qi_alloc(b->memory, b->rows, sizeof(*row));
	uint64_t part[PARTS];
	uint64_t i;
	int shift = 0;
	bool stopped = false;

	if (!row)
		return QS_NO_MEMORY;
	while ((b->sets.used - 1) >> shift >= PARTS)
		shift++;
	for (i = 0; i <= (b->sets.used - 1) >> shift; i++)
		part[i] = offset[i << shift];
	for (i = 0; i < b->rows && !stopped; i++)
	{
		uint64_t x = ranked(r, b->row[i]);

		stopped = i % QI_PATIENCE == 0 && qi_stopped(b->interrupt);
		row[part[x >> 32 >> shift]++] = x;
	}
	for (i = 0; i < b->rows && !stopped; i++)
	{
		stopped = i % QI_PATIENCE == 0 && qi_stopped(b->interrupt);
		rank[r->place[row[i] >> 32]++] = (uint32_t) row[i];
	}
	qi_release(b->memory, row);
	return stopped ? QS_CANCELLED : QS_OK;
}

static qs_status
fill(const qi_builder *b, qi_collection *out, const ranks *r)
{
	qs_status status =
		qi_labels_rank(&b->sets, r->set, (uint64_t *) out->id, NULL, b->memory, b->interrupt);

	if (status == QS_OK)
		status =
			qi_labels_rank(&b->elements, r->element, out->low, out->high, b->memory, b->interrupt);
	if (status != QS_OK)
		return status;
	if (!place_sets(b, r->set, out->offset))
		return QS_CANCELLED;
	memcpy(r->place, out->offset, out->sets * sizeof(*r->place));
	if (out->sets > FEW_SETS)
		status = scatter_in_parts(b, r, out->offset, out->rank);
	else
		status = scatter(b, r, out->rank) ? QS_OK : QS_CANCELLED;
	return status;
}

/* Rows are put to their sets in any order. */
qs_status
qi_builder_place(const qi_builder *b, qi_collection *out)
{
	ranks r = { qi_alloc(b->memory, b->sets.used, sizeof(*r.set)),
				qi_alloc(b->memory, b->elements.used, sizeof(*r.element)),
				qi_alloc(b->memory, b->sets.used, sizeof(*r.place)) };
	qs_status status = QS_NO_MEMORY;

	*out = (qi_collection){ .keys = b->keys };
	out->wide = b->elements.wide;
	out->sets = b->sets.used;
	out->universe = b->elements.used;
	out->elements = b->rows; /* an upper bound until duplicates are gone */
	out->memory = b->memory;
	if (r.set && r.element && r.place)
		status = qi_collection_alloc(out, b->memory);
	if (status == QS_OK)
	{
		status = fill(b, out, &r);
		if (status != QS_OK)
			qi_collection_free(out);
	}
	qi_release(b->memory, r.set);
	qi_release(b->memory, r.element);
	qi_release(b->memory, r.place);
	return status;
}

/* Each set is sorted by itself, where it stays in the cache. */
qs_status
qi_builder_finish(qi_builder *b, qi_collection *out)
{
	qs_status status = qi_builder_place(b, out);

	if (status != QS_OK)
		return status;
	status = qi_collection_sort(out, b->memory, b->interrupt);
	if (status != QS_OK)
		qi_collection_free(out);
	return status;
}
