/*
 * compact.h
 *		The compact encoding: of the counters only those that are not zero, in few bytes.
 *
 * A sketch of few keys is mostly zeros, and most counters need one byte.  The compact
 * encoding is for storing.  It can be read, in part too, but not changed, so there are only
 * views of it.  qs_copy() makes tables of one.
 *
 * The counters are seen as an array of blocks:
 *
 *	structure							block		counters	blocks
 *	multilevel							a bucket	28			n
 *	warp, half_warp, sub_warp			a bucket	m			n
 *	sf, device part						a bucket	8			n
 *	thread								a counter	1			d * n, row after row
 *	sf, full and host part				a cell		1			n * 8 * z of the fat table
 *
 * A counter of multilevel is its value, low + 256 * high.  The slim table of a full sf
 * sketch follows from its fat table.
 *
 * Neighbouring blocks form groups of 2^s, where s is the least number from 4 on with
 * which there are at most max(1, present / 16) groups; "present" is the number of
 * blocks that are not all zero.  The body, little-endian:
 *
 *	4 * groups bytes	for each group, where its data end, from the end of this table
 *	data				for each present block, in their order:
 *						- varint: how many blocks were left out, since the present block
 *						  before it, or since the group's first block
 *						- blocks of more than one counter: which counters are not zero,
 *						  a bit each, in 1 (m = 8), 2 (16) or 4 bytes
 *						- varint: each counter that is not zero
 *
 * A varint has 7 bits in each byte, the lowest first; the top bit says that more
 * follow.  It is as short as it can be.
 *
 * A sketch that is not explicit is written in this encoding if the body takes at most three
 * quarters of the bytes of its tables, and otherwise in dense encoding.  So one key is
 * found by reading the ends of its group and the group.  A group has some 16 present
 * blocks on average.  Keys that were chosen for it can put all blocks in one group, but not
 * more than the square root of 16 * blocks, which takes up to a millisecond to pass.
 *
 * src/sketch/compact.h
 */
#ifndef QS_COMPACT_H
#define QS_COMPACT_H

#include "base/groups.h"
#include "sketch/structure.h"

/* How blocks lie in a sketch. */
typedef struct qs_block_layout
{
	uint64_t blocks;
	uint32_t width;      /* counters of a block */
	uint32_t mask_bytes; /* of a block, 0 if it has one counter */
} qs_block_layout;

/* What a compact body has. */
typedef struct qs_compact_size
{
	uint64_t present;         /* blocks that are not all zero */
	uint64_t bytes;           /* of the body */
	const uint64_t *presence; /* which blocks are present (presence.h); NULL: look at all */
} qs_compact_size;

/* A block that was read: its counters that are not zero, in the order of the mask's bits. */
typedef struct qs_block
{
	uint64_t index;
	uint32_t mask;
	uint32_t count;                       /* of the mask's bits */
	uint64_t value[QS_MASK_BITS_MAX + 8]; /* eight are read at a time */
} qs_block;

/* Reads one group, from its data in memory. */
typedef struct qs_block_reader
{
	const uint8_t *next;
	const uint8_t *end;   /* of the group */
	const uint8_t *limit; /* of the memory that may be read, not before "end" */
	uint64_t index;       /* the next block that can come */
	uint64_t after;       /* the first block that is not in the group */
	uint32_t width;
	uint32_t mask_bytes;
	bool damaged; /* these bytes are none that qs_compact_write() makes */
} qs_block_reader;

/* The most bytes of one block. */
#define QS_BLOCK_BYTES (10 + 4 + QS_MASK_BITS_MAX * 10)

extern qs_block_layout qs_blocks_of(const qs_params *p);

/* s: a group has 2^s blocks. */
extern uint32_t qs_group_shift(uint64_t blocks, uint64_t present);

/* The most bytes of a body in place of tables of so many bytes. */
extern uint64_t qs_compact_most(uint64_t dense);

/*
 * Is a dense sketch, whose tables will take "dense" bytes, to be written in
 * compact encoding?  If so, "size" says what that takes.  The caller has set
 * its presence.
 */
extern bool qs_compact_fits(const qs_sketch *sk, uint64_t dense, qs_compact_size *size);

/* Write the body of this size. */
extern void qs_compact_write(const qs_sketch *sk, const qs_compact_size *size, uint8_t *out);

/* Does the view have the table of groups?  qs_open() asks, and all other functions rely on it. */
extern bool qs_compact_has_groups(const qs_sketch *view);

/* Read the next block; false at the end of the group, or where the data are damaged. */
extern bool qs_block_next(qs_block_reader *reader, qs_block *block);

/* Add a block's counters to block "index" of a dense sketch that is wide enough. */
extern qb_status qs_block_add(qs_sketch *into, uint64_t index, const qs_block *block);

/* into += from, a compact view of the same parameters, where "into" is dense and wide enough. */
extern qb_status qs_compact_add(qs_sketch *into, const qs_sketch *from);

/* Are these the bytes of a compact sketch that obeys its structure's invariants? */
extern bool qs_compact_check(const qs_sketch *view);

#endif
