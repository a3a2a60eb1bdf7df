/*
 * sets_ppjoin.c
 *		PPJoin: AllPairs with an additional filter of positions.
 *
 * bench/sets_ppjoin.c
 */
#include "sets_ppjoin.h"

/*
 * Count a common element, and prune the candidate if the remaining elements of both sets are too
 * few for the required number.
 */
QB_INLINE uint64_t
meet(prefix_join *j, uint64_t behind, uint64_t at, uint64_t candidates)
{
	uint32_t y = j->list[at];
	uint64_t size = prefix_size(j, y);
	uint64_t behind_y = size - j->position[at] - 1;
	uint64_t most = 1 + (behind < behind_y ? behind : behind_y);
	uint32_t common = j->common[y];

	if (common == PREFIX_PRUNED)
		return candidates;
	if (common == 0)
		j->candidate[candidates++] = y;
	j->common[y] = common + most >= j->required[size] ? common + 1 : PREFIX_PRUNED;
	return candidates;
}

void
ppjoin_join(const qset_collection *c, double min_jaccard, pair_sink *sink)
{
	prefix_run(c, min_jaccard, true, meet, sink);
}
