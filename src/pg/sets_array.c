/*
 * sets_array.c
 *		Set operations on arrays of integers.
 *
 * An array stands for the set of its elements.  One pass of vector comparisons checks whether the
 * elements are strictly ascending.  An array that is not ascending is copied, the copy is sorted,
 * and its duplicates are removed.  Elements of type smallint are copied as integers, since the
 * inner loops exist for 4 and 8 bytes.  If a function only counts, large ascending arrays that are
 * stored uncompressed are read in slices, so that the whole array is not in memory.
 *
 * The element type is read from the arrays, not from the function's declaration.
 *
 * src/pg/sets_array.c
 */
#include "pg/sets_elements.h"

#include "access/detoast.h"
#include "catalog/pg_type_d.h"
#include "engine/sets_kernels.h"
#include "miscadmin.h"
#include "pgbase/version.h"
#include "utils/array.h"
#include "utils/memutils.h"

/* An ascending array that is read in slices, or that is in memory as one slice. */
typedef struct SetSlices
{
	struct varlena *stored; /* the stored array; NULL: the whole array is in memory */
	Oid type;               /* type of the elements */
	bool wide;              /* elements have 8 bytes, not 4 */
	uint64 count;           /* number of elements of the array */
	uint64 read;            /* number of elements up to the end of the slice */
	void *slice;            /* memory of the slice; NULL: nothing to free */
	const char *item;       /* the slice's first element that is not counted yet */
	uint64 left;            /* number of the slice's elements that are not counted yet */
	int64 last;             /* the last element of the slice */
	bool descending;        /* an element was not greater than the element before it */
} SetSlices;

/*
 * ---- slices ----
 *
 * A large array is stored in a TOAST table, uncompressed if its bytes do not compress.  Fetching
 * the whole array needs new memory from the kernel, which takes half of the time of the fetch.
 * After the fetch, the first elements are no longer in the processor's caches.  Reading in slices
 * avoids both costs, because all slices use the same small memory.
 *
 * Each of the two arrays has a slice in memory.  take_common() counts up to the smaller of the two
 * slices' last elements.  When a slice is used up, next_slice() reads the next slice of the array.
 * Both arrays are read to their ends, to check that all elements ascend.  If an array does not
 * ascend, the caller must sort the array and count again.
 *
 * A slice's elements must be aligned to 8 bytes, but a fetched datum begins with a length word of
 * four bytes.  So the four bytes before the elements are fetched, too.
 */

/* Bytes of a slice.  Two slices fit into the processor's second-level cache. */
#define SLICE (256 * 1024)

/* Minimum size in bytes of an array that is read in slices. */
#define LARGE (4 * SLICE)

/* Bytes between the length word and the elements of an array without NULLs. */
#define BEFORE ((int32) (ARR_OVERHEAD_NONULLS(1) - VARHDRSZ))

static Size
width_of(const SetSlices *s)
{
	return s->wide ? sizeof(int64) : sizeof(int32);
}

static int64
item_at(const SetSlices *s, uint64 i)
{
	return s->wide ? ((const int64 *) s->item)[i] : ((const int32 *) s->item)[i];
}

/* Fetch "length" bytes of the stored value, from "offset" on, as a new datum. */
static struct varlena *
fetch(SetSlices *s, Size offset, Size length)
{
	struct varlena *slice = detoast_attr_slice(s->stored, (int32) offset, (int32) length);

	if (VARSIZE(slice) != VARHDRSZ + length)
		elog(ERROR, "stored array ends after %zu bytes instead of %zu",
			 offset + VARSIZE(slice) - VARHDRSZ, offset + length);
	return slice;
}

/* Read the next slice; false: no slice is left, or the array does not ascend. */
static bool
next_slice(SetSlices *s, const qset_kernels *kernels)
{
	uint64 count = Min(s->count - s->read, SLICE / width_of(s));
	bool ascending;

	if (count == 0 || s->descending)
		return false;
	CHECK_FOR_INTERRUPTS();
	if (s->slice)
		pfree(s->slice);
	s->slice = fetch(s, BEFORE + s->read * width_of(s) - VARHDRSZ, VARHDRSZ + count * width_of(s));
	s->item = VARDATA((struct varlena *) s->slice) + VARHDRSZ;
	s->left = count;
	ascending = s->wide ? kernels->sorted64((const int64 *) s->item, count)
						: kernels->sorted32((const int32 *) s->item, count);
	s->descending = !ascending || (s->read > 0 && item_at(s, 0) <= s->last);
	s->last = item_at(s, count - 1);
	s->read += count;
	return !s->descending;
}

/* Begin to read an array in slices; false: the array must be read as a whole. */
static bool
begin_slices(SetSlices *s, Datum array)
{
	struct varatt_external toast_pointer;
	struct varlena *begin;
	const ArrayType *header;

	memset(s, 0, sizeof(*s));
	s->stored = (struct varlena *) DatumGetPointer(array);
	if (!VARATT_IS_EXTERNAL_ONDISK(s->stored))
		return false;
	VARATT_EXTERNAL_GET_POINTER(toast_pointer, s->stored);
	if (VARATT_EXTERNAL_IS_COMPRESSED(toast_pointer) ||
		VARATT_EXTERNAL_GET_EXTSIZE(toast_pointer) < LARGE)
		return false;
	begin = fetch(s, 0, BEFORE);
	header = (const ArrayType *) begin;
	s->type = ARR_ELEMTYPE(header);
	s->wide = s->type == INT8OID;
	if ((s->type != INT4OID && s->type != INT8OID) || ARR_NDIM(header) != 1 || ARR_HASNULL(header))
		return false;
	s->count = (uint64) ARR_DIMS(header)[0];
	pfree(begin);
	return BEFORE + s->count * width_of(s) <= VARATT_EXTERNAL_GET_EXTSIZE(toast_pointer);
}

/* Initialize "s" as one slice with an ascending array that is in memory. */
static void
slices_of_memory(SetSlices *s, const void *item, uint64 count, bool wide)
{
	memset(s, 0, sizeof(*s));
	s->wide = wide;
	s->count = s->read = s->left = count;
	s->item = item;
}

static void
close_slices(SetSlices *s)
{
	if (s->slice)
		pfree(s->slice);
	s->slice = NULL;
}

/* The number of the slice's uncounted elements that are at most x. */
static uint64
not_above(const SetSlices *s, int64 x)
{
	uint64 low = 0;
	uint64 high = s->left;

	while (low < high)
	{
		uint64 middle = low + (high - low) / 2;

		if (item_at(s, middle) <= x)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void
pass(SetSlices *s, uint64 count)
{
	s->item += count * width_of(s);
	s->left -= count;
}

/*
 * Count the common elements up to the smaller of the two slices' last elements, and advance both
 * slices past this element.
 */
static uint64
take_common(const qset_kernels *kernels, SetSlices *a, SetSlices *b)
{
	int64 bound = Min(item_at(a, a->left - 1), item_at(b, b->left - 1));
	uint64 n = not_above(a, bound);
	uint64 m = not_above(b, bound);
	uint64 common =
		a->wide ? qset_count64(kernels, (const int64 *) a->item, n, (const int64 *) b->item, m)
				: qset_count32(kernels, (const int32 *) a->item, n, (const int32 *) b->item, m);

	pass(a, n);
	pass(b, m);
	return common;
}

/* Count the common elements of two arrays of one type; false: an array does not ascend. */
static bool
common_of_slices(const qset_kernels *kernels, SetSlices *a, SetSlices *b, uint64 *common)
{
	*common = 0;
	while ((a->left > 0 || next_slice(a, kernels)) && (b->left > 0 || next_slice(b, kernels)))
		*common += take_common(kernels, a, b);
	while (next_slice(a, kernels) || next_slice(b, kernels))
		;
	return !a->descending && !b->descending;
}

/* ---- operations ---- */

/* A set as an array of ascending integers of 4 or 8 bytes. */
typedef struct Operand
{
	Oid type; /* element type of the SQL array */
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

/* Replace the set's elements by a sorted copy without duplicates. */
static void
sort_operand(Operand *set)
{
	Size width = set->wide ? sizeof(int64) : sizeof(int32);
	void *item = huge_alloc(set->count, width);
	void *scratch = set->count > QSET_SMALL_SORT ? huge_alloc(set->count, width) : NULL;
	qb_memory memory;

	ContextMemory(CurrentMemoryContext, &memory);
	memcpy(item, set->item, set->count * width);
	if (set->wide)
		qset_sort_unique64(item, &set->count, scratch, &memory);
	else
		qset_sort_unique32(item, &set->count, scratch, &memory);
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

/* Open a set in slices if begin_slices() allows it, else as one slice in memory. */
static void
open_slices(SetSlices *slices, Operand *set, const qset_kernels *kernels, Datum datum)
{
	if (begin_slices(slices, datum))
	{
		*set = (Operand){ slices->type, slices->wide, NULL, slices->count };
		return;
	}
	open_operand(set, kernels, datum);
	slices_of_memory(slices, set->item, set->count, set->wide);
}

/*
 * Count the common elements in slices.  False: no array can be read in slices, an array does not
 * ascend, or the types of the arrays differ.  The caller must then read both arrays as a whole.
 */
static bool
count_in_slices(FunctionCallInfo fcinfo, Operand *a, Operand *b, uint64 *common)
{
	const qset_kernels *kernels = qset_kernels_now();
	SetSlices x;
	SetSlices y;
	bool counted;

	if (!begin_slices(&x, PG_GETARG_DATUM(0)) && !begin_slices(&y, PG_GETARG_DATUM(1)))
		return false;
	open_slices(&x, a, kernels, PG_GETARG_DATUM(0));
	open_slices(&y, b, kernels, PG_GETARG_DATUM(1));
	counted = a->type == b->type && common_of_slices(kernels, &x, &y, common);
	close_slices(&x);
	close_slices(&y);
	return counted;
}

/* Open both arguments, and count their common elements. */
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

static SetCounts
counts_of(FunctionCallInfo fcinfo)
{
	Operand a;
	Operand b;
	uint64 common = common_of(fcinfo, &a, &b);

	return (SetCounts){ .a = a.count, .b = b.count, .common = common };
}

SET_FUNCTIONS(qsets_array, counts_of);

/* Write the header of an array in front of its "count" elements. */
ArrayType *
SetsFinishArray(ArrayType *array, uint64 count, Oid type, Size width)
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

/* qsets_intersect(integer[], integer[]): an array of the common elements, ascending */
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
	PG_RETURN_ARRAYTYPE_P(SetsFinishArray((ArrayType *) array, count, a.type, width));
}
