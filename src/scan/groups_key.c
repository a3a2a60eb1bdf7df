/*
 * groups_key.c
 *		The values that rows are grouped by.
 *
 * Each column or expression gives a value.  An integer is its own bits.  The bits of a
 * string are its hash; strings with equal bits are compared byte by byte.  Only types
 * and collations under which equality is that of the bits get here.
 *
 * src/scan/groups_key.c
 */
#include "scan/columns.h"
#include "scan/groups.h"

#include "common/hashfn.h"
#include "utils/rel.h"

/* What the bits of NULL count as among those of other values. */
#define NULL_BITS UINT64CONST(0xA24BAED4963EE407)

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
static void
read_string(const ColumnPlace *place, Relation relation, HeapTupleHeader tuple, uint16 length,
			GroupValue *value)
{
	const struct varlena *there = ColumnGetString(place, relation, tuple, length);

	value->null = there == NULL;
	if (value->null)
		return;
	value->string = PG_DETOAST_DATUM_PACKED(PointerGetDatum(there));
	value->copied = value->string != there;
	value->bits = (int64) hash_bytes_extended((const unsigned char *) VARDATA_ANY(value->string),
											  (int) VARSIZE_ANY_EXHDR(value->string), 0);
}

static inline void
read_field(const GroupField *field, Relation relation, HeapTupleHeader tuple, uint16 length,
		   GroupValue *value)
{
	value->string = NULL;
	value->copied = false;
	value->bits = 0;
	if (field->expression)
		GroupExpressionRead(field->expression, relation, tuple, length, value);
	else if (field->kind == KEY_BYTES)
		read_string(&field->place, relation, tuple, length, value);
	else
		value->null =
			!ColumnGetInteger(&field->place, field->kind, relation, tuple, length, &value->bits);
}

/* Read the values of a tuple.  They are valid until the next tuple is read. */
void
GroupKeyRead(const GroupKey *key, HeapTupleHeader tuple, uint16 length, GroupValue *value)
{
	int i;

	for (i = 0; i < key->fields; i++)
		read_field(&key->field[i], key->relation, tuple, length, &value[i]);
}

void
GroupKeyReadEnd(const GroupKey *key, GroupValue *value)
{
	int i;

	for (i = 0; i < key->fields; i++)
		if (value[i].copied)
			pfree((void *) value[i].string);
}

/* Bits of all values together: those of a single value are its own. */
int64
GroupKeyBits(const GroupKey *key, const GroupValue *value)
{
	uint64 bits = (uint64) value->bits;
	int i;

	for (i = 1; i < key->fields; i++)
	{
		bits = (bits ^ (bits >> 29)) * UINT64CONST(0xBF58476D1CE4E5B9);
		bits ^= value[i].null ? NULL_BITS : (uint64) value[i].bits;
	}
	return (int64) bits;
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

/* A copy of all values that outlasts their tuple. */
GroupValue *
GroupKeyKeep(const GroupKey *key, const GroupValue *value, MemoryContext context)
{
	GroupValue *kept = MemoryContextAlloc(context, (Size) key->fields * sizeof(GroupValue));
	int i;

	for (i = 0; i < key->fields; i++)
		keep(&kept[i], &value[i], context);
	return kept;
}

/* The hash that chooses the file for a spilled row. */
uint64
GroupSpillHash(int64 bits)
{
	return hash_bytes_extended((const unsigned char *) &bits, sizeof(bits), 0);
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
