/*
 * entry_sort.h
 *		Sorting the entries of an explicit sketch by fingerprint, for writing.
 *
 * src/sketch/entry_sort.h
 */
#ifndef QS_ENTRY_SORT_H
#define QS_ENTRY_SORT_H

#include "sketch/sketch.h"

/*
 * Sort at most QS_EXPLICIT_MAX entries of different fingerprints.  "spare" has room for as
 * many.
 */
extern void qs_sort_entries(qs_entry *entry, qs_entry *spare, uint32_t count);

#endif
