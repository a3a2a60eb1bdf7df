/*
 * sketch_flatten.c
 *		Reading a sketch, which a datum may hold in any form; and the state of an
 *		aggregate as bytes: a value, a token, or tables for another process.
 *
 * A sketch that is only written needs no tables.  Keys that wait in the buffer are written in
 * compact encoding, and go on waiting.
 *
 * src/pg/sketch_flatten.c
 */
#include "pg/sketch_state.h"

#include "engine/sketch_engine.h"
#include "gpu/sketch_gpu.h"
#include "pgbase/activity.h"
#include "pgbase/state.h"
#include "sketch/compact_write.h"

/* ---- reading ---- */

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

/*
 * ---- presence bitmap ----
 *
 * It is made when the state is made a value for the second time.  From then on,
 * each batch of few keys corrects it.  It is true of one version of the sketch.
 * Whatever else changes the sketch gives it another version, and the bitmap is
 * made anew when it is next needed.
 */

static bool
are_true(const SketchState *expanded)
{
	return expanded->presence && expanded->presence_version == expanded->version;
}

/* The presence bitmap of a materialized sketch that becomes a value; NULL: it has none. */
static const uint64 *
marks_of(SketchState *expanded)
{
	qs_sketch *sketch = &expanded->sketch;
	bool first = !expanded->written;

	expanded->written = true;
	if (first || sketch->encoding != QS_DENSE || sketch->remote)
		return NULL;
	if (are_true(expanded))
		return expanded->presence;
	if (!expanded->presence)
		expanded->presence = sketch->memory->alloc(
			sketch->memory->context, qs_presence_words(&sketch->params) * sizeof(uint64));
	if (!expanded->presence)
		return NULL;
	expanded->presence_version = 0;
	qs_presence_all(sketch, expanded->presence);
	expanded->presence_version = expanded->version;
	return expanded->presence;
}

/*
 * Can the bitmap be corrected for so many keys that come or go now?  With more
 * keys than words of it, making it anew takes less.
 */
bool
SketchHasPresence(const SketchState *expanded, int keys)
{
	return are_true(expanded) && expanded->engine == &qs_engine_cpu &&
		   (uint64) keys <= qs_presence_words(&expanded->sketch.params);
}

/* Correct the bitmap, which was true before these keys came or went. */
void
SketchPresenceKeys(SketchState *expanded, const uint64 *fingerprint, int keys)
{
	qs_presence_keys(&expanded->sketch, expanded->presence, fingerprint, keys);
	expanded->presence_version = expanded->version;
}

void
SketchFreePresence(SketchState *expanded)
{
	if (expanded->presence)
		expanded->sketch.memory->release(expanded->sketch.memory->context, expanded->presence);
	expanded->presence = NULL;
}

/* ---- writing ---- */

void
SketchFreeMade(SketchState *expanded)
{
	if (expanded->made.compact)
		expanded->made.memory->release(expanded->made.memory->context,
									   (void *) (uintptr_t) expanded->made.compact);
	expanded->made.compact = NULL;
}

/* What the flat encoding of a state is. */
typedef enum FlatEncoding
{
	FLAT_VALUE,
	FLAT_TOKEN,       /* for the process itself */
	FLAT_DEVICE_TOKEN /* for the process, or for the leader of this worker */
} FlatEncoding;

static FlatEncoding
flat_form(const SketchState *expanded)
{
	if (!expanded->keyed.token)
		return FLAT_VALUE;
	if (expanded->sketch.remote)
		return FLAT_DEVICE_TOKEN;
	return StateTakesToken(&expanded->keyed) ? FLAT_TOKEN : FLAT_VALUE;
}

/*
 * Write the keys that wait, and those of an explicit sketch, in compact encoding.  False: the keys
 * have to be counted first.
 */
static bool
make_of_keys(SketchState *expanded)
{
	const KeyBuffer *buffer = &expanded->keyed.buffer;
	bool made;

	if (buffer->count == 0 || expanded->deferred || expanded->removed || expanded->keyed.counting ||
		expanded->engine != &qs_engine_cpu)
		return false;
	made = qs_compact_from_keys(
		&expanded->made, ContextMemory(expanded->keyed.header.eoh_context, &expanded->made_memory),
		&expanded->sketch, buffer->fingerprint, buffer->weight, buffer->count);
	if (made && expanded->counted < buffer->count)
	{
		StatCountBatch(false, buffer->count - expanded->counted);
		expanded->counted = buffer->count;
	}
	return made;
}

Size
SketchFlattenSize(ExpandedObjectHeader *header)
{
	SketchState *expanded = (SketchState *) header;

	SketchFreeMade(expanded);
	if (flat_form(expanded) == FLAT_VALUE && make_of_keys(expanded))
		return SketchFlatSize(&expanded->made, NULL, &expanded->flat);
	SketchFlush(expanded);
	switch (flat_form(expanded))
	{
		case FLAT_TOKEN:
			return StateTokenSize();
		case FLAT_DEVICE_TOKEN:
			return GpuTokenSize();
		default:
			SketchMaterialize(expanded);
			return SketchFlatSize(&expanded->sketch, marks_of(expanded), &expanded->flat);
	}
}

void
SketchFlattenInto(ExpandedObjectHeader *header, void *result, Size size)
{
	SketchState *expanded = (SketchState *) header;

	if (expanded->made.compact)
	{
		SketchWrite(&expanded->made, &expanded->flat, result);
		SketchFreeMade(expanded);
		return;
	}
	switch (flat_form(expanded))
	{
		case FLAT_TOKEN:
			StateTokenWrite(&expanded->keyed, result);
			break;
		case FLAT_DEVICE_TOKEN:
			GpuWriteToken(&expanded->sketch, result);
			break;
		default:
			SketchWrite(&expanded->sketch, &expanded->flat, result);
	}
}

/* A sketch has few keys if its buckets are more than this many times its weight. */
#define BUCKETS_OF_FEW 8

/*
 * Another process gets the tables as they are: choosing, writing and reading
 * the compact encoding takes longer, unless most buckets are surely empty.
 */
Size
SketchPassBytes(KeyedState *state)
{
	SketchState *expanded = (SketchState *) state;
	const qs_sketch *sketch = &expanded->sketch;

	SketchMaterialize(expanded);
	if ((uint64) sketch->total < sketch->params.n / BUCKETS_OF_FEW)
		return SketchFlatSize(sketch, NULL, &expanded->flat);
	return SketchTablesSize(sketch, &expanded->flat);
}

void
SketchPass(KeyedState *state, void *place, Size bytes)
{
	SketchState *expanded = (SketchState *) state;

	SketchWrite(&expanded->sketch, &expanded->flat, place);
}
