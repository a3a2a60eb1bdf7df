/*
 * sets_slices.c
 *		Large stored arrays of integers, read slice by slice.
 *
 * A large array lies in its table's TOAST table, uncompressed if it does not compress.
 * If it is fetched as a whole, the kernel must first provide the memory, which takes
 * half of the time, and by the time of the comparison the array has left the caches.
 * Slices use the same small memory again and again.
 *
 * Both sets have a last element in memory.  Counting takes the elements of both up to
 * the smaller of both, and then reads the next slice.  If an array turns out not
 * to ascend, the caller must sort it and begin anew.  So both arrays are read to their
 * ends, whatever was found.
 *
 * A slice begins in the middle of a value, but its elements must be aligned.  So it is
 * fetched with the four bytes before it: with the length word in front of any datum
 * that makes eight.
 *
 * src/pg/sets_slices.c
 */
#include "pg/sets_slices.h"
#include "pgbase/version.h"

#include "access/detoast.h"
#include "catalog/pg_type_d.h"
#include "miscadmin.h"
#include "utils/array.h"

/* Bytes of a slice.  Two slices fit into the second-level cache. */
#define SLICE (256 * 1024)

/* Arrays of at least so many bytes are read in slices. */
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

/* The value's bytes from "offset" on, at the end of a new datum. */
static struct varlena *
fetch(SetSlices *s, Size offset, Size length)
{
	struct varlena *slice = detoast_attr_slice(s->stored, (int32) offset, (int32) length);

	if (VARSIZE(slice) != VARHDRSZ + length)
		elog(ERROR, "stored array ends after %zu bytes instead of %zu",
			 offset + VARSIZE(slice) - VARHDRSZ, offset + length);
	return slice;
}

/* Read the next slice; false if there is none, or if it does not ascend. */
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

/* Begin to read an array in slices; false unless it is large, stored uncompressed, and a set. */
bool
SetSlicesOpen(SetSlices *s, Datum array)
{
	struct varatt_external place;
	struct varlena *begin;
	const ArrayType *header;

	memset(s, 0, sizeof(*s));
	s->stored = (struct varlena *) DatumGetPointer(array);
	if (!VARATT_IS_EXTERNAL_ONDISK(s->stored))
		return false;
	VARATT_EXTERNAL_GET_POINTER(place, s->stored);
	if (VARATT_EXTERNAL_IS_COMPRESSED(place) || VARATT_EXTERNAL_GET_EXTSIZE(place) < LARGE)
		return false;
	begin = fetch(s, 0, BEFORE);
	header = (const ArrayType *) begin;
	s->type = ARR_ELEMTYPE(header);
	s->wide = s->type == INT8OID;
	if ((s->type != INT4OID && s->type != INT8OID) || ARR_NDIM(header) != 1 || ARR_HASNULL(header))
		return false;
	s->count = (uint64) ARR_DIMS(header)[0];
	pfree(begin);
	return BEFORE + s->count * width_of(s) <= VARATT_EXTERNAL_GET_EXTSIZE(place);
}

/* An ascending array that is in memory as a whole. */
void
SetSlicesOfMemory(SetSlices *s, const void *item, uint64 count, bool wide)
{
	memset(s, 0, sizeof(*s));
	s->wide = wide;
	s->count = s->read = s->left = count;
	s->item = item;
}

void
SetSlicesClose(SetSlices *s)
{
	if (s->slice)
		pfree(s->slice);
	s->slice = NULL;
}

/* How many elements of the slice are at most x. */
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

/* Count common elements up to the smaller of both last elements, and skip all elements up to it. */
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

/* Count the common elements of two arrays of one type; false if one of them does not ascend. */
bool
SetSlicesCommon(const qset_kernels *kernels, SetSlices *a, SetSlices *b, uint64 *common)
{
	*common = 0;
	while ((a->left > 0 || next_slice(a, kernels)) && (b->left > 0 || next_slice(b, kernels)))
		*common += take_common(kernels, a, b);
	while (next_slice(a, kernels) || next_slice(b, kernels))
		;
	return !a->descending && !b->descending;
}
