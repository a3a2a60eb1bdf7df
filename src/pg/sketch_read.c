/*
 * sketch_read.c
 *		Reading a sketch, which a datum may hold in any form, or changing it; the result of
 *		a state in which only sketches wait.
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
		SketchMaterialize(expanded);
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
	if (reader->sketch->encoding != QS_COMPACT)
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

/* ---- changing ---- */

/*
 * The sketch of a datum, to be changed.  It is the datum's own object if that may be
 * changed.  Otherwise it is a copy, among the states of "aggregate", or with NULL in a
 * context of its own.
 */
SketchState *
SketchForUpdate(MemoryContext aggregate, Datum datum)
{
	SketchState *expanded = StateToChange(datum, &sketch_state_type);
	SketchReader reader;

	if (expanded)
	{
		SketchNewVersion(expanded);
		return expanded;
	}
	SketchReadAsStored(&reader, datum);
	expanded = SketchCopy(StateContext(&sketch_state_type, aggregate), reader.sketch);
	SketchReadEnd(&reader);
	return expanded;
}

/* Check that the keys to come fit those already there, and record their kind. */
void
SketchSetKey(SketchState *expanded, const KeyType *key)
{
	KeyCheckFits(&expanded->sketch.keys, key, &sketch_key_holder);
	qb_keys_take(&expanded->sketch.keys, &key->keys);
}

/*
 * Add a key.  New tables may be needed, and an interrupt may come while they are made.  The
 * sketch, which may be a variable that survives this, then has its old total.
 */
static void
insert_or_undo(SketchState *expanded, uint64 fingerprint, int64 weight)
{
	int64 total = expanded->sketch.total;

	PG_TRY();
	{
		SketchInsert(expanded, fingerprint, weight);
	}
	PG_CATCH();
	{
		expanded->sketch.total = total;
		PG_RE_THROW();
	}
	PG_END_TRY();
}

/*
 * Add a key at once, or remove it if the weight is negative.  Everything that waits is
 * done first.
 */
void
SketchAddNow(SketchState *expanded, uint64 fingerprint, int64 weight)
{
	SketchFlush(expanded);
	if (weight >= 0)
		insert_or_undo(expanded, fingerprint, weight);
	else
		SketchInsert(expanded, fingerprint, weight);
}

/* ---- sketches that wait ---- */

/* Is there nothing in the state but sketches that wait? */
static bool
only_waits(const SketchState *expanded)
{
	return expanded->deferred != NULL && expanded->sketch.total == 0 &&
		   expanded->keyed.buffer.count == 0 && expanded->keyed.removed == NULL &&
		   !expanded->keyed.counting;
}

/*
 * The result of a state in which sketches wait and nothing else was counted: a new object in
 * the caller's memory.  The state stays as it is, so the tables of one group are freed with
 * its row, and those of the next group get the same memory.  A single sketch needs no
 * tables.  NULL: the state itself has to be read.
 */
struct varlena *
SketchOfDeferred(const SketchState *expanded)
{
	SketchState *merged;

	if (!only_waits(expanded))
		return NULL;
	if (expanded->deferred->next == NULL)
		return SketchFlatten(&expanded->deferred->view);
	merged = SketchCreate(StateOwnContext(&sketch_state_type, CurrentMemoryContext),
						  &expanded->sketch.params);
	SketchMergeWaiting(merged, expanded->deferred);
	return StatePointer(&merged->keyed);
}
