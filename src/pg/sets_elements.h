/*
 * sets_elements.h
 *		From keys of any type to elements of sets.
 *
 * src/pg/sets_elements.h
 */
#ifndef QS_PG_SETS_ELEMENTS_H
#define QS_PG_SETS_ELEMENTS_H

#include "pg/sets_value.h"
#include "pgbase/keytype.h"
#include "sets/labels.h"
#include "utils/array.h"

/* How keys of a type become elements.  A zeroed one describes no type. */
typedef struct ElementType
{
	KeyType key;
	bool exact; /* kept as numbers, not as fingerprints */
} ElementType;

/* The keys of an array. */
typedef struct ElementArray
{
	Datum *value;
	bool *null;
	int count;
} ElementArray;

/* A part of a whole; 0 of nothing. */
static inline double
SetsQuotient(uint64 part, uint64 whole)
{
	return whole == 0 ? 0 : (double) part / (double) whole;
}

extern void ElementsCheckArray(const ArrayType *array);
extern void ElementsInit(ElementType *elements, Oid type, Oid collation);
extern void ElementsTakeApart(ElementArray *array, const KeyType *key, Datum argument);
extern uint32 *ElementsLabel(ElementType *elements, const ElementArray *array, qset_labels *labels,
							 const qb_memory *memory);

#endif
