/*
 * keyfamily.c
 *		What a value records about its keys, and whether the keys of two values can be compared.
 *
 * A value records a built-in hash operator family by its OID, and any other family by a hash of its
 * name (explained below).  Bits next to the OID record how the fingerprints were made.
 * Fingerprints that were made in different ways are refused, not compared.
 *
 * Users know types rather than families, so messages name the types whose default hash operator
 * class is in the family.  Most families have one type.  Three families of several types have one
 * type that can hold all values: bigint, double precision and text.
 *
 * src/pgbase/keyfamily.c
 */
#include "pgbase/keyfamily.h"
#include "pgbase/keytype.h"

#include "pgbase/utf8.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/transam.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_opclass.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_type_d.h"
#include "common/hashfn.h"
#include "lib/stringinfo.h"
#include "nodes/pg_list.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/typcache.h"
#include "catalog/pg_collation_d.h"
#include "miscadmin.h"

#define NAMED_FAMILY UINT32_C(0x80000000)

/*
 * How fingerprints of a built-in family are made.  0: integers are their own fingerprints, and
 * strings are hashed.  The meaning of 0 never changed.
 */
#define METHOD_OF_ALL  UINT32_C(0x10000) /* from everything that = compares (pgbase/keytype.h) */
#define METHOD_BY_TYPE UINT32_C(0x20000) /* by the hash function of an extension's type */
#define METHOD_BITS    UINT32_C(0xF0000)

/* Return the number that stands for the name of a family or collation. */
static uint32
name_id(const char *name)
{
	return hash_bytes((const unsigned char *) name, (int) strlen(name)) | NAMED_FAMILY;
}

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
making_of(Oid base_type)
{
	switch (base_type)
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
		case NAMEOID:
		case BYTEAOID:
		case UUIDOID:
		case INETOID:
		case CIDROID:
		case OIDVECTOROID:
		case ANYENUMOID:
			return 0;
		default:
			if (type_is_enum(base_type))
				return 0;
			if (base_type < FirstNormalObjectId || get_typtype(base_type) != TYPTYPE_BASE ||
				OidIsValid(get_element_type(base_type)))
				return METHOD_OF_ALL;
			return METHOD_BY_TYPE;
	}
}

/* Return the number that a value records for the operator family of a type that is not a domain. */
static uint32
family_id(Oid opfamily, Oid base_type)
{
	char *name;

	if (opfamily < FirstNormalObjectId)
		return opfamily | making_of(base_type);
	name = opfamily_name(opfamily);
	if (name == NULL)
		elog(ERROR, "cache lookup failed for operator family %u", opfamily);
	return name_id(name);
}

/*
 * Find the name of a hash operator family by the hash of the name, for messages.  NULL: no such
 * family.
 */
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

		if (form->opfmethod == HASH_AM_OID && name_id(NameStr(form->opfname)) == family)
			name = pstrdup(NameStr(form->opfname));
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	return name;
}

/*
 * Return the types whose default hash operator class is in the family, in the order of their OIDs.
 */
static List *
types_of(uint32 family)
{
	CatCList *classes = SearchSysCacheList1(CLAAMNAMENSP, ObjectIdGetDatum(HASH_AM_OID));
	List *types = NIL;
	int i;

	for (i = 0; i < classes->n_members; i++)
	{
		Form_pg_opclass form = (Form_pg_opclass) GETSTRUCT(&classes->members[i]->tuple);

		if (form->opcdefault && family_id(form->opcfamily, form->opcintype) == family)
			types = lappend_oid(types, form->opcintype);
	}
	ReleaseSysCacheList(classes);
	list_sort(types, list_oid_cmp);
	return types;
}

/*
 * True if the number combines a built-in family with a way of making fingerprints that no type of
 * this version uses.
 */
static bool
is_other_family(uint32 family)
{
	return family != 0 && !(family & NAMED_FAMILY) && types_of(family) == NIL;
}

/* Return the name of a recorded family, or NULL if no family is recorded. */
char *
KeyFamilyName(uint32 family)
{
	char *name;

	if (family == 0)
		return NULL;
	name = family & NAMED_FAMILY ? find_named_family(family) : opfamily_name(family & ~METHOD_BITS);
	if (name == NULL)
		return psprintf("unrecognized family %u", family);
	return is_other_family(family) ? psprintf("%s (other fingerprints)", name) : name;
}

/* Return the name of the keys' family, with a note if text of the keys has an unknown encoding. */
char *
KeysName(const qb_keys *keys)
{
	char *name = KeyFamilyName(keys->family);

	return keys->text == QB_TEXT_BYTES ? psprintf("%s (unknown encoding)", name) : name;
}

bool
KeyFamilyHasType(uint32 family, Oid type)
{
	return list_member_oid(types_of(family), type);
}

/* True if the family is built into PostgreSQL, and this version has types of the family. */
bool
KeyFamilyIsBuiltIn(uint32 family)
{
	return !(family & NAMED_FAMILY) && types_of(family) != NIL;
}

/*
 * True if the form of the family's fingerprints is known.  The fingerprints of a family that is
 * recorded by name are hashes.
 */
bool
KeyFamilyIsKnown(uint32 family)
{
	return (family & NAMED_FAMILY) || types_of(family) != NIL;
}

/* Return the type that can hold the values of all types of the family, or InvalidOid. */
Oid
KeyFamilyType(uint32 family)
{
	static const Oid chosen[] = { INT8OID, FLOAT8OID, TEXTOID };
	List *types;
	int i;

	for (i = 0; i < lengthof(chosen); i++)
		if (family_id(lookup_type_cache(chosen[i], TYPECACHE_HASH_OPFAMILY)->hash_opf, chosen[i]) ==
			family)
			return chosen[i];
	types = types_of(family);
	if (list_length(types) != 1 || get_typtype(linitial_oid(types)) == TYPTYPE_PSEUDO)
		return InvalidOid;
	return linitial_oid(types);
}

/* Return the word for keys of a type in messages.  One word can stand for many types. */
static const char *
type_name(Oid type)
{
	switch (type)
	{
		case INT8OID:
			return "integer";
		case ANYARRAYOID:
			return "array";
		case ANYENUMOID:
			return "enum";
		case ANYRANGEOID:
			return "range";
		case ANYMULTIRANGEOID:
			return "multirange";
		default:
			return format_type_be(type);
	}
}

/* Return the words for the keys of a family in messages. */
char *
KeyFamilyTypes(uint32 family)
{
	Oid type = KeyFamilyType(family);
	List *types = OidIsValid(type) ? list_make1_oid(type) : types_of(family);
	StringInfoData text;
	ListCell *cell;

	if (types == NIL)
		return KeyFamilyName(family);
	initStringInfo(&text);
	foreach (cell, types)
		appendStringInfo(&text, "%s%s", text.len ? ", " : "", type_name(lfirst_oid(cell)));
	return text.data;
}

/* ---- errors when values hold different kinds of keys ---- */

/* Raise an error if another version of the extension made the fingerprints of the family. */
void
KeyFamilyCheckMaking(uint32 family, const KeyHolder *holder)
{
	if (is_other_family(family))
		ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
						errmsg("%s has keys of %s", holder->one, KeyFamilyName(family)),
						errhint("Another version of the extension hashed these keys. Build the %s "
								"anew from its rows.",
								holder->one)));
}

/*
 * Raise an error if the text of one value is in UTF-8, and the text of the other value is in an
 * unknown encoding and not ASCII.
 */
static void
check_text(const qb_keys *a, const qb_keys *b, const KeyHolder *holder)
{
	if (qb_keys_clash(a, b))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("%s differ: keys in UTF-8 and keys in an unknown encoding", holder->many),
				 errhint("One was built in a database of encoding SQL_ASCII from text that is not "
						 "ASCII. Build it in a database that knows the encoding.")));
}

/* Raise an error unless the keys of two values can be compared, or a value has no keys. */
void
KeyFamilyCheckSame(const qb_keys *a, const qb_keys *b, const KeyHolder *holder)
{
	if (qb_keys_none(a) || qb_keys_none(b))
		return;
	if (a->family != b->family)
	{
		KeyFamilyCheckMaking(a->family, holder);
		KeyFamilyCheckMaking(b->family, holder);
		ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
						errmsg("%s differ: %s keys and %s keys", holder->many,
							   KeyFamilyTypes(a->family), KeyFamilyTypes(b->family)),
						errhint("Cast the keys to one type where these are built.")));
	}
	if (a->collation == b->collation)
	{
		check_text(a, b, holder);
		return;
	}
	if (KeyIsContent(a->collation) || KeyIsContent(b->collation))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("%s differ: %s keys that contain different types", holder->many,
						KeyFamilyTypes(a->family)),
				 errhint("Cast what the keys contain to the same types where these are built.")));
	ereport(ERROR, (errcode(ERRCODE_COLLATION_MISMATCH),
					errmsg("%s were built under different collations", holder->many),
					errhint("Give the keys the same COLLATE where these are built.")));
}

/*
 * ---- what a value records about its keys ----
 *
 * Fingerprints in two values can be compared if family and collation are equal:
 *
 *	family		the hash operator family.  Within a family, equal values of
 *				different types have equal hashes (integer_ops, float_ops).
 *				A built-in family is recorded by its OID, which never changes.
 *				Any other family is recorded by a hash of its name, because its
 *				OID does not survive dump and restore.  char(n) keys are
 *				recorded as text without trailing blanks, because a function
 *				declared for text would receive that text.
 *	collation	a hash of the collation's name if the collation is
 *				nondeterministic, else 0: deterministic collations do not change
 *				which strings are equal.  For arrays, ranges, multiranges and
 *				rows, a hash of their content.
 *
 * A value also records whether its text is in UTF-8 (utf8.h).  If the database's encoding is known,
 * text is converted to UTF-8, with two exceptions.  Text of extensions' types is hashed in the
 * database's encoding.  Text under a nondeterministic collation counts as UTF-8, because PostgreSQL
 * hashes its ICU sort key, which does not depend on the encoding.  ASCII text of an unknown
 * encoding counts as UTF-8.  If other text of an unknown encoding is hashed, the value records that
 * the encoding is unknown.
 *
 * All arrays are in one hash operator family, all ranges in another, and likewise all multiranges
 * and all rows.  So the content of containers also decides which keys can be compared.  The content
 * is the families and collations of the elements or columns, in their order.  A value records a
 * hash of the content in place of a collation, because the content includes all collations.  An
 * array of int can be compared with an array of bigint, because int and bigint are in one family.
 * An array of int cannot be compared with an array of text.
 */

/* The bits of a content hash that are below the mark KEY_CONTENT. */
#define CONTENT_BITS (KEY_CONTENT - 1)

/* The input of a content hash: one element or column. */
typedef struct Content
{
	uint32 family;
	uint32 collation;
} Content;

static Content
content_within(Oid type, Oid collation)
{
	qb_keys keys = KeysOf(type, collation);

	return (Content){ keys.family, keys.collation };
}

/* Return the hash of a container's content. */
static uint32
content_id(const Content *content, int count)
{
	uint32 hash = hash_bytes((const unsigned char *) content, count * (int) sizeof(Content));

	return (hash & CONTENT_BITS) | KEY_CONTENT;
}

static uint32
content_of(Oid type, Oid collation)
{
	Content content = content_within(type, collation);

	return content_id(&content, 1);
}

/* Return the content hash of rows with these columns.  A literal without a type counts as text. */
uint32
KeyColumnsContent(TupleDesc descriptor)
{
	Content *columns = palloc0(Max(descriptor->natts, 1) * sizeof(Content));
	uint32 content;
	int count = 0;
	int i;

	/* rows can be nested to any depth, and each level may double the number of columns */
	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	for (i = 0; i < descriptor->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(descriptor, i);

		if (column->attisdropped)
			continue;
		columns[count++] = column->atttypid == UNKNOWNOID
							   ? content_within(TEXTOID, DEFAULT_COLLATION_OID)
							   : content_within(column->atttypid, column->attcollation);
	}
	content = content_id(columns, count);
	pfree(columns);
	return content;
}

/*
 * Return the content hash of a row type.  For the type record, the typmod identifies the row type.
 */
uint32
KeyRowContent(Oid type, int32 typmod)
{
	TupleDesc descriptor = lookup_rowtype_tupdesc(type, typmod);
	uint32 content = KeyColumnsContent(descriptor);

	ReleaseTupleDesc(descriptor);
	return content;
}

/*
 * Return the content hash of a type that is not a domain.  0: the type contains no other types, or
 * is record.
 */
static uint32
content_of_type(Oid base_type, Oid collation)
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

static uint32
family_of(Oid base_type, const TypeCacheEntry *entry)
{
	if (base_type == BPCHAROID)
		entry = lookup_type_cache(TEXTOID, TYPECACHE_HASH_OPFAMILY);
	return family_id(entry->hash_opf, base_type);
}

static uint32
collation_id(Oid collation)
{
	if (!OidIsValid(collation) || get_collation_isdeterministic(collation))
		return 0;
	return name_id(get_collation_name(collation));
}

/*
 * True for an extension's string type, such as citext.  The hash function of such a type reads text
 * in the database's encoding.
 */
bool
KeyIsForeignText(Oid base_type)
{
	char category;
	bool preferred;

	if (base_type < FirstNormalObjectId || get_typtype(base_type) != TYPTYPE_BASE ||
		get_typlen(base_type) != -1)
		return false;
	get_type_category_preferred(base_type, &category, &preferred);
	return category == TYPCATEGORY_STRING;
}

/* True if a column may have text of an unknown encoding. */
static bool
columns_have_unknown_text(TupleDesc descriptor)
{
	int i;

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	for (i = 0; i < descriptor->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(descriptor, i);

		if (!column->attisdropped &&
			KeyTextIsUnknown(column->atttypid == UNKNOWNOID ? TEXTOID : column->atttypid))
			return true;
	}
	return false;
}

bool
KeyRowTextIsUnknown(Oid type, int32 typmod)
{
	TupleDesc descriptor = lookup_rowtype_tupdesc(type, typmod);
	bool unknown = columns_have_unknown_text(descriptor);

	ReleaseTupleDesc(descriptor);
	return unknown;
}

/*
 * True if keys of the type may contain text of an unknown encoding.  For extensions' types, the
 * encoding is known only in a UTF-8 database.  The columns of anonymous rows are unknown, so these
 * rows count as text.
 */
bool
KeyTextIsUnknown(Oid type)
{
	Oid base_type;
	Oid element;

	if (Utf8IsNative())
		return false;
	base_type = getBaseType(type);
	element = get_element_type(base_type);
	if (OidIsValid(element))
		return KeyTextIsUnknown(element);
	if (type_is_multirange(base_type))
		return KeyTextIsUnknown(get_range_subtype(get_multirange_range(base_type)));
	if (type_is_range(base_type))
		return KeyTextIsUnknown(get_range_subtype(base_type));
	if (base_type == RECORDOID)
		return !Utf8IsKnown();
	if (type_is_rowtype(base_type))
		return KeyRowTextIsUnknown(base_type, -1);
	switch (base_type)
	{
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
		case NAMEOID:
		case JSONBOID:
			return !Utf8IsKnown();
		default:
			return type_is_enum(base_type) ? !Utf8IsKnown() : KeyIsForeignText(base_type);
	}
}

/*
 * Return what a value records about keys of a type before the first key is hashed.  The type may
 * lack a hash function.
 */
qb_keys
KeysOf(Oid type, Oid collation)
{
	Oid base_type = KeyBaseType(type);
	qb_keys keys;

	keys.family = family_of(base_type, lookup_type_cache(base_type, TYPECACHE_HASH_OPFAMILY));
	keys.collation = content_of_type(base_type, collation);
	if (keys.collation == 0)
		keys.collation = collation_id(collation);
	keys.text = KeyTextIsUnknown(type) ? QB_TEXT_ASCII : QB_TEXT_UTF8;
	return keys;
}
