/*
 * rowkey.c
 *		Keys of several columns: the hash of ROW(a, b) without the row.
 *
 * The ordinary plan makes a row of the columns and hashes it by hash_record_extended().
 * That function hashes each column by its type's function, and NULL as 0.  The result
 * starts at 0, and with each column becomes 31 times itself plus the column's hash.
 * Here each column is hashed where it lies, and the commonest types are hashed without
 * a call of their functions.
 *
 * src/scan/rowkey.c
 */
#include "scan/columns.h"

#include "common/hashfn.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "pgbase/keycontent.h"
#include "pgbase/version.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

typedef struct RowField
{
	ColumnPlace place;
	KeyKind kind; /* integers and strings are hashed here, all other kinds by "hash" */
	Oid collation;
	FmgrInfo *hash; /* in the type cache */
} RowField;

struct RowKey
{
	uint32 content;
	int fields;
	RowField field[FLEXIBLE_ARRAY_MEMBER];
};

/* The type cache entry that hash_record_extended() uses. */
static TypeCacheEntry *
hash_of(const Node *expr)
{
	return lookup_type_cache(exprType(expr), TYPECACHE_HASH_EXTENDED_PROC_FINFO);
}

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
		if (!OidIsValid(hash_of(lfirst(cell))->hash_extended_proc_finfo.fn_oid))
			return false;
	return true;
}

/*
 * How this file hashes the values.  An unknown hash function is called, and so is a
 * known one if the type's width is not the usual one.
 */
static KeyKind
kind_of(const TypeCacheEntry *type, Oid collation)
{
	int length = type->typbyval ? type->typlen : -type->typlen;

	switch (type->hash_extended_proc_finfo.fn_oid)
	{
		case F_HASHINT2EXTENDED:
			return length == sizeof(int16) ? KEY_INT2 : KEY_HASHED;
		case F_HASHINT4EXTENDED:
			return length == sizeof(int32) ? KEY_INT4 : KEY_HASHED;
		case F_HASHINT8EXTENDED:
			return length == sizeof(int64) ? KEY_INT8 : KEY_HASHED;
		case F_HASHTEXTEXTENDED:
			return type->typlen == -1 && OidIsValid(collation) &&
						   get_collation_isdeterministic(collation)
					   ? KEY_BYTES
					   : KEY_HASHED;
		default:
			return KEY_HASHED;
	}
}

static void
init_field(RowField *field, const Node *expr, TupleDesc descriptor)
{
	const Node *column = expr;
	TypeCacheEntry *type = hash_of(expr);

	while (IsA(column, RelabelType))
		column = (const Node *) ((const RelabelType *) column)->arg;
	ColumnPlaceInit(&field->place, castNode(Var, (Node *) column)->varattno, descriptor);
	field->collation = exprCollation(expr);
	field->hash = &type->hash_extended_proc_finfo;
	field->kind = kind_of(type, field->collation);
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

/* The hash of hashint8extended() and of its kin for shorter integers. */
static inline uint64
hash_integer(int64 integer, KeyKind kind, uint64 seed)
{
	uint32 low = (uint32) integer;
	uint32 high = (uint32) ((uint64) integer >> 32);

	if (kind == KEY_INT8)
		low ^= integer >= 0 ? high : ~high;
	return hash_bytes_uint32_extended(low, seed);
}

/* The hash of hashtextextended() under a deterministic collation. */
static uint64
hash_string(Datum value, uint64 seed)
{
	struct varlena *string = PG_DETOAST_DATUM_PACKED(value);

	return hash_bytes_extended((const unsigned char *) VARDATA_ANY(string),
							   (int) VARSIZE_ANY_EXHDR(string), seed);
}

static pg_noinline uint64
hash_any_field(const RowField *field, Relation relation, HeapTupleHeader tuple, uint16 length,
			   uint64 seed)
{
	Datum value;

	if (!ColumnGetAny(&field->place, relation, tuple, length, &value))
		return 0;
	switch (field->kind)
	{
		case KEY_INT2:
			return hash_integer(DatumGetInt16(value), KEY_INT2, seed);
		case KEY_INT4:
			return hash_integer(DatumGetInt32(value), KEY_INT4, seed);
		case KEY_INT8:
			return hash_integer(DatumGetInt64(value), KEY_INT8, seed);
		case KEY_BYTES:
			return hash_string(value, seed);
		default:
			return DatumGetUInt64(
				FunctionCall2Coll(field->hash, field->collation, value, UInt64GetDatum(seed)));
	}
}

/* The hash of a string.  The column's offset is given without padding. */
static inline uint64
hash_string_at(const RowField *field, const char *value, uint64 seed)
{
	if (!VARATT_NOT_PAD_BYTE(value))
		value = (const char *) TYPEALIGN(field->place.align, value);
	return hash_string(PointerGetDatum(value), seed);
}

static inline uint64
hash_field(const RowField *field, Relation relation, HeapTupleHeader tuple, uint16 length,
		   uint64 seed)
{
	if (field->place.offset < 0 || field->kind == KEY_HASHED ||
		!ColumnAtOffset(&field->place, tuple))
		return hash_any_field(field, relation, tuple, length, seed);
	if (field->kind == KEY_BYTES)
		return hash_string_at(field, ColumnAt(&field->place, tuple), seed);
	return hash_integer(ColumnInteger(ColumnAt(&field->place, tuple), field->kind), field->kind,
						seed);
}

/* The fingerprint of a tuple's key. */
uint64
RowKeyFingerprint(const RowKey *key, Relation relation, HeapTupleHeader tuple, uint16 length,
				  uint64 seed)
{
	uint64 hash = 0;
	int i;

	for (i = 0; i < key->fields; i++)
		hash = hash * 31 + hash_field(&key->field[i], relation, tuple, length, seed);
	return hash;
}
