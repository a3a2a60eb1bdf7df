/*
 * sketch_read.c
 *		Reading a sketch, which a datum may hold in any form.
 *
 * src/pg/sketch_read.c
 */
#include "pg/sketch_state.h"

/*
 * Read access to a sketch until SketchReadEnd() or the end of the datum.  An expanded
 * sketch is read in place, with all its keys counted.  A compact one stays compact.
 */
void
SketchReadAsStored(SketchReader *reader, Datum datum)
{
	SketchState *expanded = SketchStateIn(datum);
	struct varlena *value;

	reader->own = NULL;
	reader->tables.memory = NULL;
	if (expanded)
	{
		SketchSettle(expanded);
		reader->header = NULL;
		reader->version = expanded->version;
		reader->sketch = &expanded->sketch;
		return;
	}
	value = ValueDetoast(datum, &reader->own);
	SketchOpen(&reader->view, value);
	reader->sketch = &reader->view;
	reader->header = (const uint8 *) VARDATA(value);
}

/* The same for callers that need tables: they are made of a compact sketch. */
void
SketchRead(SketchReader *reader, Datum datum)
{
	SketchReadAsStored(reader, datum);
	if (reader->sketch->form != QS_COMPACT)
		return;
	SketchCheck(qs_copy(&reader->tables, reader->sketch,
						ContextMemory(CurrentMemoryContext, &reader->memory)));
	reader->sketch = &reader->tables;
}

/* Free what reading allocated, for callers that read many sketches in one context. */
void
SketchReadEnd(SketchReader *reader)
{
	if (reader->tables.memory)
		qs_free(&reader->tables);
	reader->tables.memory = NULL;
	if (reader->own)
		pfree(reader->own);
	reader->own = NULL;
}
