/*
 * compact.h
 *		The compact encoding: only the counters that are not zero, in few bytes.
 *
 * In a sketch of few keys, most counters are zero, and most other counters fit in one byte.  The
 * compact encoding is for stored sketches.  A compact sketch can be read as a whole or in pieces,
 * but cannot be changed.  So only views, and sketches that qs_compact_from_keys() makes for
 * writing, are compact.  qs_copy() makes a dense copy of a compact view.
 *
 * The encoding divides the counters into an array of blocks:
 *
 *	structure							block		counters	blocks
 *	multilevel							a bucket	28			n
 *	warp, half_warp, sub_warp			a bucket	m			n
 *	sf, device part						a bucket	8			n
 *	thread								a counter	1			d * n, row after row
 *	sf, full and host part				a cell		1			n * 8 * z of the fat table
 *
 * For multilevel, a counter is the value low + 256 * high.  The slim table of a full sf sketch is
 * not stored, because it follows from the fat table.
 *
 * A block is present if it is not all zero.  A group has 2^s neighbouring blocks.  s is the
 * smallest number, at least 4, that gives at most max(1, present / 16) groups, where "present" is
 * the number of present blocks.
 *
 * The body, little-endian:
 *
 *	4 * groups bytes	for each group, the end of its data, counted from the end of this table
 *	data				for each present block, in their order:
 *						- varint: the number of absent blocks since the preceding present block,
 *						  or since the start of the group
 *						- blocks of more than one counter: a mask with a bit for each counter, set
 *						  if the counter is not zero; 1 byte if m = 8, 2 bytes if m = 16, else 4
 *						- varint: each counter that is not zero
 *
 * A varint has 7 bits in each byte, the lowest first.  The top bit of a byte says that another byte
 * follows.  A varint must be as short as possible.
 *
 * A sketch that is not explicit is written in compact encoding if the body takes at most three
 * quarters of the bytes of the sketch's tables.  If the body takes more bytes, the sketch is
 * written in dense encoding.
 *
 * To find a block, a reader reads the start and the end of its group's data, and then these data.
 * A group has 16 to 32 present blocks on average.  An attacker can choose keys whose blocks are all
 * in one group.  Then the group has at most about sqrt(32 * blocks) present blocks.  Reading all of
 * them takes up to a millisecond.
 *
 * src/sketch/compact.h
 */
#ifndef QS_COMPACT_H
#define QS_COMPACT_H

#include "base/groups.h"
#include "sketch/sf.h"

/* The number and the size of a sketch's blocks. */
typedef struct qs_block_layout
{
	uint64_t blocks;
	uint32_t width;      /* counters of a block */
	uint32_t mask_bytes; /* bytes of a block's mask; 0 if the block has one counter */
} qs_block_layout;

/* A block that was read: its counters that are not zero, in the order of the mask's bits. */
typedef struct qs_block
{
	uint64_t index;
	uint32_t mask;
	uint32_t count; /* number of values, which is the number of bits in the mask */
	uint64_t value[QS_MASK_BITS_MAX + 8]; /* 8 elements more, because eight are written at a time */
} qs_block;

/* Reads the blocks of one group from memory. */
typedef struct qs_block_reader
{
	const uint8_t *next;
	const uint8_t *end;   /* end of the group */
	const uint8_t *limit; /* end of the readable memory, at or after "end" */
	uint64_t index;       /* least possible index of the next block */
	uint64_t after;       /* index of the first block after the group */
	uint32_t width;
	uint32_t mask_bytes;
	bool damaged; /* true if qs_compact_write() cannot have written these bytes */
} qs_block_reader;

/* The maximum size of one block in bytes. */
#define QS_BLOCK_BYTES (10 + 4 + QS_MASK_BITS_MAX * 10)

extern qs_block_layout qs_blocks_of(const qs_params *p);

/* Returns s; a group has 2^s blocks. */
extern uint32_t qs_group_shift(uint64_t blocks, uint64_t present);

/* Returns the maximum size in bytes of a compact body that replaces tables of "dense" bytes. */
QB_INLINE uint64_t
qs_compact_most(uint64_t dense)
{
	return dense / 4 * 3 + dense % 4 * 3 / 4;
}

/*
 * True if the body contains the whole table of the groups' ends.  qs_open() checks this, and all
 * other functions rely on the check.
 */
extern bool qs_compact_has_groups(const qs_sketch *view);

/* Adds a block's counters to block "index" of a dense sketch that is wide enough. */
extern qb_status qs_block_add(qs_sketch *into, uint64_t index, const qs_block *block);

/*
 * into += from.  "from" is a compact view with the parameters of "into".  "into" is dense and wide
 * enough.
 */
extern qb_status qs_compact_add(qs_sketch *into, const qs_sketch *from);

/*
 * True if compact is the right encoding, the bytes are well-formed, and the counters obey the
 * invariants of the structure.
 */
extern bool qs_compact_check(const qs_sketch *view);

/*
 * ---- reading the body, block by block ----
 *
 * Damaged bytes can give wrong counters, but no byte is read beyond the end of the data.  If at
 * least QS_BLOCK_BYTES of data remain, a block is read without a check for each byte.  One check
 * afterwards makes sure that the block ended in its own group.
 */

/* Reads the next byte.  "checked" is false if a whole block is known to fit. */
QB_INLINE uint8_t
qs_next_byte(qs_block_reader *r, bool checked)
{
	if (!checked || r->next < r->end)
		return *r->next++;
	r->damaged = true;
	return 0;
}

/* Reads the remaining bytes of a varint, whose first byte is v.  A varint has at most 10 bytes. */
static inline uint64_t
qs_next_rest(qs_block_reader *r, uint64_t v, bool checked)
{
	uint8_t byte = 0x80;
	uint32_t shift;

	v &= 0x7F;
	for (shift = 7; byte > 0x7F && shift < 64; shift += 7)
	{
		byte = qs_next_byte(r, checked);
		v |= (uint64_t) (byte & 0x7F) << shift;
		if (byte == 0 || (shift == 63 && byte > 1))
			r->damaged = true;
	}
	return v;
}

QB_INLINE uint64_t
qs_next_varint(qs_block_reader *r, bool checked)
{
	uint8_t byte = qs_next_byte(r, checked);

	return byte > 0x7F ? qs_next_rest(r, byte, checked) : byte;
}

/*
 * Reads the mask of a block.  A block of one counter stores no mask, because its counter is not
 * zero.
 */
QB_INLINE uint32_t
qs_next_mask(qs_block_reader *r, bool checked)
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
			mask |= (uint32_t) qs_next_byte(r, true) << (8 * i);
	if (mask == 0 || (uint64_t) mask >> r->width != 0)
		r->damaged = true;
	return mask;
}

/*
 * Returns the number of set bits.  On processors without a popcount instruction, this code is
 * faster than the compiler's builtin.
 */
QB_INLINE uint32_t
qs_mask_bits(uint32_t mask)
{
	mask -= mask >> 1 & 0x55555555;
	mask = (mask & 0x33333333) + (mask >> 2 & 0x33333333);
	return ((mask + (mask >> 4)) & 0x0F0F0F0F) * 0x01010101 >> 24;
}

/*
 * Reads up to eight counters if each of them has one byte.  Returns the number of counters read, or
 * 0 if one of them has more bytes.  Eight bytes must be readable.
 */
QB_INLINE uint32_t
qs_next_bytes(qs_block_reader *r, uint64_t *value, uint32_t most)
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
		r->damaged = true; /* a counter is zero */
	r->next += count;
	return count;
}

/* Reads all counters of a block. */
QB_INLINE void
qs_next_counters(qs_block_reader *r, qs_block *block, bool checked)
{
	uint32_t i = 0;

	while (i < block->count)
	{
		uint32_t some = checked ? 0 : qs_next_bytes(r, block->value + i, block->count - i);

		if (some == 0)
		{
			block->value[i] = qs_next_varint(r, checked);
			r->damaged |= block->value[i] == 0;
			some = 1;
		}
		i += some;
	}
}

QB_INLINE bool
qs_next_block(qs_block_reader *r, qs_block *block, bool checked)
{
	uint64_t gap = qs_next_varint(r, checked);

	block->mask = qs_next_mask(r, checked);
	if (gap >= r->after - r->index)
		r->damaged = true;
	if (r->damaged)
		return false;
	block->index = r->index + gap;
	r->index = block->index + 1;
	block->count = qs_mask_bits(block->mask);
	qs_next_counters(r, block, checked);
	return !r->damaged;
}

/* Reads the next block.  False: the group has no further block, or is damaged. */
QB_INLINE bool
qs_read_block(qs_block_reader *r, qs_block *block)
{
	if (r->next == r->end || r->damaged)
		return false;
	if (r->limit - r->next < QS_BLOCK_BYTES)
		return qs_next_block(r, block, true);
	r->damaged = !qs_next_block(r, block, false) || r->next > r->end;
	return !r->damaged;
}

/* Number of bytes that qs_next_single() and qs_next_small() read: gap, mask, word of counters. */
#define SINGLE_BYTES (1 + 4 + 8)

/* The layout of a block with one key of weight 1, for qs_next_single(). */
typedef struct qs_single
{
	uint32_t depth; /* d; 0: qs_next_single() and qs_next_small() read no block */
	uint32_t head;  /* bytes of gap and mask */
	uint64_t used;  /* mask of the d lowest bytes of a word */
} qs_single;

/*
 * Returns the layout of blocks of one key in a sketch with the given parameters.  The depth of the
 * layout is 0 if a key's counters are not all in one block, if d > 8, or in a device part.
 */
QB_INLINE qs_single
qs_single_of(const qs_params *p)
{
	uint32_t mask_bytes = qs_blocks_of(p).mask_bytes;

	if (mask_bytes == 0 || p->depth > 8 || p->part == QS_PART_DEVICE)
		return (qs_single){ 0, 0, 0 };
	return (qs_single){ p->depth, 1 + mask_bytes, UINT64_MAX >> (64 - 8 * p->depth) };
}

/*
 * Reads the next block if it has d counters of 1 and a gap of one byte.  A block with these
 * counters has one key of weight 1.  In a sketch of few keys, most blocks have one key of weight 1.
 * Returns false, and reads nothing, for any other block, or if fewer than SINGLE_BYTES are
 * readable.
 */
QB_INLINE bool
qs_next_single(qs_block_reader *r, const qs_single *single, uint64_t *index, uint32_t *mask)
{
	const uint64_t ones = UINT64_C(0x0101010101010101) & single->used;
	uint8_t gap;

	if (r->end - r->next < single->head + single->depth || r->limit - r->next < SINGLE_BYTES ||
		single->depth == 0)
		return false;
	gap = r->next[0];
	*mask = qb_load32(r->next + 1) & UINT32_MAX >> (32 - 8 * r->mask_bytes);
	if ((qb_load64(r->next + single->head) & single->used) != ones || gap > 0x7F ||
		qs_mask_bits(*mask) != single->depth || (uint64_t) *mask >> r->width != 0 ||
		gap >= r->after - r->index)
		return false;
	*index = r->index + gap;
	r->index = *index + 1;
	r->next += single->head + single->depth;
	return true;
}

/* A block of at most eight counters below 128.  Each counter is a byte of a word. */
typedef struct qs_small_block
{
	uint64_t index;
	uint64_t word;
	uint32_t mask;
} qs_small_block;

/*
 * Reads the next block if it is small, is a whole bucket, and has a gap of one byte.  Returns
 * false, and reads nothing, for any other block, for some damaged blocks, or if fewer than
 * SINGLE_BYTES are readable.  No branch depends on the number of counters, because the processor
 * could not predict this branch if buckets have several keys.
 */
QB_INLINE bool
qs_next_small(qs_block_reader *r, const qs_single *single, qs_small_block *block)
{
	const uint64_t tops = UINT64_C(0x8080808080808080);
	uint32_t count;
	uint64_t used;
	uint8_t gap;

	if (r->limit - r->next < SINGLE_BYTES || single->depth == 0)
		return false;
	gap = r->next[0];
	block->mask = qb_load32(r->next + 1) & UINT32_MAX >> (32 - 8 * r->mask_bytes);
	count = qs_mask_bits(block->mask);
	used = UINT64_MAX >> (56 - 8 * ((count - 1) & 7));
	block->word = qb_load64(r->next + single->head) & used;
	/* each counter must be 1 .. 127 */
	if (((block->word + (used & ~tops)) & tops) != (used & tops) || (block->word & tops) != 0 ||
		count - 1 > 7 || (uint64_t) block->mask >> r->width != 0 || gap > 0x7F ||
		gap >= r->after - r->index || r->end - r->next < single->head + count)
		return false;
	block->index = r->index + gap;
	r->index = block->index + 1;
	r->next += single->head + count;
	return true;
}

/* The state of reading a compact view group by group. */
typedef struct qs_groups
{
	qs_block_layout layout;
	uint32_t shift;
	uint64_t count;
	uint64_t now;        /* number of the next group */
	const uint8_t *ends; /* ends of the groups' data */
	const uint8_t *data;
	uint64_t bytes; /* bytes of the data */
	uint64_t start; /* offset of the next group's data */
	uint64_t steps; /* steps since the last pause */
} qs_groups;

static inline qs_groups
qs_groups_of(const qs_sketch *view)
{
	qs_groups g = { .layout = qs_blocks_of(&view->params) };

	g.shift = qs_group_shift(g.layout.blocks, view->used);
	g.count = qb_group_count(g.layout.blocks, g.shift);
	g.ends = view->compact;
	g.data = view->compact + 4 * g.count;
	g.bytes = view->compact_bytes - 4 * g.count;
	return g;
}

/*
 * Starts the next group.  False after the last group.  A group with a damaged end is read as empty,
 * and marked as damaged.
 */
static inline bool
qs_next_group(qs_groups *g, qs_block_reader *r)
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
	r->limit = g->data + g->bytes;
	r->index = g->now << g->shift;
	r->after = (g->now + 1) << g->shift;
	if (r->after > g->layout.blocks)
		r->after = g->layout.blocks;
	g->start = end;
	g->now++;
	return true;
}

/* Returns the number of blocks in one bucket, or in one row of thread. */
static inline uint64_t
qs_blocks_together(const qs_params *p)
{
	if (qs_has_rows(p->structure))
		return p->n;
	return qs_has_extra(p) ? (uint64_t) QS_SF_WIDTH * p->z : 1;
}

#endif
