/*
 * sets_allpairs.c
 *		AllPairs: finds all pairs above a Jaccard index by an index of prefixes.
 *
 * bench/sets_allpairs.c
 */
#include "sets_allpairs.h"

/* Count a common element.  With its first common element, set y becomes a candidate. */
QB_INLINE uint64_t
meet(prefix_join *j, uint64_t behind, uint64_t at, uint64_t candidates)
{
	uint32_t y = j->list[at];

	(void) behind;
	if (j->common[y]++ == 0)
		j->candidate[candidates++] = y;
	return candidates;
}

void
allpairs_join(const qset_collection *c, double min_jaccard, pair_sink *sink)
{
	prefix_run(c, min_jaccard, false, meet, sink);
}
