/*
 * rowkey.c
 *		Keys of several columns: the bytes of ROW(a, b) without the row.
 *
 * The ordinary plan makes a row of the columns, and keybytes.c puts its columns one
 * after the other.  Here each column is put from where it lies.
 *
 * src/scan/rowkey.c
 */
#include "scan/columns.h"

#include "catalog/pg_type_d.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "pgbase/keyfamily.h"

typedef struct RowField
{
	ColumnPlace place;
	const KeyType *type;
} RowField;

struct RowKey
{
	uint32 content;
	int fields;
	RowField field[FLEXIBLE_ARRAY_MEMBER];
};

/*
 * Is it a row of no named type, none of whose columns raises an error?  The caller
 * checks that its fields are columns.
 */
bool
RowKeyTakes(const RowExpr *row)
{
	ListCell *cell;

	if (row->row_typeid != RECORDOID)
		return false;
	foreach (cell, row->args)
		if (!KeyTypeHasHash(exprType(lfirst(cell))))
			return false;
	return true;
}

static void
init_field(RowField *field, const Node *expr, TupleDesc descriptor)
{
	const Node *column = expr;

	while (IsA(column, RelabelType))
		column = (const Node *) ((const RelabelType *) column)->arg;
	ColumnPlaceInit(&field->place, castNode(Var, (Node *) column)->varattno, descriptor);
	field->type = KeyTypeWithin(exprType(expr), exprCollation(expr));
}

RowKey *
RowKeyCreate(const RowExpr *row, TupleDesc descriptor)
{
	int fields = list_length(row->args);
	RowKey *key = palloc0(offsetof(RowKey, field) + fields * sizeof(RowField));
	TupleDesc type = ExecTypeFromExprList(row->args);
	ListCell *cell;

	key->content = KeyColumnsContent(type);
	FreeTupleDesc(type);
	foreach (cell, row->args)
		init_field(&key->field[key->fields++], lfirst(cell), descriptor);
	return key;
}

uint32
RowKeyContent(const RowKey *key)
{
	return key->content;
}

static inline void
put_field(const RowField *field, Relation relation, HeapTupleHeader tuple, uint16 length,
		  KeyBytes *bytes)
{
	Datum value = 0;
	bool null;

	if (KeyIsNumber(field->type) && field->place.offset >= 0 &&
		ColumnAtOffset(&field->place, tuple))
	{
		KeyBytesPutByte(bytes, true);
		KeyBytesPutNumber(bytes, KeyNumberAt(ColumnAt(&field->place, tuple), field->type->kind));
		return;
	}
	null = !ColumnGetAny(&field->place, relation, tuple, length, &value);
	KeyBytesPutMember(bytes, field->type, value, null);
}

/* The bytes of a tuple's key. */
void
RowKeyBytes(const RowKey *key, Relation relation, HeapTupleHeader tuple, uint16 length,
			KeyBytes *bytes)
{
	int i;

	KeyBytesBegin(bytes);
	for (i = 0; i < key->fields; i++)
		put_field(&key->field[i], relation, tuple, length, bytes);
}
