/*
 * dictionary.h
 *		Codes of keys: numbers 0, 1, 2, ... in the order in which keys first occur.
 *
 * The table has one of two layouts:
 *
 *	slots	a hash table, by open addressing, at most half full
 *	direct	an array over the range of the keys; ids usually have a range that is
 *			not much larger than their number
 *
 * Whenever a table is made or grows, the table becomes direct if its keys are dense.  If the keys
 * are sparse, the table gets slots.  Among a million keys, a direct lookup reads 4 bytes of 4 MB,
 * and a lookup in slots reads 16 bytes of 32 MB.  The direct lookup is 5 times faster than the
 * lookup in slots.  In addition to the keys, a table of n keys takes at most
 * 64 * (n + QSET_DICTIONARY_AT_ONCE) bytes in both layouts.
 *
 * Keys are signed integers, or fingerprints of 128 bits.  A table of fingerprints always has slots.
 *
 * src/sets/dictionary.h
 */
#ifndef QSET_DICTIONARY_H
#define QSET_DICTIONARY_H

#include "sets/sets.h"

/* The greatest number of keys in one call of qset_dictionary_of(). */
#define QSET_DICTIONARY_AT_ONCE 256

typedef struct qset_slot
{
	uint64_t low;
	uint32_t code; /* code + 1; 0: empty */
} qset_slot;

typedef struct qset_dictionary
{
	qset_slot *slot;  /* NULL: the table is direct, or has no key */
	uint64_t slots;   /* a power of two, or 0 */
	uint32_t *direct; /* code + 1 of each key from "base" on, or 0; NULL: the table is not direct */
	uint64_t base;
	uint64_t span;  /* number of slots of "direct" */
	uint64_t *low;  /* the key of each code */
	uint64_t *high; /* upper halves; NULL: keys have 64 bits */
	uint64_t used;
	uint64_t room; /* allocated length of low and high */
	bool wide;     /* keys have 128 bits */
} qset_dictionary;

extern void qset_dictionary_free(qset_dictionary *l, const qb_memory *memory);

/* Return the bytes of all arrays. */
extern uint64_t qset_dictionary_memory(const qset_dictionary *l);

/*
 * Look up the codes of up to QSET_DICTIONARY_AT_ONCE keys.  A new key gets a new code.  "high" is
 * NULL unless the keys are wide.  After QB_NO_MEMORY no key has a new code.
 */
extern qb_status qset_dictionary_of(qset_dictionary *l, const uint64_t *low, const uint64_t *high,
									uint32_t n, uint32_t *code, const qb_memory *memory);

/* Look up the codes of any number of keys; new keys get new codes. */
extern qb_status
qset_dictionary_of_all(qset_dictionary *l, const uint64_t *low, const uint64_t *high, uint64_t n,
					   uint32_t *code, const qb_memory *memory);

/*
 * Set rank[code] to the index of the code's key in ascending order of the keys.  Write the keys in
 * this order to low[] and high[].  Error: QB_NO_MEMORY.
 */
extern qb_status qset_dictionary_rank(const qset_dictionary *l, uint32_t *rank, uint64_t *low,
									  uint64_t *high, const qb_memory *memory);

#endif
