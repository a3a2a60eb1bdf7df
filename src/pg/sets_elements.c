/*
 * sets_elements.c
 *		From keys of any type to elements of sets.
 *
 * Keys that are numbers are elements as they are.  Keys of other types become fingerprints
 * of 128 bits: the hashes of two seeds.
 *
 * src/pg/sets_elements.c
 */
#include "pg/sets_elements.h"

#include "catalog/pg_type_d.h"
#include "miscadmin.h"
#include "parser/parse_coerce.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

/* Keys that are hashed between two looks for interrupts. */
#define KEYS_AT_ONCE QSET_LABELS_AT_ONCE

/* Raise an error unless an array may stand for a set. */
void
ElementsCheckArray(const ArrayType *array)
{
	if (ARR_NDIM(array) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR), errmsg("a set must be one-dimensional"),
				 errdetail("The array has %d dimensions.", ARR_NDIM(array))));
	if (array_contains_nulls((ArrayType *) array))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("a set must not contain nulls"),
				 errhint("Remove them with array_remove(array, NULL).")));
}

/* Set the type, unless it is the one that is set already. */
void
ElementsInit(ElementType *elements, Oid type, Oid collation)
{
	if (elements->key.type == type && elements->key.input_collation == collation)
		return;
	KeyTypeInit(&elements->key, type, collation);
	elements->exact = KeyIsNumber(&elements->key);
}

/* Take the keys out of an array of any dimensions. */
void
ElementsTakeApart(ElementArray *keys, const KeyType *key, Datum argument)
{
	ArrayType *array = DatumGetArrayTypeP(argument);
	Oid type = ARR_ELEMTYPE(array);
	int16 length;
	bool by_value;
	char align;

	if (type != key->type && !IsBinaryCoercible(type, getBaseType(key->type)))
		elog(ERROR, "array has elements of type %u instead of %u", type, key->type);
	get_typlenbyvalalign(type, &length, &by_value, &align);
	deconstruct_array(array, type, length, by_value, align, &keys->value, &keys->null,
					  &keys->count);
}

/* The elements of some keys; returns how many of them are not null. */
static uint32
make_elements(const ElementType *elements, const ElementArray *array, int from, uint64 *low,
			  uint64 *high)
{
	int end = Min(array->count, from + KEYS_AT_ONCE);
	uint32 count = 0;
	int i;

	for (i = from; i < end; i++)
	{
		Datum value = array->value[i];

		if (array->null[i])
			continue;
		if (elements->exact)
			low[count++] = KeyFingerprint(&elements->key, value);
		else
		{
			KeyHashWide(&elements->key, value, &low[count], &high[count]);
			count++;
		}
	}
	return count;
}

/*
 * Label the elements of an array, and return the label of each key that is not null, in
 * their order.  "labels" grows by the elements that it does not have yet.
 */
uint32 *
ElementsLabel(ElementType *elements, const ElementArray *array, qset_labels *labels,
			  const qb_memory *memory)
{
	uint32 *label =
		MemoryContextAllocHuge(CurrentMemoryContext, Max(array->count, 1) * sizeof(uint32));
	uint64 low[KEYS_AT_ONCE];
	uint64 high[KEYS_AT_ONCE];
	uint64 labelled = 0;
	int i;

	KeyTypeLearnArray(&elements->key, array->value, array->null, array->count);
	labels->wide = !elements->exact;
	for (i = 0; i < array->count; i += KEYS_AT_ONCE)
	{
		uint32 count = make_elements(elements, array, i, low, high);

		CHECK_FOR_INTERRUPTS();
		SetsCheck(qset_labels_of(labels, low, elements->exact ? NULL : high, count,
								 label + labelled, memory, &sets_interrupt));
		labelled += count;
	}
	return label;
}
