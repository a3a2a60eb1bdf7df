/*
 * sets_elements.c
 *		Converts keys of any type to elements of sets; set operations on arrays of keys; set ids.
 *
 * A key that is a number is an element without conversion.  A key of another type is converted to
 * a fingerprint of 128 bits (KeyHashWide()): usually two hashes with different seeds.
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

/* The number of keys that are hashed between two checks for interrupts. */
#define KEYS_AT_ONCE QSET_DICTIONARY_AT_ONCE

/* Raise an error if an array cannot be a set: it has several dimensions or NULLs. */
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

/* Deconstruct an array of any number of dimensions into its keys. */
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

/*
 * Convert at most KEYS_AT_ONCE keys of the array, from index "from" on.  Returns the number of keys
 * that are not null.
 */
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
 * Return the codes of an array's keys, without NULLs, in the order of the array.  New elements are
 * added to the dictionary.
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
 * An array stands for the set of its elements.  Two elements are equal if they have equal numbers
 * or equal fingerprints of 128 bits, as in collections of sets.  One dictionary codes the elements
 * of both arrays, the first array's before the second's.  So an element of the second array is in
 * the first array if its code is less than the first array's number of distinct elements.
 */

#define PATIENCE 65536

static const KeyHolder array_holder = { "set", "sets", "qsets_agg" };

/* An array with its keys, and the code of each key. */
typedef struct KeySet
{
	ArrayType *array;
	ElementArray keys;
	uint32 *code;
	qb_keys kind;
} KeySet;

/* The two sets of a call. */
typedef struct KeySets
{
	KeySet a;
	KeySet b;
	qb_memory memory;
	qset_dictionary dictionary;
	SetCounts counts;
	char *in_b; /* for each code: whether the second set has the element */
} KeySets;

/* Return the type of the elements, which the calling expression keeps in its fn_extra. */
static KeyType *
remembered_type(FunctionCallInfo fcinfo)
{
	FmgrInfo *function = fcinfo->flinfo;

	if (function->fn_extra == NULL)
		function->fn_extra = MemoryContextAllocZero(function->fn_mcxt, sizeof(KeyType));
	return function->fn_extra;
}

/* Read an array argument, and code its elements. */
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
 * Check for interrupts in every PATIENCE-th step of a loop over codes; i is the step.  Each step
 * may cost a cache miss.
 */
static inline void
look_for_interrupts(int i)
{
	if (i % PATIENCE == 0)
		CHECK_FOR_INTERRUPTS();
}

/* Set in_b[], and count the elements of the second set and the common elements. */
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

/* Read both array arguments, and count their elements. */
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

/* qsets_intersect(key[], key[]): the distinct common elements, in the order of the first array. */
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
 * qsets_id(key): the id of a set that is named by a key.  The id is the key's fingerprint: the bits
 * of a number, and a hash of most other keys (pgbase/keytype.h).
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
 * The C function of SQL functions whose set id has another type than bigint.  Raises an error that
 * says how to make an id.
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
