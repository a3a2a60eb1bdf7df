/*
 * explicit.c
 *		A filter with few set bits: their positions.
 *
 * The positions are in an open-addressing hash table with linear probing.  The table
 * is at most half full and grows from 256 bytes to four times the largest list.
 *
 * src/filter/explicit.c
 */
#include <stdlib.h>

#include "base/slot.h"
#include "filter/filter.h"

#define FIRST_SLOTS 64

/* No position: m is less than 2^32. */
#define EMPTY UINT32_MAX

/* Slot of the position, or the empty slot where it belongs. */
static uint32_t *
find_slot(const qf_filter *f, uint32_t position)
{
	uint32_t *slot = (uint32_t *) (void *) f->positions;
	uint64_t i = qb_slot_of(qb_slot_hash(position), f->slots);

	while (slot[i] != EMPTY && slot[i] != position)
		i = (i + 1) & (f->slots - 1);
	return &slot[i];
}

bool
qf_explicit_has(const qf_filter *f, uint32_t position)
{
	return f->ones > 0 && *find_slot(f, position) == position;
}

bool
qf_explicit_next(const qf_filter *f, uint64_t *at, uint32_t *position)
{
	while (*at < f->slots)
	{
		*position = qb_load32(f->positions + (*at)++ * 4);
		if (*position != EMPTY)
			return true;
	}
	return false;
}

/* Double the table (or make the first one). */
static qb_status
grow(qf_filter *f)
{
	qf_filter bigger = *f;
	uint64_t at = 0;
	uint32_t position;

	bigger.slots = f->slots ? f->slots * 2 : FIRST_SLOTS;
	bigger.positions = f->memory->alloc(f->memory->context, bigger.slots * 4);
	if (!bigger.positions)
		return QB_NO_MEMORY;
	memset(bigger.positions, 0xFF, bigger.slots * 4);
	while (qf_explicit_next(f, &at, &position))
		*find_slot(&bigger, position) = position;
	if (f->positions)
		f->memory->release(f->memory->context, f->positions);
	*f = bigger;
	return QB_OK;
}

qb_status
qf_explicit_add(qf_filter *f, const uint32_t *position, size_t count, size_t *done)
{
	uint64_t limit = qf_explicit_limit(&f->params);

	for (*done = 0; *done < count; (*done)++)
	{
		uint32_t *slot = f->slots ? find_slot(f, position[*done]) : NULL;

		if (slot && *slot == position[*done])
			continue;
		if (f->ones >= limit)
			return QB_OK;
		if (f->ones * 2 >= f->slots)
		{
			if (grow(f) != QB_OK)
				return QB_NO_MEMORY;
			slot = find_slot(f, position[*done]);
		}
		*slot = position[*done];
		f->ones++;
	}
	return QB_OK;
}

static int
compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *) a;
	uint32_t y = *(const uint32_t *) b;

	return (x > y) - (x < y);
}

void
qf_explicit_sorted(const qf_filter *f, uint32_t *out)
{
	uint64_t at = 0;
	uint64_t count = 0;

	uint32_t position;

	while (qf_explicit_next(f, &at, &position))
		out[count++] = position;
	qsort(out, count, sizeof(*out), compare);
}
