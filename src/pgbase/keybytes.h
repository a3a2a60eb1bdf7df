/*
 * keybytes.h
 *		The bytes that say all of a key that = looks at.
 *
 * Keys of one type are equal if and only if their bytes are.  None is the beginning of
 * another, so the bytes of several keys can follow one another.
 *
 *	numbers		8 bytes: KeyNumber()
 *	strings		the length in 4 bytes, then the string
 *	uuid, timetz	as they are
 *	numeric		a byte: 0 for zero, else the kind; weight and number of the digits to
 *				base 10,000 without leading and trailing zeros, and these digits
 *	interval	days and microseconds, with months of 30 days and less than a day of
 *				microseconds
 *	jsonb		as it is read from left to right, a byte for each bracket and kind of value
 *	array		dimensions, and for each its length and lower bound; then the elements
 *	range		a byte of flags, then the bounds that there are
 *	multirange	the number of ranges, then these
 *	row			the columns; in a container an anonymous row says first what they are
 *	of extensions	hashes of two seeds
 *
 * An element or column begins with a byte: 0 for NULL, 1 for a value.
 *
 * There is a block for the bytes.  When it is full it becomes 16 bytes, its hashes of two
 * seeds, with which the next block begins.
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
	uint32 full; /* blocks that became hashes */
	char block[KEY_BLOCK];
} KeyBytes;

static inline void
KeyBytesBegin(KeyBytes *bytes)
{
	bytes->used = 0;
	bytes->full = 0;
}

extern void KeyBytesPut(KeyBytes *bytes, const void *data, Size length);
extern void KeyBytesPutKey(KeyBytes *bytes, const KeyType *key, Datum value);
extern uint64 KeyBytesHash(const KeyBytes *bytes, uint64 seed);

static inline void
KeyBytesPutByte(KeyBytes *bytes, char byte)
{
	if (likely(bytes->used < KEY_BLOCK))
		bytes->block[bytes->used++] = byte;
	else
		KeyBytesPut(bytes, &byte, 1);
}

static inline void
KeyBytesPutNumber(KeyBytes *bytes, int64 number)
{
	if (unlikely(bytes->used > KEY_BLOCK - (int) sizeof(number)))
	{
		KeyBytesPut(bytes, &number, sizeof(number));
		return;
	}
	memcpy(bytes->block + bytes->used, &number, sizeof(number));
	bytes->used += sizeof(number);
}

/* A column or element: the byte for NULL is all there is of it. */
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

#endif
