/*
 * explicit.h
 *		The explicit encoding: exact counts of few distinct keys.
 *
 * src/sketch/explicit.h
 */
#ifndef QS_EXPLICIT_H
#define QS_EXPLICIT_H

#include "sketch/structure.h"

/*
 * Returns the bytes of a serialized entry: a fingerprint, and a count of 4 bytes if "narrow", else
 * of 8.
 */
QB_INLINE uint64_t
qs_entry_bytes(bool narrow)
{
	return narrow ? 12 : sizeof(qs_entry);
}

/* Returns the exact count of a key, or 0 if the sketch does not have the key. */
extern int64_t qs_explicit_get(const qs_sketch *sk, uint64_t fingerprint);

/*
 * Adds keys, and stops before a key whose new entry would exceed qs_explicit_limit() entries.
 * Weights are not negative.  If weight is NULL, all weights are 1.  Sets *done to the number of
 * added keys, except after QB_NO_MEMORY.
 */
extern qb_status qs_explicit_add(qs_sketch *sk, const uint64_t *fingerprint, const int64_t *weight,
								 size_t count, size_t *done);

/*
 * Removes keys, and stops at the first key whose count is too small.  Returns the number of removed
 * keys.
 */
extern size_t
qs_explicit_remove(qs_sketch *sk, const uint64_t *fingerprint, const int64_t *weight, size_t count);

/*
 * Reads the next entry.  *position is 0 for the first entry.  Returns false after the last entry.
 * In a view, entries ascend by fingerprint.  In an owned sketch, their order has no meaning.
 */
extern bool qs_explicit_next(const qs_sketch *sk, uint64_t *position, qs_entry *entry);

/* Writes all entries, sorted by fingerprint, with counts of 4 bytes if "narrow", else of 8. */
extern void qs_explicit_write(const qs_sketch *sk, bool narrow, uint8_t *out);

/*
 * True if the entries of a view are strictly ascending, and their counts are positive and sum to N.
 */
extern bool qs_explicit_check(const qs_sketch *sk);

/* ---- sorting the entries of an explicit sketch by fingerprint, for writing ---- */

/*
 * Sorts at most QS_EXPLICIT_MAX entries with different fingerprints.  "spare" has memory for
 * "count" entries.
 */
extern void qs_sort_entries(qs_entry *entry, qs_entry *spare, uint32_t count);

#endif
