/*
 * keyrow.c
 *		Keys that contain others: rows, arrays and ranges.
 *
 * One family of hash functions is for arrays of all types, one for ranges and
 * one for rows.  Which of their keys are comparable, their content says: the
 * families and collations of elements or columns, in their order.  A value
 * records a hash of that in the place of a collation, which a container has
 * none of its own.  So arrays of int and of bigint are one kind of keys, as
 * their elements are, and arrays of text another.
 *
 * What an anonymous row like ROW(1, 'a') contains is not known from its type,
 * record, but from each value, which names a row type of the session.  Its
 * literals are still of type unknown, and are made text.
 *
 * src/pg/keyrow.c
 */
#include "pg/keyrow.h"

#include "access/htup_details.h"
#include "catalog/pg_collation_d.h"
#include "catalog/pg_type_d.h"
#include "common/hashfn.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

/* The bits of a hash of a container's content. */
#define CONTENT_BITS (KEY_CONTENT - 1)

/* The content of a container of so many kinds of keys. */
static uint32
content_id(const qs_keys *keys, int count)
{
	uint32 hash = hash_bytes((const unsigned char *) keys, count * (int) sizeof(qs_keys));

	return (hash & CONTENT_BITS) | KEY_CONTENT;
}

static uint32
content_of(Oid type, Oid collation)
{
	qs_keys keys = KeysOf(type, collation);

	return content_id(&keys, 1);
}

/* The content of rows of such columns; literals are of no type yet. */
uint32
KeyColumnsContent(TupleDesc descriptor)
{
	qs_keys *keys = palloc0(Max(descriptor->natts, 1) * sizeof(qs_keys));
	uint32 content;
	int count = 0;
	int i;

	/* rows of rows have as many columns as somebody likes: each level doubles them */
	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	for (i = 0; i < descriptor->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(descriptor, i);

		if (column->attisdropped)
			continue;
		keys[count++] = column->atttypid == UNKNOWNOID
							? KeysOf(TEXTOID, DEFAULT_COLLATION_OID)
							: KeysOf(column->atttypid, column->attcollation);
	}
	content = content_id(keys, count);
	pfree(keys);
	return content;
}

/* The content of rows of a type, which for record a number names. */
uint32
KeyRowContent(Oid type, int32 typmod)
{
	TupleDesc descriptor = lookup_rowtype_tupdesc(type, typmod);
	uint32 content = KeyColumnsContent(descriptor);

	ReleaseTupleDesc(descriptor);
	return content;
}

/* The content of keys of a type that is no domain; 0 of those that contain none, or nobody knows which. */
uint32
KeyContent(Oid base_type, Oid collation)
{
	Oid element = get_element_type(base_type);
	Oid range = type_is_multirange(base_type) ? get_multirange_range(base_type) : base_type;

	if (OidIsValid(element))
		return content_of(element, collation);
	if (type_is_range(range))
		return content_of(get_range_subtype(range), get_range_collation(range));
	if (base_type != RECORDOID && type_is_rowtype(base_type))
		return KeyRowContent(base_type, -1);
	return 0;
}

/* The hash function of rows of all types, which the type cache gives to none that is anonymous. */
static FmgrInfo *
row_hash(void)
{
	static FmgrInfo hash;

	if (hash.fn_oid == InvalidOid)
		fmgr_info_cxt(F_HASH_RECORD_EXTENDED, &hash, CacheMemoryContext);
	return &hash;
}

static bool
has_unknown(TupleDesc descriptor)
{
	int i;

	for (i = 0; i < descriptor->natts; i++)
		if (TupleDescAttr(descriptor, i)->atttypid == UNKNOWNOID)
			return true;
	return false;
}

/* The row with text in the place of literals without a type. */
static Datum
row_of_text(TupleDesc descriptor, HeapTupleHeader row)
{
	TupleDesc typed = CreateTupleDescCopy(descriptor);
	Datum *values = palloc(descriptor->natts * sizeof(Datum));
	bool *nulls = palloc(descriptor->natts * sizeof(bool));
	HeapTupleData tuple = { .t_len = HeapTupleHeaderGetDatumLength(row), .t_data = row };
	int i;

	typed->tdtypmod = -1; /* a row type of its own */
	heap_deform_tuple(&tuple, descriptor, values, nulls);
	for (i = 0; i < descriptor->natts; i++)
	{
		if (TupleDescAttr(descriptor, i)->atttypid != UNKNOWNOID)
			continue;
		TupleDescInitEntry(typed, (AttrNumber) (i + 1), NULL, TEXTOID, -1, 0);
		if (!nulls[i])
			values[i] = CStringGetTextDatum(DatumGetCString(values[i]));
	}
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(typed), values, nulls));
}

static void
check_content(const KeyType *key, Oid type, int32 typmod)
{
	if (KeyRowContent(type, typmod) != key->keys.collation)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("rows with columns of other types cannot be keys beside one another"),
				 errhint("Cast the columns to the same types in all rows.")));
}

/* Fingerprint of an anonymous row, whose columns must be those that the key type knows. */
uint64
KeyRowFingerprint(const KeyType *key, Datum value, uint64 seed)
{
	HeapTupleHeader row = DatumGetHeapTupleHeader(value);
	Oid type = HeapTupleHeaderGetTypeId(row);
	int32 typmod = HeapTupleHeaderGetTypMod(row);
	TupleDesc descriptor = lookup_rowtype_tupdesc(type, typmod);

	if (type != key->row_type || typmod != key->row_typmod)
		check_content(key, type, typmod);
	value = has_unknown(descriptor) ? row_of_text(descriptor, row) : HeapTupleHeaderGetDatum(row);
	ReleaseTupleDesc(descriptor);
	return DatumGetUInt64(FunctionCall2Coll(row_hash(), InvalidOid, value, UInt64GetDatum(seed)));
}
