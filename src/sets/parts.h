/*
 * parts.h
 *		One collection made of the parts of several processes, share by share.
 *
 * A part has the rows of one builder, placed by set (qset_builder_place), in
 * one block of memory that all processes see.  The processes cut the elements
 * and the ids of all parts into shares of about the same size, and each
 * process takes one share after another:
 *
 *	qset_share_elements	the distinct elements of a share, and their numbers in it
 *	qset_share_number		these numbers among the elements of all shares
 *	qset_share_sets		the sets of a share: all their elements, sorted once
 *	qset_parts_join		one process puts the shares one behind the other
 *
 * All processes must be done with one step before any process begins the next.
 * No process sorts or looks up a row of another's share; the last step only
 * copies.  A set is never cut, so the largest set limits how much faster many
 * processes are.
 *
 * Blocks come from qset_part_write(): nothing in them is checked.
 *
 * src/sets/parts.h
 */
#ifndef QSET_PARTS_H
#define QSET_PARTS_H

#include "sets/builder.h"

/* The most shares that elements and ids are cut into. */
#define QSET_MOST_SHARES 128

typedef struct qset_part
{
	qset_collection rows; /* sets are not sorted, and elements may come twice */
	uint32_t *number;     /* of each element: its number, first in its share, then in all */
} qset_part;

QB_INLINE void
qset_put(void *to, const void *from, uint64_t count, size_t size)
{
	if (count > 0)
		memcpy(to, from, count * size);
}

/* The bytes of a block, aligned to 8; writing the block; finding its arrays. */
extern uint64_t qset_part_bytes(const qset_collection *placed);
extern void qset_part_write(const qset_collection *placed, void *block);
extern void qset_part_open(qset_part *part, void *block);

/* The least key of each share but the first; the share before it has smaller keys. */
typedef struct qset_cuts
{
	uint32_t shares;
	int64_t id[QSET_MOST_SHARES - 1];
	uint64_t low[QSET_MOST_SHARES - 1];
	uint64_t high[QSET_MOST_SHARES - 1];
} qset_cuts;

/* All parts, as each process sees them; all parts have the same width. */
typedef struct qset_parts
{
	const qset_part *part;
	uint32_t count;
	qset_cuts cuts;
	const qb_memory *memory;
	const qset_interrupt *interrupt;
} qset_parts;

/*
 * Cut all parts into so many shares, by samples: every process finds the same
 * cuts.  QB_NO_MEMORY.
 */
extern qb_status qset_parts_cut(qset_parts *parts, uint32_t shares);

/* Where a share begins among the sets of a part, and among its elements. */
extern uint64_t qset_first_set(const qset_parts *parts, const qset_collection *c, uint32_t share);
extern uint64_t
qset_first_element(const qset_parts *parts, const qset_collection *c, uint32_t share);

/*
 * A share is a collection of which some arrays are made so far.  The caller
 * provides the arrays, with as much room as qset_share_room() says.
 * qset_share_elements() fills low[], high[] and universe; qset_share_sets()
 * fills id[], offset[], rank[], sets and elements.  QB_NO_MEMORY,
 * QB_CANCELLED.
 */
typedef struct qset_room
{
	uint64_t universe;
	uint64_t sets;
	uint64_t elements;
} qset_room;

extern qset_room qset_share_room(const qset_parts *parts, uint32_t share);
extern qb_status qset_share_elements(const qset_parts *parts, uint32_t share, qset_collection *out);
extern qb_status qset_share_number(const qset_parts *parts, uint32_t share, uint64_t first);
extern qb_status qset_share_sets(const qset_parts *parts, uint32_t share, qset_collection *out);

/* Join all shares into the whole collection.  Also QB_TOO_MANY. */
extern qb_status
qset_parts_join(const qset_collection *share, uint32_t shares, const qb_keys *keys,
				qset_collection *out, const qb_memory *memory, const qset_interrupt *interrupt);

#endif
