/*
 * compact.h
 *		The compact encoding of a filter: of the bits only those that are set.
 *
 * Most stored filters have room left, so most of their bits are zero.  The compact encoding
 * is for storing.  It can be read, in part too, but not changed, so there are only
 * views of it.  qf_copy() makes a list or bits of one.
 *
 * Neighbouring bits form groups of 2^s, where s is the least number from 9 on with
 * which there are at most max(1, ones / 32) groups.  So a group has some 32 to 64 set
 * bits, and a block of a blocked filter lies in one group.  The body, little-endian:
 *
 *	4 * (groups - 1) bytes	for each group but the last one, where its data end, from
 *							the end of this table
 *	data					for each set bit, in their order, a varint: how many zeros
 *							are before it, since the set bit before it, or since the
 *							group's first bit
 *
 * A varint has 7 bits in each byte, the lowest first; the top bit says that more
 * follow.  It is as short as it can be.
 *
 * A filter is written in this encoding if the body takes at most three quarters of the
 * bytes of its bits, and no group's data take more than QF_GROUP_BYTES.  Otherwise it is
 * written in dense encoding.  Positions are hashes, so groups never get that full by
 * chance.  The limit is for filters that somebody made on purpose: a lookup reads one
 * group for each position, and so is never slow.
 *
 * src/filter/compact.h
 */
#ifndef QF_COMPACT_H
#define QF_COMPACT_H

#include "base/groups.h"
#include "filter/filter.h"

/* The most bytes of a group's data. */
#define QF_GROUP_BYTES 2048

/* The most bytes of a varint: gaps have 32 bits. */
#define QF_GAP_BYTES 5

/* Reads the set bits of one group, from its data in memory. */
typedef struct qf_group
{
	const uint8_t *next;
	const uint8_t *end;
	uint64_t first; /* the least position that can come */
	uint64_t after; /* the first position that is not in the group */
	bool damaged;   /* these bytes are none that qf_compact_write() makes */
} qf_group;

/* s: a group has 2^s bits. */
extern uint32_t qf_group_shift(uint64_t m, uint64_t ones);

/* Bytes of the table of groups. */
extern uint64_t qf_group_table(const qf_params *p, uint64_t ones);

/* The most bytes of a compact body: three quarters of the bits'. */
static inline uint64_t
qf_compact_most(const qf_params *p)
{
	return qf_words(p) * 6;
}

/* Can a body of so many bytes be the compact one of this view?  Says nothing of its bytes. */
extern bool qf_compact_plausible(const qf_filter *view, uint64_t bytes);

/* Is a filter with its bits in memory to be written in compact encoding?  If so, in how many bytes? */
extern bool qf_compact_fits(const qf_filter *f, uint64_t *bytes);

/* Write the body of a filter for which qf_compact_fits() is true. */
extern void qf_compact_write(const qf_filter *f, uint8_t *out);

/* The rest of a varint after its first byte; UINT64_MAX: it is no shortest varint. */
QB_INLINE uint64_t
qf_group_rest(qf_group *group, uint64_t first)
{
	uint64_t v = first & 0x7F;
	uint8_t byte = 0x80;
	uint32_t shift;

	for (shift = 7; byte > 0x7F && shift < 7 * QF_GAP_BYTES; shift += 7)
	{
		if (group->next == group->end)
			return UINT64_MAX;
		byte = *group->next++;
		v |= (uint64_t) (byte & 0x7F) << shift;
	}
	return byte == 0 || byte > 0x7F ? UINT64_MAX : v;
}

/* The next set bit; false at the end of the group, or where the data are damaged. */
QB_INLINE bool
qf_group_next(qf_group *group, uint32_t *position)
{
	uint64_t gap;

	if (group->next == group->end)
		return false;
	gap = *group->next++;
	if (gap > 0x7F)
		gap = qf_group_rest(group, gap);
	if (gap >= group->after - group->first)
	{
		group->damaged = true;
		group->next = group->end;
		return false;
	}
	*position = (uint32_t) (group->first + gap);
	group->first = *position + UINT64_C(1);
	return true;
}

/* Group number "number", whose data are these bytes. */
extern qf_group
qf_group_of(const qf_filter *view, uint64_t number, const uint8_t *data, uint64_t bytes);

/* Set the bits of a compact view in "into".  A pause that jumps out leaves some of them set. */
extern qb_status qf_unite_compact(qf_filter *into, const qf_filter *from);

/* Are these the bytes of a compact filter? */
extern bool qf_compact_check(const qf_filter *view);

#endif
