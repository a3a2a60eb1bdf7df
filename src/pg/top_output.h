/*
 * top_output.h
 *		Keys and counts that qtop_exact returns.
 *
 * src/pg/top_output.h
 */
#ifndef QS_PG_TOP_OUTPUT_H
#define QS_PG_TOP_OUTPUT_H

#include "pgbase/keytext.h"

#include "nodes/execnodes.h"

/* The destination of keys and counts. */
typedef struct TopOutput
{
	ReturnSetInfo *result;
	bool as_text;
	bool padded; /* the key is padded with blanks, which its text does not have */
	KeyWriter writer;
	int64 wanted; /* how many more keys are wanted */
} TopOutput;

/* Return a key with its count. */
extern void TopOutputPut(TopOutput *output, Datum key, int64 count);

#endif
