/*
 * sets_elements.c
 *		From keys of any type to elements of sets; set operations on arrays of such keys, and
 *		ids of sets.
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
#include "pgbase/keyfamily.h"
#include "pgbase/memory.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

/* Keys that are hashed between two looks for interrupts. */
#define KEYS_AT_ONCE QSET_DICTIONARY_AT_ONCE

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
make_elements(KeyType *key, const ElementArray *array, int from, uint64 *low, uint64 *high)
{
	int end = Min(array->count, from + KEYS_AT_ONCE);
	uint32 count = 0;
	int i;

	for (i = from; i < end; i++)
	{
		Datum value = array->value[i];

		if (array->null[i])
			continue;
		if (KeyIsNumber(key))
			low[count++] = KeyFingerprint(key, value);
		else
		{
			KeyHashWide(key, value, &low[count], &high[count]);
			count++;
		}
	}
	return count;
}

/*
 * Code the elements of an array, and return the code of each key that is not null, in
 * their order.  "dictionary" grows by the elements that it does not have yet.
 */
uint32 *
ElementsCode(KeyType *key, const ElementArray *array, qset_dictionary *dictionary,
			 const qb_memory *memory)
{
	uint32 *code =
		MemoryContextAllocHuge(CurrentMemoryContext, Max(array->count, 1) * sizeof(uint32));
	uint64 low[KEYS_AT_ONCE];
	uint64 high[KEYS_AT_ONCE];
	uint64 coded = 0;
	int i;

	KeyTypeLearnArray(key, array->value, array->null, array->count);
	KeyTypeForgetText(key);
	if (dictionary->used > 0 && dictionary->wide == KeyIsNumber(key))
		SetsCheck(QB_MISMATCH);
	dictionary->wide = !KeyIsNumber(key);
	for (i = 0; i < array->count; i += KEYS_AT_ONCE)
	{
		uint32 count = make_elements(key, array, i, low, high);

		CHECK_FOR_INTERRUPTS();
		SetsCheck(qset_dictionary_of(dictionary, low, KeyIsNumber(key) ? NULL : high, count,
									 code + coded, memory));
		coded += count;
	}
	return code;
}

/*
 * ---- arrays of keys, and ids of sets ----
 *
 * An array stands for the set of its elements, as an array of integers does (sets_array.c).  Two
 * elements are the same if their fingerprints of 128 bits are equal, as in collections of sets.
 * The elements of both arrays are coded by one table, those of the first array first.  So the
 * second array's codes say which of its elements the first one has.
 */

#define PATIENCE 65536

static const KeyHolder array_holder = { "set", "sets", "qsets_agg" };

/* An array, its keys, and the code of each key. */
typedef struct KeySet
{
	ArrayType *array;
	ElementArray keys;
	uint32 *code;
	qb_keys kind;
} KeySet;

/* Two sets. */
typedef struct KeySets
{
	KeySet a;
	KeySet b;
	qb_memory memory;
	qset_dictionary dictionary;
	SetCounts counts;
	char *in_b; /* for each code: true if the second set has the element */
} KeySets;

/* The type of the elements, which the calling expression remembers. */
static KeyType *
remembered_type(FunctionCallInfo fcinfo)
{
	FmgrInfo *function = fcinfo->flinfo;

	if (function->fn_extra == NULL)
		function->fn_extra = MemoryContextAllocZero(function->fn_mcxt, sizeof(KeyType));
	return function->fn_extra;
}

/* Read an array and code its elements. */
static void
read_set(FunctionCallInfo fcinfo, int argument, KeySets *sets, KeySet *set)
{
	KeyType *type = remembered_type(fcinfo);

	set->array = PG_GETARG_ARRAYTYPE_P(argument);
	ElementsCheckArray(set->array);
	KeyTypeChange(type, ARR_ELEMTYPE(set->array), PG_GET_COLLATION());
	ElementsTakeApart(&set->keys, type, PointerGetDatum(set->array));
	set->code = ElementsCode(type, &set->keys, &sets->dictionary, &sets->memory);
	set->kind = type->keys;
}

/*
 * Check for interrupts now and then, in a loop over codes that is at its i-th code.  Each code may
 * cost a cache miss.
 */
static inline void
look_for_interrupts(int i)
{
	if (i % PATIENCE == 0)
		CHECK_FOR_INTERRUPTS();
}

/* Mark the elements of the second set, and count the elements that both sets have. */
static void
count_common(KeySets *sets)
{
	int i;

	sets->in_b = MemoryContextAllocExtended(CurrentMemoryContext, Max(sets->dictionary.used, 1),
											MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	for (i = 0; i < sets->b.keys.count; i++)
	{
		uint32 code = sets->b.code[i];

		look_for_interrupts(i);
		sets->counts.b += !sets->in_b[code];
		sets->counts.common += !sets->in_b[code] && code < sets->counts.a;
		sets->in_b[code] = true;
	}
}

/* Read both arguments. */
static void
read_sets(FunctionCallInfo fcinfo, KeySets *sets)
{
	memset(sets, 0, sizeof(*sets));
	ContextMemory(CurrentMemoryContext, &sets->memory);
	read_set(fcinfo, 0, sets, &sets->a);
	sets->counts.a = sets->dictionary.used;
	read_set(fcinfo, 1, sets, &sets->b);
	if (sets->a.keys.count > 0 && sets->b.keys.count > 0)
		KeyFamilyCheckSame(&sets->a.kind, &sets->b.kind, &array_holder);
	count_common(sets);
}

static SetCounts
counts_of(FunctionCallInfo fcinfo)
{
	KeySets sets;

	read_sets(fcinfo, &sets);
	return sets.counts;
}

SET_FUNCTIONS(qsets_keys, counts_of);

/* qsets_intersect(key[], key[]): the common elements, each once, in the order of the first array. */
PG_FUNCTION_INFO_V1(qsets_keys_intersect);
Datum
qsets_keys_intersect(PG_FUNCTION_ARGS)
{
	KeySets sets;
	Datum *common;
	int count = 0;
	Oid type;
	int16 length;
	bool by_value;
	char align;
	int i;

	read_sets(fcinfo, &sets);
	type = ARR_ELEMTYPE(sets.a.array);
	common =
		MemoryContextAllocHuge(CurrentMemoryContext, Max(sets.counts.common, 1) * sizeof(Datum));
	for (i = 0; i < sets.a.keys.count; i++)
	{
		look_for_interrupts(i);
		if (!sets.in_b[sets.a.code[i]])
			continue;
		common[count++] = sets.a.keys.value[i];
		sets.in_b[sets.a.code[i]] = false;
	}
	get_typlenbyvalalign(type, &length, &by_value, &align);
	PG_RETURN_ARRAYTYPE_P(construct_array(common, count, type, length, by_value, align));
}

/*
 * qsets_id(key): the id of a set named by a key.  An integer, date, time or the like is its number;
 * any other key is its hash of 64 bits.
 */
PG_FUNCTION_INFO_V1(qsets_id);
Datum
qsets_id(PG_FUNCTION_ARGS)
{
	KeyType *type = remembered_type(fcinfo);
	Datum key = PG_GETARG_DATUM(0);
	KeyArgument argument;

	if (type->type == InvalidOid)
	{
		KeyArgumentOf(&argument, fcinfo, 0);
		KeyTypeChange(type, argument.type, argument.collation);
	}
	KeyTypeLearn(type, key);
	PG_RETURN_INT64((int64) KeyFingerprint(type, key));
}

/*
 * The function behind all SQL functions that take the id of a set in another type than bigint.  It
 * raises an error that says how to make the id.
 */
PG_FUNCTION_INFO_V1(qsets_other_id);
Datum
qsets_other_id(PG_FUNCTION_ARGS)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("ids of sets are bigint, not %s",
					format_type_be(get_fn_expr_argtype(fcinfo->flinfo, 1))),
			 errhint("Make an id of any key with qsets_id(key), or cast a number to bigint.")));
}
