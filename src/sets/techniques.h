/*
 * techniques.h
 *		The paper's methods for one pair of sets ("SISI").
 *
 * Sets are ascending element numbers below 2^31, as a collection has them.
 * The methods exist to be compared: set functions on arrays use the choice in
 * kernels.h (merge or gallop), which beats all of them on one processor.
 *
 *	merge			techniques_path.c	O(n + m), sequential
 *	search			techniques_search.c	O(n log m), n the smaller; m's top levels cached
 *	merge_search	techniques_path.c	the same in pieces that fit the fastest cache
 *	hash			techniques_hash.c	O(n + m), random access to n entries
 *	merge_hash		techniques_path.c	the same in such pieces
 *	bitmap			techniques_bitmap.c	O(n + m) and |E|/8 bytes for the smaller
 *
 * src/sets/techniques.h
 */
#ifndef QI_TECHNIQUES_H
#define QI_TECHNIQUES_H

#include "sets/kernels.h"
#include "sets/methods.h"

/*
 * Number of common elements by one method (QI_AUTO: merge or gallop).
 * QS_NO_MEMORY, or QS_BAD_METHOD for one that is not for single pairs.
 */
extern qs_status
qi_single_count(const qi_kernels *k, int method, const uint32_t *a, uint64_t n, const uint32_t *b,
				uint64_t m, const qs_memory *memory, uint64_t *common);

/* ---- techniques_path.c ---- */

/* Merged elements in one piece of merge_search and merge_hash: 16 kB. */
#define QI_PIECE 4096

/*
 * Where the merge of two sets has taken "diagonal" elements: *x of a and *y of
 * b.  Of equal elements a's comes first, and a match that the diagonal cuts in
 * two stays whole in the left part, which then has one element more.  So parts
 * between cuts can be intersected one by one and their counts added.
 */
extern void qi_path_cut(const uint32_t *a, uint64_t n, const uint32_t *b, uint64_t m,
						uint64_t diagonal, uint64_t *x, uint64_t *y);

/* The count of a pair made of pieces; "piece" counts one of them. */
typedef uint64_t (*qi_piece_count)(const uint32_t *a, uint64_t n, const uint32_t *b, uint64_t m);
extern uint64_t
qi_path_count(const uint32_t *a, uint64_t n, const uint32_t *b, uint64_t m, qi_piece_count piece);

/* ---- techniques_search.c ---- */

/* Search each element of the smaller set; O(n log m). */
extern uint64_t qi_search_count(const uint32_t *a, uint64_t n, const uint32_t *b, uint64_t m);
extern uint64_t qi_search_piece(const uint32_t *a, uint64_t n, const uint32_t *b, uint64_t m);

/* ---- techniques_hash.c ---- */

/* A hash table without overflow: the elements of each bucket lie together. */
typedef struct qi_hash
{
	uint32_t *start; /* buckets + 1 */
	uint32_t *item;
	uint32_t shift; /* bucket = the upper 32 - shift bits of the hash */
} qi_hash;

/* Buckets for n elements, and their entries with the end's. */
extern uint64_t qi_hash_starts(uint64_t n);

/* Fill a table whose arrays have room for qi_hash_starts(n) and n. */
extern void qi_hash_build(qi_hash *h, const uint32_t *a, uint64_t n);
extern uint64_t qi_hash_count(const qi_hash *h, const uint32_t *b, uint64_t m);
extern uint64_t qi_hash_piece(const uint32_t *a, uint64_t n, const uint32_t *b, uint64_t m);

/* ---- techniques_bitmap.c ---- */

/* Words of a bitmap that has a bit for each of 0 .. universe-1. */
QS_INLINE uint64_t
qi_bitmap_words(uint64_t universe)
{
	return (universe + 63) / 64;
}

extern void qi_bitmap_set(uint64_t *bits, const uint32_t *a, uint64_t n);
extern void qi_bitmap_clear(uint64_t *bits, const uint32_t *a, uint64_t n);

#endif
