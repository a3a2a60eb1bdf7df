/*
 * block_writer.h
 *		Writing the body of a compact sketch, block by block (compact.h has its layout).
 *
 * The caller knows how many blocks are present before it writes the first one, since
 * the size of groups depends on that.  Blocks come in ascending order.
 *
 * src/sketch/block_writer.h
 */
#ifndef QS_BLOCK_WRITER_H
#define QS_BLOCK_WRITER_H

#include "sketch/compact.h"

/* How many blocks are left out before each present one. */
typedef struct qs_gaps
{
	uint32_t shift; /* groups have 2^shift blocks */
	uint64_t free;  /* the block after the last present one */
} qs_gaps;

typedef struct qs_block_writer
{
	qs_gaps gaps;
	uint8_t *ends; /* where each group's data end */
	uint8_t *data;
	uint8_t *next;
	uint64_t group; /* all groups before it have their end */
	uint64_t groups;
} qs_block_writer;

/* Blocks that are left out between the last present one, or the start of the group, and "block". */
QB_INLINE uint64_t
qs_gap_before(qs_gaps *gaps, uint64_t block)
{
	uint64_t first = block >> gaps->shift << gaps->shift;
	uint64_t gap = block - (gaps->free < first ? first : gaps->free);

	gaps->free = block + 1;
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

/* Start a body in which so many of all blocks will be present. */
static inline qs_block_writer
qs_blocks_start(uint64_t blocks, uint64_t present, uint8_t *out)
{
	qs_block_writer w = { .gaps.shift = qs_group_shift(blocks, present), .ends = out };

	w.groups = qb_group_count(blocks, w.gaps.shift);
	w.data = w.next = out + 4 * w.groups;
	return w;
}

QB_INLINE void
qs_blocks_end_groups(qs_block_writer *w, uint64_t before)
{
	for (; w->group < before; w->group++)
		qb_store32(w->ends + 4 * w->group, (uint32_t) (w->next - w->data));
}

/* Start a block: its mask and counters follow at "next". */
QB_INLINE void
qs_blocks_begin(qs_block_writer *w, uint64_t block)
{
	qs_blocks_end_groups(w, block >> w->gaps.shift);
	w->next = qs_put_varint(w->next, qs_gap_before(&w->gaps, block));
}

/* All blocks are there.  Returns the bytes of the body. */
static inline uint64_t
qs_blocks_end(qs_block_writer *w)
{
	qs_blocks_end_groups(w, w->groups);
	return (uint64_t) (w->next - w->ends);
}

#endif
