/*
 * keytype.h
 *		How keys of an SQL type become fingerprints.
 *
 * src/pg/keytype.h
 */
#ifndef QS_PG_KEYTYPE_H
#define QS_PG_KEYTYPE_H

#include "pg/sketch_value.h"

typedef enum KeyKind
{
	KEY_INT2,
	KEY_INT4,
	KEY_INT8,
	KEY_BYTES, /* varlena whose equality is that of its bytes */
	KEY_ENUM,  /* through the label */
	KEY_HASHED /* through the extended hash function of the type */
} KeyKind;

/* Zeroed: not known yet. */
typedef struct KeyType
{
	Oid type;
	Oid input_collation;
	uint32 family;    /* goes into the sketch; never 0 */
	uint32 collation; /* goes into the sketch; 0 unless it decides equality */
	KeyKind kind;
	int16 length; /* of the type, as in pg_type; likewise the next two */
	bool by_value;
	char align;
	FmgrInfo *hash; /* in the type cache, or NULL */
} KeyType;

extern bool KeyTypeHasHash(Oid type);
extern void KeyTypeInit(KeyType *key, Oid type, Oid collation);
extern uint64 KeyFingerprintSlow(const KeyType *key, Datum value);

/* keyfamily.c */
extern uint32 KeyNameId(const char *name);
extern uint32 KeyFamilyId(Oid opfamily);
extern char *KeyFamilyName(uint32 family);
extern Oid KeyFamilyType(uint32 family);
extern char *KeyFamilyTypes(uint32 family);
extern void KeyFamilyCheckProbe(const qs_sketch *sketch, const KeyType *key);
extern void KeyFamilyCheckSame(const qs_sketch *a, const qs_sketch *b);

/* Does the sketch hold fingerprints of such keys, or none? */
static inline bool
KeyFits(const KeyType *key, const qs_sketch *sketch)
{
	return sketch->family == 0 ||
		   (sketch->family == key->family && sketch->collation == key->collation);
}

static inline bool
KeyIsInteger(const KeyType *key)
{
	return key->kind <= KEY_INT8;
}

/* Fingerprint of an integer; nothing but the kind is needed. */
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
	return KeyIsInteger(key) ? KeyInteger(key, value) : KeyFingerprintSlow(key, value);
}

#endif
