/*
 * sketch_state.c
 *		A sketch as an expanded object: the state of aggregates.
 *
 * A full buffer of keys goes to the engine as one batch.  Before the sketch is read it
 * is materialized: the buffer is flushed, and the engine brings the counters here.
 * Materializing does not change the value.
 *
 * src/pg/sketch_state.c
 */
#include "pg/sketch_state.h"

#include "gpu/sketch_gpu.h"
#include "pgbase/activity.h"
#include "pgbase/state.h"

#include "utils/memutils.h"

static uint64 last_version;

/* Give the counts a new version, since they are new or about to change. */
static void
set_version(SketchState *expanded)
{
	expanded->version = ++last_version;
}

/* A state whose sketch is not set yet. */
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

/* A state for a partial state that was left on a device.  It takes that over. */
static SketchState *
from_device_token(MemoryContext context, Datum token)
{
	SketchState *expanded = create_object(context);

	GpuOpenToken(token, &expanded->sketch, &expanded->keyed.memory);
	expanded->engine = GpuSketchEngineOf(&expanded->sketch);
	return expanded;
}

/*
 * The state of a token, which belongs to the caller from now on, in a context below
 * "context"; NULL: the datum is no token.
 */
SketchState *
SketchOfToken(MemoryContext context, Datum datum)
{
	if (GpuIsToken(datum))
		return from_device_token(StateOwnContext(&sketch_state_type, context), datum);
	return StateOfToken(datum, &sketch_state_type, context);
}

/* Choose the engine for a new state of an aggregate. */
void
SketchChooseEngine(SketchState *expanded)
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
		set_version(expanded);
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
	expanded->sketch.keys = key->keys;
}

/*
 * How many keys to collect.  A hash aggregate looks at its memory when a row comes, not
 * when results are read.  So the key that may be one too many for the explicit encoding
 * does not wait: the aggregate must see the memory of the dense encoding.
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
 * How many keys a deferred sketch may collect before it becomes dense: their memory is a
 * quarter of the table's.
 */
int
SketchMostDeferred(const qs_params *params)
{
	return (int) Min(qs_dense_size(params, false) / (4 * sizeof(uint64)), INT_MAX / 2);
}

/*
 * Is it better to keep the keys of a full buffer than to count them?  Yes if they are too
 * few to tell, or probably too many for the explicit encoding.  No if many of the keys so far
 * were the same.
 */
static bool
keeps_keys(const SketchState *expanded)
{
	const qs_sketch *sketch = &expanded->sketch;
	const KeyBuffer *buffer = &expanded->keyed.buffer;
	uint32 limit = qs_explicit_limit(&sketch->params);

	if (!expanded->keyed.deferred || sketch->encoding != QS_EXPLICIT || sketch->remote != NULL ||
		buffer->allocated == 0 || buffer->allocated >= SketchMostDeferred(&sketch->params))
		return false;
	if (sketch->total == 0)
		return buffer->count < limit || KeyBufferIsVaried(buffer, limit);
	return sketch->used + buffer->count > limit && sketch->used >= (uint64) sketch->total / 2;
}

/* Give the whole buffer to the engine. */
static void
flush_buffer(SketchState *expanded)
{
	KeyBuffer *buffer = &expanded->keyed.buffer;
	int count = buffer->count;
	bool marked = SketchHasPresence(expanded, count);

	if (count == 0)
		return;
	StateBeginCounting(&expanded->keyed);
	expanded->keyed.batches++;
	set_version(expanded);
	SketchCheck(
		expanded->engine->insert(&expanded->sketch, buffer->fingerprint, buffer->weight, count));
	if (marked)
		SketchPresenceKeys(expanded, buffer->fingerprint, count);
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
 * Count the keys of these pages of a cached column.  Pages that were
 * not done stay in the sets.
 */
void
SketchAddColumn(SketchState *expanded, const GpuColumnChunk *chunk, int chunks)
{
	int64 count = 0;

	flush_buffer(expanded);
	StateBeginCounting(&expanded->keyed);
	expanded->keyed.batches++;
	set_version(expanded);
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
 * Which states of groups, without keys, get dense by the keys of this chunk alone?  Their
 * sketches are on a device now, without keys.
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
		set_version(expanded[i]);
	}
	GpuSketchGetDense(sketch, groups, chunk, dense);
	for (i = 0; i < groups->count; i++)
		StateEndCounting(&expanded[i]->keyed);
	pfree(sketch);
}

/*
 * Count the keys of these pages in the sketches of groups, which SketchGetDense() has put
 * on a device.  False: not all were counted, and the states are of no use.
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

/* Free all that a state has. */
static void
release(KeyedState *state)
{
	SketchState *expanded = (SketchState *) state;

	SketchFreeMade(expanded);
	SketchFreeDeferred(expanded);
	SketchFreePresence(expanded);
	qs_free(&expanded->sketch);
	KeyBufferFree(&state->buffer);
	if (expanded->removed)
		SketchFree(expanded->removed);
	expanded->removed = NULL;
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
	SketchState *removed = expanded->removed;
	qb_status status;

	flush_buffer(removed);
	set_version(expanded);
	SketchCheck(expanded->engine->materialize(&expanded->sketch));
	StateBeginCounting(&expanded->keyed);
	status = qs_subtract(&expanded->sketch, &removed->sketch);
	StateEndCounting(&expanded->keyed);
	SketchCheckRemoved(status);
	expanded->removed = NULL;
	SketchFree(removed);
}

/* Bring the sketch up to date: merge the sketches that wait, count the keys that wait, remove keys. */
void
SketchFlush(SketchState *expanded)
{
	SketchMergeDeferred(expanded);
	flush_buffer(expanded);
	if (expanded->removed)
		remove_now(expanded);
}

/*
 * Add another sketch of the same parameters.  It may wait until the state is read.
 */
void
SketchMerge(SketchState *expanded, const qs_sketch *from)
{
	set_version(expanded);
	if (SketchLetWait(expanded, from))
		return;
	SketchFlush(expanded);
	SketchCheck(expanded->engine->merge(&expanded->sketch, from));
}

/* Flush the buffer and bring the counters here, to be read or changed. */
void
SketchMaterialize(SketchState *expanded)
{
	SketchFlush(expanded);
	SketchCheck(expanded->engine->materialize(&expanded->sketch));
}

/*
 * Remove a key from the sketch of a state, but only when that is next read.  Rows come in any
 * order, and a negative weight may come before the positive one that it takes back.  Till then
 * *removed, which is made for the first one, counts such keys.
 */
void
SketchRemoveLater(SketchState **removed, const KeyedState *state, const qs_sketch *sketch,
				  uint64 fingerprint, int64 weight)
{
	if (*removed == NULL)
	{
		*removed = SketchCreate(state->header.eoh_context, &sketch->params);
		(*removed)->sketch.keys = sketch->keys;
		(*removed)->keyed.accounted = state->accounted;
	}
	SketchAppend(*removed, fingerprint, weight);
}

/* Add a key at once.  Keys in the buffer stay there. */
void
SketchInsert(SketchState *expanded, uint64 fingerprint, int64 weight)
{
	bool marked = SketchHasPresence(expanded, 1);

	set_version(expanded);
	SketchCheck(expanded->engine->insert(&expanded->sketch, &fingerprint, &weight, 1));
	if (marked)
		SketchPresenceKeys(expanded, &fingerprint, 1);
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
	bool marked;

	SketchFlush(expanded);
	if (weight >= 0)
	{
		insert_or_undo(expanded, fingerprint, weight);
		return;
	}
	marked = SketchHasPresence(expanded, 1);
	weight = -weight;
	set_version(expanded);
	SketchCheck(expanded->engine->remove(&expanded->sketch, &fingerprint, &weight, 1));
	if (marked)
		SketchPresenceKeys(expanded, &fingerprint, 1);
}

/*
 * Make room in a full buffer.  Mostly its keys are counted, and while it is small it
 * becomes larger.  The buffer of a deferred sketch may keep its keys and become larger.
 * False if there is no room, since not even the next key may wait.
 */
bool
SketchMakeRoom(SketchState *expanded)
{
	if (keeps_keys(expanded))
	{
		KeyBufferExtend(&expanded->keyed.buffer, SketchMostDeferred(&expanded->sketch.params));
		return true;
	}
	flush_buffer(expanded);
	KeyBufferGrow(&expanded->keyed.buffer, expanded->keyed.header.eoh_context, most_room(expanded));
	return expanded->keyed.buffer.room > 0;
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

const KeyedStateType sketch_state_type = {
	.methods = { SketchFlattenSize, SketchFlattenInto },
	.size = sizeof(SketchState),
	.value = "a sketch",
	.own_context = "qsketch",
	.states_context = "qsketch states",
	.make_room = make_room,
	.flush = flush,
	.merge = merge,
	.release = release,
	.pass_bytes = SketchPassBytes,
	.pass = SketchPass,
};

/*
 * ---- compact sketches that wait until they are merged into a state ----
 *
 * A compact sketch of few keys is much smaller than the tables that it is merged into.
 * Where the sketches of many groups come in turns, each merge would find other tables,
 * which are no longer in the processor's cache.  So the compact sketches of a state wait,
 * as keys wait in its buffer.  Then all are merged into the same tables, one after
 * another.  Until then the state has no tables, so a hash aggregate has room for more
 * groups, and writes fewer sketches to disk.  If so many sketches come that a group gets
 * tables after all, the hash aggregate learns of the tables only when they are made, as it
 * does when keys make a sketch dense.
 *
 * The sketches that wait take at most half of the tables' memory.  A state that has
 * tables lets nothing wait.
 *
 * Each body is read by loops that can be interrupted, and bodies are at least as long as
 * their table of groups, so the bytes that wait limit how many there are.
 */

/* The most bytes that wait for one state.  Tables much larger than a cache gain nothing. */
#define DEFERRED_MOST (2 * 1024 * 1024)

/* A sketch that waits, followed by its body. */
typedef struct DeferredSketch
{
	struct DeferredSketch *next;
	qs_sketch view;
	uint8 body[FLEXIBLE_ARRAY_MEMBER];
} DeferredSketch;

/* May so many more bytes wait?  Only for a state without tables. */
static bool
may_wait(const SketchState *expanded, const qs_sketch *from, Size bytes)
{
	const qs_sketch *sketch = &expanded->sketch;
	Size most = Min(qs_dense_size(&sketch->params, false) / 2, DEFERRED_MOST);

	return from->encoding == QS_COMPACT && sketch->encoding == QS_EXPLICIT &&
		   sketch->remote == NULL && expanded->deferred_bytes + bytes <= most;
}

/*
 * Keep a copy of a compact sketch, to be merged into the state when that is read.  False:
 * it has to be merged now.
 */
bool
SketchLetWait(SketchState *expanded, const qs_sketch *from)
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

/* Merge all sketches that wait for one state into another state, or into the same. */
static void
merge_all(SketchState *into, const DeferredSketch *deferred)
{
	for (; deferred; deferred = deferred->next)
		SketchCheck(into->engine->merge(&into->sketch, &deferred->view));
}

/* Forget all sketches that wait. */
void
SketchFreeDeferred(SketchState *expanded)
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
void
SketchMergeDeferred(SketchState *expanded)
{
	if (expanded->deferred == NULL)
		return;
	StateBeginCounting(&expanded->keyed);
	merge_all(expanded, expanded->deferred);
	SketchFreeDeferred(expanded);
	StateEndCounting(&expanded->keyed);
}

/* Is there nothing in the state but sketches that wait? */
static bool
only_waits(const SketchState *expanded)
{
	return expanded->deferred != NULL && expanded->sketch.total == 0 &&
		   expanded->keyed.buffer.count == 0 && expanded->removed == NULL &&
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
	merge_all(merged, expanded->deferred);
	return StatePointer(&merged->keyed);
}
