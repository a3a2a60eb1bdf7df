/*
 * filter.c
 *		Life cycle of a filter, and setting bits.
 *
 * src/filter/filter.c
 */
#include "filter/filter.h"

#include "base/slot.h"

#include <stdlib.h>

void
qf_init(qf_filter *f, const qf_params *p, const qb_memory *memory)
{
	memset(f, 0, sizeof(*f));
	f->params = *p;
	f->encoding = QF_EXPLICIT;
	f->seed_key = qb_seed_key(p->seed);
	f->memory = memory;
}

static void
release(const qf_filter *f, uint8_t *block)
{
	if (block)
		f->memory->release(f->memory->context, block);
}

void
qf_free(qf_filter *f)
{
	release(f, f->positions);
	release(f, f->bits);
	f->positions = NULL;
	f->bits = NULL;
}

qb_status
qf_make_dense(qf_filter *f)
{
	uint8_t *bits = f->memory->alloc(f->memory->context, qf_words(&f->params) * 8);
	uint64_t at = 0;
	uint32_t position;

	if (!bits)
		return QB_NO_MEMORY;
	while (qf_explicit_next(f, &at, &position))
		qf_set_bit(bits, position);
	release(f, f->positions);
	f->positions = NULL;
	f->slots = 0;
	f->bits = bits;
	f->encoding = QF_DENSE;
	return QB_OK;
}

qb_status
qf_count_rows(qf_filter *f, int64_t rows, bool countable)
{
	if (rows == 0)
		return QB_OK;
	if (f->rows == QF_ROWS_UNKNOWN || !countable || qf_is_bloom(&f->params))
		f->rows = QF_ROWS_UNKNOWN;
	else if (__builtin_add_overflow(f->rows, rows, &rows))
		return QB_TOTAL_OVERFLOW;
	else
		f->rows = rows;
	return QB_OK;
}

qb_status
qf_set(qf_filter *f, const uint32_t *position, size_t count)
{
	size_t i = 0;
	qb_status status;

	if (f->encoding == QF_EXPLICIT)
	{
		status = qf_explicit_add(f, position, count, &i);
		if (status != QB_OK || i == count)
			return status;
		status = qf_make_dense(f);
		if (status != QB_OK)
			return status;
	}
	for (; i < count; i++)
		f->ones += qf_set_bit(f->bits, position[i]);
	return QB_OK;
}

qb_status
qf_unite_explicit(qf_filter *into, const qf_filter *from)
{
	uint64_t at = 0;
	uint32_t position;
	qb_status status = QB_OK;

	while (status == QB_OK && qf_explicit_next(from, &at, &position))
		status = qf_set(into, &position, 1);
	return status;
}

/*
 * ---- explicit encoding: the positions of the set bits ----
 *
 * The positions are in an open-addressing hash table with linear probing.  The table is at most
 * half full.  It starts with 64 slots of 4 bytes and doubles when it must grow.
 */

#define FIRST_SLOTS 64

/* An empty slot.  No position has this value, because m is less than 2^32. */
#define EMPTY UINT32_MAX

/* Return the slot of the position, or the empty slot in which the position belongs. */
static uint32_t *
find_slot(const qf_filter *f, uint32_t position)
{
	uint32_t *slot = (uint32_t *) (void *) f->positions;
	uint64_t i = qb_slot_hash(position) & (f->slots - 1);

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

/* Double the table, or allocate the first table. */
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

/* ---- the plain inner loops ---- */

uint64_t
qf_ones(const uint8_t *bits, uint64_t words)
{
	uint64_t ones = 0;
	uint64_t i;

	for (i = 0; i < words; i++)
		ones += qf_ones_of(qb_load64(bits + i * 8));
	return ones;
}

static uint64_t
unite(uint8_t *into, const uint8_t *from, uint64_t words)
{
	return qf_unite_each(into, from, words, false);
}

const qf_kernels qf_kernels_plain = {
	.busy = qf_busy_each,
	.positions = qf_positions_each,
	.set = qf_set_ahead,
	.query = qf_query_each,
	.blocks_have = qf_blocks_have_ahead,
	.unite = unite,
};
