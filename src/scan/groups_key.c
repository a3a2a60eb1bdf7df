/*
 * groups_key.c
 *		The values that rows are grouped by.
 *
 * Each column or expression gives a value.  An integer is its own bits.  The bits of a
 * string are its hash, by the secret of the process; strings with equal bits are compared
 * byte by byte.  Only types and collations under which equality is that of the bits get here.
 *
 * src/scan/groups_key.c
 */
#include "scan/columns.h"
#include "scan/groups.h"

#include "utils/rel.h"

GroupKey *
GroupKeyCreate(List *exprs, EState *estate, Relation relation)
{
	GroupKey *key =
		palloc0(offsetof(GroupKey, field) + (Size) list_length(exprs) * sizeof(GroupField));
	ListCell *cell;

	key->relation = relation;
	foreach (cell, exprs)
	{
		Node *expr = lfirst(cell);
		const Var *column = ScanGroupingColumn(expr);
		GroupField *field = &key->field[key->fields++];

		if (!ScanGroupingKind(expr, &field->kind))
			elog(ERROR, "unexpected group in QSketchScan");
		key->strings |= column && field->kind == KEY_BYTES;
		if (column)
			ColumnPlaceInit(&field->place, column->varattno, RelationGetDescr(relation));
		else
			field->expression = GroupExpressionCreate((Expr *) expr, field->kind, estate, relation);
	}
	return key;
}

/* Prepare a run, since parameters may have changed. */
void
GroupKeyStart(GroupKey *key)
{
	int i;

	for (i = 0; i < key->fields; i++)
		if (key->field[i].expression)
			GroupExpressionStart(key->field[i].expression);
}

/* Read the string of a tuple. */
void
GroupReadString(const ColumnPlace *place, Relation relation, HeapTupleHeader tuple, uint16 length,
				GroupValue *value)
{
	const struct varlena *there = ColumnGetString(place, relation, tuple, length);

	value->null = there == NULL;
	if (value->null)
		return;
	value->string = PG_DETOAST_DATUM_PACKED(PointerGetDatum(there));
	value->copied = value->string != there;
	value->bits = GroupStringBits(value->string);
}

/* Free copies of strings. */
void
GroupReadEnd(const GroupKey *key, GroupValue *value)
{
	int i;

	for (i = 0; i < key->fields; i++)
		if (value[i].copied)
			pfree((void *) value[i].string);
}

bool
GroupSameString(const GroupValue *a, const GroupValue *b)
{
	Size length = VARSIZE_ANY_EXHDR(a->string);

	return length == VARSIZE_ANY_EXHDR(b->string) &&
		   memcmp(VARDATA_ANY(a->string), VARDATA_ANY(b->string), length) == 0;
}

/* Make a value outlast its tuple. */
static void
keep(GroupValue *kept, const GroupValue *value, MemoryContext context)
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

/* Make all values of a tuple outlast it. */
void
GroupKeyKeep(const GroupKey *key, GroupValue *kept, const GroupValue *value, MemoryContext context)
{
	int i;

	for (i = 0; i < key->fields; i++)
		keep(&kept[i], &value[i], context);
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
