/*
 * sets_allpairs.c
 *		AllPairs: all pairs above a Jaccard index by an index of prefixes.
 *
 * src/bench/sets_allpairs.c
 */
#include "sets_allpairs.h"

/* Find the sets before x that share an element of its prefix.  Returns how many. */
static uint64_t
find_candidates(prefix_join *j, uint64_t x, uint64_t prefix)
{
	const uint32_t *element = j->item + j->offset[x];
	uint64_t candidates = 0;
	uint64_t i;
	uint64_t at;

	for (i = 0; i < prefix; i++)
	{
		prefix_shorten(j, element[i]);
		for (at = j->begin[element[i]]; at < j->end[element[i]]; at++)
		{
			uint32_t y = j->list[at];

			if (j->common[y]++ == 0)
				j->candidate[candidates++] = y;
		}
	}
	return candidates;
}

void
allpairs_join(const qset_collection *c, double min_jaccard, pair_sink *sink)
{
	prefix_join j;
	uint64_t x;

	prefix_open(&j, c, min_jaccard, false);
	for (x = 0; x < j.sets; x++)
	{
		uint64_t candidates = find_candidates(&j, x, prefix_begin(&j, x));
		uint64_t i;

		for (i = 0; i < candidates; i++)
		{
			prefix_verify(&j, x, j.candidate[i], sink);
			j.common[j.candidate[i]] = 0;
		}
		prefix_enter(&j, x);
	}
	flush_pairs(sink);
	prefix_close(&j);
}
