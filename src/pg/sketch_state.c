/*
 * sketch_state.c
 *		A sketch as an expanded object: the state of aggregates.
 *
 * A full buffer of keys goes to the engine as one batch.  Before the sketch is read it
 * is materialized: the buffer is flushed, and the engine brings the counters here.
 * Materializing does not change the value.
 *
 * A sketch that is only written needs no tables.  Keys that wait in the buffer are written in
 * compact encoding, and stay in the buffer.
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

/* Give the counts a new version, since they are new or about to change. */
void
SketchNewVersion(SketchState *expanded)
{
	expanded->version = ++last_version;
}

/* A state whose sketch is not set yet. */
static SketchState *
create_object(MemoryContext context)
{
	SketchState *expanded = StateCreate(&sketch_state_type, context);

	SketchNewVersion(expanded);
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

/* A state that takes over a partial state which was left on a device. */
static SketchState *
from_device_token(MemoryContext context, Datum token)
{
	SketchState *expanded = create_object(context);

	GpuOpenToken(token, &expanded->sketch, &expanded->keyed.memory);
	expanded->engine = GpuSketchEngineOf(&expanded->sketch);
	return expanded;
}

/*
 * The state of a token, in a context below "context".  The state belongs to the caller from now on.
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

/* The expanded sketch that a datum points to, or NULL. */
SketchState *
SketchStateIn(Datum datum)
{
	return StateExpandedIn(datum, &sketch_state_type);
}

/*
 * ---- presence bitmap ----
 *
 * The bitmap is made when the state is made a value for the second time.  From then on, each batch
 * of few keys corrects the bitmap.  The bitmap is true of one version of the sketch.  Any other
 * change gives the sketch another version, and the bitmap is made anew when it is next needed.
 */

static bool
presence_is_current(const SketchState *expanded)
{
	return expanded->presence && expanded->presence_version == expanded->version;
}

/* The presence bitmap of a materialized sketch that is being written as a value; NULL: it has none. */
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
 * True if the bitmap can be corrected for this many keys that are added or removed now.  If there
 * are more keys than words in the bitmap, making it anew takes less time.
 */
static bool
has_presence(const SketchState *expanded, int keys)
{
	return presence_is_current(expanded) && expanded->engine == &qs_engine_cpu &&
		   (uint64) keys <= qs_presence_words(&expanded->sketch.params);
}

/* Correct the bitmap, which was true before these keys were added or removed. */
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

/*
 * ---- compact sketches that wait until they are merged into a state ----
 *
 * A compact sketch of few keys is much smaller than the tables that it is merged into.  If sketches
 * of many groups alternate, each merge would use other tables, which are no longer in the
 * processor's cache.  So the compact sketches of a state wait, as keys wait in its buffer.  Later
 * all waiting sketches are merged into the same tables, one after another.  Until then the state
 * has no tables, so a hash aggregate has room for more groups, and writes fewer sketches to disk.
 * If a group gets tables after all, because many sketches come, the hash aggregate learns of the
 * tables only when they are made.  The same is true when keys make a sketch dense.
 *
 * The sketches that wait take at most half of the tables' memory.  A state that has
 * tables lets nothing wait.
 *
 * Each body is read by loops that can be interrupted.  A body is at least as long as its table of
 * groups, so the limit of waiting bytes also limits the number of sketches.
 */

/* The most bytes that wait for one state.  Tables much larger than a cache gain nothing. */
#define DEFERRED_MOST (2 * 1024 * 1024)

/* True if this many more bytes may wait.  Nothing waits in a state with tables. */
static bool
may_wait(const SketchState *expanded, const qs_sketch *from, Size bytes)
{
	const qs_sketch *sketch = &expanded->sketch;
	Size most = Min(qs_dense_size(&sketch->params, false) / 2, DEFERRED_MOST);

	return from->encoding == QS_COMPACT && sketch->encoding == QS_EXPLICIT &&
		   sketch->remote == NULL && expanded->deferred_bytes + bytes <= most;
}

/*
 * Keep a copy of a compact sketch, to be merged into the state when the state is read.  False: the
 * sketch has to be merged now.
 */
static bool
let_wait(SketchState *expanded, const qs_sketch *from)
{
	Size bytes = offsetof(DeferredSketch, body) + from->compact_bytes;
	DeferredSketch *deferred;

	if (!may_wait(expanded, from, bytes))
		return false;
	deferred = MemoryContextAlloc(expanded->keyed.header.eoh_context, bytes);
	memcpy(deferred->body, from->compact, from->compact_bytes);
	deferred->view = *from;
	deferred->view.compact = deferred->body;
	deferred->next = expanded->deferred;
	qb_keys_take(&expanded->sketch.keys, &from->keys);
	expanded->deferred = deferred;
	expanded->deferred_bytes += bytes;
	return true;
}

/* Merge all sketches that wait for one state into another state, or into that state itself. */
void
SketchMergeWaiting(SketchState *into, const DeferredSketch *deferred)
{
	for (; deferred; deferred = deferred->next)
		SketchCheck(into->engine->merge(&into->sketch, &deferred->view));
}

/* Forget all sketches that wait. */
static void
free_deferred(SketchState *expanded)
{
	while (expanded->deferred)
	{
		DeferredSketch *first = expanded->deferred;

		expanded->deferred = first->next;
		pfree(first);
	}
	expanded->deferred_bytes = 0;
}

/* Merge all sketches that wait into the state. */
static void
merge_deferred(SketchState *expanded)
{
	if (expanded->deferred == NULL)
		return;
	StateBeginCounting(&expanded->keyed);
	SketchMergeWaiting(expanded, expanded->deferred);
	free_deferred(expanded);
	StateEndCounting(&expanded->keyed);
}

/* ---- keys ---- */

/*
 * The number of keys to collect.  A hash aggregate looks at its memory when a row comes, not when
 * results are read.  So the key that may be one too many for the explicit encoding does not wait,
 * because the aggregate must see the memory of the dense encoding.
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
 * The most keys that a deferred sketch may collect before it becomes dense.  Their memory is a
 * quarter of the tables'.
 */
static int
most_deferred(const qs_params *params)
{
	return (int) Min(qs_dense_size(params, false) / (4 * sizeof(uint64)), INT_MAX / 2);
}

/*
 * True if the keys of a full buffer should be kept, and not be counted yet.  That is so if they are
 * too few to show how many repeat, or if they are probably too many for the explicit encoding.  It
 * is not so if many of the earlier keys repeated.
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
 * Make the full buffer of a state with this sketch larger, if its keys may wait; false: the keys
 * have to be counted.
 */
bool
SketchKeepKeys(KeyedState *state, const qs_sketch *sketch)
{
	if (!keeps_keys(state, sketch))
		return false;
	KeyBufferExtend(&state->buffer, most_deferred(&sketch->params));
	return true;
}

/* Give the whole buffer to the engine. */
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
 * Count the keys of a cached column on the pages in the chunks' sets.  Pages that were not done
 * stay in the sets.
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

/* The sketches of the states of groups. */
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
 * Find the groups whose sketch gets dense by the keys of this chunk alone: "dense" is set for them.
 * The states have no keys yet.  The dense sketches are on a device afterwards, still without keys.
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
 * Count the keys on the chunks' pages in the sketches of groups, which SketchGetDense() has put on
 * a device.  False: some keys were not counted, and the states can no longer be used.
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

/* Free all that a state has. */
static void
release(KeyedState *state)
{
	SketchState *expanded = (SketchState *) state;

	free_compacted(expanded);
	free_deferred(expanded);
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

/* Remove the keys that had to wait until all others were added. */
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

/* Merge the sketches that wait, and count the keys that wait.  Removals stay waiting. */
void
SketchFlushAdded(KeyedState *state)
{
	SketchState *expanded = (SketchState *) state;

	StateTakeText(state, &expanded->sketch.keys, &sketch_key_holder);
	merge_deferred(expanded);
	flush_buffer(expanded);
}

/* Bring the sketch up to date, removals included. */
void
SketchFlush(SketchState *expanded)
{
	SketchFlushAdded(&expanded->keyed);
	if (expanded->keyed.removed)
		remove_now(expanded);
}

/*
 * Add another sketch of the same parameters.  It may wait until the state is read.
 */
void
SketchMerge(SketchState *expanded, const qs_sketch *from)
{
	SketchCheckMergeable(&expanded->sketch, from);
	SketchNewVersion(expanded);
	if (let_wait(expanded, from))
		return;
	SketchFlushAdded(&expanded->keyed);
	SketchCheck(expanded->engine->merge(&expanded->sketch, from));
}

/* Bring the counters to this process, without the removals, so that the state can be passed on. */
void
SketchMaterializeAdded(SketchState *expanded)
{
	SketchFlushAdded(&expanded->keyed);
	SketchCheck(expanded->engine->materialize(&expanded->sketch));
}

/* Flush the buffer and bring the counters to this process, to be read or changed. */
void
SketchMaterialize(SketchState *expanded)
{
	SketchFlush(expanded);
	SketchCheck(expanded->engine->materialize(&expanded->sketch));
}

/* The state with the removals of a state with this sketch.  It is made if there is none yet. */
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
 * Remove a key from the sketch of a state, but only when the state is next read.  Rows come in any
 * order, and a negative weight may come before the positive weight that it takes back.
 */
void
SketchRemoveLater(KeyedState *state, const qs_sketch *sketch, uint64 fingerprint, int64 weight)
{
	SketchAppend(removals_of(state, sketch), fingerprint, weight);
}

/* Add the removals of another partial state to those of a state with this sketch. */
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
 * Add a key at once, or remove it if the weight is negative.  Keys in the buffer stay there.
 * QB_UNDERFLOW changes nothing.
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
 * Remove a row's key, after everything that waits was counted.  False: a counter would fall below
 * zero, and nothing changed.  This happens if a row of negative weight, which is still in the
 * frame, has taken the key back.
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
 * Make room in a full buffer.  Mostly its keys are counted, and a small buffer becomes larger.  The
 * buffer of a deferred sketch may keep its keys and become larger.  The buffer gets no room if not
 * even the next key may wait.
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
	FLAT_TOKEN,       /* for this process */
	FLAT_DEVICE_TOKEN /* for this process, or for the leader of this worker */
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
 * Make a compact sketch of the keys that wait and those of an explicit sketch, to be written.
 * False: the keys have to be counted first.
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
 * The size of the flat encoding.  A state that is passed on has its removals beside it.  A token
 * for this process stands for state and removals.
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

/* A sketch has few keys if its buckets are more than this many times its weight. */
#define BUCKETS_OF_FEW 8

bool
SketchHasFewKeys(const qs_sketch *sketch)
{
	return (uint64) sketch->total < sketch->params.n / BUCKETS_OF_FEW;
}

/*
 * Another process gets the tables as they are: choosing, writing and reading
 * the compact encoding takes longer, unless most buckets are surely empty.
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
 * The sketch of a datum, to be changed.  If the datum's own object may be changed, it is that
 * object.  Otherwise it is a copy: among the states of "aggregate", or in a context of its own if
 * "aggregate" is NULL.
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
 * Add a key.  New tables may be needed, and an interrupt may come while they are made.  The sketch
 * may be a variable that survives the interrupt, so it then gets its old total back.
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

/* Add a key at once, or remove it if the weight is negative.  Everything that waits is counted first. */
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

/* True if there is nothing in the state but sketches that wait. */
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
	merged = SketchCreate(StateNewContext(&sketch_state_type, CurrentMemoryContext),
						  &expanded->sketch.params);
	SketchMergeWaiting(merged, expanded->deferred);
	return StatePointer(&merged->keyed);
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
