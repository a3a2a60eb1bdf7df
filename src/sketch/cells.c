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

/* The widths are constants at each call. */
static void
add_all(uint8_t *into, bool into_wide, const uint8_t *from, bool from_wide, uint64_t count,
		bool negative)
{
	if (into_wide && from_wide)
		add_each(into, true, from, true, count, negative);
	else if (into_wide)
		add_each(into, true, from, false, count, negative);
	else if (from_wide)
		add_each(into, false, from, true, count, negative);
	else
		add_each(into, false, from, false, count, negative);
}

/* Would the subtraction leave counters that are not negative and that fit each other? */
static bool
covers(const uint8_t *into, bool into_wide, const uint8_t *from, bool from_wide, qs_layout layout)
{
	uint64_t i = 0;
	uint64_t b;

	for (b = 0; b < layout.buckets; b++)
	{
		qs_tally rest = { 0, 0 };
		uint32_t lane;

		for (lane = 0; lane < layout.width; lane++, i++)
		{
			uint64_t old = qb_counter_get(into, i, into_wide);
			uint64_t v = qb_counter_get(from, i, from_wide);

			if (old < v)
				return false;
			qs_tally_add(&rest, old - v);
		}
		if (!qs_tally_fits(&rest, layout.owned))
			return false;
	}
	return true;
}

qb_status
qs_table_accumulate(qs_sketch *into, const qs_sketch *from, bool extra, qs_layout layout,
					bool negative)
{
	uint8_t *to = extra ? into->extra : into->table;
	const uint8_t *source = extra ? from->extra : from->table;

	if (negative && !covers(to, into->wide, source, from->wide, layout))
		return QB_UNDERFLOW;
	add_all(to, into->wide, source, from->wide, layout.buckets * layout.width, negative);
	return QB_OK;
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
