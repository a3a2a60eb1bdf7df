/*
 * keyread.h
 *		The keys that a function on values of any family is called with.
 *
 * A function that looks up keys keeps a KeyProbe from row to row.  The type of the keys is
 * known from the first row on.  A key that is given as text is read as the type of the
 * value's keys.
 *
 * src/pgbase/keyread.h
 */
#ifndef QS_PGBASE_KEYREAD_H
#define QS_PGBASE_KEYREAD_H

#include "pgbase/keycheck.h"
#include "pgbase/keyexpr.h"

#include "utils/array.h"

/* A zeroed reader is not prepared for any type. */
typedef struct KeyReader
{
	KeyType key;    /* what the text is read as */
	FmgrInfo input; /* of that type */
	Oid parameter;  /* of the input function */
	Datum value;    /* the last key that was read */
} KeyReader;

/* The keys of a calling expression.  One that has only a context knows nothing yet. */
typedef struct KeyProbe
{
	MemoryContext context; /* for what is kept from row to row */
	KeyType key;
	bool literal;     /* the key is text that may be read as another type */
	KeyReader reader; /* reads such a key */
} KeyProbe;

/* A key to be added to a value. */
typedef struct NewKey
{
	KeyType type; /* of a literal that was read: the type that it was read as */
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
extern void KeyNewArgument(NewKey *key, FunctionCallInfo fcinfo, int argument, const qb_keys *held,
						   const KeyHolder *holder);

extern void *KeyBatchAlloc(int count, Size size);
extern void KeyProbeArray(KeyProbe *probe, FunctionCallInfo fcinfo, int argument,
						  const qb_keys *held, const KeyHolder *holder, KeyBatch *batch);
extern Datum KeyBatchAnswers(const KeyBatch *batch, Datum *answer, Oid type);

/* The fingerprint of a key for a value that holds these keys.  The probe knows the key's type. */
static inline uint64
KeyProbeFingerprint(KeyProbe *probe, const qb_keys *held, const KeyHolder *holder, Datum value)
{
	return likely(KeyFits(&probe->key, held)) ? KeyFingerprint(&probe->key, value)
											  : KeyProbeMisfit(probe, held, holder, value);
}

/* The fingerprint of the key argument, whose type the probe learns from the first one. */
static inline uint64
KeyProbeArgument(KeyProbe *probe, FunctionCallInfo fcinfo, int argument, const qb_keys *held,
				 const KeyHolder *holder)
{
	if (unlikely(probe->key.type == InvalidOid))
		KeyProbeLearn(probe, fcinfo, argument);
	return KeyProbeFingerprint(probe, held, holder, PG_GETARG_DATUM(argument));
}

#endif
