/*
 * dictionary.h
 *		Codes of keys: numbers 0, 1, 2, ... in the order in which keys first come.
 *
 * The table has one of two layouts:
 *
 *	slots	a hash table, by open addressing, at most half full
 *	direct	an array over the range of the keys; ids usually have a range that is
 *			not much larger than their number
 *
 * A table begins as slots.  It becomes direct when it must grow and the keys are dense.  A key that
 * is too far from the others turns it back into slots.  A direct lookup among a million keys
 * touches 4 bytes instead of 16, in an array of 4 MB instead of 32.  So it is 5 times faster.
 * Memory is bounded by 64 bytes
 * a key either way.
 *
 * Keys are integers, ordered as signed ones, or fingerprints of 128 bits.
 *
 * src/sets/dictionary.h
 */
#ifndef QSET_DICTIONARY_H
#define QSET_DICTIONARY_H

#include "sets/sets.h"

/* At most this many keys are looked up at once. */
#define QSET_DICTIONARY_AT_ONCE 256

typedef struct qset_slot
{
	uint64_t low;
	uint32_t code; /* code + 1; 0: empty */
} qset_slot;

typedef struct qset_dictionary
{
	qset_slot *slot;  /* NULL if direct, or if there is no key yet */
	uint64_t slots;   /* a power of two, or 0 */
	uint32_t *direct; /* code + 1 for the keys from "base" on; NULL: slots */
	uint64_t base;
	uint64_t span;  /* keys that "direct" has room for */
	uint64_t *low;  /* the key of each code */
	uint64_t *high; /* upper halves; NULL: keys have 64 bits */
	uint64_t used;
	uint64_t room; /* codes for which low and high have room */
	bool wide;     /* keys have 128 bits */
} qset_dictionary;

extern void qset_dictionary_free(qset_dictionary *l, const qb_memory *memory);

/* Bytes of all arrays. */
extern uint64_t qset_dictionary_memory(const qset_dictionary *l);

/*
 * Look up the codes of up to QSET_DICTIONARY_AT_ONCE keys.  A new key gets a new code.  "high" is
 * NULL unless the keys are wide.  After QB_NO_MEMORY no key got a code.
 */
extern qb_status qset_dictionary_of(qset_dictionary *l, const uint64_t *low, const uint64_t *high,
									uint32_t n, uint32_t *code, const qb_memory *memory);

/* Look up the codes of any number of keys; new keys get new codes. */
extern qb_status
qset_dictionary_of_all(qset_dictionary *l, const uint64_t *low, const uint64_t *high, uint64_t n,
					   uint32_t *code, const qb_memory *memory);

/*
 * Set rank[code] to the index of the code's key in the order of all keys.  Write the keys in this
 * order to low[] and high[].  QB_NO_MEMORY.
 */
extern qb_status qset_dictionary_rank(const qset_dictionary *l, uint32_t *rank, uint64_t *low,
									  uint64_t *high, const qb_memory *memory);

#endif
