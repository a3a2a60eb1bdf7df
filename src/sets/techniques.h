/*
 * techniques.h
 *		The paper's methods for one pair of sets ("SISI").
 *
 * Sets are ascending element numbers below 2^31, as a collection has them.
 * The methods exist to be compared: set functions on arrays use the choice in
 * kernels.h (merge or gallop), which beats all of them on one processor.
 *
 *	merge			O(n + m), sequential
 *	search			O(n log m), n the smaller; m's top levels cached
 *	merge_search	the same in pieces that fit the fastest cache
 *	hash			O(n + m), random access to n entries
 *	merge_hash		the same in such pieces
 *	bitmap			O(n + m) and |E|/8 bytes for the smaller
 *
 * src/sets/techniques.h
 */
#ifndef QSET_TECHNIQUES_H
#define QSET_TECHNIQUES_H

#include "sets/kernels.h"
#include "sets/methods.h"

/* ---- cuts along the merge path ---- */

/* Merged elements in one piece of merge_search and merge_hash: 16 kB. */
#define QSET_PIECE 4096

/*
 * Find where the merge of two sets has taken "diagonal" elements: *x of a and
 * *y of b.  Of two equal elements a's comes first.  If the diagonal cuts a
 * match in two, the match stays whole in the left piece, which then has one
 * element more.  So the pieces between cuts can be intersected one by one, and
 * their counts added.
 */
extern void qset_path_cut(const uint32_t *a, uint64_t n, const uint32_t *b, uint64_t m,
						  uint64_t diagonal, uint64_t *x, uint64_t *y);

/* Count a pair piece by piece; "count" counts one piece. */
typedef uint64_t (*qset_piece_count)(const uint32_t *a, uint64_t n, const uint32_t *b, uint64_t m);
extern uint64_t qset_path_count(const uint32_t *a, uint64_t n, const uint32_t *b, uint64_t m,
								qset_piece_count piece);

/* ---- searches ---- */

/* Search each element of the smaller set; O(n log m). */
extern uint64_t qset_search_count(const uint32_t *a, uint64_t n, const uint32_t *b, uint64_t m);
extern uint64_t qset_search_piece(const uint32_t *a, uint64_t n, const uint32_t *b, uint64_t m);

/* ---- hash tables ---- */

/* A hash table without overflow: the elements of each bucket lie together. */
typedef struct qset_hash
{
	uint32_t *start; /* buckets + 1 */
	uint32_t *item;
	uint32_t shift; /* bucket = the upper 64 - shift bits of the hash */
} qset_hash;

/* The number of starts in a table for n elements: its buckets, and the end of the last. */
extern uint64_t qset_hash_starts(uint64_t n);

/* Fill a table whose arrays have room for qset_hash_starts(n) starts and n elements. */
extern void qset_hash_build(qset_hash *h, const uint32_t *a, uint64_t n);
extern uint64_t qset_hash_count(const qset_hash *h, const uint32_t *b, uint64_t m);
extern uint64_t qset_hash_piece(const uint32_t *a, uint64_t n, const uint32_t *b, uint64_t m);

/* ---- bitmaps ---- */

/* Words of a bitmap that has a bit for each of 0 .. universe-1. */
QB_INLINE uint64_t
qset_bitmap_words(uint64_t universe)
{
	return (universe + 63) / 64;
}

extern void qset_bitmap_set(uint64_t *bits, const uint32_t *a, uint64_t n);
extern void qset_bitmap_clear(uint64_t *bits, const uint32_t *a, uint64_t n);

#endif
