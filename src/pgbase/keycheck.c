/*
 * keycheck.c
 *		Checks that the facts which a value records about its keys are consistent.
 *
 * The family of a value's keys implies their form: numbers are stored as they are, all other keys
 * as results of KeyHash() or KeyHashWide().  Code that reads the family relies on the form, and
 * code that reads the form relies on the family.  So family and form are compared on input and at
 * each read, because a stored value may have any origin.
 *
 * Only keys of built-in types are numbers.  So keys of a family that is recorded by name are
 * hashes, even if its extension is missing while a dump is restored.  For a built-in family that
 * this version lacks, the form is unknown.  A value of such a family can be stored, copied, and
 * merged with values of its family.  But no key can be looked up in the value.
 *
 * src/pgbase/keycheck.c
 */
#include "pgbase/keycheck.h"

#include "catalog/pg_type_d.h"

/* One type of each family whose keys are numbers (KeyNumberKind). */
static const Oid number_type[] = {
	BOOLOID, CHAROID, INT8OID, DATEOID, TIMEOID,   TIMESTAMPOID, TIMESTAMPTZOID, PG_LSNOID,
	XID8OID, OIDOID,  XIDOID,  CIDOID,  FLOAT8OID, TIDOID,       MACADDROID,     MACADDR8OID,
#ifdef OID8OID
	OID8OID,
#endif
};

/* One type of each built-in family whose keys contain other keys. */
static const Oid container_type[] = {
	INT4ARRAYOID, INT4RANGEOID, INT4MULTIRANGEOID, RECORDOID, OIDVECTOROID,
};

/* At least one type of each other built-in family whose keys are or contain text. */
static const Oid text_type[] = { TEXTOID, NAMEOID, JSONBOID, ANYENUMOID };

/* The families of these types, computed at the first use.  The families never change. */
static uint32 number_family[lengthof(number_type)];
static uint32 container_family[lengthof(container_type)];
static uint32 text_family[lengthof(text_type)];

static void
find_families(const Oid *type, uint32 *family, int count)
{
	int i;

	/* Element 0 is set last: if it is set, all elements are set. */
	for (i = count - 1; i >= 0; i--)
		family[i] = KeysOf(type[i], InvalidOid).family;
}

static bool
has_family(const uint32 *families, int count, uint32 family)
{
	int i;

	for (i = 0; i < count; i++)
		if (families[i] == family)
			return true;
	return false;
}

static bool
is_number_family(uint32 family)
{
	if (number_family[0] == 0)
		find_families(number_type, number_family, lengthof(number_type));
	return has_family(number_family, lengthof(number_family), family);
}

static bool
is_container_family(uint32 family)
{
	if (container_family[0] == 0)
		find_families(container_type, container_family, lengthof(container_type));
	return has_family(container_family, lengthof(container_family), family);
}

/* True if the family is built in and its keys are or contain text.  False for containers. */
bool
KeysAreText(uint32 family)
{
	if (text_family[0] == 0)
		find_families(text_type, text_family, lengthof(text_type));
	return has_family(text_family, lengthof(text_family), family);
}

/* Raise the error that keys of the family cannot have the property "has". */
static void
raise_contradiction(uint32 family, const char *has, const ValueFormat *format, int sqlstate)
{
	ereport(ERROR,
			(errcode(sqlstate),
			 errmsg("invalid %s: %s keys with %s", format->noun, KeyFamilyTypes(family), has),
			 errdetail("What the value says of its keys contradicts itself.")));
}

/*
 * True if keys of the family may contain text of an unknown encoding.  Also true if the family is
 * not built in.
 */
static bool
may_have_text(uint32 family)
{
	return KeysAreText(family) || is_container_family(family) || !KeyFamilyIsBuiltIn(family);
}

/* Return the property that keys->collation claims and the family's keys cannot have, else NULL. */
static const char *
contradiction(const qb_keys *keys)
{
	bool content = KeyIsContent(keys->collation);

	if (is_number_family(keys->family))
		return content ? "types within them" : "a collation";
	if (is_container_family(keys->family))
		return content ? NULL : "a collation";
	return content && KeyFamilyIsBuiltIn(keys->family) ? "types within them" : NULL;
}

/*
 * Raise an error of this SQLSTATE unless family, collation and encoding are consistent.  Numbers
 * have neither collation nor text.  Of the built-in types, only containers contain other types.
 */
void
KeysCheck(const qb_keys *keys, const ValueFormat *format, int sqlstate)
{
	const char *has = keys->collation != 0 ? contradiction(keys) : NULL;

	if (has == NULL && keys->text != QB_TEXT_UTF8 && !may_have_text(keys->family))
		has = "text";
	if (has)
		raise_contradiction(keys->family, has, format, sqlstate);
}

/*
 * Raise an error of this SQLSTATE unless the value stores its keys in the form that the family
 * implies.  "numbers": the value stores its keys as numbers.  "has" names the stored form in the
 * error.
 */
void
KeysCheckNumbers(const qb_keys *keys, bool numbers, const char *has, const ValueFormat *format,
				 int sqlstate)
{
	bool contradicts;

	if (qb_keys_none(keys))
		return;
	if (is_number_family(keys->family))
		contradicts = !numbers;
	else
		contradicts = numbers && KeyFamilyIsKnown(keys->family);
	if (contradicts)
		raise_contradiction(keys->family, has, format, sqlstate);
}
