/*
 * sketch_deferred.c
 *		Compact sketches that wait until they are merged into a state.
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
 *
 * src/pg/sketch_deferred.c
 */
#include "pg/sketch_state.h"

/* The most bytes that wait for one state.  Tables much larger than a cache gain nothing. */
#define WAITING_MOST (2 * 1024 * 1024)

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
	Size most = Min(qs_dense_size(&sketch->params, false) / 2, WAITING_MOST);

	return from->encoding == QS_COMPACT && sketch->encoding == QS_EXPLICIT && sketch->remote == NULL &&
		   expanded->deferred_bytes + bytes <= most;
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
