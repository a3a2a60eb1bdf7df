/*
 * builder.c
 *		Makes a collection from rows (set id, element) in any order.
 *
 * src/sets/builder.c
 */
#include "sets/builder.h"

/*
 * The write positions of FEW_SETS sets fit into the cache.  More sets are divided into at most
 * RANGES ranges.  Up to FEW_SETS * RANGES sets, the write positions of one range fit.
 */
#define FEW_SETS 4096
#define RANGES   256

void
qset_builder_init(qset_builder *b, bool wide, const qb_keys *keys, const qb_memory *memory)
{
	memset(b, 0, sizeof(*b));
	b->elements.wide = wide;
	b->keys = *keys;
	b->memory = memory;
}

void
qset_builder_free(qset_builder *b)
{
	qset_dictionary_free(&b->sets, b->memory);
	qset_dictionary_free(&b->elements, b->memory);
	qset_release(b->memory, b->row);
	b->row = NULL;
}

/* ---- rows ---- */

static qb_status
compact(qset_builder *b)
{
	uint64_t *scratch = qset_alloc(b->memory, b->rows, sizeof(*scratch));

	if (!scratch)
		return QB_NO_MEMORY;
	qset_sort_unique64((int64_t *) b->row, &b->rows, (int64_t *) scratch, b->memory);
	qset_release(b->memory, scratch);
	return QB_OK;
}

static qb_status
reserve_rows(qset_builder *b, uint64_t more)
{
	uint64_t room = b->room ? b->room : 64;
	uint64_t *row;

	if (b->rows + more <= b->room)
		return QB_OK;
	if (b->rows >= QSET_COMPACT)
	{
		qb_status status = compact(b);

		if (status != QB_OK)
			return status;
	}
	while (room / 2 < b->rows + more)
		room *= 2;
	if (room == b->room)
		return QB_OK;
	row = qset_grow(b->memory, b->row, b->rows, room);
	if (!row)
		return QB_NO_MEMORY;
	b->row = row;
	b->room = room;
	return QB_OK;
}

/*
 * True if rows, sets or elements exceed the limits.  Duplicate rows count if they were not dropped
 * yet.
 */
static bool
too_many(const qset_builder *b)
{
	return b->sets.used > QSET_MAX_SETS || b->elements.used > QSET_MAX_UNIVERSE ||
		   b->rows > QSET_MAX_ELEMENTS;
}

static qb_status
add_batch(qset_builder *b, const int64_t *id, const uint64_t *low, const uint64_t *high, uint32_t n)
{
	uint32_t set[QSET_BATCH];
	uint32_t element[QSET_BATCH];
	qb_status status = reserve_rows(b, n);
	uint64_t *row = b->row + b->rows;
	uint32_t i;

	if (status == QB_OK)
		status = qset_dictionary_of(&b->sets, (const uint64_t *) id, NULL, n, set, b->memory);
	if (status == QB_OK)
		status = qset_dictionary_of(&b->elements, low, high, n, element, b->memory);
	if (status != QB_OK)
		return status;
	for (i = 0; i < n; i++)
		row[i] = (uint64_t) set[i] << 32 | element[i];
	b->rows += n;
	return too_many(b) ? QB_TOO_MANY : QB_OK;
}

qb_status
qset_builder_add(qset_builder *b, const int64_t *id, const uint64_t *low, const uint64_t *high,
				 uint64_t rows)
{
	qb_status status = (high != NULL) == b->elements.wide ? QB_OK : QB_MISMATCH;
	uint64_t i;

	for (i = 0; status == QB_OK && i < rows; i += QSET_BATCH)
		status = add_batch(b, id + i, low + i, high ? high + i : NULL,
						   rows - i < QSET_BATCH ? (uint32_t) (rows - i) : QSET_BATCH);
	return status;
}

/*
 * The builder's codes of another collection's sets and elements.  translated() releases both
 * arrays.
 */
typedef struct translation
{
	uint32_t *set;
	uint32_t *element;
} translation;

/*
 * True if the collection's elements have the builder's type and width, or the collection has no
 * sets.
 */
static bool
matches(const qset_builder *b, const qset_collection *c)
{
	return c->sets == 0 || (c->wide == b->elements.wide && qb_keys_match(&b->keys, &c->keys));
}

/*
 * Translate the keys of a collection to codes, and allocate space for "rows" more rows.  The caller
 * calls translated(), also after an error.
 */
static qb_status
translate(qset_builder *b, const qset_collection *c, uint64_t rows, translation *t)
{
	qb_status status;

	*t = (translation){ NULL, NULL };
	if (!matches(b, c))
		return QB_MISMATCH;
	t->set = qset_alloc(b->memory, c->sets, sizeof(*t->set));
	t->element = qset_alloc(b->memory, c->universe, sizeof(*t->element));
	status = t->set && t->element ? reserve_rows(b, rows) : QB_NO_MEMORY;
	if (status == QB_OK)
		status = qset_dictionary_of_all(&b->sets, (const uint64_t *) c->id, NULL, c->sets, t->set,
										b->memory);
	if (status == QB_OK)
		status = qset_dictionary_of_all(&b->elements, c->low, c->high, c->universe, t->element,
										b->memory);
	return status;
}

/*
 * Release the translation.  Returns QB_TOO_MANY if the status is QB_OK and the builder exceeds its
 * limits.
 */
static qb_status
translated(const qset_builder *b, translation *t, qb_status status)
{
	qset_release(b->memory, t->set);
	qset_release(b->memory, t->element);
	return status == QB_OK && too_many(b) ? QB_TOO_MANY : status;
}

qb_status
qset_builder_add_collection(qset_builder *b, const qset_collection *c)
{
	translation t;
	qb_status status = translate(b, c, c->elements, &t);
	uint64_t steps = 0;
	uint64_t set;
	uint64_t i;

	for (set = 0; status == QB_OK && set < c->sets; set++)
	{
		uint64_t upper = (uint64_t) t.set[set] << 32;

		for (i = c->offset[set]; i < c->offset[set + 1]; i++)
			b->row[b->rows++] = upper | t.element[c->rank[i]];
		qb_pause_after(b->memory, &steps, qset_set_size(c, set));
	}
	return translated(b, &t, status);
}

/* ---- images ---- */

/*
 * The head of an image.  It precedes the keys of sets, the lower halves of elements, the upper
 * halves of wide elements, and the rows.
 */
typedef struct image_head
{
	uint64_t sets;
	uint64_t elements;
	uint64_t rows;
	qb_keys keys;
	bool wide;
} image_head;

_Static_assert(sizeof(image_head) % 8 == 0, "arrays behind the head are not aligned");

uint64_t
qset_builder_image_bytes(const qset_builder *b)
{
	return sizeof(image_head) +
		   (b->sets.used + b->elements.used * (b->elements.wide ? 2 : 1) + b->rows) *
			   sizeof(uint64_t);
}

/*
 * Set *keys to a collection that has the keys of an image, but no ranks.  Returns the image's rows.
 */
static const uint64_t *
open_image(const void *image, qset_collection *keys)
{
	const image_head *head = image;
	uint64_t *at = (uint64_t *) (uintptr_t) (head + 1);

	*keys = (qset_collection){
		.keys = head->keys, .wide = head->wide, .sets = head->sets, .universe = head->elements
	};
	keys->id = (int64_t *) at;
	keys->low = at + head->sets;
	at = keys->low + head->elements;
	if (head->wide)
	{
		keys->high = at;
		at += head->elements;
	}
	return at;
}

void
qset_builder_write(const qset_builder *b, void *image)
{
	qset_collection to;
	const uint64_t *row;

	*(image_head *) image =
		(image_head){ b->sets.used, b->elements.used, b->rows, b->keys, b->elements.wide };
	row = open_image(image, &to);
	qset_put(to.id, b->sets.low, to.sets, sizeof(*to.id));
	qset_put(to.low, b->elements.low, to.universe, sizeof(*to.low));
	if (to.high)
		qset_put(to.high, b->elements.high, to.universe, sizeof(*to.high));
	qset_put((uint64_t *) (uintptr_t) row, b->row, b->rows, sizeof(*row));
}

uint64_t
qset_builder_image_rows(const void *image)
{
	return ((const image_head *) image)->rows;
}

const qb_keys *
qset_builder_image_keys(const void *image, bool *wide)
{
	*wide = ((const image_head *) image)->wide;
	return &((const image_head *) image)->keys;
}

qb_status
qset_builder_add_image(qset_builder *b, const void *image)
{
	uint64_t rows = qset_builder_image_rows(image);
	qset_collection keys;
	const uint64_t *row = open_image(image, &keys);
	translation t;
	qb_status status = translate(b, &keys, rows, &t);
	uint64_t i;

	for (i = 0; status == QB_OK && i < rows; i++)
	{
		qset_pause_at(b->memory, i);
		b->row[b->rows++] = (uint64_t) t.set[row[i] >> 32] << 32 | t.element[row[i] & UINT32_MAX];
	}
	return translated(b, &t, status);
}

/* ---- making the collection ---- */

/* Temporary arrays for making the collection; the caller releases them. */
typedef struct ranks
{
	uint32_t *set;
	uint32_t *element;
	uint64_t *next;
} ranks;

/* Set the offset of each set, in the order of the ids.  Duplicate rows count. */
static void
set_offsets(const qset_builder *b, const uint32_t *set_rank, uint64_t *offset)
{
	uint64_t i;

	for (i = 0; i < b->rows; i++)
	{
		qset_pause_at(b->memory, i);
		offset[set_rank[b->row[i] >> 32] + 1]++;
	}
	for (i = 0; i < b->sets.used; i++)
		offset[i + 1] += offset[i];
}

/* Return a row with ranks in place of codes. */
QB_INLINE uint64_t
ranked(const ranks *r, uint64_t row)
{
	return (uint64_t) r->set[row >> 32] << 32 | r->element[row & UINT32_MAX];
}

/*
 * Put each row's element into its set, in any order.  Afterwards next[set] is the end of the set.
 */
static void
scatter(const qset_builder *b, const ranks *r, uint32_t *rank)
{
	uint64_t i;

	for (i = 0; i < b->rows; i++)
	{
		uint64_t row = ranked(r, b->row[i]);

		qset_pause_at(b->memory, i);
		rank[r->next[row >> 32]++] = (uint32_t) row;
	}
}

/*
 * Do the work of scatter() for so many sets that their write positions do not fit into the cache.
 * A first pass divides the rows into at most RANGES ranges of sets.  A range has fewer write
 * positions.
 */
static qb_status
scatter_by_range(const qset_builder *b, const ranks *r, const uint64_t *offset, uint32_t *rank)
{
	uint64_t *row = qset_alloc(b->memory, b->rows, sizeof(*row));
	uint64_t range[RANGES];
	uint64_t i;
	int shift = 0;

	if (!row)
		return QB_NO_MEMORY;
	while ((b->sets.used - 1) >> shift >= RANGES)
		shift++;
	for (i = 0; i <= (b->sets.used - 1) >> shift; i++)
		range[i] = offset[i << shift];
	for (i = 0; i < b->rows; i++)
	{
		uint64_t x = ranked(r, b->row[i]);

		qset_pause_at(b->memory, i);
		row[range[x >> 32 >> shift]++] = x;
	}
	for (i = 0; i < b->rows; i++)
	{
		qset_pause_at(b->memory, i);
		rank[r->next[row[i] >> 32]++] = (uint32_t) row[i];
	}
	qset_release(b->memory, row);
	return QB_OK;
}

static qb_status
fill(const qset_builder *b, qset_collection *out, const ranks *r)
{
	qb_status status =
		qset_dictionary_rank(&b->sets, r->set, (uint64_t *) out->id, NULL, b->memory);

	if (status == QB_OK)
		status = qset_dictionary_rank(&b->elements, r->element, out->low, out->high, b->memory);
	if (status != QB_OK)
		return status;
	set_offsets(b, r->set, out->offset);
	memcpy(r->next, out->offset, out->sets * sizeof(*r->next));
	if (out->sets > FEW_SETS)
		return scatter_by_range(b, r, out->offset, out->rank);
	scatter(b, r, out->rank);
	return QB_OK;
}

qb_status
qset_builder_group(const qset_builder *b, qset_collection *out)
{
	ranks r = { qset_alloc(b->memory, b->sets.used, sizeof(*r.set)),
				qset_alloc(b->memory, b->elements.used, sizeof(*r.element)),
				qset_alloc(b->memory, b->sets.used, sizeof(*r.next)) };
	qb_status status = QB_NO_MEMORY;

	*out = (qset_collection){ .keys = b->keys, .wide = b->elements.wide };
	out->sets = b->sets.used;
	out->universe = b->elements.used;
	out->elements = b->rows; /* an upper bound until duplicates are dropped */
	out->memory = b->memory;
	if (r.set && r.element && r.next)
		status = qset_collection_alloc(out, b->memory);
	if (status == QB_OK)
	{
		status = fill(b, out, &r);
		if (status != QB_OK)
			qset_collection_free(out);
	}
	qset_release(b->memory, r.set);
	qset_release(b->memory, r.element);
	qset_release(b->memory, r.next);
	return status;
}

/* Sort set by set, because most sets fit into the cache. */
qb_status
qset_builder_finish(qset_builder *b, qset_collection *out)
{
	qb_status status = qset_builder_group(b, out);

	if (status != QB_OK)
		return status;
	status = qset_collection_sort(out, b->memory);
	if (status != QB_OK)
		qset_collection_free(out);
	return status;
}
