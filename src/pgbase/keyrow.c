/*
 * keyrow.c
 *		Keys that are anonymous rows, like ROW(1, 'a').
 *
 * The type of such a row, record, does not tell what it contains.  Each value does: it
 * names a row type of the session.  Literals in it still have the type unknown, and are
 * converted to text.
 *
 * src/pgbase/keyrow.c
 */
#include "pgbase/keyrow.h"

#include "catalog/pg_type_d.h"
#include "funcapi.h"
#include "pgbase/keycontent.h"
#include "pgbase/version.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

/* The hash function of rows of all types.  The type cache has none for anonymous rows. */
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

/* The row with literals of type unknown converted to text. */
static Datum
row_of_text(TupleDesc descriptor, HeapTupleHeader row)
{
	TupleDesc typed = CreateTupleDescCopy(descriptor);
	Datum *values = palloc(descriptor->natts * sizeof(Datum));
	bool *nulls = palloc(descriptor->natts * sizeof(bool));
	HeapTupleData tuple = { .t_len = HeapTupleHeaderGetDatumLength(row), .t_data = row };
	int i;

	typed->tdtypmod = -1; /* the copy becomes a row type of its own */
	heap_deform_tuple(&tuple, descriptor, values, nulls);
	for (i = 0; i < descriptor->natts; i++)
	{
		if (TupleDescAttr(descriptor, i)->atttypid != UNKNOWNOID)
			continue;
		TupleDescInitEntry(typed, (AttrNumber) (i + 1), NULL, TEXTOID, -1, 0);
		if (!nulls[i])
			values[i] = CStringGetTextDatum(DatumGetCString(values[i]));
	}
	TupleDescFinalize(typed);
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(typed), values, nulls));
}

static void
check_content(const KeyRow *row, uint32 content)
{
	if (KeyRowContent(row->type, row->typmod) != content)
		ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
						errmsg("rows that are keys must all have columns of the same types"),
						errhint("Cast the columns to the same types in all rows.")));
}

/* Fingerprint of an anonymous row, which must have the same content as the first one. */
uint64
KeyRowFingerprint(const KeyRow *first, uint32 content, Datum value, uint64 seed)
{
	HeapTupleHeader row = DatumGetHeapTupleHeader(value);
	KeyRow this = KeyRowOf(row);
	TupleDesc descriptor = lookup_rowtype_tupdesc(this.type, this.typmod);

	if (this.type != first->type || this.typmod != first->typmod)
		check_content(&this, content);
	value = has_unknown(descriptor) ? row_of_text(descriptor, row) : HeapTupleHeaderGetDatum(row);
	ReleaseTupleDesc(descriptor);
	return DatumGetUInt64(FunctionCall2Coll(row_hash(), InvalidOid, value, UInt64GetDatum(seed)));
}
