/*
 * top_output.c
 *		Keys and counts that qtop_exact returns: as the key's type, or as text.
 *
 * src/pg/top_output.c
 */
#include "pg/top_output.h"

#include "utils/builtins.h"
#include "utils/tuplestore.h"

/* The key as qtop_text shows it. */
static text *
text_of(TopOutput *output, Datum key)
{
	uint32 length;
	int level = KeyTextBegin();
	const char *written;

	if (output->padded)
		key = DirectFunctionCall1(rtrim1, key);
	written = KeyWrite(&output->writer, key, &length);
	KeyTextEnd(level);
	return cstring_to_text_with_len(written, (int) length);
}

void
TopOutputPut(TopOutput *output, Datum key, int64 count)
{
	Datum values[] = { key, Int64GetDatum(count) };
	bool nulls[lengthof(values)] = { 0 };

	if (output->as_text)
		values[0] = PointerGetDatum(text_of(output, key));
	tuplestore_putvalues(output->result->setResult, output->result->setDesc, values, nulls);
	output->wanted--;
}
