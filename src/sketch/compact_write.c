/*
 * compact_write.c
 *		The compact form: measuring and writing it.
 *
 * A sketch is measured each time that it is stored, also if it then stays dense.  So the
 * first pass over the tables only counts.  Where most units hold something it counts them
 * all, in loops that vectorize, and ends as soon as the counters take too many bytes.
 * Where few do it finds these first.  The second pass measures the gaps between units,
 * if the groups are so large that a gap can take two bytes, and the third one writes.
 *
 * src/sketch/compact_write.c
 */
#include "sketch/compact.h"
#include "sketch/multilevel_buckets.h"
#include "sketch/unit_writer.h"

/* Units that are looked at together: a bit of a word for each. */
#define BLOCK 64

/* A block is of few present units if the one before it had at most this many. */
#define FEW 16

/* In groups of at most 2^this units every gap takes one byte, as it does where no block is empty. */
#define SHORT_GAPS 7

#define EVERY_BYTE(x) (UINT64_C(0x0101010101010101) * (x))

/* The table that has the units' counters, if they are plain counters. */
static const uint8_t *
counters_of(const qs_sketch *sk)
{
	return qs_has_extra(&sk->params) ? sk->extra : sk->table;
}

static uint32_t
varint_bytes(uint64_t v)
{
	return v == 0 ? 1 : (63 - (uint32_t) __builtin_clzll(v)) / 7 + 1;
}

/* The bytes of a counter; zero takes none.  Counters of 4 bytes take no branch. */
QB_INLINE uint32_t
counter_bytes(uint64_t v, bool wide)
{
	uint32_t bytes = (v != 0) + (v >> 7 != 0) + (v >> 14 != 0) + (v >> 21 != 0) + (v >> 28 != 0);
	uint64_t rest;

	if (wide)
		for (rest = v >> 35; rest != 0; rest >>= 7)
			bytes++;
	return bytes;
}

/* ---- which units are present ---- */

/* Words of the counters in a low bucket. */
#define LOW_WORDS 4

/* The counters from 8 * i on, and zeros in place of the high index. */
QB_INLINE uint64_t
low_word(const uint8_t *low, uint32_t i)
{
	uint64_t word = qb_load64(low + 8 * i);

	return i == LOW_WORDS - 1 ? word & UINT32_MAX : word;
}

static uint32_t
high_bytes(const qs_sketch *sk, const uint8_t *low, const uint8_t *high)
{
	uint32_t bytes = 0;
	uint32_t c;

	for (c = 0; c < QS_LOW_COUNTERS; c++)
		bytes += counter_bytes(qs_multilevel_get(low, high, sk->wide, c), true);
	return bytes;
}

/* A bit for each unit of so many bytes of which one is not zero; bytes: 4, or a multiple of 8. */
QB_INLINE uint64_t
nonzero_units(const uint8_t *table, uint32_t bytes, uint64_t count)
{
	uint64_t bits = 0;
	uint64_t i;
	uint32_t c;

	for (i = 0; i < count; i++, table += bytes)
	{
		uint64_t all = bytes == 4 ? qb_load32(table) : 0;

		for (c = 0; c + 8 <= bytes; c += 8)
			all |= qb_load64(table + c);
		bits |= (uint64_t) (all != 0) << i;
	}
	return bits;
}

/*
 * A bit for each bucket that holds something.  The high index does not count: in damaged
 * bytes it may name no high bucket, and a high bucket may hold nothing any more.
 */
static uint64_t
present_buckets(const qs_sketch *sk, uint64_t first, uint64_t count)
{
	const uint8_t *low = qs_low_bucket(sk, first);
	uint64_t bits = 0;
	uint64_t i;

	for (i = 0; i < count; i++, low += QS_LOW_BYTES)
	{
		uint64_t all = low_word(low, 0) | low_word(low, 1) | low_word(low, 2) | low_word(low, 3);

		bits |= (uint64_t) (all != 0) << i;
	}
	low = qs_low_bucket(sk, first);
	for (i = 0; sk->extra_used > 0 && i < count; i++, low += QS_LOW_BYTES)
	{
		const uint8_t *high = qs_high_of(sk, low);

		if (high && high_bytes(sk, low, high) > 0)
			bits |= UINT64_C(1) << i;
	}
	return bits;
}

/* A bit for each unit of a block that is present.  Constants make a loop of its own each. */
static uint64_t
present_in(const qs_sketch *sk, uint32_t width, uint64_t first, uint64_t count)
{
	uint32_t bytes = width * (sk->wide ? 8 : 4);
	const uint8_t *table = counters_of(sk) + first * bytes;

	if (qs_has_high(sk->params.structure))
		return present_buckets(sk, first, count);
	if (bytes == 4)
		return nonzero_units(table, 4, count);
	if (bytes == 32)
		return nonzero_units(table, 32, count);
	return nonzero_units(table, bytes, count);
}

/* ---- first pass: counters ---- */

/* Units that hold something, and the bytes of their masks and counters. */
typedef struct tally
{
	uint64_t present;
	uint64_t bytes;
} tally;

/* Count a block of units of plain counters.  The constants make a loop of their own each. */
QB_INLINE void
count_cells(const uint8_t *table, bool wide, uint32_t width, uint64_t first, uint64_t count,
			tally *all)
{
	uint64_t i;

	for (i = first; i < first + count; i++)
	{
		uint32_t bytes = 0;
		uint32_t c;

		for (c = 0; c < width; c++)
			bytes += counter_bytes(qb_counter_get(table, i * width + c, wide), wide);
		all->present += bytes != 0;
		all->bytes += bytes;
	}
}

/* Which bytes of a word are not zero?  The top bit of each says so. */
QB_INLINE uint64_t
nonzero_bytes(uint64_t word)
{
	return (((word & EVERY_BYTE(0x7F)) + EVERY_BYTE(0x7F)) | word) & EVERY_BYTE(0x80);
}

/*
 * Bytes of the counters of a low bucket that has no high bucket: one for each that is
 * not zero, and one more for each above 127.  The sums of all bytes add up in the top one.
 */
QB_INLINE uint32_t
low_bytes(const uint8_t *low)
{
	uint64_t sums = 0;
	uint32_t i;

	for (i = 0; i < LOW_WORDS; i++)
	{
		uint64_t word = low_word(low, i);

		sums += (nonzero_bytes(word) >> 7) + (word >> 7 & EVERY_BYTE(1));
	}
	return (uint32_t) (sums * EVERY_BYTE(1) >> 56);
}

static void
count_buckets(const qs_sketch *sk, uint64_t first, uint64_t count, tally *all)
{
	uint64_t b;

	for (b = first; b < first + count; b++)
	{
		const uint8_t *low = qs_low_bucket(sk, b);
		const uint8_t *high = qs_high_of(sk, low);
		uint32_t bytes = high ? high_bytes(sk, low, high) : low_bytes(low);

		all->present += bytes != 0;
		all->bytes += bytes;
	}
}

/* Count a block of units.  Counters are mostly narrow, and have loops of their own then. */
static void
count_block(const qs_sketch *sk, uint32_t width, uint64_t first, uint64_t count, tally *all)
{
	const uint8_t *table = counters_of(sk);

	if (qs_has_high(sk->params.structure))
		count_buckets(sk, first, count, all);
	else if (sk->wide)
		count_cells(table, true, width, first, count, all);
	else if (width == 1)
		count_cells(table, false, 1, first, count, all);
	else if (width == 8)
		count_cells(table, false, 8, first, count, all);
	else
		count_cells(table, false, width, first, count, all);
}

/*
 * Count the units of a block that are present, few of them.  A call for each takes longer
 * than a loop over all if many are.
 */
static void
count_few(const qs_sketch *sk, uint32_t width, uint64_t first, uint64_t count, tally *all)
{
	uint64_t bits;

	for (bits = present_in(sk, width, first, count); bits != 0; bits &= bits - 1)
		count_block(sk, width, first + (uint32_t) __builtin_ctzll(bits), 1, all);
}

/* ---- second pass: gaps ---- */

/* Goes through the present units, in their order. */
typedef struct walk
{
	const qs_sketch *sk;
	qs_unit_layout layout;
	uint64_t bits;  /* present units of the block that are yet to come */
	uint64_t block; /* the first unit after the block */
	uint64_t unit;  /* the present unit */
	uint64_t steps; /* since the last pause */
} walk;

static bool
walk_next(walk *w)
{
	while (w->bits == 0)
	{
		uint64_t left = w->layout.units - w->block;

		if (left == 0)
			return false;
		if (left > BLOCK)
			left = BLOCK;
		w->bits = present_in(w->sk, w->layout.width, w->block, left);
		w->block += left;
		qb_pause_after(w->sk->memory, &w->steps, BLOCK);
	}
	w->unit = ((w->block - 1) / BLOCK) * BLOCK + (uint32_t) __builtin_ctzll(w->bits);
	w->bits &= w->bits - 1;
	return true;
}

static walk
walk_of(const qs_sketch *sk)
{
	return (walk){ .sk = sk, .layout = qs_units_of(&sk->params) };
}

/* The bytes of all gaps, in groups of this size. */
static uint64_t
gap_bytes(const qs_sketch *sk, uint32_t shift)
{
	walk w = walk_of(sk);
	qs_gaps gaps = { .shift = shift };
	uint64_t bytes = 0;

	while (walk_next(&w))
		bytes += varint_bytes(qs_gap_before(&gaps, w.unit));
	return bytes;
}

uint64_t
qs_compact_most(uint64_t dense)
{
	return dense / 4 * 3 + dense % 4 * 3 / 4;
}

bool
qs_compact_fits(const qs_sketch *sk, uint64_t dense, qs_compact_size *size)
{
	qs_unit_layout layout = qs_units_of(&sk->params);
	uint64_t most = qs_compact_most(dense);
	tally all = { 0, 0 };
	bool long_gaps = false;
	uint64_t before = 0;
	uint64_t steps = 0;
	uint32_t shift;
	uint64_t i;

	for (i = 0; i < layout.units; i += BLOCK)
	{
		uint64_t left = layout.units - i;
		bool few = all.present - before <= FEW;

		before = all.present;
		(few ? count_few : count_block)(sk, layout.width, i, left < BLOCK ? left : BLOCK, &all);
		long_gaps |= all.present == before;
		if (all.bytes + all.present * (1 + layout.mask_bytes) > most)
			return false;
		qb_pause_after(sk->memory, &steps, BLOCK);
	}
	shift = qs_group_shift(layout.units, all.present);
	all.bytes += all.present * layout.mask_bytes + 4 * qb_group_count(layout.units, shift);
	all.bytes += shift <= SHORT_GAPS || !long_gaps ? all.present : gap_bytes(sk, shift);
	size->present = all.present;
	size->bytes = all.bytes;
	return all.bytes <= most && all.bytes <= UINT32_MAX;
}

/* ---- third pass: writing ---- */

/* The top bits of a word's bytes as a byte; all other bits are zero. */
QB_INLINE uint32_t
top_bits(uint64_t word)
{
	return (uint32_t) ((word >> 7) * UINT64_C(0x0102040810204080) >> 56);
}

/* Write the mask and the counters of a low bucket that has no high bucket. */
static uint8_t *
put_low(uint8_t *out, const uint8_t *low)
{
	uint32_t mask = 0;
	uint32_t i;

	for (i = 0; i < LOW_WORDS; i++)
		mask |= top_bits(nonzero_bytes(low_word(low, i))) << (8 * i);
	qb_store32(out, mask);
	for (out += sizeof(mask); mask != 0; mask &= mask - 1)
		out = qs_put_varint(out, low[__builtin_ctz(mask)]);
	return out;
}

/* Write the mask, if units have one, and the counters that are not zero. */
QB_INLINE uint8_t *
put_counters(uint8_t *out, uint32_t width, uint32_t mask_bytes, const uint64_t *value)
{
	uint8_t *mask_at = out;
	uint32_t mask = 0;
	uint32_t c;

	out += mask_bytes;
	for (c = 0; c < width; c++)
		if (value[c] != 0)
		{
			mask |= UINT32_C(1) << c;
			out = qs_put_varint(out, value[c]);
		}
	for (c = 0; c < mask_bytes; c++)
		mask_at[c] = (uint8_t) (mask >> (8 * c));
	return out;
}

/* Write a unit's mask and counters. */
static uint8_t *
put_unit(uint8_t *out, const qs_sketch *sk, const qs_unit_layout *layout, uint64_t unit)
{
	const uint8_t *table = counters_of(sk);
	uint64_t value[QS_MASK_BITS_MAX];
	uint32_t c;

	if (qs_has_high(sk->params.structure))
	{
		const uint8_t *low = qs_low_bucket(sk, unit);

		if (!qs_high_of(sk, low))
			return put_low(out, low);
		qs_multilevel_values(sk, unit, value);
		return put_counters(out, layout->width, layout->mask_bytes, value);
	}
	for (c = 0; c < layout->width; c++)
		value[c] = qb_counter_get(table, unit * layout->width + c, sk->wide);
	if (layout->width == 1)
		return qs_put_varint(out, value[0]);
	return put_counters(out, layout->width, layout->mask_bytes, value);
}

void
qs_compact_write(const qs_sketch *sk, const qs_compact_size *size, uint8_t *out)
{
	walk w = walk_of(sk);
	qs_unit_writer writer = qs_units_start(w.layout.units, size->present, out);

	while (walk_next(&w))
	{
		qs_units_begin(&writer, w.unit);
		writer.next = put_unit(writer.next, sk, &w.layout, w.unit);
	}
	qs_units_end(&writer);
}
