/*
 * groups_value.c
 *		Groups as values in temporary files.
 *
 * A group is written as its key, then its aggregates in their stored form: a day of
 * 20,000 users takes 135 kB.  Collections of sets are written as their rows, since sorting
 * them pays only at the end.  Keys of negative weight are written for themselves, because
 * the rows that they take back may be in another value of the group.
 *
 * src/scan/groups_value.c
 */
#include "scan/groups_state.h"

#include "miscadmin.h"
#include "utils/memutils.h"

/* A value of the key, before the bytes of a string. */
typedef struct WrittenField
{
	int64 bits;
	uint32 length; /* of the string */
	bool null;
} WrittenField;

/* An aggregate, before its bytes. */
typedef struct WrittenAggregate
{
	int64 members; /* or the rows of count, or the state of one of PostgreSQL's own */
	uint64 bytes;
	uint64 removed; /* bytes of the keys of negative weight; 0: none */
	bool stored;    /* the bytes are a value as it is stored */
	bool null;      /* these two of BuiltinState */
	bool none;
} WrittenAggregate;

/* Where a state has its keys of negative weight; NULL: its type has none. */
static SketchState **
removed_of(const ScanAggregate *column)
{
	SketchState *sketch = ScanAggregateState(column, &sketch_state_type);
	TopState *top = ScanAggregateState(column, &top_state_type);

	return sketch ? &sketch->removed : top ? &top->removed : NULL;
}

/* Exchange these keys.  Without them the state can be read before all rows that they take back. */
static SketchState *
exchange_removed(const ScanAggregate *column, SketchState *removed)
{
	SketchState **place = removed_of(column);
	SketchState *before = place ? *place : NULL;

	if (place)
		*place = removed;
	return before;
}

/* The bytes of a state, allocated here.  Collections of sets are passed as rows. */
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

/* Write a state that has counted something. */
static void
write_state(ScanSpill *spill, ScanAggregate *column)
{
	WrittenAggregate written = { .stored = !ScanAggregateState(column, &sets_state_type) };
	SketchState *removed = exchange_removed(column, NULL);
	const char *taken_back =
		removed ? bytes_of_state(&removed->keyed, true, &written.removed) : NULL;
	const char *bytes = bytes_of_state(column->state, written.stored, &written.bytes);

	(void) exchange_removed(column, removed);
	written.members = *ScanAggregateMembers(column);
	ScanSpillWrite(spill, &written, sizeof(written));
	ScanSpillWrite(spill, bytes, written.bytes);
	ScanSpillWrite(spill, taken_back, written.removed);
}

static void
write_aggregate(ScanSpill *spill, ScanAggregate *column)
{
	WrittenAggregate written = { .members = column->rows };
	const void *bytes = NULL;

	if (ScanAggregateState(column, &sets_state_type))
		ScanAggregateFlush(column); /* only then its members are known */
	if (column->state && column->state->members > 0)
	{
		write_state(spill, column);
		return;
	}
	if (column->builtin)
	{
		written.members = (int64) column->computed.value;
		written.null = column->computed.null;
		written.none = column->computed.none;
		bytes = BuiltinWrite(column->builtin, &column->computed, &written.bytes);
	}
	ScanSpillWrite(spill, &written, sizeof(written));
	ScanSpillWrite(spill, bytes, written.bytes);
}

static void
write_key(ScanSpill *spill, const GroupKey *key, const GroupValue *value)
{
	int i;

	ScanSpillBegin(spill, GroupKeyBits(key, value));
	for (i = 0; i < key->fields; i++)
	{
		const struct varlena *string = value[i].string;
		WrittenField field = { .bits = value[i].bits,
							   .length = string ? VARSIZE_ANY_EXHDR(string) : 0,
							   .null = value[i].null };

		ScanSpillWrite(spill, &field, sizeof(field));
		if (string)
			ScanSpillWrite(spill, VARDATA_ANY(string), field.length);
	}
}

/* Write a group.  Allocates the bytes of its aggregates. */
void
ScanGroupWrite(ScanGroups *groups, const ScanGroup *group)
{
	int i;

	write_key(groups->spill, groups->key, group->value);
	for (i = 0; i < groups->count; i++)
		write_aggregate(groups->spill, &group->column[i]);
}

/* Read the key of a value.  Strings are allocated here. */
void
ScanGroupReadKey(ScanGroups *groups, GroupValue *value)
{
	int i;

	for (i = 0; i < groups->key->fields; i++)
	{
		struct varlena *string = NULL;
		WrittenField field;

		ScanSpillRead(groups->spill, &field, sizeof(field));
		if (groups->key->field[i].kind == KEY_BYTES && !field.null)
		{
			string = MemoryContextAllocHuge(CurrentMemoryContext, VARHDRSZ + (Size) field.length);
			SET_VARSIZE(string, VARHDRSZ + field.length);
			ScanSpillRead(groups->spill, VARDATA(string), field.length);
		}
		value[i] = (GroupValue){ .bits = field.bits, .null = field.null, .string = string };
	}
}

/* Leave out the aggregates of a value, or write them with this key. */
void
ScanGroupPassOver(ScanGroups *groups, const GroupValue *key)
{
	WrittenAggregate written;
	int i;

	if (key)
		write_key(groups->spill, groups->key, key);
	for (i = 0; i < groups->count; i++)
	{
		ScanSpillRead(groups->spill, &written, sizeof(written));
		if (key)
		{
			ScanSpillWrite(groups->spill, &written, sizeof(written));
			ScanSpillCopy(groups->spill, written.bytes + written.removed);
		}
		else if (written.bytes + written.removed > 0)
			ScanSpillSkip(groups->spill, written.bytes + written.removed);
	}
}

static void *
read_bytes(ScanSpill *spill, uint64 size)
{
	void *bytes = MemoryContextAllocHuge(CurrentMemoryContext, size);

	ScanSpillRead(spill, bytes, size);
	return bytes;
}

/* Add a state that was written, and its keys of negative weight, to a state. */
static void
merge_state(ScanAggregate *column, void *bytes, void *taken_back)
{
	SketchState *removed = exchange_removed(column, NULL);
	const SketchState *sketch = ScanAggregateState(column, &sketch_state_type);

	StateTypeOf(column->state)->merge(column->state, bytes);
	if (taken_back && removed == NULL)
		removed = SketchCreate(column->state->header.eoh_context,
							   sketch ? &sketch->sketch.params
									  : &((TopState *) column->state)->sketch.params);
	if (taken_back)
		sketch_state_type.merge(&removed->keyed, taken_back);
	(void) exchange_removed(column, removed);
}

/* Add an aggregate that was written to one that is in memory. */
static void
merge_aggregate(ScanSpill *spill, const WrittenAggregate *written, ScanAggregate *column)
{
	void *bytes = written->bytes > 0 ? read_bytes(spill, written->bytes) : NULL;
	void *taken_back = written->removed > 0 ? read_bytes(spill, written->removed) : NULL;

	if (column->builtin)
	{
		BuiltinState computed = { .value = (Datum) written->members,
								  .null = written->null,
								  .none = written->none };

		BuiltinMerge(column->builtin, &column->computed, &computed, bytes);
	}
	else
		*ScanAggregateMembers(column) += written->members;
	if (bytes && column->state)
		merge_state(column, bytes, taken_back);
	if (bytes)
		pfree(bytes);
	if (taken_back)
		pfree(taken_back);
}

/* Merge the value at this place into a group's aggregates. */
void
ScanGroupMerge(ScanGroups *groups, const SpillPlace *place, ScanAggregate *column)
{
	int i;

	CHECK_FOR_INTERRUPTS();
	ScanSpillSeek(groups->spill, place);
	for (i = 0; i < groups->count; i++)
	{
		WrittenAggregate written;

		ScanSpillRead(groups->spill, &written, sizeof(written));
		merge_aggregate(groups->spill, &written, &column[i]);
	}
}

/*
 * The results of a group that has only the value at this place.  What was written as it is
 * stored needs no state.
 */
void
ScanGroupTake(ScanGroups *groups, const SpillPlace *place, ScanAggregate *column,
			  TupleTableSlot *slot)
{
	int i;

	CHECK_FOR_INTERRUPTS();
	ScanSpillSeek(groups->spill, place);
	for (i = 0; i < groups->count; i++)
	{
		WrittenAggregate written;

		ScanSpillRead(groups->spill, &written, sizeof(written));
		if (written.stored && written.removed == 0)
		{
			slot->tts_values[i] = PointerGetDatum(read_bytes(groups->spill, written.bytes));
			slot->tts_isnull[i] = false;
			continue;
		}
		ScanAggregateStart(&column[i], CurrentMemoryContext, false);
		merge_aggregate(groups->spill, &written, &column[i]);
		slot->tts_values[i] = ScanAggregateResult(&column[i], &slot->tts_isnull[i]);
	}
}
