/*
 * keycontent.c
 *		What a value records about its keys.
 *
 * Fingerprints can be compared if two things are the same:
 *
 *	family		the hash operator family.  Within a family equal values of
 *				different types hash alike (integer_ops, float_ops); between
 *				families they need not.  Built-in families are recorded by
 *				their OID, which never changes; others by a hash of their name,
 *				since their OIDs do not survive dump and restore.  char(n) keys
 *				are recorded as text without trailing blanks, which is what a
 *				function declared for text would get.
 *	collation	a hash of the collation's name, only for nondeterministic ones:
 *				only these change which strings are equal.  For arrays, ranges
 *				and rows it is a hash of what they contain.
 *
 * All arrays share one hash operator family, all ranges another, all rows a third.  So
 * the family does not say which of their keys can be compared; their content does.  The
 * content is the families and collations of the elements or columns, in their order.  A
 * value records a hash of the content in place of a collation, which a container does
 * not have.  So arrays of int and of bigint are one kind of keys, since their elements
 * are, and arrays of text are another kind.
 *
 * src/pgbase/keycontent.c
 */
#include "pgbase/keycontent.h"

#include "catalog/pg_collation_d.h"
#include "catalog/pg_type_d.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "pgbase/keyfamily.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

/* The bits of a content hash below its mark. */
#define CONTENT_BITS (KEY_CONTENT - 1)

/* The content of a container that holds these kinds of keys. */
static uint32
content_id(const qb_keys *keys, int count)
{
	uint32 hash = hash_bytes((const unsigned char *) keys, count * (int) sizeof(qb_keys));

	return (hash & CONTENT_BITS) | KEY_CONTENT;
}

static uint32
content_of(Oid type, Oid collation)
{
	qb_keys keys = KeysOf(type, collation);

	return content_id(&keys, 1);
}

/* The content of rows with such columns.  A literal without a type counts as text. */
uint32
KeyColumnsContent(TupleDesc descriptor)
{
	qb_keys *keys = palloc0(Max(descriptor->natts, 1) * sizeof(qb_keys));
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
		keys[count++] = column->atttypid == UNKNOWNOID
							? KeysOf(TEXTOID, DEFAULT_COLLATION_OID)
							: KeysOf(column->atttypid, column->attcollation);
	}
	content = content_id(keys, count);
	pfree(keys);
	return content;
}

/* The content of rows of a type.  For record the typmod says which row type it is. */
uint32
KeyRowContent(Oid type, int32 typmod)
{
	TupleDesc descriptor = lookup_rowtype_tupdesc(type, typmod);
	uint32 content = KeyColumnsContent(descriptor);

	ReleaseTupleDesc(descriptor);
	return content;
}

/*
 * The content of keys of a type that is not a domain. 0: they contain nothing, or their
 * content is not known.
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
	return KeyFamilyId(entry->hash_opf, base_type);
}

static uint32
collation_id(Oid collation)
{
	if (!OidIsValid(collation) || get_collation_isdeterministic(collation))
		return 0;
	return KeyNameId(get_collation_name(collation));
}

/* What a value records about keys of a type.  The type need not have a hash function. */
qb_keys
KeysOf(Oid type, Oid collation)
{
	Oid base_type = getBaseType(type);
	qb_keys keys;

	keys.family = family_of(base_type, lookup_type_cache(base_type, TYPECACHE_HASH_OPFAMILY));
	keys.collation = content_of_type(base_type, collation);
	if (keys.collation == 0)
		keys.collation = collation_id(collation);
	return keys;
}
