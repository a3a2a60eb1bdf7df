/*
 * compact_write.c
 *		The compact encoding: measuring and writing it.
 *
 * A filter is measured each time that it is stored.  One with many set bits stays
 * dense, which their number alone says.  For the others one pass over the bits measures
 * and another one writes.
 *
 * src/filter/compact_write.c
 */
#include "filter/compact.h"

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
