/*
 * filter.c
 *		Life cycle of a filter, and setting bits.
 *
 * src/filter/filter.c
 */
#include "filter/compact.h"

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
