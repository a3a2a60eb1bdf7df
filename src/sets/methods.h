/*
 * methods.h
 *		How sets are intersected: the methods and their names.
 *
 * The index and the hybrid find all pairs.  The other methods are the paper's techniques
 * for single pairs; but for the bitmaps of all sets they exist for comparison.  "auto"
 * takes the index, the hybrid or, for a few large sets, these bitmaps.
 *
 * src/sets/methods.h
 */
#ifndef QSET_METHODS_H
#define QSET_METHODS_H

#include "base/port.h"

/* Names: qset_method_name(). */
typedef enum qset_method
{
	QSET_AUTO,
	QSET_MERGE, /* merge to bitmap are the paper's techniques: techniques.h */
	QSET_SEARCH,
	QSET_MERGE_SEARCH,
	QSET_HASH,
	QSET_MERGE_HASH,
	QSET_BITMAP,
	QSET_INDEX, /* index and hybrid are only for all pairs: pairs.h */
	QSET_HYBRID,
	QSET_METHODS
} qset_method;

/* "auto", "merge", ..., or NULL. */
extern const char *qset_method_name(int method);

/* The method with this name, or -1. */
extern int qset_method_of(const char *name);

#endif
