/*
 * lookup.c
 *		Which bits of keys are set: of one key in any filter, and of many keys in an
 *		explicit one.
 *
 * src/filter/lookup.c
 */
#include "filter/pieces.h"

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
 * A map of the bits: for each equal part of them, whether it has a set bit.  At most
 * QF_EXPLICIT_MAX parts have one, so nearly all lookups end at the map and need no
 * search in the list.
 */
#define MAP_LOG 18

typedef struct map
{
	int shift; /* from a position to its part */
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
