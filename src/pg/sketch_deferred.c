/*
 * sketch_deferred.c
 *		Compact sketches that wait to be merged into the state of an aggregate.
 *
 * A compact sketch of few keys is much smaller than the tables into which it is merged.  If
 * sketches of many groups alternate, each merge would access the tables of another group, which are
 * no longer in the processor's cache.  So a state collects its compact sketches, as its buffer
 * collects keys.  Later all collected sketches are merged into the state's tables, one after
 * another.
 *
 * Until this merge, the state has no tables, so a hash aggregate has memory for more groups, and
 * writes fewer sketches to disk.  Many sketches or many keys may require tables before the state is
 * read.  The hash aggregate counts the memory of these tables only after the state has allocated
 * them.
 *
 * The deferred sketches of a state take at most half of the memory of its tables.  In a state that
 * already has tables, no sketch is deferred.
 *
 * Each deferred sketch contains at least its table of groups (sketch/compact.h).  So the limit of
 * deferred bytes also limits the number of deferred sketches.  The loops that read the body of a
 * deferred sketch can be interrupted.
 *
 * src/pg/sketch_deferred.c
 */
#include "pg/sketch_state.h"

#include "engine/sketch_engine.h"

/*
 * The maximum number of bytes of a state's deferred sketches.  Deferring saves no time if the
 * tables are much larger than a cache.
 */
#define DEFERRED_MOST (2 * 1024 * 1024)

/* True if the sketch "from", which takes this many bytes, may be deferred. */
static bool
may_defer(const SketchState *expanded, const qs_sketch *from, Size bytes)
{
	const qs_sketch *sketch = &expanded->sketch;
	Size most = Min(qs_dense_size(&sketch->params, false) / 2, DEFERRED_MOST);

	return from->encoding == QS_COMPACT && sketch->encoding == QS_EXPLICIT &&
		   sketch->remote == NULL && expanded->deferred_bytes + bytes <= most;
}

/*
 * Defer a compact sketch: keep a copy that is merged later, at the latest when the state is read.
 * False: the caller must merge the sketch now.
 */
bool
SketchDefer(SketchState *expanded, const qs_sketch *from)
{
	Size bytes = offsetof(DeferredSketch, body) + from->compact_bytes;
	DeferredSketch *deferred;

	if (!may_defer(expanded, from, bytes))
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

/* Merge a list of deferred sketches into a state. */
static void
merge_all(SketchState *into, const DeferredSketch *deferred)
{
	for (; deferred; deferred = deferred->next)
		SketchCheck(into->engine->merge(&into->sketch, &deferred->view));
}

/* Free all deferred sketches. */
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

/* Merge all deferred sketches into their state, and free them. */
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

/* True if the state has deferred sketches and nothing else. */
static bool
is_only_deferred(const SketchState *expanded)
{
	return expanded->deferred != NULL && expanded->sketch.total == 0 &&
		   expanded->keyed.buffer.count == 0 && expanded->keyed.removed == NULL &&
		   !expanded->keyed.counting;
}

/*
 * Merge the deferred sketches of a state that has nothing else into a new object, in the caller's
 * memory context.  The object is freed with the row of its group, so the next group's tables reuse
 * the memory.  A single sketch is returned without tables.  NULL: the caller must read the state
 * itself.
 */
struct varlena *
SketchOfDeferred(const SketchState *expanded)
{
	SketchState *merged;

	if (!is_only_deferred(expanded))
		return NULL;
	if (expanded->deferred->next == NULL)
		return SketchFlatten(&expanded->deferred->view);
	merged = SketchCreate(StateNewContext(&sketch_state_type, CurrentMemoryContext),
						  &expanded->sketch.params);
	merge_all(merged, expanded->deferred);
	return StatePointer(&merged->keyed);
}
