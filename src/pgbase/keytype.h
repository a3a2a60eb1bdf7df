/*
 * keytype.h
 *		How keys of an SQL type become fingerprints.
 *
 * Two rules hold.  Keys that SQL's = calls equal have the same fingerprint.  Keys that it calls
 * different have different fingerprints, but for a chance of 2^-64.
 *
 *	numbers		Keys of at most 8 bytes whose equality is that of their bits, or of a
 *				normal form of them, are their own fingerprint.
 *	strings		Text under deterministic collations, bytea, uuid and network addresses: a
 *				hash of their bytes, which for text are those of UTF-8 (utf8.h).
 *	numeric		with at most four digits to base 10,000, as a number of 62 bits; intervals of
 *				at most 2^63 microseconds as these
 *	all others	a hash of the bytes that say all that = looks at (keybytes.h); for types of
 *				extensions their own extended hash function.
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
	KEY_BYTES,         /* varlena, equal if the bytes are; also text, if the database has UTF-8 */
	KEY_TEXT,          /* text in a database of another encoding */
	KEY_FIXED,         /* of fixed length, passed by reference, equal if the bytes are */
	KEY_NAME,          /* a string that ends with a zero byte */
	KEY_PADDED,        /* char(n): equal if the bytes without trailing blanks are */
	KEY_ENUM,          /* its label, since its OID does not survive dump and restore */
	KEY_PADDED_HASHED, /* char(n), hashed as text by its hash function */
	KEY_NUMERIC,
	KEY_INTERVAL,
	KEY_ACLITEM,
	KEY_JSONB,
	KEY_ARRAY,
	KEY_RANGE,
	KEY_MULTIRANGE,
	KEY_ROW,   /* a row, which says which columns it has */
	KEY_HASHED /* hashed by the extended hash function of the type */
} KeyKind;

/* Type and typmod together name a row type of the session. */
typedef struct KeyRow
{
	Oid type;
	int32 typmod;
} KeyRow;

/*
 * A zeroed KeyType describes nothing yet.  If keys may have text of an unknown encoding,
 * keys.text is QB_TEXT_ASCII, and hashing text that is not ASCII sets it to QB_TEXT_BYTES.
 */
typedef struct KeyType
{
	Oid type;
	Oid input_collation;
	qb_keys keys; /* what a value records of them: collation 0 unless it decides equality, or they
				   * contain others (keyfamily.c) */
	KeyKind kind;
	int16 length; /* length, by_value and align are those of pg_type */
	bool by_value;
	bool foreign_text; /* KeyIsForeignText(), in a database of another encoding than UTF-8 */
	char align;
	FmgrInfo *hash; /* from the type cache; used for KEY_HASHED */
	KeyRow row;     /* for anonymous rows: the type of the first one */
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

/* Forget whether keys that were hashed before had text that is not ASCII. */
static inline void
KeyTypeForgetText(KeyType *key)
{
	if (unlikely(key->keys.text == QB_TEXT_BYTES))
		key->keys.text = QB_TEXT_ASCII;
}

/*
 * True if these keys are of the kind that the value with the keys "held" has, or if that value has
 * no keys.
 */
static inline bool
KeyFits(const KeyType *key, const qb_keys *held)
{
	return qb_keys_none(held) || qb_keys_same(held, &key->keys);
}

/*
 * Raise an error unless the keys fit those of the value, and their text is of an encoding that the
 * value has.
 */
extern void KeyCheckFits(const qb_keys *held, const KeyType *key, const KeyHolder *holder);

/* ---- numbers ---- */

static inline bool
KeyIsNumber(const KeyType *key)
{
	return key->kind <= KEY_MACADDR8;
}

/*
 * The integer that stands for a float.  Integers compare as their floats do in SQL: -0 is
 * 0, and NaN is the greatest.
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

/* The bytes as an unsigned integer, whose highest byte is the first one. */
static inline int64
KeyNumberOfBytes(const char *value, int length)
{
	uint64 number = 0;
	int i;

	for (i = 0; i < length; i++)
		number = number << 8 | (uint8) value[i];
	return (int64) number;
}

/* The number of a key that lies in memory, aligned for its type. */
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

/* The number of a key.  Only the kind of the key has to be known. */
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

/* A numeric without zeros at either end. */
typedef struct KeyDecimal
{
	bool special; /* NaN or an infinity; "weight" says which */
	bool negative;
	int32 weight;
	const char *digit; /* digits to base 10,000; the first digit has the weight */
	const char *end;
} KeyDecimal;

/* "data" is what follows the length of a stored numeric. */
extern KeyDecimal KeyDecimalOf(const char *data, Size length);

/* An interval, with months of 30 days, as days and less than a day of microseconds. */
extern int64 KeyDaysOf(const Interval *span, int64 *time);

/* The number that stands for a short key; false: the key is not short. */
extern bool KeyShortNumeric(const char *data, Size length, int64 *number);
extern bool KeyShortInterval(const Interval *span, int64 *number);

#endif
