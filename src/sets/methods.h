/*
 * methods.h
 *		How sets are intersected: the methods and their names.
 *
 * The index and the hybrid are what all pairs are found by.  The others are the
 * paper's techniques for pairs of sets, which are there to be compared.
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
	QSET_MERGE, /* this and those up to bitmap: techniques.h */
	QSET_SEARCH,
	QSET_MERGE_SEARCH,
	QSET_HASH,
	QSET_MERGE_HASH,
	QSET_BITMAP,
	QSET_INDEX, /* this and the next: only for all pairs (pairs.h) */
	QSET_HYBRID,
	QSET_METHODS
} qset_method;

/* "auto", "merge", ..., or NULL. */
extern const char *qset_method_name(int method);

/* The method of this name, or -1. */
extern int qset_method_of(const char *name);

#endif
