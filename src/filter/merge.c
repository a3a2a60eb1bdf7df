/*
 * merge.c
 *		Merging and halving filters.
 *
 * Halving joins bits 2i and 2i + 1, or in a blocked filter blocks 2i and 2i + 1.
 * This is where a key's positions go when m is halved (draws.h).  So halving and
 * then merging gives the same filter as merging and then halving.
 *
 * src/filter/merge.c
 */
#include "filter/compact.h"

/* The even bits of a word, moved together into its lower half. */
static uint64_t
even_bits(uint64_t w)
{
	w &= UINT64_C(0x5555555555555555);
	w = (w | w >> 1) & UINT64_C(0x3333333333333333);
	w = (w | w >> 2) & UINT64_C(0x0F0F0F0F0F0F0F0F);
	w = (w | w >> 4) & UINT64_C(0x00FF00FF00FF00FF);
	w = (w | w >> 8) & UINT64_C(0x0000FFFF0000FFFF);
	return (w | w >> 16) & UINT64_C(0x00000000FFFFFFFF);
}

uint64_t
qf_ones(const uint8_t *bits, uint64_t words)
{
	uint64_t ones = 0;
	uint64_t i;

	for (i = 0; i < words; i++)
		ones += qf_ones_of(qb_load64(bits + i * 8));
	return ones;
}

uint64_t
qf_unite(uint8_t *into, const uint8_t *from, uint64_t words)
{
	uint64_t ones = 0;
	uint64_t i;

	for (i = 0; i < words; i++)
	{
		uint64_t w = qb_load64(into + i * 8) | qb_load64(from + i * 8);

		qb_store64(into + i * 8, w);
		ones += qf_ones_of(w);
	}
	return ones;
}

/* Where "halvings" halvings take a position. */
static uint32_t
folded_position(const qf_params *p, uint32_t position, int halvings)
{
	if (p->layout != QF_BLOCKED)
		return position >> halvings;
	return position / QF_BLOCK_BITS >> halvings << QF_BLOCK_LOG | position % QF_BLOCK_BITS;
}

/* Writes the folded positions into a new table. */
static qb_status
fold_explicit(qf_filter *f, const qf_params *p, int halvings)
{
	uint64_t at = 0;
	qb_status status = QB_OK;
	qf_filter folded;
	uint32_t position;

	qf_init(&folded, p, f->memory);
	folded.keys = f->keys;
	folded.rows = f->rows;
	while (status == QB_OK && qf_explicit_next(f, &at, &position))
	{
		position = folded_position(p, position, halvings);
		status = qf_set(&folded, &position, 1);
	}
	qf_free(status == QB_OK ? f : &folded);
	if (status == QB_OK)
		*f = folded;
	return status;
}

/* Word "at" of "words" words once they are halved. */
static uint64_t
halved_word(const uint8_t *bits, uint64_t words, uint64_t at)
{
	uint64_t low = qb_load64(bits + at * 16);
	uint64_t high = at * 2 + 1 < words ? qb_load64(bits + at * 16 + 8) : 0;

	return even_bits(low | low >> 1) | even_bits(high | high >> 1) << 32;
}

/* Word "at" once each two blocks are joined. */
static uint64_t
joined_word(const uint8_t *bits, uint64_t at)
{
	const uint64_t block = QF_BLOCK_BITS / 64;
	const uint8_t *first = bits + (at / block * block * 2 + at % block) * 8;

	return qb_load64(first) | qb_load64(first + block * 8);
}

/* Works in place: a word is written only after all words that it and those before it need. */
static void
halve_dense(qf_filter *f)
{
	uint64_t words = qf_words(&f->params);
	uint64_t i;

	f->params.m /= 2;
	for (i = 0; i < qf_words(&f->params); i++)
		qb_store64(f->bits + i * 8, f->params.layout == QF_BLOCKED
										? joined_word(f->bits, i)
										: halved_word(f->bits, words, i));
}

qb_status
qf_fold(qf_filter *f, uint64_t m)
{
	int halvings = qf_params_halvings(f->params.m, m);
	qf_params p = f->params;

	p.m = m;
	if (halvings < 0 || qf_params_check(&p) != QB_OK)
		return QB_NO_FOLD;
	if (halvings == 0)
		return QB_OK;
	if (f->encoding == QF_EXPLICIT)
		return fold_explicit(f, &p, halvings);
	while (f->params.m > m)
		halve_dense(f);
	f->ones = qf_ones(f->bits, qf_words(&f->params));
	return QB_OK;
}

static qb_status
unite_any(qf_filter *into, const qf_filter *from, qf_unite_words unite)
{
	qb_status status = QB_OK;

	if (from->encoding == QF_EXPLICIT)
		return qf_unite_explicit(into, from);
	if (from->encoding == QF_ENCODING_COMPACT)
		return qf_unite_compact(into, from);
	if (into->encoding == QF_EXPLICIT)
		status = qf_make_dense(into);
	if (status == QB_OK)
		into->ones = unite(into->bits, from->bits, qf_words(&into->params));
	return status;
}

qb_status
qf_merge(qf_filter *into, const qf_filter *from, qf_unite_words unite)
{
	qf_filter counted = *into;
	bool countable = from->rows != QF_ROWS_UNKNOWN;
	qb_status status;

	if (!qf_params_mergeable(&into->params, &from->params))
		return QB_MISMATCH;
	status = qf_count_rows(&counted, countable ? from->rows : 1, countable);
	if (status == QB_OK)
		status = unite_any(into, from, unite);
	if (status != QB_OK)
		return status;
	into->rows = counted.rows;
	qb_keys_take(&into->keys, &from->keys);
	return QB_OK;
}
