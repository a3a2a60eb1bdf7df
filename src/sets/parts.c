/*
 * parts.c
 *		One collection made of the parts of several processes, share by share.
 *
 * A block of a part begins with a block_head; ids, offsets, lower and upper halves
 * of elements, numbers of elements and ranks follow.
 *
 * src/sets/parts.c
 */
#include "sets/parts.h"

#include <stdlib.h>

/* Keys that are sampled from all parts for each share. */
#define SAMPLES 16

typedef struct block_head
{
	uint64_t sets;
	uint64_t elements;
	uint64_t universe;
	uint64_t wide;
} block_head;

/* ---- blocks ---- */

uint64_t
qset_part_bytes(const qset_collection *placed)
{
	uint64_t bytes =
		sizeof(block_head) + (placed->sets * 2 + 1) * sizeof(uint64_t) +
		placed->universe * ((placed->wide ? 2 : 1) * sizeof(uint64_t) + sizeof(uint32_t)) +
		placed->elements * sizeof(uint32_t);

	return (bytes + 7) / 8 * 8;
}

void
qset_part_open(qset_part *part, void *block)
{
	const block_head *head = block;
	qset_collection *rows = &part->rows;

	*rows = (qset_collection){ .wide = head->wide != 0 };
	rows->sets = head->sets;
	rows->elements = head->elements;
	rows->universe = head->universe;
	rows->id = (int64_t *) ((block_head *) block + 1);
	rows->offset = (uint64_t *) (rows->id + head->sets);
	rows->low = rows->offset + head->sets + 1;
	rows->high = head->wide ? rows->low + head->universe : NULL;
	part->number = (uint32_t *) (rows->low + head->universe * (head->wide ? 2 : 1));
	rows->rank = part->number + head->universe;
}

void
qset_part_write(const qset_collection *placed, void *block)
{
	qset_part part;

	*(block_head *) block =
		(block_head){ placed->sets, placed->elements, placed->universe, placed->wide };
	qset_part_open(&part, block);
	qset_put(part.rows.id, placed->id, placed->sets, sizeof(int64_t));
	qset_put(part.rows.offset, placed->offset, placed->sets + 1, sizeof(uint64_t));
	qset_put(part.rows.low, placed->low, placed->universe, sizeof(uint64_t));
	if (placed->wide)
		qset_put(part.rows.high, placed->high, placed->universe, sizeof(uint64_t));
	qset_put(part.rows.rank, placed->rank, placed->elements, sizeof(uint32_t));
}

/* ---- cuts ---- */

/* A key in the order of unsigned numbers, upper half first. */
typedef struct sample
{
	uint64_t high;
	uint64_t low;
} sample;

#define SIGN (UINT64_C(1) << 63)

static int
compare_samples(const void *a, const void *b)
{
	const sample *x = a;
	const sample *y = b;

	if (x->high != y->high)
		return x->high < y->high ? -1 : 1;
	return (x->low > y->low) - (x->low < y->low);
}

static sample
id_sample(int64_t id)
{
	return (sample){ 0, (uint64_t) id ^ SIGN };
}

static sample
element_sample(const qset_collection *c, uint64_t rank)
{
	return c->wide ? (sample){ c->high[rank], c->low[rank] } : id_sample((int64_t) c->low[rank]);
}

/* The number of the set that a row belongs to. */
static uint64_t
set_of_row(const qset_collection *c, uint64_t row)
{
	uint64_t low = 0;
	uint64_t high = c->sets;

	while (low + 1 < high)
	{
		uint64_t middle = low + (high - low) / 2;

		if (c->offset[middle] <= row)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* Sample ids at equal distances of rows in all parts; returns how many. */
static uint64_t
sample_ids(const qset_parts *parts, uint64_t step, sample *out)
{
	uint64_t count = 0;
	uint64_t at;
	uint32_t i;

	for (i = 0; i < parts->count; i++)
	{
		const qset_collection *c = &parts->part[i].rows;

		for (at = step / 2; at < c->elements; at += step)
			out[count++] = id_sample(c->id[set_of_row(c, at)]);
	}
	qsort(out, count, sizeof(*out), compare_samples);
	return count;
}

/* Sample elements at equal distances in all parts; returns how many. */
static uint64_t
sample_elements(const qset_parts *parts, uint64_t step, sample *out)
{
	uint64_t count = 0;
	uint64_t at;
	uint32_t i;

	for (i = 0; i < parts->count; i++)
		for (at = step / 2; at < parts->part[i].rows.universe; at += step)
			out[count++] = element_sample(&parts->part[i].rows, at);
	qsort(out, count, sizeof(*out), compare_samples);
	return count;
}

/* The sample at which a share ends; zero if there are no samples. */
static sample
cut_at(const sample *s, uint64_t count, uint32_t share, uint32_t shares)
{
	return count > 0 ? s[count * (share + 1) / shares] : (sample){ 0, 0 };
}

qb_status
qset_parts_cut(qset_parts *parts, uint32_t shares)
{
	qset_cuts *cuts = &parts->cuts;
	bool wide = parts->count > 0 && parts->part[0].rows.wide;
	uint64_t rows = 0;
	uint64_t universe = 0;
	sample *s = qset_alloc(parts->memory, (uint64_t) shares * SAMPLES + parts->count, sizeof(*s));
	uint64_t count;
	uint32_t i;

	if (!s)
		return QB_NO_MEMORY;
	for (i = 0; i < parts->count; i++)
	{
		rows += parts->part[i].rows.elements;
		universe += parts->part[i].rows.universe;
	}
	cuts->shares = shares;
	count = sample_ids(parts, rows / (shares * SAMPLES) + 1, s);
	for (i = 0; i + 1 < shares; i++)
		cuts->id[i] = (int64_t) (cut_at(s, count, i, shares).low ^ SIGN);
	count = sample_elements(parts, universe / (shares * SAMPLES) + 1, s);
	for (i = 0; i + 1 < shares; i++)
	{
		sample at = cut_at(s, count, i, shares);

		cuts->high[i] = at.high;
		cuts->low[i] = wide ? at.low : at.low ^ SIGN;
	}
	qset_release(parts->memory, s);
	return QB_OK;
}

uint64_t
qset_first_set(const qset_parts *parts, const qset_collection *c, uint32_t share)
{
	uint64_t low = 0;
	uint64_t high = c->sets;

	if (share == 0)
		return 0;
	if (share == parts->cuts.shares)
		return c->sets;
	while (low < high)
	{
		uint64_t middle = low + (high - low) / 2;

		if (c->id[middle] < parts->cuts.id[share - 1])
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint64_t
qset_first_element(const qset_parts *parts, const qset_collection *c, uint32_t share)
{
	uint64_t low = 0;
	uint64_t high = c->universe;
	qset_collection cut = { .wide = c->wide };

	if (share == 0)
		return 0;
	if (share == parts->cuts.shares)
		return c->universe;
	cut.low = (uint64_t *) parts->cuts.low;
	cut.high = (uint64_t *) parts->cuts.high;
	while (low < high)
	{
		uint64_t middle = low + (high - low) / 2;

		if (qset_element_compare(c, middle, &cut, share - 1) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

qset_room
qset_share_room(const qset_parts *parts, uint32_t share)
{
	qset_room room = { 0, 0, 0 };
	uint32_t i;

	for (i = 0; i < parts->count; i++)
	{
		const qset_collection *c = &parts->part[i].rows;
		uint64_t set = qset_first_set(parts, c, share);
		uint64_t end = qset_first_set(parts, c, share + 1);

		room.sets += end - set;
		room.elements += c->offset[end] - c->offset[set];
		room.universe +=
			qset_first_element(parts, c, share + 1) - qset_first_element(parts, c, share);
	}
	return room;
}
