/*
 * unit_writer.h
 *		Writing the body of a compact sketch, unit by unit (compact.h has its layout).
 *
 * The caller knows how many units are present before it writes the first one, since
 * the size of groups depends on that.  Units come in ascending order.
 *
 * src/sketch/unit_writer.h
 */
#ifndef QS_UNIT_WRITER_H
#define QS_UNIT_WRITER_H

#include "sketch/compact.h"

/* How many units are left out before each present one. */
typedef struct qs_gaps
{
	uint32_t shift; /* groups have 2^shift units */
	uint64_t free;  /* the unit after the last present one */
} qs_gaps;

typedef struct qs_unit_writer
{
	qs_gaps gaps;
	uint8_t *ends; /* where each group's data end */
	uint8_t *data;
	uint8_t *next;
	uint64_t group; /* all groups before it have their end */
	uint64_t groups;
} qs_unit_writer;

/* Units that are left out between the last present one, or the start of the group, and "unit". */
QB_INLINE uint64_t
qs_gap_before(qs_gaps *gaps, uint64_t unit)
{
	uint64_t first = unit >> gaps->shift << gaps->shift;
	uint64_t gap = unit - (gaps->free < first ? first : gaps->free);

	gaps->free = unit + 1;
	return gap;
}

QB_INLINE uint8_t *
qs_put_varint(uint8_t *out, uint64_t v)
{
	for (; v > 0x7F; v >>= 7)
		*out++ = (uint8_t) (v | 0x80);
	*out++ = (uint8_t) v;
	return out;
}

/* Start a body in which so many of all units will be present. */
static inline qs_unit_writer
qs_units_start(uint64_t units, uint64_t present, uint8_t *out)
{
	qs_unit_writer w = { .gaps.shift = qs_group_shift(units, present), .ends = out };

	w.groups = qb_group_count(units, w.gaps.shift);
	w.data = w.next = out + 4 * w.groups;
	return w;
}

QB_INLINE void
qs_units_end_groups(qs_unit_writer *w, uint64_t before)
{
	for (; w->group < before; w->group++)
		qb_store32(w->ends + 4 * w->group, (uint32_t) (w->next - w->data));
}

/* Start a unit: its mask and counters follow at "next". */
QB_INLINE void
qs_units_begin(qs_unit_writer *w, uint64_t unit)
{
	qs_units_end_groups(w, unit >> w->gaps.shift);
	w->next = qs_put_varint(w->next, qs_gap_before(&w->gaps, unit));
}

/* All units are there.  Returns the bytes of the body. */
static inline uint64_t
qs_units_end(qs_unit_writer *w)
{
	qs_units_end_groups(w, w->groups);
	return (uint64_t) (w->next - w->ends);
}

#endif
