/*
 * keyread.h
 *		Keys on their way into a state: read from calls, from text, and buffered.
 *
 * Transition functions append a key and return.  When the buffer is full its owner, an
 * expanded object, gives all keys to an engine.  The owner sets "room", the number of
 * keys that it wants to hand over at once.  A zeroed buffer is empty and has no room.
 *
 * Weights are kept only after the first one that is not 1.  Most keys have the weight
 * 1, and a buffer without weights takes half the memory.
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
	int64 *weight; /* NULL as long as all weights are 1 */
	int count;
	int room;      /* number of keys at which the buffer is full */
	int allocated; /* number of keys that it has memory for, at least "room" */
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

/* Append a key of weight 1; the buffer has room and no weights. */
static inline void
KeyBufferPut(KeyBuffer *buffer, uint64 fingerprint)
{
	buffer->fingerprint[buffer->count++] = fingerprint;
}

/* Append a key; the buffer has room. */
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
	Oid type;      /* the equality of this type decides which keys are the same */
	Oid collation; /* the collation for hashing */
	bool literal; /* the key is the text of a constant or parameter, which may stand for any type */
} KeyArgument;

extern void KeyArgumentOf(KeyArgument *key, FunctionCallInfo fcinfo, int argument);
/* Describe the key of a row.  The key is not null. */
extern void KeyTypeOfArgument(KeyType *key, FunctionCallInfo fcinfo, int argument);
extern bool KeyIsLiteral(FunctionCallInfo fcinfo, int argument);

/* ---- keys as text, and text as keys ---- */

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
	Oid parameter; /* type parameter of the input function */
	bool domain;   /* the type is a domain, whose constraints are checked */
	void *check;   /* what checking the constraints keeps between calls */
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
 * A function that looks up keys keeps a KeyProbe from row to row.  The type of the keys is
 * known from the first row on.  A key that is given as text is read as the type of the
 * value's keys.
 */

/* The keys of a calling expression.  A KeyProbe that has only a context knows nothing yet. */
typedef struct KeyProbe
{
	MemoryContext context; /* context of what is kept from row to row */
	KeyType key;
	bool literal;     /* the key is a text that may be read as another type */
	KeyParser parser; /* reads such a literal; zeroed: not prepared yet */
	Datum value;      /* the last key that was read */
} KeyProbe;

/* A key to be added to a value. */
typedef struct NewKey
{
	KeyType type; /* if a literal was read: the type that it was read as */
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

/* The fingerprint of a key, for a value whose kind of keys is "held".  The probe knows the key's type. */
static inline uint64
KeyProbeFingerprint(KeyProbe *probe, const qb_keys *held, const KeyHolder *holder, Datum value)
{
	if (unlikely(!KeyFits(&probe->key, held)))
		return KeyProbeMisfit(probe, held, holder, value);
	if (unlikely((probe->key.keys.text | held->text) != QB_TEXT_UTF8))
		return KeyProbeText(&probe->key, held, holder, value);
	return KeyFingerprint(&probe->key, value);
}

/* The fingerprint of the key argument.  The probe learns its type from the first one. */
static inline uint64
KeyProbeArgument(KeyProbe *probe, FunctionCallInfo fcinfo, int argument, const qb_keys *held,
				 const KeyHolder *holder)
{
	if (unlikely(probe->key.type == InvalidOid))
		KeyProbeLearn(probe, fcinfo, argument);
	return KeyProbeFingerprint(probe, held, holder, PG_GETARG_DATUM(argument));
}

#endif
