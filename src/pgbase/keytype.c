/*
 * keytype.c
 *		How keys of an SQL type become fingerprints.
 *
 * Keys that SQL calls equal must count as one key, so a fingerprint is never made from
 * the raw bytes of a datum.  An integer is its own fingerprint.  For other types it
 * comes from the extended hash function of the default hash operator class.  Enums are
 * an exception: their hash function hashes OIDs, which do not survive dump and restore,
 * so the label is hashed instead. (Arrays and rows of enums are hashed by OID.)  A
 * value records what its fingerprints were made from: keycontent.c.
 *
 * The hash function of numeric has one result for NaN and both infinities, which SQL
 * calls different.  Here the infinities have fingerprints of their own.
 *
 * src/pgbase/keytype.c
 */
#include "pgbase/keytype.h"

#include "access/htup_details.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_enum.h"
#include "catalog/pg_type_d.h"
#include "common/hashfn.h"
#include "pgbase/keycontent.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

static KeyKind
kind_of(Oid base_type, uint32 collation, Oid input_collation)
{
	switch (base_type)
	{
		case INT2OID:
			return KEY_INT2;
		case INT4OID:
			return KEY_INT4;
		case INT8OID:
			return KEY_INT8;
		case TEXTOID:
		case VARCHAROID:
			return collation == 0 && OidIsValid(input_collation) ? KEY_BYTES : KEY_HASHED;
		case BPCHAROID:
			return KEY_PADDED;
		case BYTEAOID:
			return KEY_BYTES;
		case NUMERICOID:
			return KEY_NUMERIC;
		case RECORDOID:
			return KEY_ROW;
		default:
			return type_is_enum(base_type) ? KEY_ENUM : KEY_HASHED;
	}
}

/*
 * The equality operator is requested, too.  Without it the cache would lend a type the
 * hash function of another type to which it is binary coercible, even if the type has
 * an equality operator of its own but no hash operator class.
 */
static TypeCacheEntry *
hash_of(Oid type)
{
	return lookup_type_cache(type, TYPECACHE_EQ_OPR | TYPECACHE_HASH_OPFAMILY |
									   TYPECACHE_HASH_EXTENDED_PROC |
									   TYPECACHE_HASH_EXTENDED_PROC_FINFO);
}

/* Can values of the type be keys? */
bool
KeyTypeHasHash(Oid type)
{
	return type == RECORDOID || OidIsValid(hash_of(type)->hash_extended_proc);
}

/* An error for types without an extended hash function.  Our types have a hash without a seed. */
static void
raise_no_hash(Oid type)
{
	bool unseeded = OidIsValid(lookup_type_cache(type, TYPECACHE_HASH_PROC)->hash_proc);

	ereport(
		ERROR,
		(errcode(ERRCODE_UNDEFINED_FUNCTION),
		 errmsg("could not identify an extended hash function for type %s", format_type_be(type)),
		 unseeded
			 ? errhint("The type's hash function takes no seed. Sketches and other values that "
					   "count keys are merged, by qsketch_merge_agg and the like.")
			 : errhint("Keys need a type with a hash operator class. Cast the key to one, such "
					   "as jsonb for json, or text.")));
}

/*
 * Describe keys of a type.  "collation" is the collation of the call.  For anonymous
 * rows a call of KeyTypeLearn() must follow.
 */
void
KeyTypeInit(KeyType *key, Oid type, Oid collation)
{
	TypeCacheEntry *entry = hash_of(type);
	Oid base_type = getBaseType(type);

	if (!KeyTypeHasHash(type))
		raise_no_hash(type);
	key->input_collation = collation;
	key->keys = KeysOf(type, collation);
	key->kind = kind_of(base_type, key->keys.collation, collation);
	key->length = entry->typlen;
	key->by_value = entry->typbyval;
	key->align = entry->typalign;
	key->hash = &hash_of(key->kind == KEY_PADDED ? TEXTOID : type)->hash_extended_proc_finfo;
	key->type = type;
}

/* Learn what anonymous rows contain from the first one.  Does nothing for other keys. */
void
KeyTypeLearn(KeyType *key, Datum value)
{
	if (key->kind != KEY_ROW)
		return;
	key->row = KeyRowOf(DatumGetHeapTupleHeader(value));
	key->keys.collation = KeyRowContent(key->row.type, key->row.typmod);
}

/*
 * Learn what anonymous rows contain from the first element that is not NULL.  False if
 * there is none but the keys are anonymous rows.
 */
bool
KeyTypeLearnArray(KeyType *key, const Datum *value, const bool *null, int count)
{
	int i = 0;

	while (i < count && null[i])
		i++;
	if (i < count)
		KeyTypeLearn(key, value[i]);
	return i < count || key->kind != KEY_ROW;
}

static uint64
call_hash(const KeyType *key, Datum value, uint64 seed)
{
	return DatumGetUInt64(
		FunctionCall2Coll(key->hash, key->input_collation, value, UInt64GetDatum(seed)));
}

static uint64
numeric_fingerprint(const KeyType *key, Datum value, uint64 seed)
{
	static const char *const infinity[] = { "-Infinity", "Infinity" };
	Numeric number = DatumGetNumeric(value);
	bool positive;

	if (!numeric_is_inf(number))
		return call_hash(key, NumericGetDatum(number), seed);
	positive = DatumGetBool(DirectFunctionCall2(numeric_gt, NumericGetDatum(number),
												NumericGetDatum(int64_to_numeric(0))));
	return hash_bytes_extended((const unsigned char *) infinity[positive],
							   (int) strlen(infinity[positive]), seed);
}

static uint64
label_fingerprint(Oid value, uint64 seed)
{
	HeapTuple tuple = SearchSysCache1(ENUMOID, ObjectIdGetDatum(value));
	const char *label;
	uint64 hash;

	if (!HeapTupleIsValid(tuple))
		ereport(ERROR, (errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
						errmsg("invalid internal value for enum: %u", value)));
	label = NameStr(((Form_pg_enum) GETSTRUCT(tuple))->enumlabel);
	hash = hash_bytes_extended((const unsigned char *) label, (int) strlen(label), seed);
	ReleaseSysCache(tuple);
	return hash;
}

/*
 * The fingerprint of char(n), as of the text that a cast would make of it.  The
 * extended hash function of char(n) differs from that of text under nondeterministic
 * collations.
 */
static uint64
padded_fingerprint(const KeyType *key, Datum value, uint64 seed)
{
	struct varlena *bytes = PG_DETOAST_DATUM_PACKED(value);
	int length = bpchartruelen(VARDATA_ANY(bytes), (int) VARSIZE_ANY_EXHDR(bytes));
	text *unpadded;
	uint64 hash;

	if (key->keys.collation == 0 && OidIsValid(key->input_collation))
		return hash_bytes_extended((unsigned char *) VARDATA_ANY(bytes), length, seed);
	unpadded = cstring_to_text_with_len(VARDATA_ANY(bytes), length);
	hash = call_hash(key, PointerGetDatum(unpadded), seed);
	pfree(unpadded);
	return hash;
}

/*
 * The fingerprint of text (under deterministic collations) or bytea.  Their extended
 * hash functions are hash_any_extended() of the bytes.  Calling that here saves a call
 * through fmgr, and a look at the collation, for each key.
 */
uint64
KeyFingerprintSeeded(const KeyType *key, Datum value, uint64 seed)
{
	if (key->kind == KEY_BYTES)
	{
		struct varlena *bytes = PG_DETOAST_DATUM_PACKED(value);
		uint64 hash = hash_bytes_extended((unsigned char *) VARDATA_ANY(bytes),
										  (int) VARSIZE_ANY_EXHDR(bytes), seed);

		if ((Pointer) bytes != DatumGetPointer(value))
			pfree(bytes);
		return hash;
	}
	if (key->kind == KEY_PADDED)
		return padded_fingerprint(key, value, seed);
	if (key->kind == KEY_ENUM)
		return label_fingerprint(DatumGetObjectId(value), seed);
	if (key->kind == KEY_NUMERIC)
		return numeric_fingerprint(key, value, seed);
	if (key->kind == KEY_ROW)
		return KeyRowFingerprint(&key->row, key->keys.collation, value, seed);
	return call_hash(key, value, seed);
}
