/*
 * keytext.h
 *		Keys as text, and back.
 *
 * src/pgbase/keytext.h
 */
#ifndef QS_PG_KEYTEXT_H
#define QS_PG_KEYTEXT_H

#include "pgbase/keytype.h"

/* How keys of a type are written. */
typedef struct KeyWriter
{
	FmgrInfo output;
	bool bytes;  /* the text is the value */
	bool padded; /* but for trailing blanks, which are not of the key */
	bool plain;  /* no setting matters */
} KeyWriter;

/* How they are read. */
typedef struct KeyParser
{
	KeyType key;
	FmgrInfo input;
	Oid parameter; /* of the input function */
	bool domain;   /* values have conditions, */
	void *check;   /* which are kept here */
} KeyParser;

extern int KeyTextBegin(void);
extern void KeyTextEnd(int level);

extern void KeyWriterInit(KeyWriter *writer, Oid type, MemoryContext context);
extern const char *KeyWrite(KeyWriter *writer, Datum value, uint32 *length);

extern void KeyParserInit(KeyParser *parser, Oid type, Oid collation, MemoryContext context);
extern Datum KeyParse(KeyParser *parser, const char *text, uint64 fingerprint);
extern Datum KeyParseInteger(KeyParser *parser, int64 integer);

#endif
