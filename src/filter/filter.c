/*
 * filter.c
 *		Life cycle of a filter, and setting bits.
 *
 * src/filter/filter.c
 */
#include "filter/filter.h"

#include "base/slot.h"
#include "filter/compact.h"
#include "filter/kernels.h"
#include "filter/pieces.h"

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

static uint8_t *
alloc_bits(const qf_filter *f)
{
	return f->memory->alloc(f->memory->context, qf_words(&f->params) * 8);
}

qb_status
qf_make_dense(qf_filter *f)
{
	uint8_t *bits = alloc_bits(f);
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
qf_copy(qf_filter *to, const qf_filter *from, const qb_memory *memory)
{
	qb_status status = QB_OK;

	qf_init(to, &from->params, memory);
	to->keys = from->keys;
	to->rows = from->rows;
	if (from->encoding == QF_EXPLICIT)
		status = qf_unite_explicit(to, from);
	else if (from->encoding == QF_ENCODING_COMPACT)
		status = qf_unite_compact(to, from);
	else
	{
		to->bits = alloc_bits(to);
		if (!to->bits)
			return QB_NO_MEMORY;
		memcpy(to->bits, from->bits, qf_words(&to->params) * 8);
		to->encoding = QF_DENSE;
		to->ones = from->ones;
	}
	if (status != QB_OK)
		qf_free(to);
	return status;
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
 * ---- a filter with few set bits: their positions ----
 *
 * The positions are in an open-addressing hash table with linear probing.  The table
 * is at most half full and grows from 256 bytes to four times the largest list.
 */

#define FIRST_SLOTS 64

/* No position: m is less than 2^32. */
#define EMPTY UINT32_MAX

/* Slot of the position, or the empty slot where it belongs. */
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

/*
 * ---- which bits of keys are set: of one key, or of many in an explicit filter ----
 */

static bool
is_set(const qf_filter *f, uint64_t h, uint32_t j)
{
	uint32_t position = qf_any_position(&f->params, h, j);

	return f->encoding == QF_DENSE ? qf_bit(f->bits, position) : qf_explicit_has(f, position);
}

uint32_t
qf_count(const qf_filter *f, uint64_t fingerprint)
{
	uint64_t h = qf_hash(fingerprint, f->seed_key);
	uint32_t set = 0;
	uint32_t j;

	if (f->encoding == QF_ENCODING_COMPACT)
		return qf_count_compact(f, h, false);
	for (j = 0; j < f->params.k; j++)
		set += is_set(f, h, j);
	return set;
}

bool
qf_has(const qf_filter *f, uint64_t fingerprint)
{
	uint64_t h = qf_hash(fingerprint, f->seed_key);
	uint32_t j;

	if (f->encoding == QF_ENCODING_COMPACT)
		return qf_count_compact(f, h, true) == f->params.k;
	if (f->encoding == QF_DENSE && f->params.layout == QF_BLOCKED)
		return qf_block_has(f->bits, &f->params, h);
	for (j = 0; j < f->params.k; j++)
		if (!is_set(f, h, j))
			return false;
	return true;
}

/* ---- many lookups ---- */

/*
 * A map of the bits: for each of equal stretches of them, whether it has a set
 * bit.  At most QF_EXPLICIT_MAX stretches have one, so nearly all lookups end
 * at the map and need no search in the list.
 */
#define MAP_LOG 18

typedef struct map
{
	int shift; /* from a position to its stretch */
	uint8_t part[(1 << MAP_LOG) / 8];
} map;

/* From this many probes on, the map saves more than it costs. */
#define MAP_PAYS 16384

static void
make_map(map *m, const qf_filter *f)
{
	uint64_t at = 0;
	uint32_t position;

	memset(m, 0, sizeof(*m));
	while (f->params.m >> m->shift > UINT64_C(1) << MAP_LOG)
		m->shift++;
	while (qf_explicit_next(f, &at, &position))
		qf_set_bit(m->part, position >> m->shift);
}

/* How many positions of one key are set. */
static uint32_t
count_mapped(const qf_filter *f, const map *m, uint64_t fingerprint, qf_find find)
{
	uint64_t h = qf_hash(fingerprint, f->seed_key);
	uint64_t input[QF_FIND];
	uint32_t position[QF_FIND];
	uint32_t set = 0;
	uint32_t first, count, j;

	for (first = 0; first < f->params.k; first += count)
	{
		count = f->params.k - first < QF_FIND ? f->params.k - first : QF_FIND;
		for (j = 0; j < count; j++)
			input[j] = qf_position_input(h, first + j);
		find(input, count, f->params.m, position);
		for (j = 0; j < count; j++)
			if (qf_bit(m->part, position[j] >> m->shift))
				set += qf_explicit_has(f, position[j]);
	}
	return set;
}

void
qf_explicit_query(const qf_filter *f, const uint64_t *fingerprint, size_t count, uint32_t *set,
				  qf_find find)
{
	bool pays = f->params.layout != QF_BLOCKED && count >= MAP_PAYS / f->params.k + 1;
	map m;
	size_t i;

	if (f->ones == 0)
	{
		memset(set, 0, count * sizeof(*set));
		return;
	}
	if (pays)
		make_map(&m, f);
	for (i = 0; i < count; i++)
		set[i] = pays ? count_mapped(f, &m, fingerprint[i], find) : qf_count(f, fingerprint[i]);
}

/* ---- the plain inner loops of filters ---- */

static size_t
busy(uint64_t nonce_key, const uint64_t *row, uint64_t first, size_t count, uint64_t idle,
	 qf_busy *out)
{
	return qf_busy_from(nonce_key, row, first, 0, count, idle, out, 0);
}

static void
positions(const uint64_t *input, size_t count, uint64_t m, uint32_t *position)
{
	qf_positions_from(input, 0, count, m, position);
}

static uint64_t
set(uint8_t *bits, const uint32_t *position, size_t count)
{
	return qf_set_ahead(bits, position, count);
}

static void
query(const uint8_t *bits, const qf_params *p, const uint64_t *h, size_t count, uint32_t *out)
{
	size_t i;

	for (i = 0; i < count; i++)
		out[i] = qf_query_from(bits, p, h[i], 0);
}

static void
blocks_have(const uint8_t *bits, const qf_params *p, const uint64_t *h, size_t count, bool *found)
{
	qf_blocks_have_ahead(bits, p, h, count, found);
}

const qf_kernels qf_kernels_plain = {
	.busy = busy,
	.positions = positions,
	.set = set,
	.query = query,
	.blocks_have = blocks_have,
	.unite = qf_unite,
};
