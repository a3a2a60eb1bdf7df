/*
 * columns.c
 *		Where a column lies in the tuples of a table, and how its value is read there.
 *
 * A column that only follows columns of fixed width has the same offset in every tuple
 * without a NULL before or in it.  There the value is read in place (columns.h).
 * Otherwise heap_getattr() reads it: that function knows NULLs, variable width, and
 * columns that were added after the tuple was written.
 *
 * src/scan/columns.c
 */
#include "scan/columns.h"

#include "miscadmin.h"
#include "utils/rel.h"

/*
 * Offset of an attribute in tuples without NULLs, or -1.  A varlena may have padding
 * before it, which only the bytes there tell: its offset is given without padding.
 */
static int
fixed_offset(TupleDesc descriptor, AttrNumber attribute)
{
	int offset = 0;
	int i;

	for (i = 0; i < attribute; i++)
	{
		Form_pg_attribute form = TupleDescAttr(descriptor, i);

		if (i == attribute - 1 && form->attlen == -1)
			return offset;
		offset = att_align_nominal(offset, form->attalign);
		if (i == attribute - 1)
			return offset;
		if (form->attlen < 0)
			return -1;
		offset += form->attlen;
	}
	return -1;
}

/* Find out where a column lies. */
void
ColumnPlaceInit(ColumnPlace *place, AttrNumber attribute, TupleDesc descriptor)
{
	Form_pg_attribute form = TupleDescAttr(descriptor, attribute - 1);

	place->attribute = attribute;
	place->offset = fixed_offset(descriptor, attribute);
	place->align = (uint8) att_align_nominal(1, form->attalign);
}

/* Read a column by heap_getattr(); false: NULL. */
pg_noinline bool
ColumnGetAny(const ColumnPlace *place, Relation relation, HeapTupleHeader header, uint16 length,
			 Datum *value)
{
	HeapTupleData tuple;
	bool null;

	tuple.t_data = header;
	tuple.t_len = length;
	tuple.t_tableOid = RelationGetRelid(relation);
	ItemPointerSetInvalid(&tuple.t_self);
	*value = heap_getattr(&tuple, place->attribute, RelationGetDescr(relation), &null);
	CHECK_FOR_INTERRUPTS();
	return !null;
}
