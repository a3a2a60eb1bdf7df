/*
 * columns.h
 *		Where a column lies in a tuple on a page, and its value there.
 *
 * src/scan/columns.h
 */
#ifndef QS_SCAN_COLUMNS_H
#define QS_SCAN_COLUMNS_H

#include "scan/scan.h"

#include "access/tupmacs.h"

extern bool ColumnGetAny(const ColumnPlace *place, Relation relation, HeapTupleHeader header,
						 uint16 length, Datum *value);

/* Does a bitmap of NULLs say that none of the first attributes is NULL? */
static inline bool
ColumnNoneNull(const uint8 *bitmap, int attributes)
{
	int i;

	for (i = 0; i < attributes; i++)
		if (att_isnull(i, bitmap))
			return false;
	return true;
}

/* Is the column at its fixed offset in this tuple? */
static inline bool
ColumnAtOffset(const ColumnPlace *place, HeapTupleHeader tuple)
{
	return HeapTupleHeaderGetNatts(tuple) >= place->attribute &&
		   (!(tuple->t_infomask & HEAP_HASNULL) || ColumnNoneNull(tuple->t_bits, place->attribute));
}

static inline const char *
ColumnAt(const ColumnPlace *place, HeapTupleHeader tuple)
{
	return (const char *) tuple + tuple->t_hoff + place->offset;
}

/*
 * Is the column NULL?  Only the bitmap of NULLs is read, unless the tuple is too short
 * for the column.
 */
static inline bool
ColumnIsNull(const ColumnPlace *place, Relation relation, HeapTupleHeader tuple, uint16 length)
{
	Datum value;

	if (unlikely(HeapTupleHeaderGetNatts(tuple) < place->attribute))
		return !ColumnGetAny(place, relation, tuple, length, &value);
	return (tuple->t_infomask & HEAP_HASNULL) && att_isnull(place->attribute - 1, tuple->t_bits);
}

/* Read a number, at its fixed offset or elsewhere; false: NULL. */
static pg_attribute_always_inline bool
ColumnGetNumber(const ColumnPlace *place, KeyKind kind, Relation relation, HeapTupleHeader tuple,
				uint16 length, int64 *number)
{
	Datum value;

	if (likely(place->offset >= 0 && ColumnAtOffset(place, tuple)))
	{
		*number = KeyNumberAt(ColumnAt(place, tuple), kind);
		return true;
	}
	if (!ColumnGetAny(place, relation, tuple, length, &value))
		return false;
	*number = KeyNumber(kind, value);
	return true;
}

/*
 * A string where it lies, or NULL if the column is NULL.  A compressed or out of line
 * value is returned as it is stored.
 */
static inline const struct varlena *
ColumnGetString(const ColumnPlace *place, Relation relation, HeapTupleHeader tuple, uint16 length)
{
	const char *value;
	Datum any;

	if (unlikely(place->offset < 0 || !ColumnAtOffset(place, tuple)))
		return ColumnGetAny(place, relation, tuple, length, &any)
				   ? (const struct varlena *) DatumGetPointer(any)
				   : NULL;
	value = ColumnAt(place, tuple);
	if (!VARATT_NOT_PAD_BYTE(value))
		value = (const char *) TYPEALIGN(place->align, value);
	return (const struct varlena *) value;
}

/* Prefetch the i-th tuple's share of the next page into the second-level cache. */
static inline void
FetchAhead(const PageTuples *tuples, int i)
{
	int offset = i * tuples->share;
	int end = Min(offset + tuples->share, BLCKSZ);

	for (; offset < end; offset += QB_CACHE_LINE)
		__builtin_prefetch(tuples->next_page + offset, 0, 2);
}

#endif
