/*
 * top_state.c
 *		A list of top keys as an expanded object; opens values, and raises errors about them.
 *
 * The CPU's engine counts a full buffer of keys as one batch, and looks up the candidates in the
 * same pass.  Keys that are numbers are their own fingerprints.  They may stay in the buffer for
 * several batches, like keys of sketches (sketch_state.c).  For all other keys, the state also
 * keeps the values of the buffered keys.  Values passed by reference are copied into an arena,
 * which each batch reuses.  Only keys that become candidates are converted to text.  A caller that
 * has the values of a whole batch puts only fingerprints into the buffer, and passes a function
 * that returns the values.
 *
 * Rows come in any order, so a negative weight may precede the positive weight that it cancels.  A
 * separate sketch, called the removals, counts negative weights.  The removals are subtracted when
 * the list is next read.
 *
 * src/pg/top_state.c
 */
#include "pg/top_state.h"

#include "engine/sketch_engine.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "pg/sketch_aggregate.h"
#include "pgbase/activity.h"
#include "pgbase/keycheck.h"
#include "sketch/top.h"
#include "utils/datum.h"
#include "utils/memutils.h"

/* If the values of buffered keys take more bytes than ARENA_MAX, the buffer is flushed. */
#define ARENA_MAX   (64 * 1024)
#define ARENA_FIRST 256

/* ---- values, and errors about them ---- */

const ValueFormat top_format = { "list of top keys", QS_TOP_FORMAT_VERSION_1, QS_TOP_HEADER_BYTES,
								 &sketch_format };
const KeyHolder top_key_holder = { "list of top keys", "lists of top keys", "qtop_add" };

/* Raise an error unless n is a valid number of top keys.  Returns n. */
uint32
TopCheckN(int64 n)
{
	if (n < 1 || n > QS_TOP_MAX)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("number of top keys must be between 1 and %d, not " INT64_FORMAT,
							   QS_TOP_MAX, n)));
	return (uint32) n;
}

/*
 * Return the text of a call that folds a list to n keys and to the smaller of two sizes, for a
 * hint.
 */
static const char *
folding_call(uint32 n, const qs_params *a, const qs_params *b)
{
	if (a->n == b->n)
		return psprintf("qtop_fold(top, %u)", n);
	return psprintf("qtop_fold(top, %u, '%s')", n, SketchSizeText(a->n < b->n ? a : b));
}

/* Raise an error unless two lists have the same n, and their sketches can be merged. */
void
TopCheckMergeable(const TopState *top, const TopReader *other)
{
	const qs_params *a = &top->sketch.params, *b = &other->sketch->params;
	uint32 n = top->top.n, m = other->top->n;
	StringInfoData text;

	if ((n != m || a->n != b->n) && (qs_params_fold(a, b) || qs_params_fold(b, a)))
	{
		initStringInfo(&text);
		AppendDifference(&text, "n", psprintf("%u", n), psprintf("%u", m));
		AppendDifference(&text, "size", SketchSizeText(a), SketchSizeText(b));
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION), errmsg("lists of top keys differ: %s", text.data),
				 errhint("Fold what is larger: %s.", folding_call(Min(n, m), a, b))));
	}
	SketchCheckMergeable(&top->sketch, other->sketch);
}

/*
 * Open a detoasted value as a list and its sketch.  If the value is invalid, raise an error of this
 * SQLSTATE.
 */
void
TopOpenAs(qs_top *top, qs_sketch *sketch, struct varlena *value, int sqlstate)
{
	const uint8 *bytes = (const uint8 *) VARDATA(value);
	Size length = VARSIZE(value) - VARHDRSZ;
	qb_status status = qs_top_open(top, sketch, bytes, length);

	if (status != QB_OK)
		FormatRaise(&top_format, status, sqlstate, bytes, length);
	KeysCheck(&sketch->keys, &top_format, sqlstate);
	if (top->count > 0)
		KeysCheckNumbers(&sketch->keys, !top->texts, top->texts ? "texts" : "no texts", &top_format,
						 sqlstate);
}

/* Open a detoasted value as a list and its sketch. */
void
TopOpen(qs_top *top, qs_sketch *sketch, struct varlena *value)
{
	TopOpenAs(top, sketch, value, ERRCODE_DATA_CORRUPTED);
}

/* ---- the state ---- */

/* Create an empty list for n keys in "context". */
TopState *
TopCreate(MemoryContext context, const qs_params *params, uint32 n)
{
	TopState *top = StateCreate(&top_state_type, context);

	qs_init(&top->sketch, params, &top->keyed.memory);
	qs_top_init(&top->top, n, &top->keyed.memory);
	return top;
}

/* Create a copy of a list in "context". */
TopState *
TopCopy(MemoryContext context, const TopReader *from)
{
	TopState *top = StateCreate(&top_state_type, context);

	SketchCheck(qs_copy(&top->sketch, from->sketch, &top->keyed.memory));
	SketchCheck(qs_top_copy(&top->top, from->top, &top->keyed.memory));
	return top;
}

/* Return the expanded list that a datum points to; NULL: the datum is flat. */
TopState *
TopStateIn(Datum datum)
{
	return StateExpandedIn(datum, &top_state_type);
}

/*
 * Open a list for reading until TopReadEnd(), or until the datum is freed.  An expanded list is
 * materialized and read in place.
 */
void
TopRead(TopReader *reader, Datum datum)
{
	TopState *expanded = TopStateIn(datum);
	struct varlena *value;

	reader->detoasted = NULL;
	if (expanded)
	{
		TopMaterialize(expanded);
		reader->top = &expanded->top;
		reader->sketch = &expanded->sketch;
		return;
	}
	value = ValueDetoast(datum, &reader->detoasted);
	TopOpen(&reader->view, &reader->sketch_view, value);
	reader->top = &reader->view;
	reader->sketch = &reader->sketch_view;
}

/* Free what TopRead() allocated. */
void
TopReadEnd(TopReader *reader)
{
	if (reader->detoasted)
		pfree(reader->detoasted);
	reader->detoasted = NULL;
}

/*
 * Copy a list.  The candidates of an expanded list are copied unsorted, because sorting takes
 * longer than copying.
 */
static void *
copy(MemoryContext context, Datum datum)
{
	TopState *expanded = TopStateIn(datum);
	TopReader reader = { 0 };
	TopState *top;

	if (expanded)
	{
		TopFlush(expanded);
		reader.top = &expanded->top;
		reader.sketch = &expanded->sketch;
	}
	else
		TopRead(&reader, datum);
	top = TopCopy(context, &reader);
	TopReadEnd(&reader);
	return top;
}

/* Set the type of the next keys.  Raise an error if this type does not fit the keys of the list. */
void
TopSetKey(TopState *top, const KeyType *key)
{
	top->keyed.key = *key;
	KeyCheckFits(&top->sketch.keys, &top->keyed.key, &top_key_holder);
	qb_keys_take(&top->sketch.keys, &top->keyed.key.keys);
	top->top.texts = !KeyIsNumber(&top->keyed.key);
	if (top->top.texts)
		KeyWriterInit(&top->writer, key->type, top->keyed.header.eoh_context);
}

/* ---- batches ---- */

/*
 * Return the maximum number of keys to buffer.  most_room() in sketch_state.c says why the number
 * is limited.
 */
static int
most_room(const TopState *top)
{
	const qs_sketch *sketch = &top->sketch;
	uint64 room = qs_engine_cpu.batch(sketch);

	if (top->keyed.accounted && sketch->encoding == QS_EXPLICIT)
		room = Min(room, Max(1, qs_explicit_limit(&sketch->params) - sketch->used));
	return (int) room;
}

/* Return the value of a buffered key. */
static Datum
value_in_buffer(void *rows, uint32 row)
{
	const TopState *top = rows;

	return top->keyed.key.by_value ? top->value[row]
								   : PointerGetDatum(top->arena + top->value[row]);
}

/* Write the texts of the keys that became candidates in the last batch. */
static void
write_fresh(TopState *top, TopValueOf value_of, void *rows)
{
	bool begun = false;
	int level = 0;
	uint64 i;

	for (i = top->top.fresh; i < top->top.count; i++)
	{
		qs_top_key *key = &top->top.key[i];
		const char *text;
		uint32 length;

		if (key->row == QS_TOP_NO_ROW)
			continue;
		if (!begun && !top->writer.plain)
			level = KeyTextBegin();
		begun = true;
		text = KeyWriteKept(&top->writer, value_of(rows, key->row), &top->keyed.key.keys, &length);
		SketchCheck(qs_top_set_text(&top->top, key, (const uint8 *) text, length));
	}
	if (begun && !top->writer.plain)
		KeyTextEnd(level);
}

/* Raise an error if a value of this size would be too large.  Returns the size. */
static Size
check_size(uint64 size)
{
	return CheckSize(top_key_holder.one, size, "Ask for fewer keys, or choose a smaller sketch.");
}

/*
 * Raise an error if the texts of a list have become too long for a value.  Surplus candidates are
 * dropped before the check.
 */
static void
check_texts(TopState *top)
{
	if (top->top.length <= MaxAllocSize)
		return;
	qs_top_finish(&top->top, &top->sketch);
	check_size(top->top.length);
}

/* Count "count" buffered keys from position "first" on, as one batch. */
static void
count_batch(TopState *top, int first, int count, TopValueOf value_of, void *rows)
{
	const KeyBuffer *buffer = &top->keyed.buffer;

	top->keyed.batches++;
	SketchCheck(qs_top_insert(&top->top, &top->sketch, buffer->fingerprint + first,
							  buffer->weight ? buffer->weight + first : NULL, count));
	write_fresh(top, value_of, rows);
	qs_top_batch_done(&top->top);
	StatCountBatch(false, count);
}

/*
 * Count the buffered keys.  Keys with texts are one batch, and "value_of" returns their values.
 * Keys without texts may be several batches.
 */
void
TopFlushRows(TopState *top, TopValueOf value_of, void *rows)
{
	KeyBuffer *buffer = &top->keyed.buffer;
	int i;

	Assert(buffer->count <= QS_BATCH || !top->top.texts);
	if (buffer->count == 0)
		return;
	StateBeginCounting(&top->keyed);
	for (i = 0; i < buffer->count; i += QS_BATCH)
	{
		if (i > 0)
			CHECK_FOR_INTERRUPTS();
		count_batch(top, i, Min(buffer->count - i, QS_BATCH), value_of, rows);
	}
	buffer->count = 0;
	StateEndCounting(&top->keyed);
	check_texts(top);
	top->arena_used = 0;
	if (buffer->allocated > QS_BATCH)
		KeyBufferFree(buffer);
	KeyBufferLimit(buffer, most_room(top));
}

/* Add another list with the same n and with the same parameters of its sketch. */
static void
merge_list(TopState *top, const qs_top *from, const qs_sketch *from_sketch)
{
	KeyFamilyCheckSame(&top->sketch.keys, &from_sketch->keys, &top_key_holder);
	TopCheckSameTexts(&top->top, from);
	SketchCheck(qs_top_merge(&top->top, &top->sketch, from, from_sketch));
	check_texts(top);
}

/* Move a sketch and a list into an empty state.  The sketch has the memory context of the state. */
static void
take_over(TopState *top, SketchState *sketch, const qs_top *list)
{
	qs_free(&top->sketch);
	qs_top_free(&top->top);
	top->sketch = sketch->sketch;
	top->sketch.memory = &top->keyed.memory;
	top->top = *list;
	qs_init(&sketch->sketch, &top->sketch.params, &sketch->keyed.memory);
}

static void
free_column(TopState *top)
{
	if (top->column)
		SketchFree(top->column);
	top->column = NULL;
	FreeArray((void **) &top->counted.key);
}

/* Add the sketch of cached columns, with its frequent keys as candidates, and free it. */
static void
take_column(TopState *top)
{
	SketchState *sketch = top->column;
	GpuRecounted *counted = &top->counted;
	qs_top list;

	TopFetchSketch(sketch);
	StateBeginCounting(&top->keyed);
	GpuRecountedFinish(counted, &sketch->sketch);
	qs_top_init(&list, top->top.n, &top->keyed.memory);
	SketchCheck(qs_top_fill(&list, &sketch->sketch, counted->key, counted->count,
							Max(counted->least - 1, counted->left_out)));
	if (top->sketch.total == 0 && top->top.count == 0)
		take_over(top, sketch, &list);
	else
	{
		merge_list(top, &list, &sketch->sketch);
		qs_top_free(&list);
	}
	StateEndCounting(&top->keyed);
	free_column(top);
}

/*
 * Add a sketch of TopSketchFor(), with counts of its frequent keys.  The list takes over the
 * sketch.  A sketch on a device is added later, at the latest when the list is read.  A sketch in
 * this process is added now, because it may have many more counted keys than the list keeps.
 */
void
TopAddCounted(TopState *top, SketchState *sketch, const GpuRecounted *counted)
{
	Size bytes = counted->count * sizeof(*counted->key);

	if (top->column)
		take_column(top);
	top->column = sketch;
	top->counted = *counted;
	top->counted.key = MemoryContextAllocHuge(top->keyed.header.eoh_context, Max(bytes, 1));
	memcpy(top->counted.key, counted->key, bytes);
	top->keyed.count += sketch->keyed.count;
	top->keyed.batches++;
	if (sketch->sketch.remote == NULL)
		take_column(top);
}

/*
 * Add the sketch of cached columns, and count the buffered keys.  The removals are not subtracted
 * yet.
 */
void
TopFlushAdded(TopState *top)
{
	if (top->column)
		take_column(top);
	StateTakeText(&top->keyed, &top->sketch.keys, &top_key_holder);
	TopFlushRows(top, value_in_buffer, top);
}

/* Subtract the removals of a state.  The state's added keys must have been counted. */
static void
remove_now(TopState *top)
{
	SketchState *removed = (SketchState *) top->keyed.removed;
	qb_status status;

	SketchFlush(removed);
	StateBeginCounting(&top->keyed);
	status = qs_top_subtract(&top->top, &top->sketch, NULL, &removed->sketch);
	StateEndCounting(&top->keyed);
	SketchCheckRemoved(status);
	SketchForgetRemoved(&top->keyed);
}

/* Count all added keys, then subtract the removals. */
void
TopFlush(TopState *top)
{
	TopFlushAdded(top);
	if (top->keyed.removed)
		remove_now(top);
}

/*
 * Make space in a full buffer: count its keys, and enlarge a small buffer.  Keys without texts may
 * stay in the enlarged buffer uncounted.
 */
void
TopMakeRoom(KeyedState *state)
{
	TopState *top = (TopState *) state;
	int before = state->buffer.allocated;

	if (!top->top.texts && SketchKeepKeys(&top->keyed, &top->sketch))
		return;
	TopFlushAdded(top);
	KeyBufferGrow(&top->keyed.buffer, top->keyed.header.eoh_context, most_room(top));
	if (!top->top.texts || (top->keyed.buffer.allocated == before && top->value))
		return;
	if (top->value)
		pfree(top->value);
	top->value = MemoryContextAlloc(top->keyed.header.eoh_context,
									top->keyed.buffer.allocated * sizeof(Datum));
}

/* Enlarge the arena for "bytes" more bytes. */
static void
grow_arena(TopState *top, Size bytes)
{
	Size size = Max(ARENA_FIRST, top->arena_size);

	while (size < top->arena_used + bytes)
		size *= 2;
	if (top->arena)
		top->arena = repalloc_huge(top->arena, size);
	else
		top->arena = MemoryContextAllocHuge(top->keyed.header.eoh_context, size);
	top->arena_size = size;
}

/* Copy a value passed by reference into the arena.  Returns its offset in the arena. */
static Size
keep_value(TopState *top, Datum value)
{
	Size bytes = datumGetSize(value, false, top->keyed.key.length);
	Size offset = top->arena_used;

	if (offset + bytes > top->arena_size)
		grow_arena(top, bytes);
	memcpy(top->arena + offset, DatumGetPointer(value), bytes);
	top->arena_used += MAXALIGN(bytes);
	return offset;
}

/*
 * Append a key of non-negative weight to the buffer.  "plain" is the key's detoasted value, which
 * only lists with texts use.
 */
void
TopAppend(TopState *top, uint64 fingerprint, Datum plain, int64 weight)
{
	int row;

	if (KeyBufferIsFull(&top->keyed.buffer) || top->arena_used > ARENA_MAX)
		TopMakeRoom(&top->keyed);
	row = top->keyed.buffer.count;
	if (top->top.texts)
		top->value[row] = top->keyed.key.by_value ? plain : (Datum) keep_value(top, plain);
	KeyBufferAppend(&top->keyed.buffer, fingerprint, weight);
}

/*
 * Append a row's key to the buffer.  A key of negative weight is removed later, when the list is
 * read.
 */
void
TopCount(TopState *top, Datum value, int64 weight)
{
	KeyType *key = &top->keyed.key;
	Datum plain = value;

	if (key->length == -1)
		plain = PointerGetDatum(PG_DETOAST_DATUM_PACKED(value));
	if (unlikely(weight < 0))
		SketchRemoveLater(&top->keyed, &top->sketch, KeyFingerprint(key, plain), -weight);
	else
		TopAppend(top, KeyFingerprint(key, plain), plain, weight);
	top->keyed.count++;
	if (plain != value)
		pfree(DatumGetPointer(plain));
}

/*
 * Flush the list, then count a key of non-negative weight.  The list may be a variable that
 * survives errors.  So no interrupt is accepted until the sketch and the candidates have both
 * counted the key.
 */
void
TopCountNow(TopState *top, uint64 fingerprint, const char *text, uint32 length, int64 weight)
{
	qs_top *list = &top->top;
	qs_top_key *key;

	TopFlush(top);
	HOLD_INTERRUPTS();
	SketchCheck(qs_top_insert(list, &top->sketch, &fingerprint, &weight, 1));
	key = qs_top_lookup(list, fingerprint);
	if (key && key->row != QS_TOP_NO_ROW)
		SketchCheck(qs_top_set_text(list, key, (const uint8 *) text, length));
	qs_top_batch_done(list);
	RESUME_INTERRUPTS();
}

/* Flush the list, and sort the candidates. */
void
TopMaterialize(TopState *top)
{
	TopFlush(top);
	qs_top_finish(&top->top, &top->sketch);
}

/* Raise an error if both lists have candidates, but only one list has texts of its keys. */
void
TopCheckSameTexts(const qs_top *a, const qs_top *b)
{
	if (a->count > 0 && b->count > 0 && a->texts != b->texts)
		ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
						errmsg("lists of top keys differ in how they keep their keys")));
}

/*
 * Count all buffered keys.  The removals are not subtracted, and the candidates are not sorted.  If
 * the buffer is empty, a sketch on a device stays on the device.
 */
static void
flush(KeyedState *state)
{
	if (state->buffer.count > 0)
		TopFlushAdded((TopState *) state);
}

/*
 * Return the size of a list that another process will merge.  The list is passed as a value with
 * sorted candidates, even if its flat encoding is a token.
 */
static Size
pass_bytes(KeyedState *state)
{
	TopState *top = (TopState *) state;

	TopFlushAdded(top);
	qs_top_finish(&top->top, &top->sketch);
	top->flat = qs_flat_listed(&top->sketch);
	return check_size(VARHDRSZ + qs_top_flat_size(&top->top, &top->flat));
}

static void
pass(KeyedState *state, void *offset, Size bytes)
{
	TopState *top = (TopState *) state;

	SET_VARSIZE(offset, bytes);
	qs_top_write(&top->top, &top->sketch, &top->flat, (uint8 *) VARDATA(offset));
}

/*
 * Return the size of the flat encoding.  Unless the state is passed on, or may be a token, the
 * removals are subtracted first.
 */
static Size
flat_bytes(KeyedState *state)
{
	if (!state->passed_on && !state->token)
		TopFlush((TopState *) state);
	return StateFlatBytes(state);
}

static void
take_back(KeyedState *state, Datum removals)
{
	SketchTakeBack(state, &((TopState *) state)->sketch, removals);
}

static void
merge(KeyedState *state, void *passed)
{
	qs_top view;
	qs_sketch sketch;

	TopOpen(&view, &sketch, passed);
	TopFlushAdded((TopState *) state);
	merge_list((TopState *) state, &view, &sketch);
}

/*
 * Raise an error unless two rows or states of a group have the same n.  If n differed, the result
 * would depend on the plan.
 */
void
TopCheckSameN(uint32 a, uint32 b)
{
	if (a != b)
		ereport(
			ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("number of top keys differs between rows of one group: %u and %u", b, a),
			 errhint("The key comes first, then its weight if there is one, then how many keys are "
					 "wanted.")));
}

static void
add(KeyedState *state, Datum datum, bool of_keys)
{
	TopState *top = (TopState *) state;
	TopReader reader;

	TopRead(&reader, datum);
	if (of_keys)
	{
		SketchCheckParams(&reader.sketch->params, &top->sketch.params);
		TopCheckSameN(reader.top->n, top->top.n);
	}
	TopCheckMergeable(top, &reader);
	TopFlushAdded(top);
	merge_list(top, reader.top, reader.sketch);
	TopReadEnd(&reader);
}

static void
release(KeyedState *state)
{
	TopState *top = (TopState *) state;

	free_column(top);
	qs_free(&top->sketch);
	qs_top_free(&top->top);
	KeyBufferFree(&state->buffer);
	SketchForgetRemoved(state);
	FreeArray((void **) &top->value);
	FreeArray((void **) &top->arena);
	top->arena_used = top->arena_size = 0;
}

const KeyedStateType top_state_type = {
	.methods = STATE_METHODS,
	.size = sizeof(TopState),
	.value = "a list of top keys",
	.context_name = "qtop",
	.states_context = "qtop states",
	.make_room = TopMakeRoom,
	.flush = flush,
	.copy = copy,
	.add = add,
	.merge = merge,
	.slices = &top_slices,
	.take_back = take_back,
	.release = release,
	.pass_bytes = pass_bytes,
	.pass = pass,
	.flat_bytes = flat_bytes,
};
