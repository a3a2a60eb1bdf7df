/*
 * sets_prefix.h
 *		The common code of AllPairs and PPJoin: ordered sets, an index of prefixes, verification.
 *
 * AllPairs and PPJoin are compared with qsketch's all pairs.  Of src/sets, they use only the
 * collection and the filter, whose least Jaccard index is a fraction.  The common code follows
 * Xiao, Wang, Lin and Yu, "Efficient Similarity Joins for Near Duplicate Detection" (WWW 2008):
 *
 *	order		elements by rarity, sets by size, so a set meets only sets that
 *				are no larger than itself
 *	prefix		a pair with t common elements shares one of the first
 *				|x| - t + 1 elements of x; the index needs fewer elements, since
 *				only sets of at least the same size come later
 *	required	j / (1 + j) (|x| + |y|) common elements, rounded up, for the least
 *				Jaccard index j
 *
 * All computations are in integers, so the pairs are exactly qsketch's pairs.
 *
 * bench/sets_prefix.h
 */
#ifndef SETS_PREFIX_H
#define SETS_PREFIX_H

#include "sets/filter.h"
#include "sets_data.h"

/*
 * The length of the array of found pairs.  The array is small, and is emptied when it is full, like
 * the arrays of qsketch's callers.
 */
#define SINK_ROOM 4096

typedef struct pair_sink
{
	qset_pair pair[SINK_ROOM];
	uint32_t filled;
	bool summing;   /* true: compute "sum", which takes time */
	uint64_t pairs; /* number of pairs flushed so far */
	uint64_t sum;   /* sum of hashes of these pairs, independent of their order */
} pair_sink;

/* Return the sum of the pairs' hashes.  A hash covers all members of a qset_pair. */
extern uint64_t sum_of_pairs(const qset_pair *pair, uint64_t count);

/*
 * Count the pairs of the array, and empty the array.  Called when the array is full, and at the end
 * of a join.
 */
extern void flush_pairs(pair_sink *sink);

/* An ordered collection, and the index that grows while its sets are joined. */
typedef struct prefix_join
{
	uint64_t sets;
	uint32_t *set;    /* by size: the set's number in the collection */
	uint64_t *offset; /* by size: set s has item[offset[s] .. offset[s + 1] - 1] */
	uint32_t *item;   /* elements as numbers by rarity, the rarest first */

	qset_filter filter;
	uint32_t *required; /* by size of y: number of common elements that x and y must have */
	uint64_t x_size;    /* the size of x to which "required" belongs */
	uint64_t least;     /* the least size of y for this size of x */

	uint64_t *begin;    /* by element: begin of its list, from the first set that is large enough */
	uint64_t *end;      /* by element: end of its list */
	uint32_t *list;     /* sets, sorted by size */
	uint32_t *position; /* position of the element in each set of "list"; NULL for AllPairs */
	uint32_t *common;   /* by set: number of common elements found in the prefixes so far */
	uint32_t *candidate;
} prefix_join;

extern void
prefix_open(prefix_join *j, const qset_collection *c, double min_jaccard, bool positions);
extern void prefix_close(prefix_join *j);

/* Begin set x, and set "required" and "least".  Returns the length of the prefix of x. */
extern uint64_t prefix_begin(prefix_join *j, uint64_t x);

/* Add x to the index, after its candidates were found. */
extern void prefix_enter(prefix_join *j, uint64_t x);

/*
 * Count the common elements of x and its candidate y; common[y] common elements in the prefixes are
 * already counted.  Add the pair to the sink if enough elements are common.
 */
extern void prefix_verify(const prefix_join *j, uint64_t x, uint32_t y, pair_sink *sink);

/* Drop the sets of a list that are too small for x, and therefore for all later sets. */
static inline void
prefix_shorten(prefix_join *j, uint32_t element)
{
	while (j->begin[element] < j->end[element])
	{
		uint32_t y = j->list[j->begin[element]];

		if (j->offset[y + 1] - j->offset[y] >= j->least)
			break;
		j->begin[element]++;
	}
}

static inline uint64_t
prefix_size(const prefix_join *j, uint64_t set)
{
	return j->offset[set + 1] - j->offset[set];
}

/* The value of common[] for a candidate that cannot pass. */
#define PREFIX_PRUNED UINT32_MAX

/*
 * Count an element that set x has in common with the set at index "at" of a list.  "behind" is the
 * number of elements of x after this element.  Takes the number of candidates before, and returns
 * the new number.
 */
typedef uint64_t (*prefix_meeting)(prefix_join *j, uint64_t behind, uint64_t at,
								   uint64_t candidates);

/* Find the sets whose indexed elements include an element of x's prefix.  Returns their number. */
QB_INLINE uint64_t
prefix_candidates(prefix_join *j, uint64_t x, prefix_meeting meet)
{
	const uint32_t *element = j->item + j->offset[x];
	uint64_t size = prefix_size(j, x);
	uint64_t prefix = prefix_begin(j, x);
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

/*
 * Run the whole join.  This function is inlined into AllPairs and PPJoin, and "meet" is inlined
 * into this function.
 */
QB_INLINE void
prefix_run(const qset_collection *c, double min_jaccard, bool positions, prefix_meeting meet,
		   pair_sink *sink)
{
	prefix_join j;
	uint64_t x;

	prefix_open(&j, c, min_jaccard, positions);
	for (x = 0; x < j.sets; x++)
	{
		uint64_t candidates = prefix_candidates(&j, x, meet);
		uint64_t i;

		for (i = 0; i < candidates; i++)
		{
			if (j.common[j.candidate[i]] != PREFIX_PRUNED)
				prefix_verify(&j, x, j.candidate[i], sink);
			j.common[j.candidate[i]] = 0;
		}
		prefix_enter(&j, x);
	}
	flush_pairs(sink);
	prefix_close(&j);
}

#endif
