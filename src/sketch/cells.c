/*
 * cells.c
 *		Arithmetic on whole tables of counters.
 *
 * src/sketch/cells.c
 */
#include "sketch/cells.h"

uint64_t
qs_no_extra_bytes(const qs_params *p, bool wide)
{
	(void) p;
	(void) wide;
	return 0;
}

/* Counter by counter.  The widths are constants at each call, so the loop vectorizes. */
QB_INLINE void
add_each(uint8_t *into, bool into_wide, const uint8_t *from, bool from_wide, uint64_t count,
		 bool negative)
{
	uint64_t i;

	for (i = 0; i < count; i++)
	{
		uint64_t v = qb_counter_get(from, i, from_wide);
		uint64_t old = qb_counter_get(into, i, into_wide);

		qb_counter_set(into, i, into_wide, negative ? old - v : old + v);
	}
}

/* Adds tables of one layout, which is the usual case of merging. */
static void
add_same(uint8_t *into, bool into_wide, const uint8_t *from, bool from_wide, uint64_t count,
		 bool negative)
{
	if (from_wide)
		add_each(into, true, from, true, count, negative);
	else if (into_wide)
		add_each(into, true, from, false, count, negative);
	else
		add_each(into, false, from, false, count, negative);
}

/* Sum of the counters of "from" that fold into counter (row, bucket, lane). */
QB_INLINE uint64_t
folded(const uint8_t *from, bool wide, uint64_t bucket, uint64_t more, uint32_t width,
	   uint32_t lane)
{
	uint64_t sum = 0;
	uint64_t k;

	for (k = 0; k < more; k++)
		sum += qb_counter_get(from, (bucket * more + k) * width + lane, wide);
	return sum;
}

void
qs_table_add(uint8_t *into, bool into_wide, uint64_t into_n, const uint8_t *from, bool from_wide,
			 uint64_t more, qs_layout layout, bool negative)
{
	uint64_t buckets = layout.rows * into_n;
	uint64_t b;

	if (more == 1 && into_wide >= from_wide)
	{
		add_same(into, into_wide, from, from_wide, buckets * layout.width, negative);
		return;
	}
	/* A row of "from" is "more" times as long, so rows stay aligned. */
	for (b = 0; b < buckets; b++)
	{
		uint32_t lane;

		for (lane = 0; lane < layout.width; lane++)
		{
			uint64_t i = b * layout.width + lane;
			uint64_t v = folded(from, from_wide, b, more, layout.width, lane);
			uint64_t old = qb_counter_get(into, i, into_wide);

			qb_counter_set(into, i, into_wide, negative ? old - v : old + v);
		}
	}
}

bool
qs_table_covers(const uint8_t *into, bool into_wide, uint64_t into_n, const uint8_t *from,
				bool from_wide, uint64_t more, qs_layout layout)
{
	uint64_t buckets = layout.rows * into_n;
	uint64_t b;

	for (b = 0; b < buckets; b++)
	{
		qs_tally rest = { 0, 0 };
		uint32_t lane;

		for (lane = 0; lane < layout.width; lane++)
		{
			uint64_t old = qb_counter_get(into, b * layout.width + lane, into_wide);
			uint64_t v = folded(from, from_wide, b, more, layout.width, lane);

			if (old < v)
				return false;
			qs_tally_add(&rest, old - v);
		}
		if (!qs_tally_fits(&rest, layout.owned))
			return false;
	}
	return true;
}

void
qs_table_convert(uint8_t *to, bool to_wide, const uint8_t *from, bool from_wide, uint64_t count)
{
	uint64_t i;

	if (to_wide == from_wide)
		memcpy(to, from, count * (to_wide ? 8 : 4));
	else
		for (i = 0; i < count; i++)
			qb_counter_set(to, i, to_wide, qb_counter_get(from, i, from_wide));
}

bool
qs_table_check(const uint8_t *table, bool wide, uint64_t n, uint32_t width, uint32_t depth,
			   int64_t total)
{
	unsigned __int128 rest = (unsigned __int128) (uint64_t) total * depth;
	uint64_t b;

	for (b = 0; b < n; b++)
	{
		qs_tally tally = { 0, 0 };
		uint32_t lane;

		for (lane = 0; lane < width; lane++)
			qs_tally_add(&tally, qb_counter_get(table, b * width + lane, wide));
		if (tally.sum > rest || tally.sum % depth != 0 || !qs_tally_fits(&tally, depth))
			return false;
		rest -= tally.sum;
	}
	return rest == 0;
}
