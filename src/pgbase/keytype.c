/*
 * keytype.c
 *		Kinds of keys: how keys of an SQL type become fingerprints.
 *
 * Built-in types are recognized by their OID, and each type has a kind.  Most extended hash
 * functions of built-in types are not used, because many ignore a part of the value: the function
 * of numeric ignores the sign, and the functions of times fold 64 bits to 32.
 *
 * Keys of an extension's type are hashed by the extended hash function of the type's default hash
 * operator class.  Keys with equal hashes count as one key.
 *
 * A key that is a container needs the KeyType of each type that the container contains.  A cache
 * keeps these KeyTypes.
 *
 * src/pgbase/keytype.c
 */
#include "pgbase/keytype.h"

#include "pgbase/utf8.h"

#include "access/htup_details.h"
#include "catalog/pg_type_d.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/float.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#define FIRST_TYPES 64

/* Return the kind of a type of numbers, or KEY_HASHED for any other type. */
KeyKind
KeyNumberKind(Oid base_type)
{
	switch (base_type)
	{
		case BOOLOID:
		case CHAROID:
			return KEY_UINT1;
		case INT2OID:
			return KEY_INT2;
		case INT4OID:
		case DATEOID:
			return KEY_INT4;
		case INT8OID:
		case TIMEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
		case PG_LSNOID:
		case XID8OID:
#ifdef OID8OID
		case OID8OID:
#endif
			return KEY_INT8;
		case OIDOID:
		case XIDOID:
		case CIDOID:
		case REGPROCOID:
		case REGPROCEDUREOID:
		case REGOPEROID:
		case REGOPERATOROID:
		case REGCLASSOID:
		case REGTYPEOID:
		case REGCOLLATIONOID:
		case REGCONFIGOID:
		case REGDICTIONARYOID:
		case REGNAMESPACEOID:
		case REGROLEOID:
#ifdef REGDATABASEOID
		case REGDATABASEOID:
#endif
			return KEY_UINT4;
		case FLOAT4OID:
			return KEY_FLOAT4;
		case FLOAT8OID:
			return KEY_FLOAT8;
		case TIDOID:
			return KEY_TID;
		case MACADDROID:
			return KEY_MACADDR;
		case MACADDR8OID:
			return KEY_MACADDR8;
		default:
			return KEY_HASHED;
	}
}

static bool
is_deterministic(Oid collation)
{
	return OidIsValid(collation) && get_collation_isdeterministic(collation);
}

/* Return the kind of a container type, or KEY_HASHED for any other type. */
static KeyKind
kind_of_container(Oid base_type)
{
	if (OidIsValid(get_element_type(base_type)))
		return KEY_ARRAY;
	if (type_is_range(base_type))
		return KEY_RANGE;
	if (type_is_multirange(base_type))
		return KEY_MULTIRANGE;
	return type_is_rowtype(base_type) ? KEY_ROW : KEY_HASHED;
}

static KeyKind
kind_of(Oid base_type, Oid collation)
{
	KeyKind number = KeyNumberKind(base_type);

	if (number != KEY_HASHED)
		return number;
	switch (base_type)
	{
		case TEXTOID:
		case VARCHAROID:
			if (!is_deterministic(collation))
				return KEY_HASHED;
			return Utf8IsNative() ? KEY_BYTES : KEY_TEXT;
		case BPCHAROID:
			return is_deterministic(collation) ? KEY_PADDED : KEY_PADDED_HASHED;
		case OIDVECTOROID:
			return KEY_HASHED;
		case BYTEAOID:
		case INETOID:
		case CIDROID:
			return KEY_BYTES;
		case UUIDOID:
		case TIMETZOID:
			return KEY_FIXED;
		case NAMEOID:
			return KEY_NAME;
		case NUMERICOID:
			return KEY_NUMERIC;
		case INTERVALOID:
			return KEY_INTERVAL;
		case ACLITEMOID:
			return KEY_ACLITEM;
		case JSONBOID:
			return KEY_JSONB;
		default:
			return type_is_enum(base_type) ? KEY_ENUM : kind_of_container(base_type);
	}
}

/*
 * Look up the type's hash function and its equality operator.  If only the hash function were
 * requested, the type cache could return the function of another type to which the type is binary
 * coercible.  That function would be wrong for a type that has its own equality operator and no
 * hash operator class.
 */
static TypeCacheEntry *
hash_of(Oid type)
{
	return lookup_type_cache(type, TYPECACHE_EQ_OPR | TYPECACHE_HASH_OPFAMILY |
									   TYPECACHE_HASH_EXTENDED_PROC |
									   TYPECACHE_HASH_EXTENDED_PROC_FINFO);
}

static bool
columns_have_hash(Oid row_type)
{
	TupleDesc descriptor = lookup_rowtype_tupdesc(row_type, -1);
	bool have = true;
	int i;

	/* each level of nested rows may double the number of columns */
	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	for (i = 0; i < descriptor->natts && have; i++)
		have = TupleDescAttr(descriptor, i)->attisdropped ||
			   KeyTypeHasHash(TupleDescAttr(descriptor, i)->atttypid);
	ReleaseTupleDesc(descriptor);
	return have;
}

/*
 * Return the base type of a domain, or the type itself.  Types of numbers, the most frequent types,
 * need no lookup, because they are no domains.  If the running query has dropped the type, the type
 * cache raises an error.
 */
Oid
KeyBaseType(Oid type)
{
	if (KeyNumberKind(type) != KEY_HASHED)
		return type;
	(void) lookup_type_cache(type, 0);
	return getBaseType(type);
}

/*
 * True if values of the type can be keys.  A container can be a key if the contained values can be
 * keys.  The type cache does not know this for anonymous rows and for domains over ranges.
 */
bool
KeyTypeHasHash(Oid type)
{
	Oid base_type = KeyBaseType(type);

	switch (kind_of_container(base_type))
	{
		case KEY_ARRAY:
			return KeyTypeHasHash(get_element_type(base_type));
		case KEY_MULTIRANGE:
			return KeyTypeHasHash(get_multirange_range(base_type));
		case KEY_RANGE:
			return KeyTypeHasHash(get_range_subtype(base_type));
		case KEY_ROW:
			return base_type == RECORDOID || columns_have_hash(base_type);
		default:
			return OidIsValid(hash_of(base_type)->hash_extended_proc);
	}
}

/* True if keys of the type are numbers. */
bool
KeyTypeIsNumber(Oid type)
{
	return KeyNumberKind(KeyBaseType(type)) != KEY_HASHED;
}

/* True if keys of the type are numbers whose order is the order of the keys in SQL. */
bool
KeyTypeHasNumberOrder(Oid type)
{
	switch (KeyBaseType(type))
	{
		case PG_LSNOID:
		case XID8OID:
#ifdef OID8OID
		case OID8OID:
#endif
		case XIDOID:
		case CIDOID:
		case MACADDR8OID:
			return false;
		default:
			return KeyTypeIsNumber(type);
	}
}

/*
 * Raise the error for types without an extended hash function.  The extension's own types have only
 * a hash function without a seed.
 */
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

/* Set all members except "keys" and "row". */
static void
describe(KeyType *key, Oid type, Oid collation)
{
	Oid base_type = KeyBaseType(type);
	TypeCacheEntry *entry = hash_of(base_type);

	if (!KeyTypeHasHash(type))
		raise_no_hash(type);
	key->type = type;
	key->input_collation = collation;
	key->kind = kind_of(base_type, collation);
	key->length = entry->typlen;
	key->by_value = entry->typbyval;
	key->align = entry->typalign;
	key->foreign_text = !Utf8IsNative() && KeyIsForeignText(base_type);
	if (key->kind == KEY_PADDED_HASHED)
		entry = hash_of(TEXTOID);
	key->hash = &entry->hash_extended_proc_finfo;
}

/*
 * Describe keys of a type.  "collation" is the collation of the call.  For anonymous rows, the
 * caller must call KeyTypeLearn() next.
 */
void
KeyTypeInit(KeyType *key, Oid type, Oid collation)
{
	describe(key, type, collation);
	key->keys = KeysOf(type, collation);
}

/* Call KeyTypeInit(), unless "key" already describes this type and collation. */
void
KeyTypeChange(KeyType *key, Oid type, Oid collation)
{
	if (key->type != type || key->input_collation != collation)
		KeyTypeInit(key, type, collation);
}

/* ---- types that containers contain ---- */

typedef struct TypeWithin
{
	uint64 id; /* type and collation, as one number */
	bool valid;
	KeyType key;
} TypeWithin;

static HTAB *types_within;
static TypeWithin *last_within; /* the last requested type */

static void
forget_types(Datum argument, int cache, uint32 hash)
{
	HASH_SEQ_STATUS each;
	TypeWithin *within;

	hash_seq_init(&each, types_within);
	while ((within = hash_seq_search(&each)))
		within->valid = false;
}

static void
create_types(void)
{
	HASHCTL control = { .keysize = sizeof(uint64),
						.entrysize = sizeof(TypeWithin),
						.hcxt = CacheMemoryContext };

	types_within = hash_create("qsketch types within keys", FIRST_TYPES, &control,
							   HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	CacheRegisterSyscacheCallback(TYPEOID, forget_types, 0);
	CacheRegisterSyscacheCallback(CLAOID, forget_types, 0);
}

/*
 * Return the cached KeyType of a type that a container contains.  The KeyType's "keys" are not set.
 * The KeyType's address never changes.
 */
const KeyType *
KeyTypeWithin(Oid type, Oid collation)
{
	uint64 id = (uint64) type << 32 | collation;
	TypeWithin *within;
	bool found;

	if (last_within && last_within->id == id && last_within->valid)
		return &last_within->key;
	if (types_within == NULL)
		create_types();
	within = hash_search(types_within, &id, HASH_ENTER, &found);
	if (!found || !within->valid)
	{
		KeyType key = { 0 };

		within->valid = false;
		describe(&key, type, collation);
		within->key = key;
		within->valid = true;
	}
	last_within = within;
	return &within->key;
}

/* ---- anonymous rows ---- */

/* Record the row type of the first anonymous row.  Does nothing for any other type of key. */
void
KeyTypeLearn(KeyType *key, Datum value)
{
	HeapTupleHeader row;

	if (key->kind != KEY_ROW || getBaseType(key->type) != RECORDOID)
		return;
	row = DatumGetHeapTupleHeader(value);
	key->row = (KeyRow){ HeapTupleHeaderGetTypeId(row), HeapTupleHeaderGetTypMod(row) };
	key->keys.collation = KeyRowContent(key->row.type, key->row.typmod);
	key->keys.text =
		KeyRowTextIsUnknown(key->row.type, key->row.typmod) ? QB_TEXT_ASCII : QB_TEXT_UTF8;
}

/*
 * Record the row type of the first element that is not NULL, as KeyTypeLearn() does.  False: the
 * keys are anonymous rows, and all elements are NULL.
 */
bool
KeyTypeLearnArray(KeyType *key, const Datum *value, const bool *null, int count)
{
	int i = 0;

	while (i < count && null[i])
		i++;
	if (i < count)
		KeyTypeLearn(key, value[i]);
	return i < count || key->type != RECORDOID;
}

/* ---- errors when keys are not of the kind that a value holds ---- */

static bool
has_cast(Oid from, Oid to)
{
	Oid function;

	return find_coercion_pathway(to, from, COERCION_EXPLICIT, &function) != COERCION_PATH_NONE;
}

/* Return a hint on converting the key to the type of the value's keys. */
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

static void
raise_mismatch(uint32 family, const KeyType *key, const KeyHolder *holder)
{
	ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
					errmsg("cannot use a key of type %s with a %s of %s keys",
						   format_type_be(key->type), holder->one, KeyFamilyTypes(family)),
					errhint("%s", cast_hint(family, key, holder))));
}

/* Raise the error for arrays, ranges or rows that contain other types than the value's keys. */
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

/* Raise the error for text whose encoding is unknown, in the key or in the value. */
static void
raise_other_text(const qb_keys *held, const KeyHolder *holder)
{
	if (held->text == QB_TEXT_BYTES)
		ereport(
			ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("%s has keys in an unknown encoding, and the key is in UTF-8", holder->one),
			 errhint("It was built from text that is not ASCII where the encoding was not known: "
					 "in a database of SQL_ASCII, or from keys of an extension's type in one "
					 "that is not of UTF8. Ask for it there, or build it anew from its rows.")));
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("%s has keys in UTF-8, and the encoding of the key is unknown", holder->one),
			 errhint("The key is not ASCII, and the database has encoding %s.",
					 GetDatabaseEncodingName())));
}

void
KeyCheckFits(const qb_keys *held, const KeyType *key, const KeyHolder *holder)
{
	if (KeyFits(key, held))
	{
		if (unlikely(qb_keys_clash(held, &key->keys)))
			raise_other_text(held, holder);
		return;
	}
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

/* ---- from numbers to keys ---- */

static Datum
float_of(int64 number, bool narrow)
{
	union
	{
		int64 bits;
		float8 value;
	} as = { .bits = number ^ ((number >> 63) & PG_INT64_MAX) };

	if (number == PG_INT64_MAX)
		as.value = get_float8_nan();
	return narrow ? Float4GetDatum((float4) as.value) : Float8GetDatum(as.value);
}

/* Allocate a key that is passed by reference. */
static Datum
bytes_of(int64 number, KeyKind kind)
{
	int length = kind == KEY_MACADDR8 ? 8 : 6;
	char *bytes = palloc0(sizeof(int64));
	int i;

	if (kind == KEY_TID)
		ItemPointerSet((ItemPointerData *) bytes, (BlockNumber) (number >> 16),
					   (OffsetNumber) number);
	else
		for (i = 0; i < length; i++)
			bytes[i] = (char) ((uint64) number >> 8 * (length - 1 - i));
	return PointerGetDatum(bytes);
}

/*
 * Convert a number to a key of this kind.  A number that is no key of this kind is truncated or
 * rounded.
 */
Datum
KeyNumberDatum(int64 number, KeyKind kind)
{
	switch (kind)
	{
		case KEY_INT8:
			return Int64GetDatum(number);
		case KEY_INT4:
			return Int32GetDatum((int32) number);
		case KEY_INT2:
			return Int16GetDatum((int16) number);
		case KEY_UINT1:
			return UInt8GetDatum((uint8) number);
		case KEY_UINT4:
			return UInt32GetDatum((uint32) number);
		case KEY_FLOAT4:
		case KEY_FLOAT8:
			return float_of(number, kind == KEY_FLOAT4);
		default:
			return bytes_of(number, kind);
	}
}

/* True if the number, which is valid for the type's kind, is a value of the type. */
static bool
is_valid(Oid base_type, int64 number)
{
	switch (base_type)
	{
		case BOOLOID:
			return number == 0 || number == 1;
		case DATEOID:
			return DATE_NOT_FINITE(number) || IS_VALID_DATE(number);
		case TIMEOID:
			return number >= 0 && number <= USECS_PER_DAY;
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return TIMESTAMP_NOT_FINITE(number) || IS_VALID_TIMESTAMP(number);
		default:
			return true;
	}
}

/*
 * Convert a fingerprint to a key of a type of numbers.  Raises an error if no key of the type has
 * this fingerprint.
 */
Datum
KeyOfNumber(const KeyType *key, int64 number)
{
	Datum value = KeyNumberDatum(number, key->kind);
	char *text;

	if (KeyNumber(key->kind, value) == number && is_valid(getBaseType(key->type), number))
		return value;
	text = key->kind == KEY_FLOAT4
			   ? DatumGetCString(DirectFunctionCall1(float8out, float_of(number, false)))
			   : psprintf(INT64_FORMAT, number);
	ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					errmsg("key %s is out of range for type %s", text, format_type_be(key->type)),
					errhint("Name the type that the keys had.")));
}

/*
 * ---- numerics and intervals as keys ----
 *
 * A numeric is read in its stored form.  PostgreSQL cannot change this form, because tables of
 * earlier versions contain it.
 */

/* The stored form of a numeric: a header of 2 or 4 bytes with sign and weight, then the digits. */
#define HEADER_SPECIAL    0xC000
#define HEADER_SHORT      0x8000
#define HEADER_NEGATIVE   0x4000
#define SHORT_NEGATIVE    0x2000
#define SHORT_WEIGHT_SIGN 0x0040
#define SHORT_WEIGHT      0x003F
#define SHORT_WEIGHT_MIN  (-0x0040)

/*
 * Maximum number of digits of a numeric that is its own fingerprint, and the number of bits that
 * these digits need.
 */
#define SHORT_DIGITS 4
#define DIGITS_BITS  54

static inline uint16
digit_at(const char *data)
{
	uint16 digit;

	memcpy(&digit, data, sizeof(digit));
	return digit;
}

inline KeyDecimal
KeyDecimalOf(const char *data, Size length)
{
	uint16 header = digit_at(data);
	KeyDecimal n = { .end = data + length, .digit = data + sizeof(header) };

	if ((header & HEADER_SPECIAL) == HEADER_SPECIAL)
		return (KeyDecimal){ .special = true, .weight = header };
	if (header & HEADER_SHORT)
	{
		n.negative = header & SHORT_NEGATIVE;
		n.weight = (header & SHORT_WEIGHT) - (header & SHORT_WEIGHT_SIGN);
	}
	else
	{
		n.negative = header & HEADER_NEGATIVE;
		n.weight = (int16) digit_at(n.digit);
		n.digit += sizeof(header);
	}
	for (; n.digit < n.end && digit_at(n.digit) == 0; n.digit += KEY_DIGIT_BYTES)
		n.weight--;
	while (n.digit < n.end && digit_at(n.end - KEY_DIGIT_BYTES) == 0)
		n.end -= KEY_DIGIT_BYTES;
	return n;
}

/*
 * Compute the fingerprint of a numeric of at most four digits to base 10,000, in 62 bits.  The low
 * 54 bits are the digits as one number, the next 7 bits are the weight, and the highest bit is the
 * sign.  False: the numeric is NaN or infinite, has more digits, or has a weight of more than 7
 * bits.
 */
bool
KeyShortNumeric(const char *data, Size length, int64 *number)
{
	KeyDecimal n = KeyDecimalOf(data, length);
	int64 digits = 0;
	int i;

	if (n.special || n.end - n.digit > SHORT_DIGITS * KEY_DIGIT_BYTES)
		return false;
	*number = 0;
	if (n.digit >= n.end)
		return true;
	if (n.weight < SHORT_WEIGHT_MIN || n.weight > SHORT_WEIGHT)
		return false;
	for (i = 0; i < SHORT_DIGITS; i++, n.digit += KEY_DIGIT_BYTES)
		digits = digits * 10000 + (n.digit < n.end ? digit_at(n.digit) : 0);
	*number = digits | (int64) (n.weight - SHORT_WEIGHT_MIN) << DIGITS_BITS |
			  (int64) n.negative << (DIGITS_BITS + 7);
	return true;
}

/* An interval of fewer days is its own fingerprint, in microseconds. */
#define SHORT_DAYS (PG_INT64_MAX / USECS_PER_DAY)

inline int64
KeyDaysOf(const Interval *span, int64 *time)
{
	int64 days = (int64) span->month * DAYS_PER_MONTH + span->day + span->time / USECS_PER_DAY;

	*time = span->time % USECS_PER_DAY;
	if (*time < 0)
	{
		*time += USECS_PER_DAY;
		days--;
	}
	return days;
}

bool
KeyShortInterval(const Interval *span, int64 *number)
{
	int64 time;
	int64 days = KeyDaysOf(span, &time);

	*number = days * USECS_PER_DAY + time;
	return days > -SHORT_DAYS && days < SHORT_DAYS;
}
