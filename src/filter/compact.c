/*
 * compact.c
 *		The compact encoding: reading it, adding it to a filter, and its validator.
 *
 * Every byte is read under a check of the data's end, and every position is checked
 * against the end of its group.  So damaged bytes can give wrong bits, but nothing is
 * read or written outside of the value and the bits.
 *
 * src/filter/compact.c
 */
#include "filter/compact.h"

/* So many set bits make a group pay. */
#define ONES_IN_GROUP 32

uint32_t
qf_group_shift(uint64_t m, uint64_t ones)
{
	return qb_group_shift(m, ones, ONES_IN_GROUP, QF_BLOCK_LOG);
}

uint64_t
qf_group_table(const qf_params *p, uint64_t ones)
{
	return 4 * (qb_group_count(p->m, qf_group_shift(p->m, ones)) - 1);
}

bool
qf_compact_plausible(const qf_filter *view, uint64_t bytes)
{
	uint64_t table = qf_group_table(&view->params, view->ones);

	return bytes <= qf_compact_most(&view->params) && table + view->ones <= bytes &&
		   bytes <= table + view->ones * QF_GAP_BYTES;
}

qf_group
qf_group_of(const qf_filter *view, uint64_t number, const uint8_t *data, uint64_t bytes)
{
	uint64_t m = view->params.m;
	uint32_t shift = qf_group_shift(m, view->ones);
	qf_group group = { .next = data, .end = data + bytes, .first = number << shift };

	group.after = (number + 1) << shift;
	if (group.after > m)
		group.after = m;
	return group;
}

/* A compact view, to be read group by group. */
typedef struct groups
{
	const qf_filter *view;
	uint64_t count;
	uint64_t now; /* the group that comes next */
	const uint8_t *data;
	uint64_t bytes; /* of the data */
	uint64_t start; /* of the next group's data */
} groups;

static groups
groups_of(const qf_filter *view)
{
	uint64_t table = qf_group_table(&view->params, view->ones);

	return (groups){ .view = view,
					 .count = table / 4 + 1,
					 .data = view->compact + table,
					 .bytes = view->compact_bytes - table };
}

/* Start the next group; false after the last one.  A group with damaged ends is empty. */
static bool
next_group(groups *g, qf_group *group)
{
	uint64_t end = g->bytes;
	bool damaged;

	if (g->now == g->count)
		return false;
	if (g->now + 1 < g->count)
		end = qb_load32(g->view->compact + 4 * g->now);
	damaged = end < g->start || end > g->bytes || end - g->start > QF_GROUP_BYTES;
	if (damaged)
		end = g->start;
	*group = qf_group_of(g->view, g->now, g->data + g->start, end - g->start);
	group->damaged = damaged;
	g->start = end;
	g->now++;
	return true;
}

/* ---- adding ---- */

/* Set a group's bits in a dense filter.  The group is a copy, which can stay in registers. */
static void
unite_group(qf_filter *into, qf_group group)
{
	uint8_t *bits = into->bits;
	uint64_t ones = 0;
	uint32_t position;

	while (qf_group_next(&group, &position))
		ones += qf_set_bit(bits, position);
	into->ones += ones;
}

static qb_status
unite_group_explicit(qf_filter *into, qf_group *group)
{
	qb_status status = QB_OK;
	uint32_t position;

	while (status == QB_OK && qf_group_next(group, &position))
		status = qf_set(into, &position, 1);
	return status;
}

qb_status
qf_unite_compact(qf_filter *into, const qf_filter *from)
{
	groups g = groups_of(from);
	qb_status status = QB_OK;
	uint64_t steps = 0;
	qf_group group;

	if (into->encoding == QF_EXPLICIT && from->ones > qf_explicit_limit(&into->params))
		status = qf_make_dense(into);
	while (status == QB_OK && next_group(&g, &group))
	{
		qb_pause_after(into->memory, &steps, 1 + (uint64_t) (group.end - group.next));
		if (into->encoding == QF_DENSE)
			unite_group(into, group);
		else
			status = unite_group_explicit(into, &group);
	}
	return status;
}

/* ---- validating ---- */

bool
qf_compact_check(const qf_filter *view)
{
	groups g = groups_of(view);
	uint64_t ones = 0;
	uint64_t steps = 0;
	uint32_t position;
	qf_group group;

	while (next_group(&g, &group))
	{
		qb_pause_after(view->memory, &steps, 1 + (uint64_t) (group.end - group.next));
		while (qf_group_next(&group, &position))
			ones++;
		if (group.damaged)
			return false;
	}
	return ones == view->ones;
}

/*
 * ---- the compact encoding: measuring and writing it ----
 *
 * A filter is measured each time that it is stored.  One with many set bits stays
 * dense, which their number alone says.  For the others one pass over the bits measures
 * and another one writes.
 */

/* Words that are looked at between two looks at what was found. */
#define WORDS_AT_ONCE 512

/* Takes set bits in their order. */
typedef struct encoder
{
	uint8_t *table; /* NULL: only measuring */
	uint8_t *data;
	uint64_t bytes; /* of the data so far */
	uint64_t start; /* of the group's data */
	uint64_t first; /* the first bit of the group that is yet to come */
	uint64_t after; /* the first bit that is not in the group */
	uint64_t count; /* groups */
	uint32_t shift;
	bool crowded; /* a group has too many bytes */
} encoder;

static encoder
encoder_of(const qf_filter *f, uint8_t *out)
{
	encoder e = { .table = out, .shift = qf_group_shift(f->params.m, f->ones) };

	e.count = qb_group_count(f->params.m, e.shift);
	e.after = UINT64_C(1) << e.shift;
	if (out)
		e.data = out + 4 * (e.count - 1);
	return e;
}

/*
 * Go on to the group of a position.  What lies between is empty.  The encoder comes and
 * goes by value, so that the callers' loops can keep theirs in registers.
 */
static encoder
end_groups(encoder e, uint64_t position)
{
	e.crowded |= e.bytes - e.start > QF_GROUP_BYTES;
	e.start = e.bytes;
	for (; e.after <= position; e.after += UINT64_C(1) << e.shift)
		if (e.table)
			qb_store32(e.table + 4 * ((e.after - 1) >> e.shift), (uint32_t) e.bytes);
	e.first = e.after - (UINT64_C(1) << e.shift);
	return e;
}

QB_INLINE void
put(encoder *e, uint64_t position, bool writing)
{
	uint64_t gap;

	if (position >= e->after)
		*e = end_groups(*e, position);
	gap = position - e->first;
	e->first = position + 1;
	if (!writing)
	{
		e->bytes += 1u + (gap >> 7 != 0) + (gap >> 14 != 0) + (gap >> 21 != 0) + (gap >> 28 != 0);
		return;
	}
	for (; gap > 0x7F; gap >>= 7)
		e->data[e->bytes++] = (uint8_t) (gap | 0x80);
	e->data[e->bytes++] = (uint8_t) gap;
}

/*
 * Take a word that has set bits, from bit "at" on.  It lies in one group, so only the gap
 * before its first set bit can take more than one byte.
 */
QB_INLINE void
put_word(encoder *e, uint64_t at, uint64_t w, bool writing)
{
	put(e, at + (uint64_t) __builtin_ctzll(w), writing);
	if (!writing)
	{
		e->bytes += qf_ones_of(w) - 1;
		e->first = at + 64 - (uint64_t) __builtin_clzll(w);
		return;
	}
	for (w &= w - 1; w != 0; w &= w - 1)
	{
		uint64_t position = at + (uint64_t) __builtin_ctzll(w);

		e->data[e->bytes++] = (uint8_t) (position - e->first);
		e->first = position + 1;
	}
}

QB_INLINE void
put_words(encoder *all, const uint8_t *bits, uint64_t first, uint64_t end, bool writing)
{
	encoder e = *all;
	uint64_t i;

	for (i = first; i < end; i++)
	{
		uint64_t w = qb_load64(bits + i * 8);

		if (w != 0)
			put_word(&e, i * 64, w, writing);
	}
	*all = e;
}

static void
encode_dense(const qf_filter *f, encoder *e)
{
	uint64_t words = qf_words(&f->params);
	uint64_t steps = 0;
	uint64_t i, end;

	for (i = 0; i < words && !e->crowded; i = end)
	{
		end = words - i < WORDS_AT_ONCE ? words : i + WORDS_AT_ONCE;
		if (e->table)
			put_words(e, f->bits, i, end, true);
		else
			put_words(e, f->bits, i, end, false);
		qb_pause_after(f->memory, &steps, WORDS_AT_ONCE * 8);
	}
}

static void
encode_explicit(const qf_filter *f, encoder *e)
{
	uint32_t position[QF_EXPLICIT_MAX];
	uint64_t i;

	qf_explicit_sorted(f, position);
	for (i = 0; i < f->ones; i++)
		put(e, position[i], e->table != NULL);
}

/* The end of a filter's last group is not written: it is the body's. */
static void
encode(const qf_filter *f, encoder *e)
{
	if (f->encoding == QF_EXPLICIT)
		encode_explicit(f, e);
	else
		encode_dense(f, e);
	*e = end_groups(*e, f->params.m - 1);
}

bool
qf_compact_fits(const qf_filter *f, uint64_t *bytes)
{
	uint64_t most = qf_compact_most(&f->params);
	uint64_t table = qf_group_table(&f->params, f->ones);
	encoder e = encoder_of(f, NULL);

	if (table + f->ones > most)
		return false;
	encode(f, &e);
	*bytes = table + e.bytes;
	return !e.crowded && *bytes <= most;
}

void
qf_compact_write(const qf_filter *f, uint8_t *out)
{
	encoder e = encoder_of(f, out);

	encode(f, &e);
}
