/*
 * sets_array.c
 *		Set operations on arrays of integers.
 *
 * An array stands for the set of its elements.  One pass of vector comparisons finds
 * out whether it is strictly ascending already.  Only if it is not, it is copied,
 * sorted, and its duplicates are removed. smallint becomes integer on input, since the
 * loops exist for 4 and 8 bytes.  Large arrays that are stored uncompressed are counted
 * as they are read (sets_slices.c).
 *
 * The element type is read from the arrays themselves, not from the function's
 * declaration.
 *
 * src/pg/sets_array.c
 */
#include "pg/sets_elements.h"
#include "pg/sets_slices.h"
#include "pg/sets_value.h"

#include "catalog/pg_type_d.h"
#include "engine/sets_kernels.h"
#include "utils/array.h"
#include "utils/memutils.h"

/* A set, as ascending integers of 4 or 8 bytes. */
typedef struct Operand
{
	Oid type; /* of the array's elements */
	bool wide;
	const void *item;
	uint64 count;
} Operand;

static void *
huge_alloc(uint64 count, Size size)
{
	return MemoryContextAllocHuge(CurrentMemoryContext, Max(count, 1) * size);
}

static void
check_array(const ArrayType *array)
{
	Oid type = ARR_ELEMTYPE(array);

	if (type != INT2OID && type != INT4OID && type != INT8OID)
		elog(ERROR, "array of type %u is no set of integers", type);
	ElementsCheckArray(array);
}

static int32 *
widened(const int16 *from, uint64 count)
{
	int32 *to = huge_alloc(count, sizeof(int32));
	uint64 i;

	for (i = 0; i < count; i++)
		to[i] = from[i];
	return to;
}

/* A sorted copy without duplicates. */
static void
sort_operand(Operand *set)
{
	Size width = set->wide ? sizeof(int64) : sizeof(int32);
	void *item = huge_alloc(set->count, width);
	void *scratch = set->count > QSET_SMALL_SORT ? huge_alloc(set->count, width) : NULL;

	memcpy(item, set->item, set->count * width);
	if (set->wide)
		qset_sort_unique64(item, &set->count, scratch, &sets_interrupt);
	else
		qset_sort_unique32(item, &set->count, scratch, &sets_interrupt);
	if (scratch)
		pfree(scratch);
	set->item = item;
}

static void
open_operand(Operand *set, const qset_kernels *kernels, Datum datum)
{
	ArrayType *array = DatumGetArrayTypeP(datum);
	bool sorted;

	check_array(array);
	set->type = ARR_ELEMTYPE(array);
	set->wide = set->type == INT8OID;
	set->item = ARR_DATA_PTR(array);
	set->count = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	if (set->type == INT2OID)
		set->item = widened(set->item, set->count);
	sorted = set->wide ? kernels->sorted64(set->item, set->count)
					   : kernels->sorted32(set->item, set->count);
	if (!sorted)
		sort_operand(set);
}

static const qset_kernels *
open_operands(FunctionCallInfo fcinfo, Operand *a, Operand *b)
{
	const qset_kernels *kernels = qset_kernels_now();

	open_operand(a, kernels, PG_GETARG_DATUM(0));
	open_operand(b, kernels, PG_GETARG_DATUM(1));
	if (a->type != b->type)
		elog(ERROR, "arrays of types %u and %u are no sets of one type", a->type, b->type);
	return kernels;
}

/* Open a set in slices if it is large enough, else as a whole. */
static void
open_slices(SetSlices *slices, Operand *set, const qset_kernels *kernels, Datum datum)
{
	if (SetSlicesOpen(slices, datum))
	{
		*set = (Operand){ slices->type, slices->wide, NULL, slices->count };
		return;
	}
	open_operand(set, kernels, datum);
	SetSlicesOfMemory(slices, set->item, set->count, set->wide);
}

/*
 * Count in slices, if at least one of the sets is large enough.  False: neither is, or
 * an array does not ascend or has another type.  Then the caller reads both as a whole,
 * and may raise an error.
 */
static bool
count_in_slices(FunctionCallInfo fcinfo, Operand *a, Operand *b, uint64 *common)
{
	const qset_kernels *kernels = qset_kernels_now();
	SetSlices x;
	SetSlices y;
	bool counted;

	if (!SetSlicesOpen(&x, PG_GETARG_DATUM(0)) && !SetSlicesOpen(&y, PG_GETARG_DATUM(1)))
		return false;
	open_slices(&x, a, kernels, PG_GETARG_DATUM(0));
	open_slices(&y, b, kernels, PG_GETARG_DATUM(1));
	counted = a->type == b->type && SetSlicesCommon(kernels, &x, &y, common);
	SetSlicesClose(&x);
	SetSlicesClose(&y);
	return counted;
}

/* Count what both sets have in common. */
static uint64
common_of(FunctionCallInfo fcinfo, Operand *a, Operand *b)
{
	const qset_kernels *kernels;
	uint64 common;

	if (count_in_slices(fcinfo, a, b, &common))
		return common;
	kernels = open_operands(fcinfo, a, b);
	if (a->wide)
		return qset_count64(kernels, a->item, a->count, b->item, b->count);
	return qset_count32(kernels, a->item, a->count, b->item, b->count);
}

/* qsets_intersect_count(integer[], integer[]) */
PG_FUNCTION_INFO_V1(qsets_array_intersect_count);
Datum
qsets_array_intersect_count(PG_FUNCTION_ARGS)
{
	Operand a;
	Operand b;

	PG_RETURN_INT64(common_of(fcinfo, &a, &b));
}

/* qsets_union_count(integer[], integer[]) */
PG_FUNCTION_INFO_V1(qsets_array_union_count);
Datum
qsets_array_union_count(PG_FUNCTION_ARGS)
{
	Operand a;
	Operand b;
	uint64 common = common_of(fcinfo, &a, &b);

	PG_RETURN_INT64(a.count + b.count - common);
}

/* qsets_difference_count(integer[], integer[]): elements that are only in the first */
PG_FUNCTION_INFO_V1(qsets_array_difference_count);
Datum
qsets_array_difference_count(PG_FUNCTION_ARGS)
{
	Operand a;
	Operand b;
	uint64 common = common_of(fcinfo, &a, &b);

	PG_RETURN_INT64(a.count - common);
}

/* qsets_jaccard(integer[], integer[]): 0 for two empty sets */
PG_FUNCTION_INFO_V1(qsets_array_jaccard);
Datum
qsets_array_jaccard(PG_FUNCTION_ARGS)
{
	Operand a;
	Operand b;
	uint64 common = common_of(fcinfo, &a, &b);

	PG_RETURN_FLOAT8(SetsQuotient(common, a.count + b.count - common));
}

/*
 * qsets_overlap(integer[], integer[]): common elements as a share of the smaller set; 0
 * if it is empty
 */
PG_FUNCTION_INFO_V1(qsets_array_overlap);
Datum
qsets_array_overlap(PG_FUNCTION_ARGS)
{
	Operand a;
	Operand b;
	uint64 common = common_of(fcinfo, &a, &b);

	PG_RETURN_FLOAT8(SetsQuotient(common, Min(a.count, b.count)));
}

/* qsets_contains_all(integer[], integer[]): is the second a subset of the first? */
PG_FUNCTION_INFO_V1(qsets_array_contains_all);
Datum
qsets_array_contains_all(PG_FUNCTION_ARGS)
{
	Operand a;
	Operand b;
	uint64 common = common_of(fcinfo, &a, &b);

	PG_RETURN_BOOL(common == b.count);
}

/* Make an array of "count" elements, which lie behind free room for its header. */
static ArrayType *
finish_array(ArrayType *array, uint64 count, Oid type, Size width)
{
	SET_VARSIZE(array, ARR_OVERHEAD_NONULLS(1) + count * width);
	array->ndim = 1;
	array->dataoffset = 0;
	array->elemtype = type;
	ARR_DIMS(array)[0] = (int) count;
	ARR_LBOUND(array)[0] = 1;
	return array;
}

static void
narrow(int16 *to, const int32 *from, uint64 count)
{
	uint64 i;

	for (i = 0; i < count; i++)
		to[i] = (int16) from[i];
}

/* qsets_intersect(integer[], integer[]): the common elements, ascending */
PG_FUNCTION_INFO_V1(qsets_array_intersect);
Datum
qsets_array_intersect(PG_FUNCTION_ARGS)
{
	Operand a;
	Operand b;
	const qset_kernels *kernels = open_operands(fcinfo, &a, &b);
	uint64 room = Min(a.count, b.count) + QSET_SLACK;
	Size width = a.wide ? sizeof(int64) : sizeof(int32);
	char *array = huge_alloc(ARR_OVERHEAD_NONULLS(1) + room * width, 1);
	void *item = array + ARR_OVERHEAD_NONULLS(1);
	uint64 count;

	if (a.wide)
		count = qset_intersect64(kernels, a.item, a.count, b.item, b.count, item);
	else
		count = qset_intersect32(kernels, a.item, a.count, b.item, b.count, item);
	if (count == 0)
		PG_RETURN_ARRAYTYPE_P(construct_empty_array(a.type));
	if (a.type == INT2OID)
	{
		narrow(item, item, count);
		width = sizeof(int16);
	}
	PG_RETURN_ARRAYTYPE_P(finish_array((ArrayType *) array, count, a.type, width));
}
