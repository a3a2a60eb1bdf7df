/*
 * sketch_state.c
 *		A sketch as an expanded object: the state of aggregates.
 *
 * A full buffer of keys goes to the engine as one batch.  Whoever reads the
 * sketch settles it first: flushes the buffer, and has the engine bring the
 * counters here.  That does not change the value.
 *
 * src/pg/sketch_state.c
 */
#include "pg/sketch_state.h"

#include "gpu/sketch_gpu.h"
#include "pgbase/activity.h"
#include "utils/memutils.h"

static uint64 last_version;

/* The counts are new, or about to change. */
static void
set_version(SketchState *expanded)
{
	expanded->version = ++last_version;
}

/* The object without a sketch. */
static SketchState *
create_object(MemoryContext context)
{
	SketchState *expanded = StateCreate(&sketch_state_type, context);

	set_version(expanded);
	expanded->engine = &qs_engine_cpu;
	return expanded;
}

/* An empty sketch that lives in "context". */
SketchState *
SketchCreate(MemoryContext context, const qs_params *params)
{
	SketchState *expanded = create_object(context);

	qs_init(&expanded->sketch, params, &expanded->keyed.memory);
	return expanded;
}

/* A copy of a sketch that lives in "context". */
SketchState *
SketchCopy(MemoryContext context, const qs_sketch *sketch)
{
	SketchState *expanded = create_object(context);

	SketchCheck(qs_copy(&expanded->sketch, sketch, &expanded->keyed.memory));
	return expanded;
}

/* A partial state that was left on a device, and is ours now. */
SketchState *
SketchFromTicket(MemoryContext context, Datum ticket)
{
	SketchState *expanded = create_object(context);

	GpuOpenTicket(ticket, &expanded->sketch, &expanded->keyed.memory);
	expanded->engine = GpuSketchEngineOf(&expanded->sketch);
	return expanded;
}

/* Let a new state of an aggregate be where batches are counted best. */
void
SketchPlace(SketchState *expanded)
{
	if (expanded->sketch.remote == NULL)
		expanded->engine = GpuSketchEngine();
}

/* The expanded sketch that a datum points to, or NULL. */
SketchState *
SketchStateIn(Datum datum)
{
	return StateExpandedIn(datum, &sketch_state_type);
}

/*
 * Read access to a sketch until SketchReadEnd() or the end of the datum.  An
 * expanded sketch is read where it is, with all its keys counted.
 */
void
SketchRead(SketchReader *reader, Datum datum)
{
	SketchState *expanded = SketchStateIn(datum);
	struct varlena *value;

	reader->own = NULL;
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

/* Free what reading allocated, for callers that read many in one context. */
void
SketchReadEnd(SketchReader *reader)
{
	if (reader->own)
		pfree(reader->own);
	reader->own = NULL;
}

/*
 * The sketch of a datum for changing: itself if the datum allows that, else a
 * copy in the states of "aggregate", or with NULL in a context of its own.
 */
SketchState *
SketchForUpdate(MemoryContext aggregate, Datum datum)
{
	SketchState *expanded = StateToChange(datum, &sketch_state_type);
	SketchReader reader;

	if (expanded)
	{
		set_version(expanded);
		return expanded;
	}
	SketchRead(&reader, datum);
	expanded = SketchCopy(StateContext(&sketch_state_type, aggregate), reader.sketch);
	SketchReadEnd(&reader);
	return expanded;
}

/* Check that keys that will be added fit those already there, and record their kind. */
void
SketchSetKey(SketchState *expanded, const KeyType *key)
{
	KeyFamilyCheckProbe(&expanded->sketch.keys, key, &sketch_key_holder);
	expanded->sketch.keys = key->keys;
}

/*
 * How many keys to collect.  A hash aggregate looks at its memory when a row
 * comes, not when results are read: so that it sees a sketch become dense, the
 * key that may be one too many for the explicit form does not wait.
 */
static int
most_room(const SketchState *expanded)
{
	const qs_sketch *sketch = &expanded->sketch;
	uint64 room = expanded->engine->batch(sketch);

	if (expanded->keyed.accounted && sketch->form == QS_EXPLICIT)
		room = Min(room, qs_explicit_limit(&sketch->params) - sketch->used);
	return (int) room;
}

/*
 * How many keys the buffer of a patient sketch has before it becomes dense: they
 * take a quarter of the memory of the table.
 */
int
SketchMostWaiting(const qs_params *params)
{
	return (int) Min(qs_dense_size(params, false) / (4 * sizeof(uint64)), INT_MAX / 2);
}

/*
 * Is it better to keep the keys of a full buffer than to count them?  It is where
 * they are too many for the explicit form, unless the same come again and again.
 */
static bool
keeps_keys(const SketchState *expanded)
{
	const qs_sketch *sketch = &expanded->sketch;
	const KeyBuffer *buffer = &expanded->keyed.buffer;

	return expanded->keyed.patient && sketch->form == QS_EXPLICIT && sketch->remote == NULL &&
		   sketch->used + buffer->count > qs_explicit_limit(&sketch->params) &&
		   sketch->used >= (uint64) sketch->total / 2 &&
		   buffer->allocated < SketchMostWaiting(&sketch->params);
}

/* Give the whole buffer to the engine. */
static void
flush_buffer(SketchState *expanded)
{
	KeyBuffer *buffer = &expanded->keyed.buffer;
	int count = buffer->count;

	if (count == 0)
		return;
	StateBeginCounting(&expanded->keyed);
	expanded->keyed.batches++;
	set_version(expanded);
	SketchCheck(
		expanded->engine->insert(&expanded->sketch, buffer->fingerprint, buffer->weight, count));
	buffer->count = 0;
	StateEndCounting(&expanded->keyed);
	StatCountBatch(expanded->sketch.remote != NULL, count);
	if (buffer->allocated > QS_BATCH && expanded->keyed.patient)
		KeyBufferFree(buffer);
	KeyBufferLimit(buffer, most_room(expanded));
}

/* Remove what had to wait until everything was added. */
static void
remove_now(SketchState *expanded)
{
	SketchState *removed = expanded->removed;
	qb_status status;

	flush_buffer(removed);
	set_version(expanded);
	SketchCheck(expanded->engine->settle(&expanded->sketch));
	StateBeginCounting(&expanded->keyed);
	status = qs_subtract(&expanded->sketch, &removed->sketch);
	StateEndCounting(&expanded->keyed);
	if (status == QB_UNDERFLOW)
		ereport(
			ERROR,
			(errcode(ERRCODE_DATA_EXCEPTION), errmsg("weights of a key sum to less than zero"),
			 errhint(
				 "They must not do so within the rows of one worker of a parallel plan, or of one "
				 "shard. Have each key's rows counted together: set "
				 "max_parallel_workers_per_gather to 0, or write ORDER BY inside of the "
				 "aggregate, which is then not split.")));
	SketchCheck(status);
	expanded->removed = NULL;
	qs_free(&removed->sketch);
	KeyBufferFree(&removed->keyed.buffer);
	pfree(removed);
}

/* Bring the sketch up to date: count what is in the buffer, then remove. */
void
SketchFlush(SketchState *expanded)
{
	flush_buffer(expanded);
	if (expanded->removed)
		remove_now(expanded);
}

/* Add another sketch, of the same parameters or one that folds to them. */
void
SketchMerge(SketchState *expanded, const qs_sketch *from)
{
	SketchFlush(expanded);
	set_version(expanded);
	SketchCheck(expanded->engine->merge(&expanded->sketch, from));
}

/* Flush, and have the counters here, for reading or for changing them. */
void
SketchSettle(SketchState *expanded)
{
	SketchFlush(expanded);
	SketchCheck(expanded->engine->settle(&expanded->sketch));
}

/*
 * Remove a key when the sketch is next read: rows come in any order, and a
 * negative weight may come before the positive one that it takes back.
 */
void
SketchRemoveLater(SketchState *expanded, uint64 fingerprint, int64 weight)
{
	if (expanded->removed == NULL)
	{
		expanded->removed =
			SketchCreate(expanded->keyed.header.eoh_context, &expanded->sketch.params);
		expanded->removed->sketch.keys = expanded->sketch.keys;
		expanded->removed->keyed.accounted = expanded->keyed.accounted;
	}
	SketchAppend(expanded->removed, fingerprint, weight);
}

/* Add a key without waiting; what is in the buffer stays there. */
void
SketchInsert(SketchState *expanded, uint64 fingerprint, int64 weight)
{
	set_version(expanded);
	SketchCheck(expanded->engine->insert(&expanded->sketch, &fingerprint, &weight, 1));
}

/* Add a key, or remove it if the weight is negative, with all that waits. */
void
SketchAddNow(SketchState *expanded, uint64 fingerprint, int64 weight)
{
	SketchFlush(expanded);
	set_version(expanded);
	if (weight < 0)
	{
		weight = -weight;
		SketchCheck(expanded->engine->remove(&expanded->sketch, &fingerprint, &weight, 1));
	}
	else
		SketchInsert(expanded, fingerprint, weight);
}

/*
 * Make room in a full buffer: flush it, and while it is small take a larger
 * one; or keep what is in there.  False if there is none because not even the
 * next key may wait.
 */
bool
SketchMakeRoom(SketchState *expanded)
{
	if (keeps_keys(expanded))
	{
		KeyBufferExtend(&expanded->keyed.buffer, SketchMostWaiting(&expanded->sketch.params));
		return true;
	}
	flush_buffer(expanded);
	KeyBufferGrow(&expanded->keyed.buffer, expanded->keyed.header.eoh_context, most_room(expanded));
	return expanded->keyed.buffer.room > 0;
}

/* Does the combine function get a ticket of the device instead of the value? */
static bool
is_ticket(const SketchState *expanded)
{
	return expanded->ticket && expanded->sketch.remote != NULL;
}

static Size
get_flat_size(ExpandedObjectHeader *header)
{
	SketchState *expanded = (SketchState *) header;

	SketchFlush(expanded);
	if (is_ticket(expanded))
		return GpuTicketSize();
	SketchSettle(expanded);
	return SketchFlatSize(&expanded->sketch);
}

static void
flatten_into(ExpandedObjectHeader *header, void *result, Size size)
{
	SketchState *expanded = (SketchState *) header;

	if (is_ticket(expanded))
		GpuWriteTicket(&expanded->sketch, result);
	else
		SketchWrite(&expanded->sketch, result, size);
}

static void
make_room(KeyedState *state)
{
	SketchMakeRoom((SketchState *) state);
}

static void
flush(KeyedState *state)
{
	SketchFlush((SketchState *) state);
}

static void
merge(KeyedState *state, void *passed)
{
	qs_sketch view;

	SketchOpen(&view, passed);
	SketchMerge((SketchState *) state, &view);
}

static void
release(KeyedState *state)
{
	qs_free(&((SketchState *) state)->sketch);
	KeyBufferFree(&state->buffer);
}

const KeyedStateType sketch_state_type = {
	.methods = { get_flat_size, flatten_into },
	.size = sizeof(SketchState),
	.value = "a sketch",
	.own_context = "qsketch",
	.states_context = "qsketch states",
	.make_room = make_room,
	.flush = flush,
	.merge = merge,
	.release = release,
};
