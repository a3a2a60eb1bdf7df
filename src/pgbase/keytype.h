/*
 * keytype.h
 *		Kinds of keys: how keys of an SQL type become fingerprints.
 *
 * Keys that are equal by SQL's = have equal fingerprints.  Two different keys of a built-in type
 * have different fingerprints, except with a probability of 2^-64.
 *
 *	numbers		the key's bits, at most 64, or a normal form of these bits.
 *	strings		text under deterministic collations, enum labels, bytea, uuid, inet, cidr and
 *				timetz: a hash of the bytes.  Text is converted to UTF-8 first (utf8.h).
 *	numeric		with at most four digits to base 10,000 and a small weight: a number of 62 bits.
 *	interval	of less than about 2^63 microseconds: the microseconds.
 *	all others	a hash of bytes that hold everything that = compares (keybytes.h).  Types of
 *				extensions, oidvector, and text under nondeterministic collations are hashed
 *				by the type's extended hash function.
 *
 * src/pgbase/keytype.h
 */
#ifndef QS_PGBASE_KEYTYPE_H
#define QS_PGBASE_KEYTYPE_H

#include "postgres.h"

#include "pgbase/keyfamily.h"

#include "datatype/timestamp.h"
#include "fmgr.h"
#include "storage/itemptr.h"

/* The kinds of numbers come first. */
typedef enum KeyKind
{
	KEY_INT2,
	KEY_INT4,  /* dates, too */
	KEY_INT8,  /* times and timestamps, too */
	KEY_UINT1, /* booleans and "char" */
	KEY_UINT4, /* oid and the like */
	KEY_FLOAT4,
	KEY_FLOAT8,
	KEY_TID,           /* 6 bytes */
	KEY_MACADDR,       /* 6 bytes */
	KEY_MACADDR8,      /* 8 bytes */
	KEY_BYTES,         /* varlena, compared by its bytes; also text in a UTF-8 database */
	KEY_TEXT,          /* text in a database that is not in UTF-8 */
	KEY_FIXED,         /* fixed length, passed by reference, compared by its bytes */
	KEY_NAME,          /* a string that ends with a zero byte */
	KEY_PADDED,        /* char(n), compared without trailing blanks */
	KEY_ENUM,          /* the label, because an OID does not survive dump and restore */
	KEY_PADDED_HASHED, /* char(n), hashed by the hash function of text */
	KEY_NUMERIC,
	KEY_INTERVAL,
	KEY_ACLITEM,
	KEY_JSONB,
	KEY_ARRAY,
	KEY_RANGE,
	KEY_MULTIRANGE,
	KEY_ROW,   /* a row, whose header names its row type */
	KEY_HASHED /* hashed by the extended hash function of the type */
} KeyKind;

/* Type and typmod together name a row type of the session. */
typedef struct KeyRow
{
	Oid type;
	int32 typmod;
} KeyRow;

/*
 * A zeroed KeyType describes no type.  If keys may have text of an unknown encoding, keys.text is
 * first QB_TEXT_ASCII.  Hashing text that is not ASCII then changes keys.text to QB_TEXT_BYTES.
 */
typedef struct KeyType
{
	Oid type;
	Oid input_collation;
	qb_keys keys; /* what a value records about these keys (keyfamily.c) */
	KeyKind kind;
	int16 length; /* length, by_value and align: as in pg_type */
	bool by_value;
	bool foreign_text; /* KeyIsForeignText(), and the database is not in UTF-8 */
	char align;
	FmgrInfo *hash; /* from the type cache, for KEY_HASHED and KEY_PADDED_HASHED */
	KeyRow row;     /* for anonymous rows: the type of the first row */
} KeyType;

extern Oid KeyBaseType(Oid type);
extern bool KeyTypeHasHash(Oid type);
extern KeyKind KeyNumberKind(Oid base_type);
extern bool KeyTypeIsNumber(Oid type);
extern bool KeyTypeHasNumberOrder(Oid type);
extern void KeyTypeInit(KeyType *key, Oid type, Oid collation);
extern void KeyTypeChange(KeyType *key, Oid type, Oid collation);
extern const KeyType *KeyTypeWithin(Oid type, Oid collation);
extern void KeyTypeLearn(KeyType *key, Datum value);
extern bool KeyTypeLearnArray(KeyType *key, const Datum *value, const bool *null, int count);
extern Datum KeyNumberDatum(int64 number, KeyKind kind);
extern Datum KeyOfNumber(const KeyType *key, int64 number);

/* Forget whether earlier keys had text that is not ASCII. */
static inline void
KeyTypeForgetText(KeyType *key)
{
	if (unlikely(key->keys.text == QB_TEXT_BYTES))
		key->keys.text = QB_TEXT_ASCII;
}

/* True if "held" has the family and collation of "key", or if "held" is empty (qb_keys_none()). */
static inline bool
KeyFits(const KeyType *key, const qb_keys *held)
{
	return qb_keys_none(held) || qb_keys_same(held, &key->keys);
}

/*
 * Raise an error unless KeyFits() is true and the encodings of these keys and of the value's keys
 * match (qb_keys_clash()).
 */
extern void KeyCheckFits(const qb_keys *held, const KeyType *key, const KeyHolder *holder);

/* ---- numbers ---- */

static inline bool
KeyIsNumber(const KeyType *key)
{
	return key->kind <= KEY_MACADDR8;
}

/*
 * Convert a float to an integer.  The integers have the order of the floats in SQL: -0 equals 0,
 * and NaN is the greatest.
 */
static inline int64
KeyNumberOfFloat(float8 value)
{
	union
	{
		float8 value;
		int64 bits;
	} as = { .value = value + 0.0 };

	if (unlikely(value != value))
		return PG_INT64_MAX;
	return as.bits ^ ((as.bits >> 63) & PG_INT64_MAX);
}

/* Read the bytes as an unsigned integer, highest byte first. */
static inline int64
KeyNumberOfBytes(const char *value, int length)
{
	uint64 number = 0;
	int i;

	for (i = 0; i < length; i++)
		number = number << 8 | (uint8) value[i];
	return (int64) number;
}

/* Return the number of a key in memory that is aligned for the key's type. */
static inline int64
KeyNumberAt(const char *value, KeyKind kind)
{
	switch (kind)
	{
		case KEY_INT8:
			return *(const int64 *) value;
		case KEY_INT4:
			return *(const int32 *) value;
		case KEY_INT2:
			return *(const int16 *) value;
		case KEY_UINT1:
			return *(const uint8 *) value;
		case KEY_UINT4:
			return *(const uint32 *) value;
		case KEY_FLOAT4:
			return KeyNumberOfFloat(*(const float4 *) value);
		case KEY_FLOAT8:
			return KeyNumberOfFloat(*(const float8 *) value);
		case KEY_TID:
			return (int64) ItemPointerGetBlockNumberNoCheck((const ItemPointerData *) value) << 16 |
				   ItemPointerGetOffsetNumberNoCheck((const ItemPointerData *) value);
		default:
			return KeyNumberOfBytes(value, kind == KEY_MACADDR ? 6 : 8);
	}
}

/* Return the number of a key of this kind. */
static inline int64
KeyNumber(KeyKind kind, Datum value)
{
	switch (kind)
	{
		case KEY_INT8:
			return DatumGetInt64(value);
		case KEY_INT4:
			return DatumGetInt32(value);
		case KEY_INT2:
			return DatumGetInt16(value);
		case KEY_UINT1:
			return DatumGetUInt8(value);
		case KEY_UINT4:
			return DatumGetUInt32(value);
		case KEY_FLOAT4:
			return KeyNumberOfFloat(DatumGetFloat4(value));
		case KEY_FLOAT8:
			return KeyNumberOfFloat(DatumGetFloat8(value));
		default:
			return KeyNumberAt(DatumGetPointer(value), kind);
	}
}

/* ---- numerics and intervals ---- */

#define KEY_DIGIT_BYTES 2

/* A numeric without leading and trailing zeros. */
typedef struct KeyDecimal
{
	bool special; /* NaN or an infinity; "weight" says which */
	bool negative;
	int32 weight;
	const char *digit; /* digits to base 10,000; "weight" is the weight of the first digit */
	const char *end;
} KeyDecimal;

/* Split a numeric.  "data" is a stored numeric without its varlena header. */
extern KeyDecimal KeyDecimalOf(const char *data, Size length);

/*
 * Split an interval.  Returns its days, with months of 30 days.  *time is the remaining time in
 * microseconds, less than a day.
 */
extern int64 KeyDaysOf(const Interval *span, int64 *time);

/* Compute the fingerprint of a key that fits into a number.  False: the key does not fit. */
extern bool KeyShortNumeric(const char *data, Size length, int64 *number);
extern bool KeyShortInterval(const Interval *span, int64 *number);

#endif
