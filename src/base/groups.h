/*
 * groups.h
 *		Divides the positions of a compact encoding into groups of equal size.
 *
 * A group has 2^s neighbouring positions.  s is the smallest number, at least "least", that gives
 * at most max(1, present / in_group) groups (qb_group_shift).
 *
 * src/base/groups.h
 */
#ifndef QB_GROUPS_H
#define QB_GROUPS_H

#include "base/port.h"

/* Returns the number of groups of 2^shift positions, at least 1. */
QB_INLINE uint64_t
qb_group_count(uint64_t positions, uint32_t shift)
{
	return ((positions - 1) >> shift) + 1;
}

/*
 * Returns s for "positions" positions, of which "present" are in use.  On average a group has at
 * least "in_group" positions in use, if "present" is at least "in_group".
 */
static inline uint32_t
qb_group_shift(uint64_t positions, uint64_t present, uint64_t in_group, uint32_t least)
{
	uint64_t most = present < in_group ? 1 : present / in_group;
	uint32_t shift = least;

	while (qb_group_count(positions, shift) > most)
		shift++;
	return shift;
}

#endif
