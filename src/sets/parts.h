/*
 * parts.h
 *		One collection of the parts that several processes have, made in shares.
 *
 * A part is what one builder got, placed by set (qi_builder_place), in one block of
 * memory that all processes see.  They cut the elements and the ids of all parts
 * into shares of about the same size, and each process takes one share after the
 * other:
 *
 *	qi_share_elements	the distinct elements of a share, and their numbers in it
 *	qi_share_number		these numbers among the elements of all shares
 *	qi_share_sets		the sets of a share: all their elements, sorted once
 *	qi_parts_join		one process puts the shares one behind the other
 *
 * Everybody must be done with one step before anybody begins the next.  Nobody
 * sorts or looks up a row of another's share; the last step is copying.  A set is
 * never cut, so the largest set limits how much faster many processes are.
 *
 * Blocks come from qi_part_write(): nothing in them is checked.
 *
 * src/sets/parts.h
 */
#ifndef QI_PARTS_H
#define QI_PARTS_H

#include "sets/builder.h"

/* Elements and ids are cut into at most so many shares. */
#define QI_MOST_SHARES 128

typedef struct qi_part
{
	qi_collection rows; /* sets are not sorted, and elements may come twice */
	uint32_t *number;   /* of each element, in its share or in all */
} qi_part;

QS_INLINE void
qi_put(void *to, const void *from, uint64_t count, size_t size)
{
	if (count > 0)
		memcpy(to, from, count * size);
}

/* The bytes of a block, aligned to 8; writing one; its arrays. */
extern uint64_t qi_part_bytes(const qi_collection *placed);
extern void qi_part_write(const qi_collection *placed, void *block);
extern void qi_part_open(qi_part *part, void *block);

/* The least key of all shares but the first: those before it have smaller keys. */
typedef struct qi_cuts
{
	uint32_t shares;
	int64_t id[QI_MOST_SHARES - 1];
	uint64_t low[QI_MOST_SHARES - 1];
	uint64_t high[QI_MOST_SHARES - 1];
} qi_cuts;

/* All parts, as each process sees them; they have the same width. */
typedef struct qi_parts
{
	const qi_part *part;
	uint32_t count;
	qi_cuts cuts;
	const qs_memory *memory;
	const qi_interrupt *interrupt;
} qi_parts;

/*
 * Cut them into so many shares, by samples: every process finds the same cuts.
 * QS_NO_MEMORY.
 */
extern qs_status qi_parts_cut(qi_parts *parts, uint32_t shares);

/* Where a share begins among the sets of a part, and among its elements. */
extern uint64_t qi_first_set(const qi_parts *parts, const qi_collection *c, uint32_t share);
extern uint64_t qi_first_element(const qi_parts *parts, const qi_collection *c, uint32_t share);

/*
 * A share is a collection that has some of its arrays so far.  The first function
 * makes low[], high[] and universe, in arrays of the caller with room for as many
 * as qi_share_room() says; the third one likewise id[], offset[], rank[], sets and
 * elements.  QS_NO_MEMORY, QS_CANCELLED.
 */
typedef struct qi_room
{
	uint64_t universe;
	uint64_t sets;
	uint64_t elements;
} qi_room;

extern qi_room qi_share_room(const qi_parts *parts, uint32_t share);
extern qs_status qi_share_elements(const qi_parts *parts, uint32_t share, qi_collection *out);
extern qs_status qi_share_number(const qi_parts *parts, uint32_t share, uint64_t first);
extern qs_status qi_share_sets(const qi_parts *parts, uint32_t share, qi_collection *out);

/* The whole.  Also QS_TOO_MANY. */
extern qs_status
qi_parts_join(const qi_collection *share, uint32_t shares, const qs_keys *keys, qi_collection *out,
			  const qs_memory *memory, const qi_interrupt *interrupt);

#endif
