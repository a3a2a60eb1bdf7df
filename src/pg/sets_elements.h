/*
 * sets_elements.h
 *		Converts keys of any type to elements of sets.
 *
 * src/pg/sets_elements.h
 */
#ifndef QS_PG_SETS_ELEMENTS_H
#define QS_PG_SETS_ELEMENTS_H

#include "pg/sets_state.h"
#include "pgbase/keytype.h"
#include "pgbase/value.h"
#include "sets/dictionary.h"
#include "utils/array.h"

/* The keys of an array. */
typedef struct ElementArray
{
	Datum *value;
	bool *null;
	int count;
} ElementArray;

extern void ElementsCheckArray(const ArrayType *array);
extern void ElementsTakeApart(ElementArray *array, const KeyType *key, Datum argument);
extern uint32 *ElementsCode(KeyType *key, const ElementArray *array, qset_dictionary *dictionary,
							const qb_memory *memory);

/* sets_array.c */
extern ArrayType *SetsFinishArray(ArrayType *array, uint64 count, Oid type, Size width);

/* ---- results for two sets ---- */

/* The number of elements of the first set, of the second set, and of their intersection. */
typedef struct SetCounts
{
	uint64 a;
	uint64 b;
	uint64 common;
} SetCounts;

/* The number of elements of the union. */
static inline uint64
SetsEither(SetCounts n)
{
	return n.a + n.b - n.common;
}

/* The number of elements that only the first set has. */
static inline uint64
SetsOnlyFirst(SetCounts n)
{
	return n.a - n.common;
}

/* The number of common elements divided by the size of the union; 0 for two empty sets. */
static inline double
SetsJaccard(SetCounts n)
{
	return SetsEither(n) == 0 ? 0 : (double) n.common / (double) SetsEither(n);
}

/* The number of common elements divided by the size of the smaller set; 0 if a set is empty. */
static inline double
SetsOverlap(SetCounts n)
{
	return Min(n.a, n.b) == 0 ? 0 : (double) n.common / (double) Min(n.a, n.b);
}

/* True if the second set is a subset of the first. */
static inline bool
SetsContainAll(SetCounts n)
{
	return n.common == n.b;
}

/* Defines the SQL functions of two arrays, whose SetCounts "counts_of" returns. */
#define SET_FUNCTIONS(name, counts_of)                                                      \
	SQL_FUNCTION(name##_intersect_count, Int64GetDatum((int64) counts_of(fcinfo).common));  \
	SQL_FUNCTION(name##_union_count, Int64GetDatum((int64) SetsEither(counts_of(fcinfo)))); \
	SQL_FUNCTION(name##_difference_count,                                                   \
				 Int64GetDatum((int64) SetsOnlyFirst(counts_of(fcinfo))));                  \
	SQL_FUNCTION(name##_jaccard, Float8GetDatum(SetsJaccard(counts_of(fcinfo))));           \
	SQL_FUNCTION(name##_overlap, Float8GetDatum(SetsOverlap(counts_of(fcinfo))));           \
	SQL_FUNCTION(name##_contains_all, BoolGetDatum(SetsContainAll(counts_of(fcinfo))))

/* Raises an error, because ids of sets are bigint. */
extern Datum qsets_other_id(PG_FUNCTION_ARGS);

#endif
