/*
 * keyfamily.c
 *		Families of keys, as a value records them, by name and by type.
 *
 * A built-in hash operator family is recorded by its OID, any other one by a hash of
 * its name (keycontent.c says why).  Beside the OID stands how fingerprints are made, so
 * that those of another making are refused instead of compared.
 *
 * Users know types rather than families, so messages name the types whose default hash
 * operator class is in the family.  Most families have one type.  Three of the others have
 * a type that can hold the values of all their types: bigint, double precision and text.
 *
 * src/pgbase/keyfamily.c
 */
#include "pgbase/keyfamily.h"

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

#define NAMED_FAMILY UINT32_C(0x80000000)

/*
 * How fingerprints of a built-in family are made.  0: integers are their own fingerprint,
 * and strings are hashed; this never changed.
 */
#define MADE_OF_ALL  UINT32_C(0x10000) /* of all that = looks at: pgbase/keytype.h */
#define MADE_BY_TYPE UINT32_C(0x20000) /* by the hash function of a type of an extension */
#define MADE         UINT32_C(0xF0000)

/* The number that stands for the name of a family or collation. */
uint32
KeyNameId(const char *name)
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
				return MADE_OF_ALL;
			return MADE_BY_TYPE;
	}
}

/* What a value records for the operator family of a type that is not a domain. */
uint32
KeyFamilyId(Oid opfamily, Oid base_type)
{
	char *name;

	if (opfamily < FirstNormalObjectId)
		return opfamily | making_of(base_type);
	name = opfamily_name(opfamily);
	if (name == NULL)
		elog(ERROR, "cache lookup failed for operator family %u", opfamily);
	return KeyNameId(name);
}

/* The name of a hash family with this hash, or NULL; for messages. */
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

		if (form->opfmethod == HASH_AM_OID && KeyNameId(NameStr(form->opfname)) == family)
			name = pstrdup(NameStr(form->opfname));
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	return name;
}

/* Types whose default hash operator class is in the family, in the order of their OIDs. */
static List *
types_of(uint32 family)
{
	CatCList *classes = SearchSysCacheList1(CLAAMNAMENSP, ObjectIdGetDatum(HASH_AM_OID));
	List *types = NIL;
	int i;

	for (i = 0; i < classes->n_members; i++)
	{
		Form_pg_opclass form = (Form_pg_opclass) GETSTRUCT(&classes->members[i]->tuple);

		if (form->opcdefault && KeyFamilyId(form->opcfamily, form->opcintype) == family)
			types = lappend_oid(types, form->opcintype);
	}
	ReleaseSysCacheList(classes);
	list_sort(types, list_oid_cmp);
	return types;
}

/* Does a value record fingerprints of a built-in family that are made in a way which no type has? */
bool
KeyFamilyIsOther(uint32 family)
{
	return family != 0 && !(family & NAMED_FAMILY) && types_of(family) == NIL;
}

/* The name of the family that a value records; NULL if it has recorded none. */
char *
KeyFamilyName(uint32 family)
{
	char *name;

	if (family == 0)
		return NULL;
	name = family & NAMED_FAMILY ? find_named_family(family) : opfamily_name(family & ~MADE);
	if (name == NULL)
		return psprintf("unrecognized family %u", family);
	return KeyFamilyIsOther(family) ? psprintf("%s (other fingerprints)", name) : name;
}

bool
KeyFamilyHasType(uint32 family, Oid type)
{
	return list_member_oid(types_of(family), type);
}

/* The type that can hold the values of all types in the family, or InvalidOid. */
Oid
KeyFamilyType(uint32 family)
{
	static const Oid chosen[] = { INT8OID, FLOAT8OID, TEXTOID };
	List *types;
	int i;

	for (i = 0; i < lengthof(chosen); i++)
		if (KeyFamilyId(lookup_type_cache(chosen[i], TYPECACHE_HASH_OPFAMILY)->hash_opf,
						chosen[i]) == family)
			return chosen[i];
	types = types_of(family);
	if (list_length(types) != 1 || get_typtype(linitial_oid(types)) == TYPTYPE_PSEUDO)
		return InvalidOid;
	return linitial_oid(types);
}

/* What messages call keys of a type, also if it is one of many types of its family. */
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

/* What messages call the keys of a family. */
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
