/*
 * columns.c
 *		The column's value in the visible tuples of a page.
 *
 * An integer column behind columns of fixed width lies at one offset in every
 * tuple without NULLs, and is loaded from there.  Everything else goes through
 * heap_getattr(), which knows of NULLs, of variable width and of columns that
 * were added after the tuple.
 *
 * src/scan/columns.c
 */
#include "scan/scan.h"

#include "access/tupmacs.h"
#include "utils/rel.h"

/* Offset of an attribute in tuples without NULLs, or -1. */
static int
fixed_offset(TupleDesc descriptor, AttrNumber attribute)
{
	int offset = 0;
	int i;

	for (i = 0; i < attribute; i++)
	{
		Form_pg_attribute form = TupleDescAttr(descriptor, i);

		offset = att_align_nominal(offset, form->attalign);
		if (i == attribute - 1)
			return offset;
		if (form->attlen < 0)
			return -1;
		offset += form->attlen;
	}
	return -1;
}

/* "attribute" is set; learn where it lies. */
void
SketchedColumnInit(SketchedColumn *column, TupleDesc descriptor)
{
	column->offset = fixed_offset(descriptor, column->attribute);
}

/* The general way. */
static void
add_any(SketchedColumn *column, Relation relation, HeapTupleHeader header, uint16 length)
{
	HeapTupleData tuple;
	Datum value;
	bool null;

	tuple.t_data = header;
	tuple.t_len = length;
	tuple.t_tableOid = RelationGetRelid(relation);
	ItemPointerSetInvalid(&tuple.t_self);
	value = heap_getattr(&tuple, column->attribute, RelationGetDescr(relation), &null);
	if (null)
		return;
	ExpandedAppend(column->sketch, KeyFingerprint(&column->sketch->key, value), 1);
	column->sketch->members++;
}

/* Is the column at its fixed offset in this tuple? */
static inline bool
at_offset(const SketchedColumn *column, HeapTupleHeader tuple)
{
	return !(tuple->t_infomask & HEAP_HASNULL) &&
		   HeapTupleHeaderGetNatts(tuple) >= column->attribute;
}

/* Integers at a fixed offset; "kind" is a constant at each call. */
static pg_attribute_always_inline void
add_integers(SketchedColumn *column, Relation relation, const PageTuples *tuples, KeyKind kind)
{
	ExpandedSketch *sketch = column->sketch;
	int i;

	for (i = 0; i < tuples->count; i++)
	{
		HeapTupleHeader tuple = tuples->tuple[i];
		const char *value = (const char *) tuple + tuple->t_hoff + column->offset;

		if (unlikely(!at_offset(column, tuple)))
		{
			add_any(column, relation, tuple, tuples->length[i]);
			continue;
		}
		if (kind == KEY_INT8)
			ExpandedAppend(sketch, (uint64) * (const int64 *) value, 1);
		else if (kind == KEY_INT4)
			ExpandedAppend(sketch, (uint64) (int64) * (const int32 *) value, 1);
		else
			ExpandedAppend(sketch, (uint64) (int64) * (const int16 *) value, 1);
		sketch->members++;
	}
}

/* Add the column of all tuples to its sketch. */
void
SketchedColumnAdd(SketchedColumn *column, Relation relation, const PageTuples *tuples)
{
	KeyKind kind = column->offset >= 0 ? column->sketch->key.kind : KEY_HASHED;
	int i;

	switch (kind)
	{
		case KEY_INT8:
			add_integers(column, relation, tuples, KEY_INT8);
			break;
		case KEY_INT4:
			add_integers(column, relation, tuples, KEY_INT4);
			break;
		case KEY_INT2:
			add_integers(column, relation, tuples, KEY_INT2);
			break;
		default:
			for (i = 0; i < tuples->count; i++)
				add_any(column, relation, tuples->tuple[i], tuples->length[i]);
	}
}
