/*
 * keyread.h
 *		Reads keys from the arguments of calls and from text, writes keys as text, and buffers
 *		keys.
 *
 * A transition function appends a key to a buffer and returns.  The owner of the buffer, an
 * expanded object, passes the keys of a full buffer to an engine.  The owner sets "room", the
 * number of keys of a batch.  A zeroed buffer is empty and full: its room is 0.
 *
 * The buffer stores weights only after a key with a weight other than 1 was appended.  Most keys
 * have the weight 1, and a buffer without weights takes half the memory of a buffer with weights.
 *
 * src/pgbase/keyread.h
 */
#ifndef QS_KEYREAD_H
#define QS_KEYREAD_H

#include "postgres.h"

#include "pgbase/keybytes.h"

#include "utils/array.h"

typedef struct KeyBuffer
{
	uint64 *fingerprint;
	int64 *weight; /* NULL: all weights are 1 */
	int count;
	int room;      /* number of keys at which the buffer is full */
	int allocated; /* number of keys that fit into the memory, at least "room" */
} KeyBuffer;

extern void KeyBufferLimit(KeyBuffer *buffer, int most);
extern void KeyBufferGrow(KeyBuffer *buffer, MemoryContext context, int most);
extern void KeyBufferExtend(KeyBuffer *buffer, int most);
extern bool KeyBufferIsVaried(const KeyBuffer *buffer, int first);
extern void KeyBufferWeigh(KeyBuffer *buffer);
extern void KeyBufferFree(KeyBuffer *buffer);

static inline bool
KeyBufferIsFull(const KeyBuffer *buffer)
{
	return buffer->count >= buffer->room;
}

/* Append a key of weight 1.  The buffer must not be full, and must have no weights. */
static inline void
KeyBufferPut(KeyBuffer *buffer, uint64 fingerprint)
{
	buffer->fingerprint[buffer->count++] = fingerprint;
}

/* Append a key.  The buffer must not be full. */
static inline void
KeyBufferAppend(KeyBuffer *buffer, uint64 fingerprint, int64 weight)
{
	if (weight != 1 && buffer->weight == NULL)
		KeyBufferWeigh(buffer);
	if (buffer->weight)
		buffer->weight[buffer->count] = weight;
	buffer->fingerprint[buffer->count++] = fingerprint;
}

/* ---- what the expression of a call says about its key ---- */

typedef struct KeyArgument
{
	Oid type;      /* type whose equality decides which keys are equal */
	Oid collation; /* the collation for hashing */
	bool literal; /* the key is the text of a constant or parameter, which may stand for any type */
} KeyArgument;

extern void KeyArgumentOf(KeyArgument *key, FunctionCallInfo fcinfo, int argument);
/* Describe the key argument of the current row.  The key must not be NULL. */
extern void KeyTypeOfArgument(KeyType *key, FunctionCallInfo fcinfo, int argument);
extern bool KeyIsLiteral(FunctionCallInfo fcinfo, int argument);

/* ---- keys as text, and text as keys ---- */

/* Writes keys of a type as text. */
typedef struct KeyWriter
{
	FmgrInfo output;
	bool bytes;  /* the text is the key's bytes */
	bool padded; /* the text is the key's bytes without trailing blanks */
	bool plain;  /* the text does not depend on settings */
} KeyWriter;

/* Reads keys of a type from text. */
typedef struct KeyParser
{
	KeyType key;
	FmgrInfo input;
	Oid parameter; /* type parameter of the input function */
	bool domain;   /* the type is a domain, whose constraints are checked */
	void *check;   /* cache of domain_check() */
} KeyParser;

extern int KeyTextBegin(void);
extern void KeyTextEnd(int level);

extern void KeyWriterInit(KeyWriter *writer, Oid type, MemoryContext context);
extern const char *KeyWrite(KeyWriter *writer, Datum value, uint32 *length);
extern const char *
KeyWriteKept(KeyWriter *writer, Datum value, const qb_keys *keys, uint32 *length);
extern char *
KeyKeptText(const char *text, Size length, const qb_keys *held, const KeyHolder *holder);

extern void KeyParserInit(KeyParser *parser, Oid type, Oid collation, MemoryContext context);
extern Datum KeyParse(KeyParser *parser, const char *text, uint64 fingerprint);
extern Datum KeyParseNumber(KeyParser *parser, int64 number);

/*
 * ---- the key arguments of functions, for values of any family ----
 *
 * A function that looks up keys keeps a KeyProbe between rows.  The first row determines the type
 * of the keys.  If a key is a literal, its text is converted to the type of the value's keys.
 */

/* The keys of a calling expression.  The caller sets only "context" before the first row. */
typedef struct KeyProbe
{
	MemoryContext context; /* memory that lives as long as the calling expression */
	KeyType key;
	bool literal;     /* the key is a text that may be read as another type */
	KeyParser parser; /* reads literals; zeroed: not prepared yet */
	Datum value;      /* the last key that was read from a literal */
} KeyProbe;

/* A key to be added to a value. */
typedef struct NewKey
{
	KeyType type; /* type of "value"; for a literal, the type that the literal was converted to */
	Datum value;
	uint64 fingerprint;
} NewKey;

/* The keys of an array. */
typedef struct KeyBatch
{
	ArrayType *array;
	Datum *key;
	bool *null;
	uint64 *fingerprint; /* 0 for NULL */
	int count;
} KeyBatch;

extern void KeyProbeLearn(KeyProbe *probe, FunctionCallInfo fcinfo, int argument);
extern uint64
KeyProbeMisfit(KeyProbe *probe, const qb_keys *held, const KeyHolder *holder, Datum value);
extern uint64 KeyProbeText(KeyType *key, const qb_keys *held, const KeyHolder *holder, Datum value);
extern void KeyNewArgument(NewKey *key, FunctionCallInfo fcinfo, int argument, const qb_keys *held,
						   const KeyHolder *holder);

extern void *KeyBatchAlloc(int count, Size size);
extern void KeyProbeArray(KeyProbe *probe, FunctionCallInfo fcinfo, int argument,
						  const qb_keys *held, const KeyHolder *holder, KeyBatch *batch);
extern Datum KeyBatchAnswers(const KeyBatch *batch, Datum *answer, Oid type);

/*
 * Return the fingerprint of a key, for a value with the keys "held".  The probe must know the key's
 * type.
 */
static inline uint64
KeyProbeFingerprint(KeyProbe *probe, const qb_keys *held, const KeyHolder *holder, Datum value)
{
	if (unlikely(!KeyFits(&probe->key, held)))
		return KeyProbeMisfit(probe, held, holder, value);
	if (unlikely((probe->key.keys.text | held->text) != QB_TEXT_UTF8))
		return KeyProbeText(&probe->key, held, holder, value);
	return KeyFingerprint(&probe->key, value);
}

/* Return the fingerprint of the key argument.  The first call sets the probe's type. */
static inline uint64
KeyProbeArgument(KeyProbe *probe, FunctionCallInfo fcinfo, int argument, const qb_keys *held,
				 const KeyHolder *holder)
{
	if (unlikely(probe->key.type == InvalidOid))
		KeyProbeLearn(probe, fcinfo, argument);
	return KeyProbeFingerprint(probe, held, holder, PG_GETARG_DATUM(argument));
}

#endif
