/*
 * keytype.c
 *		How keys of an SQL type become fingerprints.
 *
 * Keys that SQL calls equal must count as one key, so a fingerprint is never
 * made from the raw bytes of a datum: integers are their own fingerprint, all
 * other types go through the extended hash function of their default hash
 * operator class.  Except enums: theirs hashes OIDs, which do not survive dump
 * and restore, so that a fingerprint is made from the label.  (Arrays and rows
 * of enums are hashed by OID.)  A sketch records whose fingerprints it holds:
 *
 *	family		the hash operator family.  Within a family equal values of
 *				different types hash alike (integer_ops, float_ops), between
 *				families they need not.  Built-in families are recorded by
 *				their OID, which never changes; others by a hash of their name,
 *				since their OIDs do not survive dump and restore.  char(n) keys
 *				are text without trailing blanks: that is what they arrive as
 *				where a function is declared for text.
 *	collation	a hash of the collation's name, for nondeterministic ones only:
 *				they alone decide which strings are equal.
 *
 * src/pg/keytype.c
 */
#include "pg/keytype.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_enum.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_type_d.h"
#include "access/transam.h"
#include "common/hashfn.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#define NAMED_FAMILY UINT32_C(0x80000000)

static uint32
hash_name(const char *name)
{
	return hash_bytes((const unsigned char *) name, (int) strlen(name)) | NAMED_FAMILY;
}

/* Name of an operator family of the catalog, or NULL. */
static char *
opfamily_name(Oid opfamily)
{
	HeapTuple tuple = SearchSysCache1(OPFAMILYOID, ObjectIdGetDatum(opfamily));
	char *name = NULL;

	if (HeapTupleIsValid(tuple))
	{
		name = pstrdup(NameStr(((Form_pg_opfamily) GETSTRUCT(tuple))->opfname));
		ReleaseSysCache(tuple);
	}
	return name;
}

static uint32
family_id(Oid opfamily)
{
	if (opfamily < FirstNormalObjectId)
		return opfamily;
	return hash_name(opfamily_name(opfamily));
}

static uint32
family_of(Oid base_type, const TypeCacheEntry *entry)
{
	if (base_type == BPCHAROID)
		entry = lookup_type_cache(TEXTOID, TYPECACHE_HASH_OPFAMILY);
	return family_id(entry->hash_opf);
}

/* Name of the hash family whose name has this hash, or NULL; for messages. */
static char *
find_named_family(uint32 family)
{
	Relation catalog = table_open(OperatorFamilyRelationId, AccessShareLock);
	SysScanDesc scan = systable_beginscan(catalog, InvalidOid, false, NULL, 0, NULL);
	char *name = NULL;
	HeapTuple tuple;

	while (name == NULL && HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_opfamily form = (Form_pg_opfamily) GETSTRUCT(tuple);

		if (form->opfmethod == HASH_AM_OID && hash_name(NameStr(form->opfname)) == family)
			name = pstrdup(NameStr(form->opfname));
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	return name;
}

/* Name of the family recorded in a sketch; NULL if there is none yet. */
char *
KeyFamilyName(uint32 family)
{
	char *name;

	if (family == 0)
		return NULL;
	name = family & NAMED_FAMILY ? find_named_family(family) : opfamily_name(family);
	return name ? name : psprintf("unrecognized family %u", family);
}

static uint32
collation_id(Oid collation)
{
	if (!OidIsValid(collation) || get_collation_isdeterministic(collation))
		return 0;
	return hash_name(get_collation_name(collation));
}

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
		case BYTEAOID:
			return KEY_BYTES;
		default:
			return type_is_enum(base_type) ? KEY_ENUM : KEY_HASHED;
	}
}

/* Describe keys of a type; "collation" is the function call's. */
void
KeyTypeInit(KeyType *key, Oid type, Oid collation)
{
	TypeCacheEntry *entry =
		lookup_type_cache(type, TYPECACHE_HASH_OPFAMILY | TYPECACHE_HASH_EXTENDED_PROC |
									TYPECACHE_HASH_EXTENDED_PROC_FINFO);
	Oid base_type = getBaseType(type);

	if (!OidIsValid(entry->hash_extended_proc))
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_FUNCTION),
						errmsg("could not identify an extended hash function for type %s",
							   format_type_be(type)),
						errhint("Keys of a sketch need a type with a hash operator class.")));
	key->input_collation = collation;
	key->family = family_of(base_type, entry);
	key->collation = collation_id(collation);
	key->kind = kind_of(base_type, key->collation, collation);
	key->length = entry->typlen;
	key->by_value = entry->typbyval;
	key->align = entry->typalign;
	key->hash = &entry->hash_extended_proc_finfo;
	key->type = type;
}

/*
 * Type of an argument: as declared, or as resolved where it is polymorphic.
 * The declaration comes first since it is there for every caller, also those
 * that call without an expression tree.
 */
Oid
KeyTypeOfArgument(FmgrInfo *flinfo, int argument)
{
	Oid *types;
	int count;
	Oid type;

	(void) get_func_signature(flinfo->fn_oid, &types, &count);
	if (argument >= count)
		elog(ERROR, "function %u has no argument %d", flinfo->fn_oid, argument);
	type = types[argument];
	pfree(types);
	if (IsPolymorphicType(type))
		type = get_fn_expr_argtype(flinfo, argument);
	if (!OidIsValid(type))
		ereport(ERROR, (errcode(ERRCODE_INDETERMINATE_DATATYPE),
						errmsg("could not determine the type of the keys")));
	return type;
}

static uint64
label_fingerprint(Oid value)
{
	HeapTuple tuple = SearchSysCache1(ENUMOID, ObjectIdGetDatum(value));
	const char *label;
	uint64 hash;

	if (!HeapTupleIsValid(tuple))
		ereport(ERROR, (errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
						errmsg("invalid internal value for enum: %u", value)));
	label = NameStr(((Form_pg_enum) GETSTRUCT(tuple))->enumlabel);
	hash = hash_bytes_extended((const unsigned char *) label, (int) strlen(label), 0);
	ReleaseSysCache(tuple);
	return hash;
}

/*
 * The extended hash functions of text (under deterministic collations) and
 * bytea are hash_any_extended() of the bytes; calling it here saves the call
 * through fmgr and the look at the collation for each key.
 */
uint64
KeyFingerprintSlow(const KeyType *key, Datum value)
{
	if (key->kind == KEY_BYTES)
	{
		struct varlena *bytes = PG_DETOAST_DATUM_PACKED(value);
		uint64 hash = hash_bytes_extended((unsigned char *) VARDATA_ANY(bytes),
										  (int) VARSIZE_ANY_EXHDR(bytes), 0);

		if ((Pointer) bytes != DatumGetPointer(value))
			pfree(bytes);
		return hash;
	}
	if (key->kind == KEY_ENUM)
		return label_fingerprint(DatumGetObjectId(value));
	return DatumGetUInt64(
		FunctionCall2Coll(key->hash, key->input_collation, value, Int64GetDatum(0)));
}

/* Raise an error unless the sketch holds fingerprints of such keys. */
void
KeyFamilyCheckProbe(const qs_sketch *sketch, const KeyType *key)
{
	if (sketch->family == 0 ||
		(sketch->family == key->family && sketch->collation == key->collation))
		return;
	if (sketch->family == key->family)
		ereport(ERROR, (errcode(ERRCODE_COLLATION_MISMATCH),
						errmsg("sketch was built under another collation than the key has"),
						errhint("Nondeterministic collations decide which strings are equal; use "
								"COLLATE to give the key the collation of the sketch.")));
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("cannot use a key of type %s with a sketch of %s keys",
					format_type_be(key->type), KeyFamilyName(sketch->family)),
			 errdetail("Keys of type %s are hashed by operator family %s, those of the sketch by "
					   "%s.",
					   format_type_be(key->type), KeyFamilyName(key->family),
					   KeyFamilyName(sketch->family)),
			 errhint("Cast the key to the type that the sketch was built from.")));
}

/* Raise an error unless both sketches hold fingerprints of one kind of keys. */
void
KeyFamilyCheckSame(const qs_sketch *a, const qs_sketch *b)
{
	if (a->family != b->family)
		ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
						errmsg("sketches of different keys: %s and %s", KeyFamilyName(a->family),
							   KeyFamilyName(b->family))));
	if (a->collation != b->collation)
		ereport(ERROR, (errcode(ERRCODE_COLLATION_MISMATCH),
						errmsg("sketches were built under different collations")));
}
