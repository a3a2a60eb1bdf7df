/*
 * sets_ppjoin.h
 *		PPJoin: AllPairs with an additional filter of positions.
 *
 * C. Xiao, W. Wang, X. Lin, J. X. Yu, "Efficient Similarity Joins for Near Duplicate Detection"
 * (WWW 2008).  A list also has the position of the element in each set.  If the positions of a
 * common element are i in x and k in y, at most 1 + min(|x| - i, |y| - k) more elements are common.
 * This bound excludes many candidates before their elements are read.  The program has one thread,
 * and lacks the filter of suffixes (PPJoin+).
 *
 * bench/sets_ppjoin.h
 */
#ifndef SETS_PPJOIN_H
#define SETS_PPJOIN_H

#include "sets_prefix.h"

extern void ppjoin_join(const qset_collection *c, double min_jaccard, pair_sink *sink);

#endif
