/*
 * collection.h
 *		A collection of sets in memory: set id -> elements.
 *
 * Elements are numbered by rank, the place of their value among all that
 * occur, so that the methods work on 4-byte numbers whatever the elements are:
 * integers (exact, ascending as signed numbers) or 128-bit fingerprints of
 * other types (ascending as unsigned numbers, upper half first).  A collection
 * is a function of the pairs (set id, element) alone: ids ascend, each set has
 * an element, each element occurs in a set.  It may be larger than 1 GB.
 *
 *	id[0 .. sets-1]				ascending
 *	offset[0 .. sets]			set s has rank[offset[s] .. offset[s + 1] - 1]
 *	rank[0 .. elements-1]		ascending within a set
 *	low[], high[0 .. universe-1]	the value of a rank; integers have no high
 *
 * Methods also take collections with empty sets, which only tests make.
 * Never changed once it is made.
 *
 * src/sets/collection.h
 */
#ifndef QI_COLLECTION_H
#define QI_COLLECTION_H

#include "base/keys.h"
#include "sets/kernels.h"

typedef struct qi_collection
{
	qs_keys keys; /* which kind of elements */
	bool wide;    /* elements are 128-bit fingerprints */

	uint64_t sets;
	uint64_t elements; /* sum of the sets' sizes */
	uint64_t universe; /* distinct elements */

	int64_t *id;
	uint64_t *offset;
	uint32_t *rank;
	uint64_t *low;
	uint64_t *high; /* NULL unless wide */

	const qs_memory *memory;
} qi_collection;

/* Arrays of the sizes that are set, zeroed; QS_NO_MEMORY leaves none. */
extern qs_status qi_collection_alloc(qi_collection *c, const qs_memory *memory);
extern void qi_collection_free(qi_collection *c);

/* A copy with memory of its own. */
extern qs_status
qi_collection_copy(qi_collection *to, const qi_collection *from, const qs_memory *memory);

/*
 * Make sets of lists of elements in any order: sorted, each element once,
 * without gaps.  QS_NO_MEMORY, QS_CANCELLED.
 */
extern qs_status
qi_collection_sort(qi_collection *c, const qs_memory *memory, const qi_interrupt *interrupt);

/* Bytes of all arrays. */
extern uint64_t qi_collection_memory(const qi_collection *c);

/* The number of the set with this id, or -1. */
extern int64_t qi_collection_find(const qi_collection *c, int64_t id);

/*
 * The sets of these ids (any order, any ids) as a collection of their own,
 * with its own ranks.
 */
extern qs_status
qi_collection_subset(qi_collection *to, const qi_collection *from, const int64_t *id, uint64_t ids,
					 const qs_memory *memory, const qi_interrupt *interrupt);

/*
 * map[rank in "from"] = rank of the same element in "to", or UINT32_MAX if it
 * has none.  O(universes).
 */
extern void qi_collection_map(const qi_collection *from, const qi_collection *to, uint32_t *map);

/*
 * Numbers for the elements of two collections, in their order and alike in
 * both: number_a[rank in a], number_b[rank in b].  Returns how many there are.
 */
extern uint64_t qi_collection_join(const qi_collection *a, const qi_collection *b,
								   uint32_t *number_a, uint32_t *number_b);

QS_INLINE uint32_t
qi_set_size(const qi_collection *c, uint64_t set)
{
	return (uint32_t) (c->offset[set + 1] - c->offset[set]);
}

QS_INLINE const uint32_t *
qi_set_ranks(const qi_collection *c, uint64_t set)
{
	return c->rank + c->offset[set];
}

/* The order of elements: -1, 0 or 1. */
QS_INLINE int
qi_element_compare(const qi_collection *a, uint64_t i, const qi_collection *b, uint64_t j)
{
	if (!a->wide)
		return ((int64_t) a->low[i] > (int64_t) b->low[j]) -
			   ((int64_t) a->low[i] < (int64_t) b->low[j]);
	if (a->high[i] != b->high[j])
		return a->high[i] < b->high[j] ? -1 : 1;
	return (a->low[i] > b->low[j]) - (a->low[i] < b->low[j]);
}

#endif
