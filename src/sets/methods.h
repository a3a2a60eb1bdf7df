/*
 * methods.h
 *		How sets are intersected: the methods and their names.
 *
 * The index and the hybrid are what all pairs are found by.  The others are the
 * paper's techniques for pairs of sets, which are there to be compared.
 *
 * src/sets/methods.h
 */
#ifndef QI_METHODS_H
#define QI_METHODS_H

#include "base/port.h"

/* Names: qi_method_name(). */
typedef enum qi_method
{
	QI_AUTO,
	QI_MERGE, /* this and those up to bitmap: techniques.h */
	QI_SEARCH,
	QI_MERGE_SEARCH,
	QI_HASH,
	QI_MERGE_HASH,
	QI_BITMAP,
	QI_INDEX, /* this and the next: only for all pairs (pairs.h) */
	QI_HYBRID,
	QI_METHODS
} qi_method;

/* "auto", "merge", ..., or NULL. */
extern const char *qi_method_name(int method);

/* The method of this name, or -1. */
extern int qi_method_of(const char *name);

#endif
