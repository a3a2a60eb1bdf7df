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

/* Word "at" of the bits after "halvings" halvings; "words" words were there before. */
static uint64_t
halved_word(const uint8_t *bits, uint64_t words, uint64_t at, int halvings)
{
	uint64_t low, high;

	if (halvings == 0)
		return at < words ? qb_load64(bits + at * 8) : 0;
	low = halved_word(bits, words, at * 2, halvings - 1);
	high = halved_word(bits, words, at * 2 + 1, halvings - 1);
	return even_bits(low | low >> 1) | even_bits(high | high >> 1) << 32;
}

/* Word "at" after "halvings" halvings that join blocks. */
static uint64_t
joined_word(const uint8_t *bits, uint64_t at, int halvings)
{
	const uint64_t block_words = QF_BLOCK_BITS / 64;
	uint64_t first = (at / block_words << halvings) * block_words + at % block_words;
	uint64_t joined = 0;
	uint64_t i;

	for (i = 0; i < UINT64_C(1) << halvings; i++)
		joined |= qb_load64(bits + (first + i * block_words) * 8);
	return joined;
}

static uint64_t
folded_word(const qf_filter *f, uint64_t at, int halvings)
{
	return f->params.layout == QF_BLOCKED
			   ? joined_word(f->bits, at, halvings)
			   : halved_word(f->bits, qf_words(&f->params), at, halvings);
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

/* Writes the halved positions into a new table. */
static qb_status
fold_explicit(qf_filter *f, const qf_params *p, int halvings)
{
	qf_filter folded;
	qb_status status;

	qf_init(&folded, p, f->memory);
	folded.keys = f->keys;
	folded.rows = f->rows;
	status = qf_unite_explicit(&folded, f, halvings);
	qf_free(status == QB_OK ? f : &folded);
	if (status == QB_OK)
		*f = folded;
	return status;
}

/*
 * Works in place: a word is written only after all words from which it and the words
 * before it are made were read.
 */
static void
fold_dense(qf_filter *f, const qf_params *p, int halvings)
{
	uint64_t i;

	for (i = 0; i < qf_words(p); i++)
		qb_store64(f->bits + i * 8, folded_word(f, i, halvings));
	f->params = *p;
	f->ones = qf_ones(f->bits, qf_words(p));
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
	if (f->form == QF_EXPLICIT)
		return fold_explicit(f, &p, halvings);
	fold_dense(f, &p, halvings);
	return QB_OK;
}

/* Takes the bits of another filter in dense form. */
static qb_status
unite_dense(qf_filter *into, const qf_filter *from, int halvings, qf_unite_words unite)
{
	uint64_t i;
	qb_status status = into->form == QF_DENSE ? QB_OK : qf_make_dense(into);

	if (status != QB_OK)
		return status;
	if (halvings == 0)
		into->ones = unite(into->bits, from->bits, qf_words(&into->params));
	else
	{
		for (i = 0; i < qf_words(&into->params); i++)
		{
			uint64_t w = folded_word(from, i, halvings);

			qb_store64(into->bits + i * 8, qb_load64(into->bits + i * 8) | w);
		}
		into->ones = qf_ones(into->bits, qf_words(&into->params));
	}
	return QB_OK;
}

static qb_status
unite_any(qf_filter *into, const qf_filter *from, qf_unite_words unite)
{
	int halvings = qf_params_halvings(from->params.m, into->params.m);

	if (from->form == QF_EXPLICIT)
		return qf_unite_explicit(into, from, halvings);
	if (from->form == QF_FORM_COMPACT)
		return qf_unite_compact(into, from, halvings);
	return unite_dense(into, from, halvings, unite);
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
	if (status == QB_OK && into->params.m > from->params.m)
		status = qf_fold(into, from->params.m);
	if (status == QB_OK)
		status = unite_any(into, from, unite);
	if (status != QB_OK)
		return status;
	into->rows = counted.rows;
	qb_keys_adopt(&into->keys, &from->keys);
	return QB_OK;
}
