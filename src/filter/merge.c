/*
 * merge.c
 *		Copies, merges, halves and queries filters in any encoding.
 *
 * Halving ORs bits 2i and 2i + 1 into bit i.  In a blocked filter, it ORs blocks 2i and 2i + 1 into
 * block i.  When m is halved, a key's positions move with their bits (params.h).  So halving before
 * merging gives the same filter as halving after merging.
 *
 * src/filter/merge.c
 */
#include "filter/format.h"

/* Return the even bits of a word, compressed into its lower half. */
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

/* Return the position after "halvings" halvings. */
static uint32_t
folded_position(const qf_params *p, uint32_t position, int halvings)
{
	if (p->layout != QF_BLOCKED)
		return position >> halvings;
	return position / QF_BLOCK_BITS >> halvings << QF_BLOCK_LOG | position % QF_BLOCK_BITS;
}

/* Fold an explicit filter into a new table. */
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

/* Return word "at" of the halved bits; "words" is the number of words before halving. */
static uint64_t
halved_word(const uint8_t *bits, uint64_t words, uint64_t at)
{
	uint64_t low = qb_load64(bits + at * 16);
	uint64_t high = at * 2 + 1 < words ? qb_load64(bits + at * 16 + 8) : 0;

	return even_bits(low | low >> 1) | even_bits(high | high >> 1) << 32;
}

/* Return word "at" after blocks were joined in pairs. */
static uint64_t
joined_word(const uint8_t *bits, uint64_t at)
{
	const uint64_t block = QF_BLOCK_BITS / 64;
	const uint8_t *first = bits + (at / block * block * 2 + at % block) * 8;

	return qb_load64(first) | qb_load64(first + block * 8);
}

/*
 * Halve a dense filter in place.  Word i is computed from words i and later, so no word is
 * overwritten before it is read.
 */
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
unite_any(qf_filter *into, const qf_filter *from, const qf_kernels *kernels)
{
	qb_status status = QB_OK;

	if (from->encoding == QF_EXPLICIT)
		return qf_unite_explicit(into, from);
	if (from->encoding == QF_ENCODING_COMPACT)
		return qf_unite_compact(into, from);
	if (into->encoding == QF_EXPLICIT)
		status = qf_make_dense(into);
	if (status == QB_OK)
		into->ones = kernels->unite(into->bits, from->bits, qf_words(&into->params));
	return status;
}

bool
qf_mergeable(const qf_filter *a, const qf_filter *b)
{
	return qf_params_mergeable(&a->params, &b->params) && qb_keys_match(&a->keys, &b->keys);
}

qb_status
qf_merge_rows(qf_filter *into, const qf_filter *from)
{
	bool countable = from->rows != QF_ROWS_UNKNOWN;
	qb_status status;

	if (!qf_mergeable(into, from))
		return QB_MISMATCH;
	status = qf_count_rows(into, countable ? from->rows : 1, countable);
	if (status == QB_OK)
		qb_keys_take(&into->keys, &from->keys);
	return status;
}

qb_status
qf_merge(qf_filter *into, const qf_filter *from, const qf_kernels *kernels)
{
	qf_filter merged = *into;
	qb_status status = qf_merge_rows(&merged, from);

	if (status == QB_OK)
		status = unite_any(into, from, kernels);
	if (status != QB_OK)
		return status;
	into->rows = merged.rows;
	into->keys = merged.keys;
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
		status = qf_make_dense(to);
		if (status == QB_OK)
			memcpy(to->bits, from->bits, qf_words(&to->params) * 8);
		to->ones = from->ones;
	}
	if (status != QB_OK)
		qf_free(to);
	return status;
}

/* ---- testing the bits of one key ---- */

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

/* ---- looking up many keys in an explicit filter ---- */

/*
 * Lookups read a map of the bits before the list of positions.  The bits are cut into ranges of
 * equal length, and the map says which ranges have a set bit.  At most one range in 16 has a set
 * bit, so nearly all lookups of zero bits end at the map, without a search in the list.
 */
#define MAP_LOG 18

typedef struct map
{
	int shift; /* position >> shift is the number of a range */
	uint8_t occupied[(1 << MAP_LOG) / 8];
} map;

/* From this number of probes on, making a map and using it is faster than lookups without a map. */
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
		qf_set_bit(m->occupied, position >> m->shift);
}

/* Return how many positions of one key are set. */
static uint32_t
count_mapped(const qf_filter *f, const map *m, uint64_t fingerprint, const qf_kernels *kernels)
{
	uint64_t h = qf_hash(fingerprint, f->seed_key);
	uint64_t input[QF_CHUNK];
	uint32_t position[QF_CHUNK];
	uint32_t set = 0;
	uint32_t first, count, j;

	for (first = 0; first < f->params.k; first += count)
	{
		count = f->params.k - first < QF_CHUNK ? f->params.k - first : QF_CHUNK;
		for (j = 0; j < count; j++)
			input[j] = qf_position_input(h, first + j);
		kernels->positions(input, count, f->params.m, position);
		for (j = 0; j < count; j++)
			if (qf_bit(m->occupied, position[j] >> m->shift))
				set += qf_explicit_has(f, position[j]);
	}
	return set;
}

void
qf_explicit_query(const qf_filter *f, const uint64_t *fingerprint, size_t count, uint32_t *set,
				  const qf_kernels *kernels)
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
		set[i] = pays ? count_mapped(f, &m, fingerprint[i], kernels) : qf_count(f, fingerprint[i]);
}
