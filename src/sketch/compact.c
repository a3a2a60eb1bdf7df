/*
 * compact.c
 *		The compact form: reading it, adding it to tables, and its validator.
 *
 * Every byte is read under a check of the data's end, so damaged bytes can give wrong
 * counters but are never read beyond their end.
 *
 * src/sketch/compact.c
 */
#include "sketch/cells.h"
#include "sketch/compact.h"
#include "sketch/multilevel_buckets.h"
#include "sketch/sf.h"

/* A group has at least 2^this units. */
#define SHIFT_MIN 4

/* So many present units make a group pay. */
#define PRESENT_IN_GROUP 16

qs_unit_layout
qs_units_of(const qs_params *p)
{
	if (qs_has_high(p->structure))
		return (qs_unit_layout){ .units = p->n, .width = QS_LOW_COUNTERS, .mask_bytes = 4 };
	if (qs_has_rows(p->structure))
		return (qs_unit_layout){ .units = p->n * p->depth, .width = 1 };
	if (qs_has_extra(p))
		return (qs_unit_layout){ .units = p->n * QS_SF_WIDTH * p->z, .width = 1 };
	return (qs_unit_layout){ .units = p->n,
							 .width = qs_bucket_width(p->structure),
							 .mask_bytes = qs_bucket_width(p->structure) / 8 };
}

uint32_t
qs_group_shift(uint64_t units, uint64_t present)
{
	return qb_group_shift(units, present, PRESENT_IN_GROUP, SHIFT_MIN);
}

bool
qs_compact_has_groups(const qs_sketch *view)
{
	uint64_t units = qs_units_of(&view->params).units;

	return 4 * qb_group_count(units, qs_group_shift(units, view->used)) <= view->compact_bytes;
}

/* ---- reading ---- */

/* The next byte.  "checked" is false if a whole unit is known to be there. */
QB_INLINE uint8_t
next_byte(qs_unit_reader *r, bool checked)
{
	if (!checked || r->next < r->end)
		return *r->next++;
	r->damaged = true;
	return 0;
}

/* What follows the first byte of a longer varint, which has 10 bytes at most. */
static uint64_t
next_rest(qs_unit_reader *r, uint64_t v, bool checked)
{
	uint8_t byte = 0x80;
	uint32_t shift;

	v &= 0x7F;
	for (shift = 7; byte > 0x7F && shift < 64; shift += 7)
	{
		byte = next_byte(r, checked);
		v |= (uint64_t) (byte & 0x7F) << shift;
		if (byte == 0 || (shift == 63 && byte > 1))
			r->damaged = true;
	}
	return v;
}

QB_INLINE uint64_t
next_varint(qs_unit_reader *r, bool checked)
{
	uint8_t byte = next_byte(r, checked);

	return byte > 0x7F ? next_rest(r, byte, checked) : byte;
}

/* The mask of a unit; one counter has none, since it is not zero. */
QB_INLINE uint32_t
next_mask(qs_unit_reader *r, bool checked)
{
	uint32_t mask = 0;
	uint32_t i;

	if (r->mask_bytes == 0)
		return 1;
	if (!checked)
	{
		mask = qb_load32(r->next) & UINT32_MAX >> (32 - 8 * r->mask_bytes);
		r->next += r->mask_bytes;
	}
	else
		for (i = 0; i < r->mask_bytes; i++)
			mask |= (uint32_t) next_byte(r, true) << (8 * i);
	if (mask == 0 || (uint64_t) mask >> r->width != 0)
		r->damaged = true;
	return mask;
}

/* Bits of a mask.  Without its instruction the compiler's own function is slower. */
QB_INLINE uint32_t
bits_of(uint32_t mask)
{
	mask -= mask >> 1 & 0x55555555;
	mask = (mask & 0x33333333) + (mask >> 2 & 0x33333333);
	return ((mask + (mask >> 4)) & 0x0F0F0F0F) * 0x01010101 >> 24;
}

/*
 * Read up to eight counters that all have one byte, as most do.  Returns how many, 0 if
 * not all have.  Eight bytes are there.
 */
QB_INLINE uint32_t
next_bytes(qs_unit_reader *r, uint64_t *value, uint32_t most)
{
	uint32_t count = most < 8 ? most : 8;
	uint64_t used = UINT64_MAX >> (64 - 8 * count);
	uint64_t word = qb_load64(r->next) & used;
	uint64_t tops = UINT64_C(0x8080808080808080) & used;
	uint32_t i;

	if ((word & tops) != 0)
		return 0;
	for (i = 0; i < 8; i++)
		value[i] = word >> (8 * i) & 0xFF;
	if (((word + (used & UINT64_C(0x7F7F7F7F7F7F7F7F))) & tops) != tops)
		r->damaged = true; /* one of them is zero */
	r->next += count;
	return count;
}

/* Read the counters of a unit. */
QB_INLINE void
next_counters(qs_unit_reader *r, qs_unit *unit, bool checked)
{
	uint32_t i = 0;

	while (i < unit->count)
	{
		uint32_t some = checked ? 0 : next_bytes(r, unit->value + i, unit->count - i);

		if (some == 0)
		{
			unit->value[i] = next_varint(r, checked);
			r->damaged |= unit->value[i] == 0;
			some = 1;
		}
		i += some;
	}
}

QB_INLINE bool
next_unit(qs_unit_reader *r, qs_unit *unit, bool checked)
{
	uint64_t gap = next_varint(r, checked);

	unit->mask = next_mask(r, checked);
	if (gap >= r->after - r->index)
		r->damaged = true;
	if (r->damaged)
		return false;
	unit->index = r->index + gap;
	r->index = unit->index + 1;
	unit->count = bits_of(unit->mask);
	next_counters(r, unit, checked);
	return !r->damaged;
}

bool
qs_unit_next(qs_unit_reader *r, qs_unit *unit)
{
	if (r->next == r->end || r->damaged)
		return false;
	return r->end - r->next >= QS_UNIT_BYTES ? next_unit(r, unit, false) : next_unit(r, unit, true);
}

/* A compact view, to be read group by group. */
typedef struct groups
{
	qs_unit_layout layout;
	uint32_t shift;
	uint64_t count;
	uint64_t now;        /* the group that comes next */
	const uint8_t *ends; /* where each group's data end */
	const uint8_t *data;
	uint64_t bytes; /* of the data */
	uint64_t start; /* of the next group's data */
	uint64_t steps; /* since the last pause */
} groups;

static groups
groups_of(const qs_sketch *view)
{
	groups g = { .layout = qs_units_of(&view->params) };

	g.shift = qs_group_shift(g.layout.units, view->used);
	g.count = qb_group_count(g.layout.units, g.shift);
	g.ends = view->compact;
	g.data = view->compact + 4 * g.count;
	g.bytes = view->compact_bytes - 4 * g.count;
	return g;
}

/* Start the next group; false after the last one.  Damaged ends are cut to what is there. */
static bool
next_group(groups *g, qs_unit_reader *r)
{
	uint64_t end;

	if (g->now == g->count)
		return false;
	end = qb_load32(g->ends + 4 * g->now);
	memset(r, 0, sizeof(*r));
	r->width = g->layout.width;
	r->mask_bytes = g->layout.mask_bytes;
	r->damaged = end < g->start || end > g->bytes;
	if (r->damaged)
		end = g->start;
	r->next = g->data + g->start;
	r->end = g->data + end;
	r->index = g->now << g->shift;
	r->after = (g->now + 1) << g->shift;
	if (r->after > g->layout.units)
		r->after = g->layout.units;
	g->start = end;
	g->now++;
	return true;
}

/* ---- adding ---- */

/* Each key has d values in one bucket; what passes 255 goes to the high bucket. */
static qb_status
add_bucket(qs_sketch *into, uint64_t bucket, const qs_unit *unit)
{
	uint8_t *low = qs_low_bucket(into, bucket);
	uint32_t mask = unit->mask;
	uint32_t i;

	if (into->extra_used == into->extra_room && into->ops->reserve(into, 1) != QB_OK)
		return QB_NO_MEMORY;
	for (i = 0; i < unit->count; mask &= mask - 1, i++)
	{
		uint32_t c = (uint32_t) __builtin_ctz(mask);
		uint64_t sum = low[c] + unit->value[i];

		low[c] = (uint8_t) sum;
		if (sum > 255)
		{
			uint8_t *high = qs_high_for_update(into, low);

			qb_counter_set(high, c, into->wide, qb_counter_get(high, c, into->wide) + (sum >> 8));
		}
	}
	return QB_OK;
}

QB_INLINE void
add_counter(uint8_t *table, bool wide, uint64_t i, uint64_t value)
{
	qb_counter_set(table, i, wide, qb_counter_get(table, i, wide) + value);
}

/* A fat cell grew, and its slim counter is the maximum of its cells. */
static void
raise_slim(qs_sketch *sk, uint64_t cell)
{
	uint64_t v = qb_counter_get(sk->extra, cell, sk->wide);
	uint64_t slim = cell / sk->params.z;

	if (sk->table && v > qb_counter_get(sk->table, slim, sk->wide))
		qb_counter_set(sk->table, slim, sk->wide, v);
}

/* Add a unit of so many counters. */
QB_INLINE qb_status
add_unit(qs_sketch *into, uint32_t width, uint64_t index, const qs_unit *unit)
{
	uint32_t mask = unit->mask;
	uint32_t i;

	if (width == QS_LOW_COUNTERS)
		return add_bucket(into, index, unit);
	if (qs_has_extra(&into->params))
	{
		add_counter(into->extra, into->wide, index, unit->value[0]);
		raise_slim(into, index);
		return QB_OK;
	}
	if (unit->count == width && !into->wide)
		for (i = 0; i < width; i++)
			add_counter(into->table, false, index * width + i, unit->value[i]);
	else
		for (i = 0; i < unit->count; mask &= mask - 1, i++)
			add_counter(into->table, into->wide, index * width + (uint32_t) __builtin_ctz(mask),
						unit->value[i]);
	return QB_OK;
}

qb_status
qs_unit_add(qs_sketch *into, uint64_t index, const qs_unit *unit)
{
	return add_unit(into, qs_units_of(&into->params).width, index, unit);
}

/* Units that belong to one bucket, or to a row of thread. */
static uint64_t
units_together(const qs_params *p)
{
	if (qs_has_rows(p->structure))
		return p->n;
	return qs_has_extra(p) ? (uint64_t) QS_SF_WIDTH * p->z : 1;
}

/* Where a unit goes in a sketch that has one bucket for each "more" buckets of this one. */
static uint64_t
folded_index(const qs_params *p, uint64_t index, uint64_t more)
{
	uint64_t together = units_together(p);

	if (qs_has_rows(p->structure))
		return index / together * (together / more) + index % together / more;
	return index / together / more * together + index % together;
}

qb_status
qs_compact_add(qs_sketch *into, const qs_sketch *from)
{
	uint64_t more = from->params.n / into->params.n;
	groups g = groups_of(from);
	qs_unit_reader r;
	qs_unit unit;
	qb_status status = QB_OK;

	while (status == QB_OK && next_group(&g, &r))
	{
		qb_pause_after(into->memory, &g.steps, 1 + (uint64_t) (r.end - r.next));
		while (status == QB_OK && qs_unit_next(&r, &unit))
			status = add_unit(
				into, g.layout.width,
				more == 1 ? unit.index : folded_index(&from->params, unit.index, more), &unit);
	}
	return status;
}

/* ---- validating ---- */

/* What the units were found to be, as far as they were read. */
typedef struct findings
{
	const qs_sketch *view;
	uint64_t present;
	uint64_t together; /* units_together() */
	uint64_t bucket;   /* of the units that "tally" has */
	uint32_t owned;    /* counters of a bucket that each of its keys owns */
	qs_tally tally;
	unsigned __int128 sum;
	unsigned __int128 least; /* device part: the least and the most that N can be */
	unsigned __int128 most;
	uint64_t rows; /* thread: rows with the right sum */
	uint64_t high; /* multilevel: buckets that have a high bucket in dense form */
} findings;

/* A division of 128 bits takes as long as reading a unit, and nearly all sums have fewer. */
QB_INLINE bool
is_multiple(unsigned __int128 sum, uint32_t of)
{
	return sum >> 64 == 0 ? (uint64_t) sum % of == 0 : sum % of == 0;
}

/* All units of a bucket of a device part were read: what its keys' weights can be. */
static void
device_bucket_ends(findings *f)
{
	unsigned __int128 shared = (f->tally.sum + f->owned - 1) / f->owned;

	f->least += shared > f->tally.most ? shared : f->tally.most;
	f->most += f->tally.sum * f->view->params.z / f->owned;
}

/* All units of a bucket were read.  Do its counters fit each other? */
static bool
bucket_ends(findings *f)
{
	const qs_params *p = &f->view->params;

	f->sum += f->tally.sum;
	f->high += f->tally.most > 255;
	f->rows += qs_has_rows(p->structure) && f->tally.sum == (uint64_t) f->view->total;
	if (p->part == QS_PART_DEVICE)
	{
		device_bucket_ends(f);
		return true;
	}
	return is_multiple(f->tally.sum, f->owned) && qs_tally_fits(&f->tally, f->owned);
}

static bool
take_unit(findings *f, const qs_unit *unit)
{
	uint64_t bucket = f->together == 1 ? unit->index : unit->index / f->together;
	uint32_t i;

	if (bucket != f->bucket)
	{
		if (!bucket_ends(f))
			return false;
		f->tally = (qs_tally){ 0, 0 };
		f->bucket = bucket;
	}
	for (i = 0; i < unit->count; i++)
	{
		if (unit->value[i] > (uint64_t) f->view->total)
			return false;
		qs_tally_add(&f->tally, unit->value[i]);
	}
	f->present++;
	return true;
}

/* All units were read.  Do they fit the total, and is this the form to write them in? */
static bool
units_fit(const findings *f)
{
	const qs_sketch *view = f->view;
	const qs_params *p = &view->params;
	uint64_t dense = view->ops->table_bytes(p, view->wide);

	dense += view->ops->extra_bytes(p, view->wide) * (view->ops->live_extra ? f->high : 1);
	if (view->compact_bytes > qs_compact_most(dense) || f->present != view->used)
		return false;
	if (p->part == QS_PART_DEVICE)
		return f->least <= (uint64_t) view->total && f->most >= (uint64_t) view->total;
	if (qs_has_rows(p->structure))
		return view->total == 0 ? f->present == 0 : f->rows == p->depth;
	return f->sum == (unsigned __int128) (uint64_t) view->total * p->depth;
}

bool
qs_compact_check(const qs_sketch *view)
{
	findings f = { .view = view };
	groups g = groups_of(view);
	qs_unit_reader r;
	qs_unit unit;

	f.together = units_together(&view->params);
	f.owned = qs_has_rows(view->params.structure) ? 1 : view->params.depth;
	while (next_group(&g, &r))
	{
		qb_pause_after(view->memory, &g.steps, 1 + (uint64_t) (r.end - r.next));
		while (qs_unit_next(&r, &unit))
			if (!take_unit(&f, &unit))
				return false;
		if (r.damaged)
			return false;
	}
	return g.start == g.bytes && bucket_ends(&f) && units_fit(&f);
}
