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

/* Exact count of a key; 0 if it is not there. */
extern int64_t qs_explicit_get(const qs_sketch *sk, uint64_t fingerprint);

/*
 * Add keys (weight NULL: 1 each; weights are positive) until all are in or the next
 * one would pass the limit of distinct keys; *done says how many are in.
 */
extern qb_status qs_explicit_add(qs_sketch *sk, const uint64_t *fingerprint, const int64_t *weight,
								 size_t count, size_t *done);

/* Remove keys up to the first one whose count is too small; returns how many were removed. */
extern size_t
qs_explicit_remove(qs_sketch *sk, const uint64_t *fingerprint, const int64_t *weight, size_t count);

/*
 * Visit the entries: *position starts at 0; returns false at the end.  The order is
 * that of the table and means nothing.
 */
extern bool qs_explicit_next(const qs_sketch *sk, uint64_t *position, qs_entry *entry);

/* Write all "used" entries, sorted by fingerprint. */
extern void qs_explicit_write(const qs_sketch *sk, bool narrow, uint8_t *out);

/*
 * Are the entries of a view strictly ascending, are their counts positive, and do
 * these sum to N?
 */
extern bool qs_explicit_check(const qs_sketch *sk);

/* ---- sorting the entries of an explicit sketch by fingerprint, for writing ---- */

/*
 * Sort at most QS_EXPLICIT_MAX entries of different fingerprints.  "spare" has room for as
 * many.
 */
extern void qs_sort_entries(qs_entry *entry, qs_entry *spare, uint32_t count);

#endif
