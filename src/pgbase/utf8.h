/*
 * utf8.h
 *		Converts text of keys between the database's encoding and UTF-8.
 *
 * Dump and restore, replication, COPY and foreign tables move values between databases.  PostgreSQL
 * converts text, but not the fingerprints and texts within a value.  So fingerprints are computed
 * from UTF-8, and values store texts in UTF-8.  ASCII text has equal bytes in all encodings of
 * databases.
 *
 * A database of SQL_ASCII does not know the encoding of its text.  MULE_INTERNAL, which PostgreSQL
 * 19 does not have, has no conversion to UTF-8.  In databases of these two encodings, text is not
 * converted, and a value records an unknown encoding (qb_text).
 *
 * src/pgbase/utf8.h
 */
#ifndef QS_PGBASE_UTF8_H
#define QS_PGBASE_UTF8_H

#include "postgres.h"

/* True if the database's text is in UTF-8. */
extern bool Utf8IsNative(void);

/* True if the database's text is in UTF-8, or can be converted to it. */
extern bool Utf8IsKnown(void);

static inline bool
Utf8IsAscii(const char *text, Size length)
{
	const uint64 high = UINT64CONST(0x8080808080808080);
	uint64 seen = 0;
	uint64 word;

	for (; length >= sizeof(word); text += sizeof(word), length -= sizeof(word))
	{
		memcpy(&word, text, sizeof(word));
		if (word & high)
			return false;
	}
	while (length-- > 0)
		seen |= (uint8) text[length];
	return (seen & high) == 0;
}

/*
 * Utf8Of() converts text of the database to UTF-8, Utf8ToDatabase() converts UTF-8 to text of the
 * database.  The result is the argument itself if no byte changes.  Any other result is allocated,
 * ends with a zero byte, and has its length in *length.  Both functions raise an error if the
 * target encoding lacks a character, or if the result is longer than PG_INT32_MAX bytes.  The
 * database's encoding must be known.
 */
extern const char *Utf8Of(const char *text, Size *length);
extern const char *Utf8ToDatabase(const char *text, Size *length);

#endif
