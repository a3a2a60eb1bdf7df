/*
 * groups_value.c
 *		The value that rows are grouped by.
 *
 * An integer is its own bits.  The bits of a string are its hash; strings with equal
 * bits are compared byte by byte.  Only collations under which equality is that of the
 * bytes get here.
 *
 * src/scan/groups_value.c
 */
#include "scan/columns.h"
#include "scan/groups.h"

#include "common/hashfn.h"

/* Read the string of a tuple.  GroupReadEnd() frees it. */
void
GroupReadString(const ColumnPlace *place, Relation relation, HeapTupleHeader tuple, uint16 length,
				GroupValue *value)
{
	const struct varlena *there = ColumnGetString(place, relation, tuple, length);

	memset(value, 0, sizeof(*value));
	value->null = there == NULL;
	if (value->null)
		return;
	value->string = PG_DETOAST_DATUM_PACKED(PointerGetDatum(there));
	value->copied = value->string != there;
	value->bits = (int64) hash_bytes_extended((const unsigned char *) VARDATA_ANY(value->string),
											  (int) VARSIZE_ANY_EXHDR(value->string), 0);
}

void
GroupReadEnd(GroupValue *value)
{
	if (value->copied)
		pfree((void *) value->string);
}

bool
GroupSameString(const GroupValue *a, const GroupValue *b)
{
	Size length = VARSIZE_ANY_EXHDR(a->string);

	return length == VARSIZE_ANY_EXHDR(b->string) &&
		   memcmp(VARDATA_ANY(a->string), VARDATA_ANY(b->string), length) == 0;
}

/* Make a value outlast its tuple. */
void
GroupKeep(GroupValue *kept, const GroupValue *value, MemoryContext context)
{
	*kept = *value;
	kept->copied = false;
	if (value->string)
	{
		Size size = VARSIZE_ANY_EXHDR(value->string) + VARHDRSZ;
		struct varlena *string = MemoryContextAllocHuge(context, size);

		SET_VARSIZE(string, size);
		memcpy(VARDATA(string), VARDATA_ANY(value->string), size - VARHDRSZ);
		kept->string = string;
	}
}

/* The hash that chooses the file for a spilled row. */
uint64
GroupSpillHash(const GroupValue *value)
{
	if (value->null)
		return 0;
	return hash_bytes_extended((const unsigned char *) &value->bits, sizeof(value->bits), 0);
}

Datum
GroupDatum(const GroupValue *value, KeyKind kind)
{
	switch (kind)
	{
		case KEY_BYTES:
			return PointerGetDatum(value->string);
		case KEY_INT2:
			return Int16GetDatum((int16) value->bits);
		case KEY_INT4:
			return Int32GetDatum((int32) value->bits);
		default:
			return Int64GetDatum(value->bits);
	}
}
