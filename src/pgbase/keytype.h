/*
 * keytype.h
 *		How keys of an SQL type become fingerprints.
 *
 * src/pgbase/keytype.h
 */
#ifndef QS_PGBASE_KEYTYPE_H
#define QS_PGBASE_KEYTYPE_H

#include "postgres.h"
#include "fmgr.h"

#include "base/keys.h"
#include "pgbase/keyrow.h"

typedef enum KeyKind
{
	KEY_INT2,
	KEY_INT4,
	KEY_INT8,
	KEY_BYTES,  /* varlena, equal if the bytes are */
	KEY_PADDED, /* char(n): as text without its trailing blanks */
	KEY_ENUM,   /* hashed by the label */
	KEY_NUMERIC,
	KEY_ROW,   /* anonymous row: each value says what it contains */
	KEY_HASHED /* hashed by the extended hash function of the type */
} KeyKind;

/* A zeroed KeyType describes nothing yet. */
typedef struct KeyType
{
	Oid type;
	Oid input_collation;
	qb_keys keys; /* what a value records of them: collation 0 unless it decides equality, or they
				   * contain others (keycontent.c) */
	KeyKind kind;
	int16 length; /* length, by_value and align are those of pg_type */
	bool by_value;
	char align;
	FmgrInfo *hash; /* of the type cache, or NULL */
	KeyRow row;     /* of anonymous rows */
} KeyType;

extern bool KeyTypeHasHash(Oid type);
extern void KeyTypeInit(KeyType *key, Oid type, Oid collation);
extern void KeyTypeLearn(KeyType *key, Datum value);
extern bool KeyTypeLearnArray(KeyType *key, const Datum *value, const bool *null, int count);
extern uint64 KeyFingerprintSeeded(const KeyType *key, Datum value, uint64 seed);

/* May the value with keys "held" take these keys?  It may hold none. */
static inline bool
KeyFits(const KeyType *key, const qb_keys *held)
{
	return qb_keys_none(held) || qb_keys_same(held, &key->keys);
}

static inline bool
KeyIsInteger(const KeyType *key)
{
	return key->kind <= KEY_INT8;
}

/* Fingerprint of an integer.  Only the kind of the key has to be known. */
static inline uint64
KeyInteger(const KeyType *key, Datum value)
{
	if (key->kind == KEY_INT8)
		return (uint64) DatumGetInt64(value);
	if (key->kind == KEY_INT4)
		return (uint64) (int64) DatumGetInt32(value);
	return (uint64) (int64) DatumGetInt16(value);
}

/* Fingerprint of a key that is not null. */
static inline uint64
KeyFingerprint(const KeyType *key, Datum value)
{
	return KeyIsInteger(key) ? KeyInteger(key, value) : KeyFingerprintSeeded(key, value, 0);
}

#endif
