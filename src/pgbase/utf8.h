/*
 * utf8.h
 *		Text of keys in UTF-8, whatever the encoding of the database is.
 *
 * Values are moved between databases by dump and restore, replication, COPY and foreign
 * tables.  PostgreSQL converts text on the way, but not what a value has made of it.  So
 * fingerprints are made of UTF-8 bytes, and texts are kept in UTF-8.  Text in ASCII is the
 * same in all encodings of databases.
 *
 * A database of SQL_ASCII does not know the encoding of its text, and MULE_INTERNAL, which
 * PostgreSQL 19 does not have, has no conversion.  In such databases bytes are taken as they are,
 * and a value records that (qb_text).
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
 * Convert text of the database to UTF-8, and the reverse.  If nothing has to be converted, the
 * result is the argument itself.  Otherwise it is allocated and ends with a zero byte.  *length is
 * set to its length.  Raises an error if a character is missing in the other encoding.  The
 * database's encoding must be known.
 */
extern const char *Utf8Of(const char *text, Size *length);
extern const char *Utf8ToDatabase(const char *text, Size *length);

#endif
