/*
 * sets_ppjoin.h
 *		PPJoin: AllPairs and a filter of positions.
 *
 * C. Xiao, W. Wang, X. Lin, J. X. Yu, "Efficient Similarity Joins for Near
 * Duplicate Detection" (WWW 2008).  A list also says at which place of the set
 * its element is.  Two sets that meet at the places i and k can have at most
 * 1 + min(|x| - i, |y| - k) more elements in common, so many candidates need no
 * look at their elements.  Without the filter of suffixes (PPJoin+).  One thread.
 *
 * bench/sets_ppjoin.h
 */
#ifndef SETS_PPJOIN_H
#define SETS_PPJOIN_H

#include "sets_prefix.h"

extern void ppjoin_join(const qset_collection *c, double min_jaccard, pair_sink *sink);

#endif
