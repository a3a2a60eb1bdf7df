/*
 * spill.c
 *		Writes groups to PostgreSQL's sort, which uses the disk, and merges them at the end.
 *
 * When groups exceed the memory limit, some of them are written and freed (use.c).  A written
 * group, its key with its states, is called a value.  A group that has further rows is made
 * again, so a key may have several values.  The values are sorted by the bits of their keys,
 * and the values of a key are merged at the end.
 *
 * A value is the key, then the aggregates in their stored form.  For example, the value of a day
 * with 20,000 users has 135 kB.  Collections of sets are written as rows, because sorting the rows
 * pays only at the end.  If a state has counted no keys yet, its buffered keys are in two cases
 * written instead of counts, and are buffered again when they are read.  A list of top keys is
 * written as keys, because most keys are no candidates when all rows are counted.  The sketch of a
 * group of few rows is written as keys, because counts would take longer to write and merge.  Keys
 * of negative weight are written separately, because the rows that they cancel may be in another
 * value of the group.
 *
 * A value may have any number of bytes, but a tuple of a sort must be smaller than 1 GB.  So a
 * value is cut into pieces.  The pieces are numbered, and the sort keeps the order of the
 * pieces of a value, and of the values of a key.
 *
 * Groups are merged and returned one by one, so that only one group is in memory.  If a group has
 * only one value, the aggregates that this value has in their stored form are returned unchanged.
 * Most groups have only one value if rows are in the order of groups.  Values of other keys with
 * the same bits are written to another sort, which is read next.
 *
 * src/scan/groups/spill.c
 */
#include "scan/groups/groups.h"

#include "catalog/pg_operator_d.h"
#include "catalog/pg_type_d.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "pg/sets_state.h"
#include "pg/sketch_state.h"
#include "pg/top_state.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/tuplesort.h"

/* The largest piece, in bytes. */
#define PIECE_BYTES (64 * 1024)

/*
 * Memory of a sort: the memory limit of the groups divided by SORT_DIVISOR, but at least
 * SORT_LEAST kB.
 */
#define SORT_DIVISOR 2
#define SORT_LEAST   64

/* Columns of the sort. */
enum
{
	COLUMN_BITS,
	COLUMN_NUMBER,
	COLUMN_PIECE,
	COLUMNS
};

struct ScanSpill
{
	MemoryContext context;
	int memory;              /* memory of a sort, in kB */
	Tuplesortstate *writing; /* the sort that receives values; NULL until a value is written */
	Tuplesortstate *reading; /* the sort that is read; NULL: no sort is read yet */
	TupleTableSlot *put;     /* slot of the tuple that is written */
	TupleTableSlot *got;     /* slot of the tuple that was read */

	struct varlena *piece; /* bytes of the value being written that are not in the sort yet */
	Size used;             /* number of these bytes */
	int64 bits;            /* bits of that value's key */
	int64 number;          /* number of pieces that were written */

	bool found;       /* a piece is being read, which the following members describe */
	int64 found_bits; /* bits of the key of the value that the piece belongs to */
	const char *from; /* bytes of the piece that were not read yet */
	Size left;
};

/* Create a spill.  "limit": the memory limit of all groups, in bytes. */
ScanSpill *
ScanSpillCreate(MemoryContext context, Size limit)
{
	MemoryContext old = MemoryContextSwitchTo(context);
	ScanSpill *spill = palloc0(sizeof(ScanSpill));
	TupleDesc columns = CreateTemplateTupleDesc(COLUMNS);

	TupleDescInitEntry(columns, COLUMN_BITS + 1, "bits", INT8OID, -1, 0);
	TupleDescInitEntry(columns, COLUMN_NUMBER + 1, "number", INT8OID, -1, 0);
	TupleDescInitEntry(columns, COLUMN_PIECE + 1, "piece", BYTEAOID, -1, 0);
#if PG_VERSION_NUM >= 190000
	TupleDescFinalize(columns);
#endif
	spill->context = context;
	spill->memory = (int) Max(SORT_LEAST, Min(limit / SORT_DIVISOR / 1024, MAX_KILOBYTES));
	spill->put = MakeSingleTupleTableSlot(columns, &TTSOpsVirtual);
	spill->got = MakeSingleTupleTableSlot(columns, &TTSOpsMinimalTuple);
	spill->piece = palloc(VARHDRSZ + PIECE_BYTES);
	MemoryContextSwitchTo(old);
	return spill;
}

/* ---- the sort ---- */

static Tuplesortstate *
begin_sort(const ScanSpill *spill)
{
	AttrNumber column[] = { COLUMN_BITS + 1, COLUMN_NUMBER + 1 };
	Oid less[] = { Int8LessOperator, Int8LessOperator };
	Oid collation[] = { InvalidOid, InvalidOid };
	bool nulls_first[] = { false, false };
	MemoryContext old = MemoryContextSwitchTo(spill->context);
	Tuplesortstate *sort =
		tuplesort_begin_heap(spill->put->tts_tupleDescriptor, lengthof(column), column, less,
							 collation, nulls_first, spill->memory, NULL, TUPLESORT_NONE);

	MemoryContextSwitchTo(old);
	return sort;
}

static void
end_sort(Tuplesortstate **sort)
{
	if (*sort)
		tuplesort_end(*sort);
	*sort = NULL;
}

/* Drop all values. */
void
ScanSpillReset(ScanSpill *spill)
{
	ExecClearTuple(spill->got);
	end_sort(&spill->reading);
	end_sort(&spill->writing);
	spill->found = false;
}

/* Write the piece to the sort. */
static void
put_piece(ScanSpill *spill)
{
	TupleTableSlot *slot = spill->put;

	if (spill->writing == NULL)
		spill->writing = begin_sort(spill);
	SET_VARSIZE(spill->piece, VARHDRSZ + spill->used);
	ExecClearTuple(slot);
	memset(slot->tts_isnull, false, COLUMNS * sizeof(bool));
	slot->tts_values[COLUMN_BITS] = Int64GetDatum(spill->bits);
	slot->tts_values[COLUMN_NUMBER] = Int64GetDatum(spill->number++);
	slot->tts_values[COLUMN_PIECE] = PointerGetDatum(spill->piece);
	ExecStoreVirtualTuple(slot);
	tuplesort_puttupleslot(spill->writing, slot);
	spill->used = 0;
}

static void
spill_write(ScanSpill *spill, const void *bytes, Size length)
{
	while (length > 0)
	{
		Size some = Min(length, PIECE_BYTES - spill->used);

		memcpy(VARDATA(spill->piece) + spill->used, bytes, some);
		spill->used += some;
		bytes = (const char *) bytes + some;
		length -= some;
		if (spill->used == PIECE_BYTES)
			put_piece(spill);
	}
}

static void
end_value(ScanSpill *spill)
{
	if (spill->used > 0)
		put_piece(spill);
}

/* Read the next piece.  If no piece is left, spill->found becomes false. */
static void
next_piece(ScanSpill *spill)
{
	const struct varlena *piece;

	CHECK_FOR_INTERRUPTS();
	spill->found = tuplesort_gettupleslot(spill->reading, true, false, spill->got, NULL);
	if (!spill->found)
		return;
	slot_getallattrs(spill->got);
	piece = (const struct varlena *) DatumGetPointer(spill->got->tts_values[COLUMN_PIECE]);
	spill->found_bits = DatumGetInt64(spill->got->tts_values[COLUMN_BITS]);
	spill->from = VARDATA_ANY(piece);
	spill->left = VARSIZE_ANY_EXHDR(piece);
}

/* Read bytes of a value.  After the last bytes of a value, the next value's first piece is read. */
static void
spill_read(ScanSpill *spill, void *bytes, Size length)
{
	while (length > 0)
	{
		Size some = Min(length, spill->left);

		if (!spill->found)
			elog(ERROR, "group that was written is not complete");
		memcpy(bytes, spill->from, some);
		bytes = (char *) bytes + some;
		spill->from += some;
		spill->left -= some;
		length -= some;
		if (spill->left == 0)
			next_piece(spill);
	}
}

/* Find the next value that was written; false: no value is left. */
static bool
find_value(ScanSpill *spill)
{
	while (!spill->found && spill->writing)
	{
		ExecClearTuple(spill->got);
		end_sort(&spill->reading);
		tuplesort_performsort(spill->writing);
		spill->reading = spill->writing;
		spill->writing = NULL;
		next_piece(spill);
	}
	return spill->found;
}

/* ---- a group as a value ---- */

/* A written field of the key.  The bytes of a string follow it. */
typedef struct WrittenField
{
	int64 bits;
	uint32 length; /* bytes of the string */
	bool null;
	bool minus;
} WrittenField;

/* A written aggregate.  Its bytes follow it. */
typedef struct WrittenAggregate
{
	int64 count; /* number of keys; for count: number of rows; for "builtin": its state's value */
	uint64 bytes;
	uint64 removed; /* bytes of the keys of negative weight; 0: none */
	int waiting;    /* number of buffered keys that are written; 0: a state is written */
	uint32 text;    /* qb_text of the buffered keys */
	bool weighted;  /* the weights of the keys follow the keys */
	bool stored;    /* the bytes are a state in its stored form */
	bool null;      /* "null" and "none" of BuiltinState */
	bool none;
} WrittenAggregate;

/*
 * The bytes of a state, allocated in the current memory context.  A collection of sets is
 * written as rows.
 */
static char *
bytes_of_state(KeyedState *state, bool stored, uint64 *size)
{
	char *bytes;

	*size = stored ? EOH_get_flat_size(&state->header) : StatePassBytes(state);
	bytes = MemoryContextAllocHuge(CurrentMemoryContext, *size);
	if (stored)
		EOH_flatten_into(&state->header, bytes, *size);
	else
		StatePass(state, bytes, *size);
	return bytes;
}

/*
 * Maximum number of a sketch's keys that are written as keys.  More keys are written as counts,
 * which take fewer bytes.
 */
#define KEYS_MOST 16

/* True if a sketch or list has counted no keys yet, and its buffered keys are written as keys. */
static bool
keys_wait(const ScanAggregate *aggregate)
{
	const TopState *top = ScanAggregateState(aggregate, &top_state_type);
	const SketchState *state = ScanAggregateState(aggregate, &sketch_state_type);
	const qs_sketch *sketch = top ? &top->sketch : &state->sketch;
	int count = aggregate->state->buffer.count;

	if (top && top->column)
		return false;
	if (count == 0 || (top == NULL && (state == NULL || count > KEYS_MOST)))
		return false;
	return sketch->encoding == QS_EXPLICIT && sketch->remote == NULL && sketch->total == 0;
}

/* The list if its buffered keys have texts; NULL: the state is no such list. */
static TopState *
list_of_texts(KeyedState *state)
{
	TopState *top = (TopState *) state;

	return StateTypeOf(state) == &top_state_type && top->top.texts ? top : NULL;
}

/*
 * Set the members of "written" that describe the buffered keys.  written->bytes is the number of
 * bytes that write_keys() will write.
 */
static void
describe_keys(KeyedState *state, WrittenAggregate *written)
{
	const TopState *top = list_of_texts(state);
	int count = state->buffer.count;

	written->waiting = count;
	written->text = state->key.keys.text;
	written->weighted = state->buffer.weight != NULL;
	written->bytes = count * (written->weighted ? 2 : 1) * sizeof(uint64) +
					 (top ? count * sizeof(Datum) + top->arena_used : 0);
}

/*
 * Write the buffered keys: fingerprints, then weights.  For a list of texts, its values and
 * their bytes follow.
 */
static void
write_keys(ScanSpill *spill, KeyedState *state)
{
	const TopState *top = list_of_texts(state);
	const KeyBuffer *keys = &state->buffer;

	spill_write(spill, keys->fingerprint, keys->count * sizeof(uint64));
	if (keys->weight)
		spill_write(spill, keys->weight, keys->count * sizeof(int64));
	if (top)
	{
		spill_write(spill, top->value, keys->count * sizeof(Datum));
		spill_write(spill, top->arena, top->arena_used);
	}
}

/* Write a state that has counted or buffered keys. */
static void
write_state(ScanSpill *spill, ScanAggregate *aggregate)
{
	WrittenAggregate written = { .count = *ScanAggregateCount(aggregate) };
	KeyedState *state = aggregate->state;
	KeyedState *removed = state->removed;
	const char *taken_back = removed ? bytes_of_state(removed, true, &written.removed) : NULL;
	const char *bytes = NULL;
	bool wait = keys_wait(aggregate);

	state->removed = NULL;
	written.stored = !wait && !ScanAggregateState(aggregate, &sets_state_type);
	if (wait)
		describe_keys(state, &written);
	else
		bytes = bytes_of_state(state, written.stored, &written.bytes);
	state->removed = removed;
	spill_write(spill, &written, sizeof(written));
	if (wait)
		write_keys(spill, state);
	else
		spill_write(spill, bytes, written.bytes);
	spill_write(spill, taken_back, written.removed);
}

static void
write_aggregate(ScanSpill *spill, ScanAggregate *aggregate)
{
	WrittenAggregate written = { .count = aggregate->rows };
	const void *bytes = NULL;

	if (ScanAggregateState(aggregate, &sets_state_type))
		ScanAggregateFlush(aggregate); /* adds the buffered rows to state->count */
	if (aggregate->state && aggregate->state->count > 0)
	{
		write_state(spill, aggregate);
		return;
	}
	if (aggregate->builtin)
	{
		written.count = (int64) aggregate->computed.value;
		written.null = aggregate->computed.null;
		written.none = aggregate->computed.none;
		bytes = BuiltinWrite(aggregate->builtin, &aggregate->computed, &written.bytes);
	}
	spill_write(spill, &written, sizeof(written));
	spill_write(spill, bytes, written.bytes);
}

static void
write_key(ScanSpill *spill, const GroupKey *key, const GroupValue *value)
{
	int i;

	spill->bits = GroupKeyBits(key, value);
	for (i = 0; i < key->fields; i++)
	{
		const struct varlena *string = value[i].string;
		WrittenField field = { .bits = value[i].bits,
							   .length = string ? VARSIZE_ANY_EXHDR(string) : 0,
							   .null = value[i].null,
							   .minus = value[i].minus };

		spill_write(spill, &field, sizeof(field));
		if (string)
			spill_write(spill, VARDATA_ANY(string), field.length);
	}
}

/* Write a group.  The current memory context receives the bytes of its aggregates. */
void
ScanGroupWrite(ScanGroups *groups, const ScanGroup *group)
{
	int i;

	write_key(groups->spill, groups->key, group->value);
	for (i = 0; i < groups->count; i++)
		write_aggregate(groups->spill, &group->aggregate[i]);
	end_value(groups->spill);
}

/* Read the key of a value.  Strings are allocated in the current memory context. */
static void
read_key(ScanGroups *groups, GroupValue *value)
{
	int i;

	for (i = 0; i < groups->key->fields; i++)
	{
		struct varlena *string = NULL;
		WrittenField field;

		spill_read(groups->spill, &field, sizeof(field));
		if (GroupIsString(groups->key->field[i].kind) && !field.null)
		{
			string = MemoryContextAllocHuge(CurrentMemoryContext, VARHDRSZ + (Size) field.length);
			SET_VARSIZE(string, VARHDRSZ + field.length);
			spill_read(groups->spill, VARDATA(string), field.length);
		}
		value[i] = (GroupValue){
			.bits = field.bits, .null = field.null, .minus = field.minus, .string = string
		};
	}
}

/* An aggregate that was read. */
typedef struct ReadAggregate
{
	WrittenAggregate written;
	void *bytes;
	void *taken_back; /* the keys of negative weight, or NULL */
} ReadAggregate;

static void *
read_bytes(ScanSpill *spill, uint64 size)
{
	void *bytes = size > 0 ? MemoryContextAllocHuge(CurrentMemoryContext, size) : NULL;

	spill_read(spill, bytes, size);
	return bytes;
}

static void
read_aggregate(ScanSpill *spill, ReadAggregate *read)
{
	spill_read(spill, &read->written, sizeof(read->written));
	read->bytes = read_bytes(spill, read->written.bytes);
	read->taken_back = read_bytes(spill, read->written.removed);
}

static void
free_read(ReadAggregate *read)
{
	FreeArray(&read->bytes);
	FreeArray(&read->taken_back);
}

/* Add a key that was written from a buffer.  A list of texts also receives the key's value. */
static void
put_key(KeyedState *state, uint64 key, int64 weight, const Datum *value, char *arena)
{
	TopState *top = list_of_texts(state);

	if (top)
		TopAppend(top, key, state->key.by_value ? *value : PointerGetDatum(arena + *value), weight);
	else
	{
		if (KeyBufferIsFull(&state->buffer))
			StateTypeOf(state)->make_room(state);
		KeyBufferAppend(&state->buffer, key, weight);
	}
}

static void
put_keys(KeyedState *state, const WrittenAggregate *written, void *bytes)
{
	const uint64 *key = bytes;
	const int64 *weight = written->weighted ? (const int64 *) (key + written->waiting) : NULL;
	const Datum *value = (const Datum *) (key + (weight ? 2 : 1) * written->waiting);
	char *arena = (char *) (uintptr_t) (value + written->waiting);
	int i;

	if (written->text == QB_TEXT_BYTES)
		state->key.keys.text = QB_TEXT_BYTES;
	for (i = 0; i < written->waiting; i++)
		put_key(state, key[i], weight ? weight[i] : 1, value + i, arena);
}

/* Merge a written state, and its keys of negative weight, into a state. */
static void
merge_state(KeyedState *state, const ReadAggregate *read)
{
	if (read->written.waiting > 0)
		put_keys(state, &read->written, read->bytes);
	else
		StateTypeOf(state)->merge(state, read->bytes);
	if (read->taken_back)
		StateTypeOf(state)->take_back(state, PointerGetDatum(read->taken_back));
}

/* Merge a written aggregate into an aggregate in memory. */
static void
merge_aggregate(ScanAggregate *aggregate, const ReadAggregate *read)
{
	const WrittenAggregate *written = &read->written;

	if (aggregate->builtin)
	{
		BuiltinState computed = { .value = (Datum) written->count,
								  .null = written->null,
								  .none = written->none };

		BuiltinMerge(aggregate->builtin, &aggregate->computed, &computed, read->bytes);
	}
	else
		*ScanAggregateCount(aggregate) += written->count;
	if (read->bytes && aggregate->state)
		merge_state(aggregate->state, read);
}

/* ---- reading and merging groups ---- */

/*
 * A group that is being read: its first value, or the aggregates into which its values are
 * merged.
 */
typedef struct MergedGroup
{
	ReadAggregate *first; /* NULL: the first value was merged */
	GroupValue *other;    /* buffer for the key of a further value */
} MergedGroup;

/* Start an aggregate of the group, and merge the first value into it. */
static void
begin_aggregate(ScanGroups *groups, int i, ReadAggregate *first)
{
	ScanAggregateStart(&groups->merged[i], groups->result, false);
	ScanAggregateWait(&groups->merged[i], &groups->kept);
	merge_aggregate(&groups->merged[i], first);
	free_read(first);
}

/* Merge a value, whose key was read, into the group. */
static void
merge_value(ScanGroups *groups, MergedGroup *group)
{
	ReadAggregate read;
	int i;

	for (i = 0; group->first && i < groups->count; i++)
		begin_aggregate(groups, i, &group->first[i]);
	group->first = NULL;
	for (i = 0; i < groups->count; i++)
	{
		read_aggregate(groups->spill, &read);
		merge_aggregate(&groups->merged[i], &read);
		free_read(&read);
	}
}

/*
 * Write a value again after its key was read.  The value belongs to another group: its key has the
 * same bits as the key being merged, but is a different key.
 */
static void
write_again(ScanGroups *groups, const GroupValue *key)
{
	ReadAggregate read;
	int i;

	write_key(groups->spill, groups->key, key);
	for (i = 0; i < groups->count; i++)
	{
		read_aggregate(groups->spill, &read);
		spill_write(groups->spill, &read.written, sizeof(read.written));
		spill_write(groups->spill, read.bytes, read.written.bytes);
		spill_write(groups->spill, read.taken_back, read.written.removed);
		free_read(&read);
	}
	end_value(groups->spill);
}

/*
 * Read the other values with these bits.  Values of the same key are merged, values of
 * different keys are written again.
 */
static void
merge_others(ScanGroups *groups, MergedGroup *group, int64 bits)
{
	MemoryContext old = MemoryContextSwitchTo(groups->scratch);

	while (groups->spill->found && groups->spill->found_bits == bits)
	{
		CHECK_FOR_INTERRUPTS();
		read_key(groups, group->other);
		if (GroupValuesAreEqual(groups->key, groups->value, group->other))
			merge_value(groups, group);
		else
			write_again(groups, group->other);
		MemoryContextReset(groups->scratch);
	}
	MemoryContextSwitchTo(old);
}

/*
 * Store an aggregate in the slot.  If the group's only value has the aggregate in its stored
 * form, without keys of negative weight, this form is the result, and no state is made.
 */
static void
store_aggregate(ScanGroups *groups, int i, ReadAggregate *first, TupleTableSlot *slot)
{
	if (first && first->written.stored && first->taken_back == NULL)
	{
		slot->tts_values[i] = PointerGetDatum(first->bytes);
		slot->tts_isnull[i] = false;
		return;
	}
	if (first)
		begin_aggregate(groups, i, first);
	slot->tts_values[i] = ScanAggregateResult(&groups->merged[i], &slot->tts_isnull[i]);
}

/*
 * Merge the values of the next written group.  The group's aggregates are stored in the slot, and
 * last until ScanGroupsMergedEnd().  The group's key is in groups->value.  False: no group is left.
 */
bool
ScanGroupsMerged(ScanGroups *groups, TupleTableSlot *slot)
{
	MemoryContext old = MemoryContextSwitchTo(groups->result);
	bool found = find_value(groups->spill);
	MergedGroup group;
	int64 bits = groups->spill->found_bits;
	int i;

	if (found)
	{
		group.first = palloc(groups->count * sizeof(ReadAggregate));
		group.other = palloc(groups->key->fields * sizeof(GroupValue));
		memcpy(groups->merged, groups->model, groups->count * sizeof(ScanAggregate));
		read_key(groups, groups->value);
		for (i = 0; i < groups->count; i++)
			read_aggregate(groups->spill, &group.first[i]);
		merge_others(groups, &group, bits);
		for (i = 0; i < groups->count; i++)
			store_aggregate(groups, i, group.first ? &group.first[i] : NULL, slot);
	}
	MemoryContextSwitchTo(old);
	return found;
}

/* Free the aggregates of the last ScanGroupsMerged(). */
void
ScanGroupsMergedEnd(ScanGroups *groups)
{
	int i;

	for (i = 0; i < groups->count; i++)
	{
		KeyedState *state = groups->merged[i].state;

		if (state)
			StateTypeOf(state)->release(state);
		groups->merged[i].state = NULL;
	}
	MemoryContextReset(groups->result);
}
