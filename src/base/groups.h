/*
 * groups.h
 *		How the compact encodings of values share their positions among groups.
 *
 * A group has 2^s neighbouring positions, where s is the least number from "least" on
 * with which there are at most max(1, present / in_group) groups.
 *
 * src/base/groups.h
 */
#ifndef QB_GROUPS_H
#define QB_GROUPS_H

#include "base/port.h"

/* How many groups "positions" positions make, at least one. */
QB_INLINE uint64_t
qb_group_count(uint64_t positions, uint32_t shift)
{
	return ((positions - 1) >> shift) + 1;
}

/* s, for so many positions that hold something. */
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
