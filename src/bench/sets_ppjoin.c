/*
 * sets_ppjoin.c
 *		PPJoin: AllPairs and a filter of positions.
 *
 * src/bench/sets_ppjoin.c
 */
#include "sets_ppjoin.h"

/* A candidate that cannot pass any more: its common elements are not counted. */
#define PRUNED UINT32_MAX

/* Count one meeting of x, "behind" elements before its end, and the set of a list's entry. */
static inline uint64_t
meet(prefix_join *j, uint64_t behind, uint64_t at, uint64_t candidates)
{
	uint32_t y = j->list[at];
	uint64_t size = prefix_size(j, y);
	uint64_t behind_y = size - j->position[at] - 1;
	uint64_t most = 1 + (behind < behind_y ? behind : behind_y);
	uint32_t common = j->common[y];

	if (common == PRUNED)
		return candidates;
	if (common == 0)
		j->candidate[candidates++] = y;
	j->common[y] = common + most >= j->required[size] ? common + 1 : PRUNED;
	return candidates;
}

/* Find the sets before x that share an element of its prefix.  Returns how many. */
static uint64_t
find_candidates(prefix_join *j, uint64_t x, uint64_t prefix)
{
	const uint32_t *element = j->item + j->offset[x];
	uint64_t size = prefix_size(j, x);
	uint64_t candidates = 0;
	uint64_t i;
	uint64_t at;

	for (i = 0; i < prefix; i++)
	{
		prefix_shorten(j, element[i]);
		for (at = j->begin[element[i]]; at < j->end[element[i]]; at++)
			candidates = meet(j, size - i - 1, at, candidates);
	}
	return candidates;
}

void
ppjoin_join(const qset_collection *c, double min_jaccard, pair_sink *sink)
{
	prefix_join j;
	uint64_t x;

	prefix_open(&j, c, min_jaccard, true);
	for (x = 0; x < j.sets; x++)
	{
		uint64_t candidates = find_candidates(&j, x, prefix_begin(&j, x));
		uint64_t i;

		for (i = 0; i < candidates; i++)
		{
			if (j.common[j.candidate[i]] != PRUNED)
				prefix_verify(&j, x, j.candidate[i], sink);
			j.common[j.candidate[i]] = 0;
		}
		prefix_enter(&j, x);
	}
	flush_pairs(sink);
	prefix_close(&j);
}
