/*
 * columns.h
 *		Values of columns, and of expressions of columns, in the tuples of a page.
 *
 * src/scan/columns.h
 */
#ifndef QS_SCAN_COLUMNS_H
#define QS_SCAN_COLUMNS_H

#include "pgbase/keytype.h"

#include "access/htup_details.h"
#include "access/tupmacs.h"
#include "nodes/execnodes.h"

/* An expression of a table's columns, evaluated for a tuple. */
typedef struct ColumnExpression ColumnExpression;

/* The attribute number that stands for an expression.  No tuple has this many attributes. */
#define COLUMN_NOWHERE PG_INT16_MAX

/* The position of a column in tuples, or an expression to evaluate. */
typedef struct ColumnLocation
{
	AttrNumber attribute;
	int16 length; /* length of the type; -1: it varies */
	int offset;   /* offset in tuples without a NULL before or in the column; -1: it varies */
	uint8 align;  /* alignment in bytes */
	bool by_value;
	TupleDesc descriptor;
	ColumnExpression *expression; /* NULL: the location is of a column */
} ColumnLocation;

extern Var *ScanColumnOf(Expr *expr);
extern void
ColumnLocationInit(ColumnLocation *location, AttrNumber attribute, TupleDesc descriptor);
extern void
ColumnLocationOf(ColumnLocation *location, Expr *expr, EState *estate, Relation relation);
extern int ColumnWalk(Expr *expr, TupleDesc descriptor);
extern ColumnExpression *ColumnExpressionCreate(Expr *expr, EState *estate, Relation relation);
extern const ColumnLocation *ColumnExpressionColumn(const ColumnExpression *expression);
extern ExprContext *ColumnExpressionContext(const ColumnExpression *expression);
extern bool ColumnExpressionRead(ColumnExpression *expression, HeapTupleHeader tuple, Datum *value);
extern bool ScanGroupingKind(const Node *expr, KeyKind *kind);
extern const Var *ScanGroupingColumn(Node *expr);
extern bool ColumnGetAny(const ColumnLocation *location, HeapTupleHeader header, Datum *value);

/* True if none of the first "attributes" attributes is NULL in the bitmap of NULLs. */
static inline bool
ColumnNoneNull(const uint8 *bitmap, int attributes)
{
	int i;

	for (i = 0; i < attributes; i++)
		if (att_isnull(i, bitmap))
			return false;
	return true;
}

/* True if the column is at its fixed offset in this tuple. */
static inline bool
ColumnAtOffset(const ColumnLocation *location, HeapTupleHeader tuple)
{
	return HeapTupleHeaderGetNatts(tuple) >= location->attribute &&
		   (!(tuple->t_infomask & HEAP_HASNULL) ||
			ColumnNoneNull(tuple->t_bits, location->attribute));
}

static inline const char *
ColumnAt(const ColumnLocation *location, HeapTupleHeader tuple)
{
	return (const char *) tuple + tuple->t_hoff + location->offset;
}

/* The string at a fixed offset, behind its padding. */
static inline const struct varlena *
ColumnStringAt(const ColumnLocation *location, HeapTupleHeader tuple)
{
	const char *value = ColumnAt(location, tuple);

	if (!VARATT_NOT_PAD_BYTE(value))
		value = (const char *) TYPEALIGN(location->align, value);
	return (const struct varlena *) value;
}

/* Read a column's value; false: it is NULL. */
static inline bool
ColumnGet(const ColumnLocation *location, HeapTupleHeader tuple, Datum *value)
{
	if (unlikely(location->offset < 0 || !ColumnAtOffset(location, tuple)))
		return ColumnGetAny(location, tuple, value);
	*value = location->length > 0
				 ? fetch_att(ColumnAt(location, tuple), location->by_value, location->length)
				 : PointerGetDatum(ColumnStringAt(location, tuple));
	return true;
}

/*
 * True if the column is NULL.  Reads only the bitmap of NULLs, unless the location is an
 * expression, or the tuple was written before the column was added to the table.
 */
static inline bool
ColumnIsNull(const ColumnLocation *location, HeapTupleHeader tuple)
{
	Datum value;

	if (unlikely(HeapTupleHeaderGetNatts(tuple) < location->attribute))
		return !ColumnGetAny(location, tuple, &value);
	return (tuple->t_infomask & HEAP_HASNULL) && att_isnull(location->attribute - 1, tuple->t_bits);
}

/* Read a column's number; false: it is NULL. */
static pg_attribute_always_inline bool
ColumnGetNumber(const ColumnLocation *location, KeyKind kind, HeapTupleHeader tuple, int64 *number)
{
	Datum value;

	if (likely(location->offset >= 0 && ColumnAtOffset(location, tuple)))
	{
		*number = KeyNumberAt(ColumnAt(location, tuple), kind);
		return true;
	}
	if (!ColumnGetAny(location, tuple, &value))
		return false;
	*number = KeyNumber(kind, value);
	return true;
}

/*
 * A string of the tuple as it is stored, perhaps compressed or out of line; NULL: the column
 * is NULL.
 */
static inline const struct varlena *
ColumnGetString(const ColumnLocation *location, HeapTupleHeader tuple)
{
	Datum any;

	if (unlikely(location->offset < 0 || !ColumnAtOffset(location, tuple)))
		return ColumnGetAny(location, tuple, &any) ? (const struct varlena *) DatumGetPointer(any)
												   : NULL;
	return ColumnStringAt(location, tuple);
}

#endif
