/*
 * labels.h
 *		Labels of keys: numbers 0, 1, 2, ... in the order in which keys first come.
 *
 * Kept in one of two ways:
 *
 *	slots	a hash table, by open addressing, at most half full
 *	direct	an array over the range of the keys, as ids usually have one that is
 *			not much wider than they are many
 *
 * A table begins as slots.  When it would have to grow and the keys prove to be
 * dense it becomes direct; a key that is too far from the others turns it back.
 * A random lookup among a million keys touches 4 bytes instead of 16, in an
 * array of 4 MB instead of 32: 5 times faster.  Memory is bounded by 64 bytes a
 * key either way.
 *
 * Keys are integers, ordered as signed ones, or fingerprints of 128 bits.
 *
 * src/sets/labels.h
 */
#ifndef QI_LABELS_H
#define QI_LABELS_H

#include "sets/sets.h"

/* At most so many keys are looked up at once. */
#define QI_LABELS_AT_ONCE 256

typedef struct qi_slot
{
	uint64_t low;
	uint32_t label; /* + 1; 0: empty */
} qi_slot;

typedef struct qi_labels
{
	qi_slot *slot;    /* NULL if direct, or if there is no key yet */
	uint64_t slots;   /* a power of two, or 0 */
	uint32_t *direct; /* label + 1 of the keys from base on; NULL: slots */
	uint64_t base;
	uint64_t span;  /* keys that "direct" has room for */
	uint64_t *low;  /* the key of each label */
	uint64_t *high; /* NULL: keys of 64 bits */
	uint64_t used;
	uint64_t room; /* labels that low and high have room for */
	bool wide;
} qi_labels;

extern void qi_labels_free(qi_labels *l, const qs_memory *memory);

/* Bytes of all arrays. */
extern uint64_t qi_labels_memory(const qi_labels *l);

/*
 * The labels of some keys, new ones if need be: up to QI_LABELS_AT_ONCE.  high is
 * NULL unless the labels are wide.  QS_NO_MEMORY, QS_CANCELLED.
 */
extern qs_status
qi_labels_of(qi_labels *l, const uint64_t *low, const uint64_t *high, uint32_t n, uint32_t *label,
			 const qs_memory *memory, const qi_interrupt *interrupt);

/* Likewise for any number of keys. */
extern qs_status
qi_labels_of_all(qi_labels *l, const uint64_t *low, const uint64_t *high, uint64_t n,
				 uint32_t *label, const qs_memory *memory, const qi_interrupt *interrupt);

/*
 * rank[label]: the place of the label's key in the order of all; and the keys in
 * that order.  QS_NO_MEMORY, QS_CANCELLED.
 */
extern qs_status qi_labels_rank(const qi_labels *l, uint32_t *rank, uint64_t *low, uint64_t *high,
								const qs_memory *memory, const qi_interrupt *interrupt);

#endif
