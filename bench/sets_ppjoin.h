/*
 * sets_ppjoin.h
 *		PPJoin: AllPairs with an additional filter of positions.
 *
 * C. Xiao, W. Wang, X. Lin, J. X. Yu, "Efficient Similarity Joins for Near Duplicate Detection"
 * (WWW 2008).  A list also has the position of the element in each set.  If a common element is
 * element i of x and element k of y, counted from 1, at most min(|x| - i, |y| - k) elements behind
 * it are common.  This bound excludes many candidates before their elements are read.  The program
 * has one thread, and lacks the filter of suffixes (PPJoin+).
 *
 * bench/sets_ppjoin.h
 */
#ifndef SETS_PPJOIN_H
#define SETS_PPJOIN_H

#include "sets_prefix.h"

extern void ppjoin_join(const qset_collection *c, double min_jaccard, pair_sink *sink);

#endif
