/*
 * sketch_state.c
 *		A sketch as an expanded object: the state of aggregates.
 *
 * The engine counts a full buffer of keys as one batch.  A sketch must be materialized before it is
 * read: the buffer is flushed, and the engine copies the counters to this process.  Materializing
 * does not change the value.
 *
 * Writing an explicit sketch usually needs no tables.  If its keys and the buffered keys are too
 * many for the explicit encoding, all keys are usually written in compact encoding, and the
 * buffered keys stay in the buffer.
 *
 * src/pg/sketch_state.c
 */
#include "pg/sketch_state.h"

#include "engine/sketch_engine.h"
#include "gpu/sketch_gpu.h"
#include "pgbase/activity.h"
#include "sketch/compact_write.h"

#include "utils/memutils.h"

static uint64 last_version;

/* Give the counts a new version, because they are new or will change. */
void
SketchNewVersion(SketchState *expanded)
{
	expanded->version = ++last_version;
}

/* Create a state without a sketch, which the caller must set. */
static SketchState *
create_object(MemoryContext context)
{
	SketchState *expanded = StateCreate(&sketch_state_type, context);

	SketchNewVersion(expanded);
	expanded->engine = &qs_engine_cpu;
	return expanded;
}

/* Create a state with an empty sketch in "context". */
SketchState *
SketchCreate(MemoryContext context, const qs_params *params)
{
	SketchState *expanded = create_object(context);

	qs_init(&expanded->sketch, params, &expanded->keyed.memory);
	return expanded;
}

/* Create a state with a copy of a sketch in "context". */
SketchState *
SketchCopy(MemoryContext context, const qs_sketch *sketch)
{
	SketchState *expanded = create_object(context);

	SketchCheck(qs_copy(&expanded->sketch, sketch, &expanded->keyed.memory));
	return expanded;
}

/* Create a state that takes over the device sketch of a token. */
static SketchState *
from_device_token(MemoryContext context, Datum token)
{
	SketchState *expanded = create_object(context);

	GpuOpenToken(token, &expanded->sketch, &expanded->keyed.memory);
	expanded->engine = GpuSketchEngineOf(&expanded->sketch);
	return expanded;
}

/*
 * Return the state that a token stands for, in a child of "context".  The caller owns the state.
 * NULL: the datum is no token.
 */
SketchState *
SketchOfToken(MemoryContext context, Datum datum)
{
	if (GpuIsToken(datum))
		return from_device_token(StateNewContext(&sketch_state_type, context), datum);
	return StateOfToken(datum, &sketch_state_type, context);
}

/* Choose the engine for a new state of an aggregate. */
void
SketchChooseEngine(SketchState *expanded, const StateWork *work)
{
	if (expanded->sketch.remote == NULL)
		expanded->engine = GpuSketchEngine(&expanded->sketch.params, work);
}

/* Return the expanded sketch that a datum points to; NULL: the datum is flat. */
SketchState *
SketchStateIn(Datum datum)
{
	return StateExpandedIn(datum, &sketch_state_type);
}

/*
 * ---- presence bitmap ----
 *
 * The bitmap is computed when the state is written as a value for the second time.  After that,
 * batches of few keys update the bitmap.  All other changes only give the sketch a new version.  If
 * the bitmap describes an old version, the next write computes the bitmap again.
 */

static bool
presence_is_current(const SketchState *expanded)
{
	return expanded->presence && expanded->presence_version == expanded->version;
}

/* Return the presence bitmap for writing a materialized sketch.  NULL: write without a bitmap. */
static const uint64 *
presence_of(SketchState *expanded)
{
	qs_sketch *sketch = &expanded->sketch;
	bool first = !expanded->written;

	expanded->written = true;
	if (first || sketch->encoding != QS_DENSE || sketch->remote)
		return NULL;
	if (presence_is_current(expanded))
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
 * True if the bitmap should be updated for a batch of "keys" keys.  If the batch has more keys than
 * the bitmap has words, computing the bitmap again takes less time than updating it.
 */
static bool
has_presence(const SketchState *expanded, int keys)
{
	return presence_is_current(expanded) && expanded->engine == &qs_engine_cpu &&
		   (uint64) keys <= qs_presence_words(&expanded->sketch.params);
}

/* Update the bitmap, which was current before these keys were added or removed. */
static void
correct_presence(SketchState *expanded, const uint64 *fingerprint, int keys)
{
	qs_presence_keys(&expanded->sketch, expanded->presence, fingerprint, keys);
	expanded->presence_version = expanded->version;
}

static void
free_presence(SketchState *expanded)
{
	if (expanded->presence)
		expanded->sketch.memory->release(expanded->sketch.memory->context, expanded->presence);
	expanded->presence = NULL;
}

/* ---- keys ---- */

/*
 * Return the maximum number of keys to buffer.  A hash aggregate checks its memory when it adds a
 * row, not when it reads results.  A key that may make the sketch dense is not buffered, so that
 * the aggregate sees the memory of the tables.
 */
static int
most_room(const SketchState *expanded)
{
	const qs_sketch *sketch = &expanded->sketch;
	uint64 room = expanded->engine->batch(sketch);

	if (expanded->keyed.accounted && sketch->encoding == QS_EXPLICIT)
		room = Min(room, qs_explicit_limit(&sketch->params) - sketch->used);
	return (int) room;
}

/*
 * The maximum number of keys to buffer in a state whose "keyed.deferred" is set.  The fingerprints
 * of these keys take at most a quarter of the memory of the dense tables.
 */
static int
most_deferred(const qs_params *params)
{
	return (int) Min(qs_dense_size(params, false) / (4 * sizeof(uint64)), INT_MAX / 2);
}

/*
 * True if a full buffer should be enlarged, and its keys should stay in the buffer.  The sketch
 * must be explicit, state->deferred must be set, and the buffer must be smaller than
 * most_deferred().  If the sketch is empty, the buffer must have fewer keys than the explicit
 * encoding can hold, or at least about half of its keys must be distinct.  If the sketch has keys,
 * two conditions must hold.  The counted and the buffered keys together exceed the explicit limit,
 * so the sketch will probably become dense.  The number of distinct counted keys is at least half
 * of their total weight.
 */
static bool
keeps_keys(const KeyedState *state, const qs_sketch *sketch)
{
	const KeyBuffer *buffer = &state->buffer;
	uint32 limit = qs_explicit_limit(&sketch->params);

	if (!state->deferred || sketch->encoding != QS_EXPLICIT || sketch->remote != NULL ||
		buffer->allocated == 0 || buffer->allocated >= most_deferred(&sketch->params))
		return false;
	if (sketch->total == 0)
		return buffer->count < limit || KeyBufferIsVaried(buffer, limit);
	return sketch->used + buffer->count > limit && sketch->used >= (uint64) sketch->total / 2;
}

/*
 * Enlarge the full buffer of a state with this sketch, if the keys should stay in the buffer.
 * False: the caller must count the keys.
 */
bool
SketchKeepKeys(KeyedState *state, const qs_sketch *sketch)
{
	if (!keeps_keys(state, sketch))
		return false;
	KeyBufferExtend(&state->buffer, most_deferred(&sketch->params));
	return true;
}

/* Count all buffered keys as one batch of the engine. */
static void
flush_buffer(SketchState *expanded)
{
	KeyBuffer *buffer = &expanded->keyed.buffer;
	int count = buffer->count;
	bool marked = has_presence(expanded, count);

	if (count == 0)
		return;
	StateBeginCounting(&expanded->keyed);
	expanded->keyed.batches++;
	SketchNewVersion(expanded);
	SketchCheck(
		expanded->engine->insert(&expanded->sketch, buffer->fingerprint, buffer->weight, count));
	if (marked)
		correct_presence(expanded, buffer->fingerprint, count);
	buffer->count = 0;
	StateEndCounting(&expanded->keyed);
	if (expanded->counted < count)
		StatCountBatch(expanded->sketch.remote != NULL, count - expanded->counted);
	expanded->counted = 0;
	if (buffer->allocated > QS_BATCH && expanded->keyed.deferred)
		KeyBufferFree(buffer);
	KeyBufferLimit(buffer, most_room(expanded));
}

/*
 * Count the keys of a cached column on the chunks' pages.  Counted pages are removed from the
 * chunks' page sets.
 */
void
SketchAddColumn(SketchState *expanded, const GpuColumnChunk *chunk, int chunks)
{
	int64 count = 0;

	flush_buffer(expanded);
	StateBeginCounting(&expanded->keyed);
	expanded->keyed.batches++;
	SketchNewVersion(expanded);
	SketchCheck(GpuSketchAddColumn(&expanded->sketch, chunk, chunks, &count));
	expanded->keyed.count += count;
	StateEndCounting(&expanded->keyed);
	StatCountBatch(expanded->sketch.remote != NULL, count);
	KeyBufferLimit(&expanded->keyed.buffer, most_room(expanded));
}

/* Return a new array of the sketches of "count" states. */
static qs_sketch **
sketches_of(SketchState **expanded, uint32 count)
{
	qs_sketch **sketch = palloc(count * sizeof(qs_sketch *));
	uint32 i;

	for (i = 0; i < count; i++)
		sketch[i] = &expanded[i]->sketch;
	return sketch;
}

/*
 * Find the groups whose keys in this chunk would make their sketches dense, and move these sketches
 * to a device.  dense[i] is true if the sketch of group i was moved.  The states have no keys yet,
 * and no keys are added.
 */
void
SketchGetDense(SketchState **expanded, const qb_groups *groups, const GpuColumnChunk *chunk,
			   bool *dense)
{
	qs_sketch **sketch = sketches_of(expanded, groups->count);
	uint32 i;

	for (i = 0; i < groups->count; i++)
	{
		StateBeginCounting(&expanded[i]->keyed);
		SketchNewVersion(expanded[i]);
	}
	GpuSketchGetDense(sketch, groups, chunk, dense);
	for (i = 0; i < groups->count; i++)
		StateEndCounting(&expanded[i]->keyed);
	pfree(sketch);
}

/*
 * Count the keys on the chunks' pages in the sketches of groups.  SketchGetDense() has put these
 * sketches on a device.  False: some keys were not counted, and the caller can no longer use the
 * states.
 */
bool
SketchAddGroups(SketchState **expanded, const qb_groups *groups, const GpuColumnChunk *chunk,
				int chunks)
{
	qs_sketch **sketch = sketches_of(expanded, groups->count);
	uint64 *added = palloc(groups->count * sizeof(uint64));
	bool done;
	uint32 i;

	done = GpuSketchAddGroups(sketch, groups, chunk, chunks, added);
	for (i = 0; i < groups->count; i++)
	{
		expanded[i]->keyed.batches++;
		expanded[i]->keyed.count += (int64) added[i];
		StatCountBatch(true, (int64) added[i]);
	}
	pfree(added);
	pfree(sketch);
	return done;
}

static void
free_compacted(SketchState *expanded)
{
	if (expanded->compacted.compact)
		expanded->compacted.memory->release(expanded->compacted.memory->context,
											(void *) (uintptr_t) expanded->compacted.compact);
	expanded->compacted.compact = NULL;
}

/* Free the removals of a state. */
void
SketchForgetRemoved(KeyedState *state)
{
	if (state->removed)
		SketchFree((SketchState *) state->removed);
	state->removed = NULL;
}

/* Free all memory of a state, except for the SketchState. */
static void
release(KeyedState *state)
{
	SketchState *expanded = (SketchState *) state;

	free_compacted(expanded);
	SketchFreeDeferred(expanded);
	free_presence(expanded);
	qs_free(&expanded->sketch);
	KeyBufferFree(&state->buffer);
	SketchForgetRemoved(state);
}

/* Free a state and all its memory, but not its context. */
void
SketchFree(SketchState *expanded)
{
	release(&expanded->keyed);
	pfree(expanded);
}

/* Subtract the removals of a state.  The state's added keys must have been counted. */
static void
remove_now(SketchState *expanded)
{
	SketchState *removed = (SketchState *) expanded->keyed.removed;
	qb_status status;

	SketchFlushAdded(&removed->keyed);
	SketchNewVersion(expanded);
	SketchCheck(expanded->engine->materialize(&expanded->sketch));
	StateBeginCounting(&expanded->keyed);
	status = qs_subtract(&expanded->sketch, &removed->sketch);
	StateEndCounting(&expanded->keyed);
	SketchCheckRemoved(status);
	SketchForgetRemoved(&expanded->keyed);
}

/*
 * Merge the deferred sketches, and count the buffered keys.  The removals are not subtracted yet.
 */
void
SketchFlushAdded(KeyedState *state)
{
	SketchState *expanded = (SketchState *) state;

	StateTakeText(state, &expanded->sketch.keys, &sketch_key_holder);
	SketchMergeDeferred(expanded);
	flush_buffer(expanded);
}

/* Merge the deferred sketches, count the buffered keys, and subtract the removals. */
void
SketchFlush(SketchState *expanded)
{
	SketchFlushAdded(&expanded->keyed);
	if (expanded->keyed.removed)
		remove_now(expanded);
}

/* Add another sketch of the same parameters, or defer it (SketchDefer()). */
void
SketchMerge(SketchState *expanded, const qs_sketch *from)
{
	SketchCheckMergeable(&expanded->sketch, from);
	SketchNewVersion(expanded);
	if (SketchDefer(expanded, from))
		return;
	SketchFlushAdded(&expanded->keyed);
	SketchCheck(expanded->engine->merge(&expanded->sketch, from));
}

/*
 * Flush the state, and copy the counters to this process, so that the state can be passed on.  The
 * removals are not subtracted.
 */
void
SketchMaterializeAdded(SketchState *expanded)
{
	SketchFlushAdded(&expanded->keyed);
	SketchCheck(expanded->engine->materialize(&expanded->sketch));
}

/* Flush the state, and copy the counters to this process, to be read or changed. */
void
SketchMaterialize(SketchState *expanded)
{
	SketchFlush(expanded);
	SketchCheck(expanded->engine->materialize(&expanded->sketch));
}

/*
 * Return the state that has the removals of "state".  The first call creates it, with the
 * parameters of "sketch".
 */
static SketchState *
removals_of(KeyedState *state, const qs_sketch *sketch)
{
	SketchState *removed = (SketchState *) state->removed;

	if (removed)
		return removed;
	removed = SketchCreate(state->header.eoh_context, &sketch->params);
	removed->sketch.keys = sketch->keys;
	removed->keyed.accounted = state->accounted;
	state->removed = &removed->keyed;
	return removed;
}

/*
 * Add a key to the removals, which are subtracted when the state is next read.  Rows come in any
 * order, so a negative weight may precede the positive weight that it cancels.
 */
void
SketchRemoveLater(KeyedState *state, const qs_sketch *sketch, uint64 fingerprint, int64 weight)
{
	SketchAppend(removals_of(state, sketch), fingerprint, weight);
}

/* Add the removals of another partial state to the removals of a state with this sketch. */
void
SketchTakeBack(KeyedState *state, const qs_sketch *sketch, Datum removals)
{
	SketchReader reader;

	SketchReadAsStored(&reader, removals);
	SketchCheckParams(&reader.sketch->params, &sketch->params);
	KeyFamilyCheckSame(&sketch->keys, &reader.sketch->keys, &sketch_key_holder);
	SketchMerge(removals_of(state, sketch), reader.sketch);
	SketchReadEnd(&reader);
}

/*
 * Add a key to the sketch, or remove the key if the weight is negative.  Buffered keys stay in the
 * buffer.  QB_UNDERFLOW: the sketch is unchanged.
 */
static qb_status
insert(SketchState *expanded, uint64 fingerprint, int64 weight)
{
	bool marked = has_presence(expanded, 1);
	int64 times = weight < 0 ? -weight : weight;
	qb_status status;

	SketchNewVersion(expanded);
	status = (weight < 0 ? expanded->engine->remove
						 : expanded->engine->insert)(&expanded->sketch, &fingerprint, &times, 1);
	if (marked)
		correct_presence(expanded, &fingerprint, 1);
	return status;
}

void
SketchInsert(SketchState *expanded, uint64 fingerprint, int64 weight)
{
	SketchCheck(insert(expanded, fingerprint, weight));
}

/*
 * Flush the state, and remove a row's key.  False: a counter would fall below zero, so the key was
 * not removed.  The cause is a row of negative weight that is still in the frame and has already
 * cancelled the key.
 */
bool
SketchTakeOut(SketchState *expanded, uint64 fingerprint, int64 weight)
{
	qb_status status;

	SketchFlush(expanded);
	status = insert(expanded, fingerprint, -weight);
	if (status != QB_UNDERFLOW)
		SketchCheck(status);
	return status == QB_OK;
}

/*
 * Make space in a full buffer.  SketchKeepKeys() enlarges the buffer without counting its keys.  If
 * it refuses, the keys are counted, and a small buffer is enlarged.  The buffer stays full if the
 * caller must count the next key without buffering it.
 */
void
SketchMakeRoom(KeyedState *state)
{
	SketchState *expanded = (SketchState *) state;

	if (SketchKeepKeys(state, &expanded->sketch))
		return;
	flush_buffer(expanded);
	KeyBufferGrow(&state->buffer, state->header.eoh_context, most_room(expanded));
}

/* ---- writing ---- */

/* The form of a state's flat encoding. */
typedef enum FlatEncoding
{
	FLAT_VALUE,
	FLAT_TOKEN,       /* names a state of this process */
	FLAT_DEVICE_TOKEN /* names a sketch on a device, for this process or its parallel leader */
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
 * Make a compact sketch of an explicit sketch and the buffered keys, to be written.  False: the
 * caller must flush the state and write its sketch.
 */
static bool
make_of_keys(SketchState *expanded)
{
	const KeyBuffer *buffer = &expanded->keyed.buffer;
	bool done;

	if (buffer->count == 0 || expanded->deferred || expanded->keyed.counting ||
		expanded->engine != &qs_engine_cpu)
		return false;
	done = qs_compact_from_keys(
		&expanded->compacted,
		ContextMemory(expanded->keyed.header.eoh_context, &expanded->compacted_memory),
		&expanded->sketch, buffer->fingerprint, buffer->weight, buffer->count);
	if (done && expanded->counted < buffer->count)
	{
		StatCountBatch(false, buffer->count - expanded->counted);
		expanded->counted = buffer->count;
	}
	return done;
}

/*
 * Return the size of the flat encoding.  The flat encoding of a state that is passed on includes
 * the removals.  A token for this process stands for the state and its removals.
 */
static Size
flat_bytes(KeyedState *state)
{
	SketchState *expanded = (SketchState *) state;

	free_compacted(expanded);
	if (state->removed && !state->passed_on && !state->token)
		SketchFlush(expanded);
	if (flat_form(expanded) == FLAT_VALUE && make_of_keys(expanded))
		return StateSizeWithRemovals(state,
									 SketchFlatSize(&expanded->compacted, NULL, &expanded->flat));
	SketchFlushAdded(&expanded->keyed);
	switch (flat_form(expanded))
	{
		case FLAT_TOKEN:
			return StateTokenSize();
		case FLAT_DEVICE_TOKEN:
			return StateSizeWithRemovals(state, GpuTokenSize());
		default:
			SketchMaterializeAdded(expanded);
			return StateSizeWithRemovals(
				state, SketchFlatSize(&expanded->sketch, presence_of(expanded), &expanded->flat));
	}
}

static void
write_flat(KeyedState *state, void *result, Size size)
{
	SketchState *expanded = (SketchState *) state;

	if (flat_form(expanded) != FLAT_TOKEN)
		result = StateWriteRemovals(state, result, &size);
	if (expanded->compacted.compact)
	{
		SketchWrite(&expanded->compacted, &expanded->flat, result);
		free_compacted(expanded);
		return;
	}
	switch (flat_form(expanded))
	{
		case FLAT_TOKEN:
			StateTokenWrite(state, result);
			break;
		case FLAT_DEVICE_TOKEN:
			GpuWriteToken(&expanded->sketch, result);
			break;
		default:
			SketchWrite(&expanded->sketch, &expanded->flat, result);
	}
}

/* A sketch has few keys if it has more than this many buckets for each unit of its total weight. */
#define BUCKETS_OF_FEW 8

bool
SketchHasFewKeys(const qs_sketch *sketch)
{
	return (uint64) sketch->total < sketch->params.n / BUCKETS_OF_FEW;
}

/*
 * Return the size of a state that another process will merge.  Tables are passed as they are,
 * because choosing, writing and reading the compact encoding would take longer.  A sketch of few
 * keys is passed in the encoding of stored values, because most of its buckets are empty.  An
 * explicit sketch has no tables, and is passed in explicit encoding.
 */
static Size
pass_bytes(KeyedState *state)
{
	SketchState *expanded = (SketchState *) state;
	const qs_sketch *sketch = &expanded->sketch;

	SketchMaterializeAdded(expanded);
	if (SketchHasFewKeys(sketch))
		return SketchFlatSize(sketch, NULL, &expanded->flat);
	return SketchTablesSize(sketch, &expanded->flat);
}

static void
pass(KeyedState *state, void *result, Size bytes)
{
	SketchState *expanded = (SketchState *) state;

	SketchWrite(&expanded->sketch, &expanded->flat, result);
}

/* ---- changing ---- */

/*
 * Return the datum's sketch as a state that may be changed.  If the datum's object may be changed,
 * the result is that object, else a copy.  The copy is among the states of "aggregate", or in a new
 * context if "aggregate" is NULL.
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

/*
 * Raise an error if keys of this type do not fit the keys of the sketch.  Record the type in the
 * sketch.
 */
void
SketchSetKey(SketchState *expanded, const KeyType *key)
{
	KeyCheckFits(&expanded->sketch.keys, key, &sketch_key_holder);
	qb_keys_take(&expanded->sketch.keys, &key->keys);
}

/*
 * Add a key.  While new tables are allocated, an interrupt may raise an error.  The sketch may be a
 * variable that survives the error, so the old total is restored.
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

/* Flush the state, and add a key.  If the weight is negative, remove the key instead. */
void
SketchAddNow(SketchState *expanded, uint64 fingerprint, int64 weight)
{
	SketchFlush(expanded);
	if (weight >= 0)
		insert_or_undo(expanded, fingerprint, weight);
	else
		SketchInsert(expanded, fingerprint, weight);
}

/* ---- the type ---- */

static void
take_back(KeyedState *state, Datum removals)
{
	SketchTakeBack(state, &((SketchState *) state)->sketch, removals);
}

static void
merge(KeyedState *state, void *passed)
{
	qs_sketch view;

	SketchOpen(&view, passed);
	SketchMerge((SketchState *) state, &view);
}

const KeyedStateType sketch_state_type = {
	.methods = STATE_METHODS,
	.size = sizeof(SketchState),
	.value = "a sketch",
	.context_name = "qsketch",
	.states_context = "qsketch states",
	.make_room = SketchMakeRoom,
	.flush = SketchFlushAdded,
	.merge = merge,
	.slices = &sketch_slices,
	.take_back = take_back,
	.release = release,
	.pass_bytes = pass_bytes,
	.pass = pass,
	.flat_bytes = flat_bytes,
	.write_flat = write_flat,
};
