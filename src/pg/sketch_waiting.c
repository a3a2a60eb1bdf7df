/*
 * sketch_waiting.c
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
 * src/pg/sketch_waiting.c
 */
#include "pg/sketch_state.h"

/* The most bytes that wait for one state.  Tables much larger than a cache gain nothing. */
#define WAITING_MOST (2 * 1024 * 1024)

/* A sketch that waits, followed by its body. */
typedef struct WaitingSketch
{
	struct WaitingSketch *next;
	qs_sketch view;
	uint8 body[FLEXIBLE_ARRAY_MEMBER];
} WaitingSketch;

/* May so many more bytes wait?  Only for a state without tables. */
static bool
may_wait(const SketchState *expanded, const qs_sketch *from, Size bytes)
{
	const qs_sketch *sketch = &expanded->sketch;
	Size most = Min(qs_dense_size(&sketch->params, false) / 2, WAITING_MOST);

	return from->form == QS_COMPACT && sketch->form == QS_EXPLICIT && sketch->remote == NULL &&
		   expanded->waiting_bytes + bytes <= most;
}

/*
 * Keep a copy of a compact sketch, to be merged into the state when that is read.  False:
 * it has to be merged now.
 */
bool
SketchLetWait(SketchState *expanded, const qs_sketch *from)
{
	Size bytes = offsetof(WaitingSketch, body) + from->compact_bytes;
	WaitingSketch *waiting;

	if (!may_wait(expanded, from, bytes))
		return false;
	waiting = MemoryContextAlloc(expanded->keyed.header.eoh_context, bytes);
	memcpy(waiting->body, from->compact, from->compact_bytes);
	waiting->view = *from;
	waiting->view.compact = waiting->body;
	waiting->next = expanded->waiting;
	qb_keys_adopt(&expanded->sketch.keys, &from->keys);
	expanded->waiting = waiting;
	expanded->waiting_bytes += bytes;
	return true;
}

/* Merge all sketches that wait for one state into another state, or into the same. */
static void
merge_all(SketchState *into, const WaitingSketch *waiting)
{
	for (; waiting; waiting = waiting->next)
		SketchCheck(into->engine->merge(&into->sketch, &waiting->view));
}

/* Forget all sketches that wait. */
void
SketchFreeWaiting(SketchState *expanded)
{
	while (expanded->waiting)
	{
		WaitingSketch *first = expanded->waiting;

		expanded->waiting = first->next;
		pfree(first);
	}
	expanded->waiting_bytes = 0;
}

/* Merge all sketches that wait into the state. */
void
SketchMergeWaiting(SketchState *expanded)
{
	if (expanded->waiting == NULL)
		return;
	StateBeginCounting(&expanded->keyed);
	merge_all(expanded, expanded->waiting);
	SketchFreeWaiting(expanded);
	StateEndCounting(&expanded->keyed);
}

/* Is there nothing in the state but sketches that wait? */
static bool
only_waits(const SketchState *expanded)
{
	return expanded->waiting != NULL && expanded->sketch.total == 0 &&
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
SketchOfWaiting(const SketchState *expanded)
{
	SketchState *merged;

	if (!only_waits(expanded))
		return NULL;
	if (expanded->waiting->next == NULL)
		return SketchFlatten(&expanded->waiting->view);
	merged = SketchCreate(StateOwnContext(&sketch_state_type, CurrentMemoryContext),
						  &expanded->sketch.params);
	merge_all(merged, expanded->waiting);
	return StatePointer(&merged->keyed);
}
