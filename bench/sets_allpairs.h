/*
 * sets_allpairs.h
 *		AllPairs: all pairs above a Jaccard index by an index of prefixes.
 *
 * R. J. Bayardo, Y. Ma, R. Srikant, "Scaling Up All Pairs Similarity Search" (WWW 2007), for sets
 * and the Jaccard index: the prefix filter, and the filter of sizes, for which lists are sorted by
 * size.  The program has one thread, and makes the index while it joins the sets.
 *
 * bench/sets_allpairs.h
 */
#ifndef SETS_ALLPAIRS_H
#define SETS_ALLPAIRS_H

#include "sets_prefix.h"

extern void allpairs_join(const qset_collection *c, double min_jaccard, pair_sink *sink);

#endif
