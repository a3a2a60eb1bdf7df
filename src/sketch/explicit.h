/*
 * explicit.h
 *		The explicit encoding: exact counts of few distinct keys.
 *
 * src/sketch/explicit.h
 */
#ifndef QS_EXPLICIT_H
#define QS_EXPLICIT_H

#include "sketch/structure.h"

/* Bytes of an entry in serialized bytes: a fingerprint, and a count of 4 or 8 bytes. */
QB_INLINE uint64_t
qs_entry_bytes(bool narrow)
{
	return narrow ? 12 : sizeof(qs_entry);
}

/* Exact count of a key; 0 if the key is absent. */
extern int64_t qs_explicit_get(const qs_sketch *sk, uint64_t fingerprint);

/*
 * Add keys until all are added, or until the next key would exceed the limit of distinct keys.
 * Weights are positive; NULL: 1 each. *done is the number of keys added.
 */
extern qb_status qs_explicit_add(qs_sketch *sk, const uint64_t *fingerprint, const int64_t *weight,
								 size_t count, size_t *done);

/* Remove keys up to the first one whose count is too small; returns how many were removed. */
extern size_t
qs_explicit_remove(qs_sketch *sk, const uint64_t *fingerprint, const int64_t *weight, size_t count);

/*
 * Visit the entries. *position starts at 0.  Returns false at the end.  The order of entries is the
 * order of the hash table and has no meaning.
 */
extern bool qs_explicit_next(const qs_sketch *sk, uint64_t *position, qs_entry *entry);

/* Write all "used" entries, sorted by fingerprint. */
extern void qs_explicit_write(const qs_sketch *sk, bool narrow, uint8_t *out);

/*
 * True if the entries of a view are strictly ascending, and their counts are positive and sum to N.
 */
extern bool qs_explicit_check(const qs_sketch *sk);

/* ---- sorting the entries of an explicit sketch by fingerprint, for writing ---- */

/*
 * Sort at most QS_EXPLICIT_MAX entries with different fingerprints.  "spare" has room for this many
 * entries.
 */
extern void qs_sort_entries(qs_entry *entry, qs_entry *spare, uint32_t count);

#endif
