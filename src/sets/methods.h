/*
 * methods.h
 *		How sets are intersected: the methods and their names.
 *
 * The index and the hybrid find all pairs; "auto" takes one of them.  The other
 * methods are the paper's techniques for single pairs; they exist for comparison.
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
