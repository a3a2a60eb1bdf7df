/*
 * keytext.h
 *		Keys as text, and text as keys: of lists of keys, and of literals.
 *
 * src/pgbase/keytext.h
 */
#ifndef QS_PGBASE_KEYTEXT_H
#define QS_PGBASE_KEYTEXT_H

#include "pgbase/keyfamily.h"

/* How keys of a type are written. */
typedef struct KeyWriter
{
	FmgrInfo output;
	bool bytes;  /* the text is the value */
	bool padded; /* the text is the value without trailing blanks */
	bool plain;  /* the text does not depend on settings */
} KeyWriter;

/* How keys of a type are read. */
typedef struct KeyParser
{
	KeyType key;
	FmgrInfo input;
	Oid parameter; /* of the input function */
	bool domain;   /* the type is a domain, whose constraints are checked */
	void *check;   /* what the check keeps between calls */
} KeyParser;

extern int KeyTextBegin(void);
extern void KeyTextEnd(int level);

extern void KeyWriterInit(KeyWriter *writer, Oid type, MemoryContext context);
extern const char *KeyWrite(KeyWriter *writer, Datum value, uint32 *length);

extern void KeyParserInit(KeyParser *parser, Oid type, Oid collation, MemoryContext context);
extern Datum KeyParse(KeyParser *parser, const char *text, uint64 fingerprint);
extern Datum KeyParseNumber(KeyParser *parser, int64 number);

/* A zeroed reader is not prepared for any type. */
typedef struct KeyReader
{
	KeyType key;    /* what the text is read as */
	FmgrInfo input; /* of that type */
	Oid parameter;  /* of the input function */
	Datum value;    /* the last key that was read */
} KeyReader;

extern uint64 KeyReadText(KeyReader *reader, MemoryContext context, const qb_keys *held,
						  const KeyHolder *holder, const KeyType *given, Datum value);

#endif
