/*
 * keybytes.h
 *		Writes a key as bytes that hold everything that = compares, and hashes these bytes.
 *
 * Except for collisions of hashes, keys of one type are equal if and only if their bytes are equal.
 * The bytes of a key are never a prefix of another key's bytes, so the bytes of several keys can be
 * concatenated.
 *
 *	numbers		8 bytes: KeyNumber()
 *	strings		the length in a byte, or in 4 bytes after 0xFF; then the string, text in UTF-8
 *	numeric		4 bytes with kind and weight; unless it is zero or special, the digits to base
 *				10,000 without leading and trailing zeros, and 2 bytes that are no digit
 *	interval	10 bytes: the days, with months of 30 days, and the remaining microseconds
 *	aclitem		16 bytes: grantee, grantor, privileges and grant options
 *	jsonb		its tokens from left to right: a byte for each bracket and type of value, and
 *				strings in UTF-8
 *	array		number of dimensions, lengths, lower bounds; then the elements
 *	range		a byte of flags, then the finite bounds
 *	multirange	the number of ranges, then the ranges
 *	row			the columns; within another key, an anonymous row begins with the row's content
 *				hash (keyfamily.c)
 *	all others	two hashes with different seeds, by the type's own hash function
 *
 * Each element, bound or column begins with a byte: 0 for NULL, 1 for a value.
 *
 * The bytes are collected in a block of KEY_BLOCK bytes.  Before more bytes are put into a full
 * block, two hashes of its contents, with different seeds and 16 bytes in total, replace the
 * contents.
 *
 * src/pgbase/keybytes.h
 */
#ifndef QS_PGBASE_KEYBYTES_H
#define QS_PGBASE_KEYBYTES_H

#include "pgbase/keytype.h"

#define KEY_BLOCK 1024

typedef struct KeyBytes
{
	int used;
	uint32 full;    /* number of full blocks that were replaced by hashes */
	bool not_ascii; /* some text is not ASCII, and the database's encoding is not UTF-8 */
	char block[KEY_BLOCK];
} KeyBytes;

static inline void
KeyBytesBegin(KeyBytes *bytes)
{
	bytes->used = 0;
	bytes->full = 0;
	bytes->not_ascii = false;
}

extern void KeyBytesPutLong(KeyBytes *bytes, const char *data, Size length);
extern void KeyBytesPutKey(KeyBytes *bytes, const KeyType *key, Datum value);
extern uint64 KeyBytesHash(const KeyBytes *bytes, uint64 seed);

/* Copy at most 16 bytes, faster than a call of memcpy().  Most strings have at most 16 bytes. */
static inline void
KeyCopyFew(char *to, const char *from, Size length)
{
	if (length >= sizeof(uint64))
	{
		memcpy(to, from, sizeof(uint64));
		memcpy(to + length - sizeof(uint64), from + length - sizeof(uint64), sizeof(uint64));
	}
	else
		while (length-- > 0)
			to[length] = from[length];
}

static inline void
KeyBytesPut(KeyBytes *bytes, const void *data, Size length)
{
	if (unlikely(length > (Size) (KEY_BLOCK - bytes->used)))
	{
		KeyBytesPutLong(bytes, data, length);
		return;
	}
	if (__builtin_constant_p(length) || length > 2 * sizeof(uint64))
		memcpy(bytes->block + bytes->used, data, length);
	else
		KeyCopyFew(bytes->block + bytes->used, data, length);
	bytes->used += (int) length;
}

static inline void
KeyBytesPutByte(KeyBytes *bytes, char byte)
{
	KeyBytesPut(bytes, &byte, sizeof(byte));
}

static inline void
KeyBytesPutNumber(KeyBytes *bytes, int64 number)
{
	KeyBytesPut(bytes, &number, sizeof(number));
}

/* Put an element, a bound or a column.  NULL is a single byte. */
static inline void
KeyBytesPutMember(KeyBytes *bytes, const KeyType *key, Datum value, bool null)
{
	KeyBytesPutByte(bytes, !null);
	if (null)
		return;
	if (KeyIsNumber(key))
		KeyBytesPutNumber(bytes, KeyNumber(key->kind, value));
	else
		KeyBytesPutKey(bytes, key, value);
}

/* ---- hashes of a key that is no number; hashing may change key->keys.text (keytype.h) ---- */

extern uint64 KeyHash(KeyType *key, Datum value);
extern void KeyHashWide(KeyType *key, Datum value, uint64 *low, uint64 *high);

/* Return the fingerprint of a key that is not NULL. */
static inline uint64
KeyFingerprint(KeyType *key, Datum value)
{
	return KeyIsNumber(key) ? (uint64) KeyNumber(key->kind, value) : KeyHash(key, value);
}

#endif
