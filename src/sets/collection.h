/*
 * collection.h
 *		A collection of sets in memory, set id -> elements, and its byte format.
 *
 * An element's number is its rank: the index of its value among all values of the collection.  A
 * collection has fewer than 2^31 distinct elements, so the methods work on 4-byte numbers.  The
 * values are integers (in signed order) or 128-bit fingerprints of other types (in unsigned order,
 * upper half first).  The pairs (set id, element) alone determine a collection: ids ascend, each
 * set has an element, and each element is in a set.  A collection may be larger than 1 GB.
 *
 *	id[0 .. sets-1]				ascending
 *	offset[0 .. sets]			set s has rank[offset[s] .. offset[s + 1] - 1]
 *	rank[0 .. elements-1]		ascending within a set
 *	low[], high[0 .. universe-1]	the value of a rank; integers have no high
 *
 * The methods of pairs.h accept empty sets, which only tests make.  A finished collection never
 * changes.
 *
 * src/sets/collection.h
 */
#ifndef QSET_COLLECTION_H
#define QSET_COLLECTION_H

#include "base/hash.h"
#include "sets/kernels.h"

typedef struct qset_collection
{
	qb_keys keys; /* type of the elements */
	bool wide;    /* elements are 128-bit fingerprints */

	uint64_t sets;
	uint64_t elements; /* sum of the sets' sizes */
	uint64_t universe; /* number of distinct elements */

	int64_t *id;
	uint64_t *offset;
	uint32_t *rank;
	uint64_t *low;
	uint64_t *high; /* NULL unless wide */

	const qb_memory *memory;
} qset_collection;

/* Allocate zeroed arrays for the sizes in *c.  QB_NO_MEMORY: no array remains allocated. */
extern qb_status qset_collection_alloc(qset_collection *c, const qb_memory *memory);
extern void qset_collection_free(qset_collection *c);

/* Make "to" a copy of "from", with arrays of its own. */
extern qb_status
qset_collection_copy(qset_collection *to, const qset_collection *from, const qb_memory *memory);

/*
 * Turn lists of elements in any order into sets: sort each list, drop duplicates, and move the sets
 * together.  Error: QB_NO_MEMORY.
 */
extern qb_status qset_collection_sort(qset_collection *c, const qb_memory *memory);

/* Return the bytes of all arrays. */
extern uint64_t qset_collection_memory(const qset_collection *c);

/* Return the number of the set with this id, or -1. */
extern int64_t qset_collection_find(const qset_collection *c, int64_t id);

/*
 * Return the number of elements that are less than the given element.  high is 0 unless the
 * collection is wide.
 */
extern uint64_t qset_collection_lower(const qset_collection *c, uint64_t low, uint64_t high);

/* Return the rank of an element, or -1. */
extern int64_t qset_collection_rank(const qset_collection *c, uint64_t low, uint64_t high);

/*
 * Make a collection of the sets with the given ids.  The ids may be in any order.  Ids without a
 * set are ignored.  The new collection has new ranks.
 */
extern qb_status qset_collection_subset(qset_collection *to, const qset_collection *from,
										const int64_t *id, uint64_t ids, const qb_memory *memory);

/* True if both collections have elements of one type.  A collection without sets fits any type. */
QB_INLINE bool
qset_collections_match(const qset_collection *a, const qset_collection *b)
{
	return a->sets == 0 || b->sets == 0 ||
		   (a->wide == b->wide && qb_keys_match(&a->keys, &b->keys));
}

/*
 * Set map[rank in "from"] to the rank of the same element in "to", or to UINT32_MAX if "to" lacks
 * the element.  Takes time proportional to the sum of both universes.  Error: QB_MISMATCH.
 */
extern qb_status
qset_collection_map(const qset_collection *from, const qset_collection *to, uint32_t *map);

/*
 * Number the elements of two collections in ascending order.  An element of both collections gets
 * one number: number_a[rank in a] = number_b[rank in b].  "numbers" is the number of distinct
 * elements.  Error: QB_MISMATCH.
 */
extern qb_status qset_collection_join(const qset_collection *a, const qset_collection *b,
									  uint32_t *number_a, uint32_t *number_b, uint64_t *numbers);

QB_INLINE uint32_t
qset_set_size(const qset_collection *c, uint64_t set)
{
	return (uint32_t) (c->offset[set + 1] - c->offset[set]);
}

QB_INLINE const uint32_t *
qset_set_ranks(const qset_collection *c, uint64_t set)
{
	return c->rank + c->offset[set];
}

/* Compare element i of a with element j of b: -1, 0 or 1. */
QB_INLINE int
qset_element_compare(const qset_collection *a, uint64_t i, const qset_collection *b, uint64_t j)
{
	if (!a->wide)
		return ((int64_t) a->low[i] > (int64_t) b->low[j]) -
			   ((int64_t) a->low[i] < (int64_t) b->low[j]);
	if (a->high[i] != b->high[j])
		return a->high[i] < b->high[j] ? -1 : 1;
	return (a->low[i] > b->low[j]) - (a->low[i] < b->low[j]);
}

/*
 * ---- the byte format (format.c) ----
 *
 * Little-endian.  The pairs (set id, element) alone determine the bytes, so equal collections have
 * equal bytes.
 *
 *	at	bytes
 *	0	3	"QSS"
 *	3	1	version, 1
 *	4	1	kind: 1 integers, 2 fingerprints of 128 bits
 *	5	1	encoding of the elements' text (qb_text); 0 without elements
 *	6	6	zero
 *	12	4	CRC-32C of all bytes, with these four bytes as zero
 *	16	4	key family; 0 only in a collection without sets
 *	20	4	collation
 *	24	8	sets
 *	32	8	elements: sum of the sets' sizes
 *	40	8	universe: distinct elements
 *	48	8	length of the body in bytes
 *	56	8	zero
 *	64		body
 *
 * Body: the distinct elements in ascending order, then the sets in the order of their ids.  A
 * number has as few bytes as possible, with seven bits in each byte, the lowest first.  The upper
 * bit is set in all bytes but the last.
 *
 *	elements	integers: the first in 8 bytes, each later one as its distance to the
 *				one before, minus 1; fingerprints: 16 bytes, upper half first
 *	a set		its id, the first in 8 bytes, each later id as distance minus 1; its
 *				size minus 1; its first rank; each later rank as distance minus 1
 */

/*
 * The fields that depend on each other, and the code that compares them:
 *
 *	kind, family			qset_read(): without a family there are neither sets nor a
 *							collation, and the kind is 1
 *							the caller, which knows the families: the kind is 1 if keys of
 *							the family are numbers, else 2
 *	family, collation, text	the caller
 *	sets, elements, universe	qset_read(): each set has an element, each element is in a set
 *	sizes, length of body	qset_read(): the body ends with the last set
 *
 * Functions of two collections call qset_collections_match(), which compares the widths and the
 * types of the elements.
 */

#define QSET_FORMAT_VERSION 1
#define QSET_HEADER_BYTES   64

/* Return the number of bytes of a serialized collection, and write these bytes. */
extern uint64_t qset_flat_size(const qset_collection *c);
extern void qset_write(const qset_collection *c, uint8_t *out);

/*
 * Read the sizes, the type of keys and the width of a collection from a header of
 * QSET_HEADER_BYTES, without any check.
 */
extern void qset_read_sizes(const uint8_t *header, qset_collection *sizes);

/*
 * Make a collection from untrusted bytes.  Checks every rule of the format that is not left to the
 * caller (above).  Allocates at most ten times "length" bytes.
 */
extern qb_status
qset_read(qset_collection *c, const uint8_t *bytes, uint64_t length, const qb_memory *memory);

#endif
