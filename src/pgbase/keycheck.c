/*
 * keycheck.c
 *		Errors when keys are not of the kind that a value holds.
 *
 * src/pgbase/keycheck.c
 */
#include "pgbase/keycheck.h"

#include "catalog/pg_type_d.h"
#include "parser/parse_coerce.h"
#include "pgbase/keycontent.h"
#include "pgbase/keyfamily.h"
#include "utils/builtins.h"

static bool
has_cast(Oid from, Oid to)
{
	Oid function;

	return find_coercion_pathway(to, from, COERCION_EXPLICIT, &function) != COERCION_PATH_NONE;
}

/* A hint: how to give the key the type of the keys that the value holds. */
static char *
cast_hint(uint32 family, const KeyType *key, const KeyHolder *holder)
{
	Oid wanted = KeyFamilyType(family);
	char *type;

	if (KeyFamilyHasType(family, RECORDOID))
		return pstrdup("Give a row of as many columns, as in ROW(1, 'a').");
	if (!OidIsValid(wanted))
		return KeyFamilyHasType(family, ANYARRAYOID)
				   ? psprintf("Use %s(%s, key), which takes an array as one key, and give an array "
							  "that has a type, as in '{1,2}'::integer[].",
							  holder->lookup, holder->one)
				   : psprintf("Cast the key to the type that the %s was built from.", holder->one);
	type = format_type_be(wanted);
	if (!has_cast(key->type, wanted))
		return psprintf("Give a key of type %s.", type);
	if (wanted == FLOAT8OID)
		return psprintf(
			"Cast the key to real or double precision, whichever the %s was built from: "
			"0.1 is not the same key in both.",
			holder->one);
	return psprintf("Cast the key to type %s.", type);
}

/* An error if another version has made fingerprints of keys of the family. */
void
KeyFamilyCheckMaking(uint32 family, const KeyHolder *holder)
{
	if (KeyFamilyIsOther(family))
		ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
						errmsg("%s has keys of %s", holder->one, KeyFamilyName(family)),
						errhint("Another version of the extension hashed these keys. Build the %s "
								"anew from its rows.",
								holder->one)));
}

static void
raise_mismatch(uint32 family, const KeyType *key, const KeyHolder *holder)
{
	ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
					errmsg("cannot use a key of type %s with a %s of %s keys",
						   format_type_be(key->type), holder->one, KeyFamilyTypes(family)),
					errhint("%s", cast_hint(family, key, holder))));
}

/* An error for arrays, ranges or rows that contain other types. */
static void
raise_other_content(const KeyType *key, const KeyHolder *holder)
{
	ereport(
		ERROR,
		(errcode(ERRCODE_DATATYPE_MISMATCH),
		 errmsg("cannot use a key of type %s with a %s of %s keys that contain other types",
				format_type_be(key->type), holder->one, KeyFamilyTypes(key->keys.family)),
		 errhint("Cast the key, or the columns of a row, to the types that the %s was built from.",
				 holder->one)));
}

/* Raise an error unless the value that holds "held" takes such keys. */
void
KeyFamilyCheckProbe(const qb_keys *held, const KeyType *key, const KeyHolder *holder)
{
	if (KeyFits(key, held))
		return;
	KeyFamilyCheckMaking(held->family, holder);
	if (held->family != key->keys.family)
		raise_mismatch(held->family, key, holder);
	if (KeyIsContent(held->collation) || KeyIsContent(key->keys.collation))
		raise_other_content(key, holder);
	ereport(ERROR,
			(errcode(ERRCODE_COLLATION_MISMATCH),
			 errmsg("%s was built under another collation than the key has", holder->one),
			 errhint("Nondeterministic collations decide which strings are equal; use COLLATE to "
					 "give the key the collation of the %s.",
					 holder->one)));
}

/* Raise an error unless two values hold the same kind of keys, or one of them holds none. */
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
		return;
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
