/*
 * groups_spill.c
 *		Groups as values in temporary files, and the groups that are made of the values in the end.
 *
 * When groups take too much memory, some of them are written to files, each as one value
 * with its key, and are freed (groups_use.c).  A group whose rows go on is made anew,
 * so a key may have several values.  They are merged at the end.
 *
 * A value is the key, then the aggregates in their stored form: a day of 20,000 users takes
 * 135 kB.  Collections of sets are written as their rows, since sorting them pays only at
 * the end.  Keys of lists that still wait are written as they are, 8 bytes each, and wait again: few
 * of them are candidates when all have come.  Keys of negative weight are written for themselves,
 * because the rows that they take back may be in another value of the group.  A value is written as
 * any number of pieces of bytes, and read in the same way: in the order of the file, or from an offset
 * that was noted.
 *
 * All values of a key go into the same file, one of some, chosen by a hash of the key's
 * bits.  Then one file after the other is read.  If it has too many keys for the memory that
 * their offsets take, its values are divided among files again, by another hash, so that a level
 * divides what those before it left together.
 *
 * First the keys of a file are read, to find the offsets of each group's values.  Then one
 * group after the other is merged and returned, so that memory has one group at a time.
 * The groups come in the order of their first values.  A group that has only one value, as
 * most have where rows come in the order of their groups, is returned as it was written.
 *
 * src/scan/groups_spill.c
 */
#include "scan/groups.h"

#include "base/slot.h"
#include "miscadmin.h"
#include "pg/sets_state.h"
#include "pg/sketch_state.h"
#include "pg/top_state.h"
#include "storage/buffile.h"
#include "utils/memutils.h"

#define PARTITIONS_MAX 64
#define PARTS_LEAST    8

/* Fractions of the limit: the buffers of all files, and a file that is read at once. */
#define BUFFERS_SHARE 8
#define LOADED_SHARE  4

/* Bytes that are read or copied at a time. */
#define COPY_BYTES (8 * BLCKSZ)

typedef struct SpillPartition
{
	BufFile *file;
	uint64 values;
	Size bytes;
	int level; /* how often these values were divided before */
} SpillPartition;

struct ScanSpill
{
	MemoryContext context;
	Size limit;                                /* of memory, for all groups */
	int partitions;                            /* among which values are divided */
	SpillPartition *partition[PARTITIONS_MAX]; /* to which values are written; NULL: none yet */
	SpillPartition *writing;                   /* the one of the last value */
	SpillPartition *reading;                   /* NULL: the values come from the table */
	char *loaded;                              /* its bytes, if they are few; else NULL */
	Size at;                                   /* where they are read */
	uint64 left;                               /* values of "reading" that were not read yet */
	List *waiting;                             /* partitions that wait to be read */
};

/* The limit is that of the memory of all groups. */
ScanSpill *
ScanSpillCreate(MemoryContext context, Size limit)
{
	ScanSpill *spill = MemoryContextAllocZero(context, sizeof(ScanSpill));
	Size partitions = limit / BUFFERS_SHARE / BLCKSZ;

	spill->context = context;
	spill->limit = limit;
	spill->partitions = (int) Max(PARTS_LEAST, Min(partitions, PARTITIONS_MAX));
	return spill;
}

/* How often the values that are written now were divided before. */
static int
level_of(const ScanSpill *spill)
{
	return spill->reading ? spill->reading->level + 1 : 0;
}

static void
close_partition(SpillPartition *partition)
{
	if (partition == NULL)
		return;
	BufFileClose(partition->file);
	pfree(partition);
}

/*
 * Begin to write a value whose key has these bits.  The hash that chooses its partition is not the
 * one that finds a group's slot, or all groups of a partition would crowd in a small region of their
 * table.
 */
static void
begin_value(ScanSpill *spill, int64 bits)
{
	uint64 hash = qb_slot_hash_wide((uint64) bits, (uint64) level_of(spill));
	SpillPartition **partition = &spill->partition[qb_slot_of(hash, spill->partitions)];

	if (*partition == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(spill->context);

		*partition = palloc0(sizeof(SpillPartition));
		(*partition)->file = BufFileCreateTemp(false);
		(*partition)->level = level_of(spill);
		MemoryContextSwitchTo(old);
	}
	(*partition)->values++;
	spill->writing = *partition;
}

static void
spill_write(ScanSpill *spill, const void *bytes, Size length)
{
	if (length > 0)
		BufFileWrite(spill->writing->file, (void *) (uintptr_t) bytes, length);
	spill->writing->bytes += length;
}

/* Queue the partitions that were written.  They go first, so that few files exist at a time. */
static void
end_writing(ScanSpill *spill)
{
	MemoryContext old = MemoryContextSwitchTo(spill->context);
	int i;

	close_partition(spill->reading);
	spill->reading = spill->writing = NULL;
	if (spill->loaded)
		pfree(spill->loaded);
	spill->loaded = NULL;
	for (i = 0; i < spill->partitions; i++)
		if (spill->partition[i])
			spill->waiting = lcons(spill->partition[i], spill->waiting);
	memset(spill->partition, 0, sizeof(spill->partition));
	MemoryContextSwitchTo(old);
}

static void
fail(const char *what)
{
	ereport(ERROR,
			(errcode_for_file_access(), errmsg("could not %s a temporary file of groups", what)));
}

/* Where the next bytes will be read. */
static SpillOffset
spill_tell(const ScanSpill *spill)
{
	SpillOffset offset = { .offset = (off_t) spill->at };

	if (spill->loaded == NULL)
		BufFileTell(spill->reading->file, &offset.file, &offset.offset);
	return offset;
}

static void
spill_seek(ScanSpill *spill, const SpillOffset *offset)
{
	spill->at = (Size) offset->offset;
	if (spill->loaded == NULL &&
		BufFileSeek(spill->reading->file, offset->file, offset->offset, SEEK_SET) != 0)
		fail("seek in");
}

static void
read_file(BufFile *file, char *bytes, Size length)
{
	while (length > 0)
	{
		Size some = Min(length, COPY_BYTES);

		CHECK_FOR_INTERRUPTS();
		if (BufFileRead(file, bytes, some) != some)
			fail("read from");
		bytes += some;
		length -= some;
	}
}

static void
spill_read(ScanSpill *spill, void *bytes, Size length)
{
	if (spill->loaded)
		memcpy(bytes, spill->loaded + spill->at, length);
	else
		read_file(spill->reading->file, bytes, length);
	spill->at += length;
}

/* Read the partition from its first value on. */
static void
spill_rewind(ScanSpill *spill)
{
	spill_seek(spill, &(SpillOffset){ 0 });
	spill->left = spill->reading->values;
}

/* Read all bytes of a partition that is small: single values are read much faster then. */
static void
load(ScanSpill *spill)
{
	Size size = spill->reading->bytes;
	char *bytes;

	if (size > spill->limit / LOADED_SHARE)
		return;
	bytes = MemoryContextAllocHuge(spill->context, size);
	spill_read(spill, bytes, size);
	spill->loaded = bytes;
	spill_rewind(spill);
}

/* Begin to read the next partition; false: there is none. */
static bool
next_partition(ScanSpill *spill)
{
	end_writing(spill);
	if (spill->waiting == NIL)
		return false;
	spill->reading = linitial(spill->waiting);
	spill->waiting = list_delete_first(spill->waiting);
	spill_rewind(spill);
	load(spill);
	return true;
}

/* Go on to the next value of the partition, all of whose bytes were read; false: there is none. */
static bool
next_value(ScanSpill *spill)
{
	if (spill->left == 0)
		return false;
	spill->left--;
	return true;
}

/* Leave out bytes of a value. */
static void
spill_skip(ScanSpill *spill, Size length)
{
	spill->at += length;
	if (spill->loaded == NULL &&
		BufFileSeek(spill->reading->file, 0, (off_t) length, SEEK_CUR) != 0)
		fail("seek in");
}

/* Copy bytes of the value that is read to the value that is written. */
static void
spill_copy(ScanSpill *spill, Size length)
{
	char *bytes = palloc(Min(length, COPY_BYTES));

	while (length > 0)
	{
		Size some = Min(length, COPY_BYTES);

		spill_read(spill, bytes, some);
		spill_write(spill, bytes, some);
		length -= some;
	}
	pfree(bytes);
}

/* Drop all partitions. */
void
ScanSpillReset(ScanSpill *spill)
{
	ListCell *cell;

	end_writing(spill);
	foreach (cell, spill->waiting)
		close_partition(lfirst(cell));
	list_free(spill->waiting);
	spill->waiting = NIL;
}

/* ---- a group as a value ---- */

/* A value of the key, before the bytes of a string. */
typedef struct WrittenField
{
	int64 bits;
	uint32 length; /* of the string */
	bool null;
	bool minus;
} WrittenField;

/* An aggregate, before its bytes. */
typedef struct WrittenAggregate
{
	int64 count; /* or the rows of count, or the state of one of PostgreSQL's own */
	uint64 bytes;
	uint64 waiting; /* the bytes are so many keys that wait, then their weights; 0: a state */
	uint64 removed; /* bytes of the keys of negative weight; 0: none */
	bool stored;    /* the bytes are a value as it is stored */
	bool null;      /* these two of BuiltinState */
	bool none;
} WrittenAggregate;

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

/* The keys that wait in a list, if it has counted none yet; NULL: it has, or it is no list. */
static const KeyBuffer *
waiting_keys(const ScanAggregate *aggregate)
{
	const TopState *top = ScanAggregateState(aggregate, &top_state_type);

	if (top == NULL || !ScanAggregateWaits(aggregate) || top->sketch.total > 0 ||
		top->keyed.buffer.count == 0)
		return NULL;
	return &top->keyed.buffer;
}

static void
write_keys(ScanSpill *spill, const KeyBuffer *keys)
{
	Size bytes = keys->count * sizeof(uint64);

	spill_write(spill, keys->fingerprint, bytes);
	spill_write(spill, keys->weight, keys->weight ? bytes : 0);
}

/* Write a state that has counted something, or has keys that wait for that. */
static void
write_state(ScanSpill *spill, ScanAggregate *aggregate)
{
	WrittenAggregate written = { .count = *ScanAggregateCount(aggregate) };
	const KeyBuffer *keys = waiting_keys(aggregate);
	KeyedState *removed = aggregate->state->removed;
	const char *taken_back = removed ? bytes_of_state(removed, true, &written.removed) : NULL;
	const char *bytes = NULL;

	aggregate->state->removed = NULL;
	written.stored = keys == NULL && !ScanAggregateState(aggregate, &sets_state_type);
	if (keys)
	{
		written.waiting = keys->count;
		written.bytes = keys->count * (keys->weight ? 2 : 1) * sizeof(uint64);
	}
	else
		bytes = bytes_of_state(aggregate->state, written.stored, &written.bytes);
	aggregate->state->removed = removed;
	spill_write(spill, &written, sizeof(written));
	if (keys)
		write_keys(spill, keys);
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
		ScanAggregateFlush(aggregate); /* only then what it has counted is known */
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

	begin_value(spill, GroupKeyBits(key, value));
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

/* Write a group.  Allocates the bytes of its aggregates. */
void
ScanGroupWrite(ScanGroups *groups, const ScanGroup *group)
{
	int i;

	write_key(groups->spill, groups->key, group->value);
	for (i = 0; i < groups->count; i++)
		write_aggregate(groups->spill, &group->aggregate[i]);
}

/* Read the key of a value.  Strings are allocated here. */
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

/* Leave out the aggregates of a value, or write them with this key. */
static void
pass_over(ScanGroups *groups, const GroupValue *key)
{
	WrittenAggregate written;
	int i;

	if (key)
		write_key(groups->spill, groups->key, key);
	for (i = 0; i < groups->count; i++)
	{
		spill_read(groups->spill, &written, sizeof(written));
		if (key)
		{
			spill_write(groups->spill, &written, sizeof(written));
			spill_copy(groups->spill, written.bytes + written.removed);
		}
		else if (written.bytes + written.removed > 0)
			spill_skip(groups->spill, written.bytes + written.removed);
	}
}

static void *
read_bytes(ScanSpill *spill, uint64 size)
{
	void *bytes = MemoryContextAllocHuge(CurrentMemoryContext, size);

	spill_read(spill, bytes, size);
	return bytes;
}

/* Put keys that waited into a state. */
static void
put_keys(KeyedState *state, const WrittenAggregate *written, const uint64 *key)
{
	bool weighted = written->bytes > written->waiting * sizeof(uint64);
	const int64 *weight = weighted ? (const int64 *) (key + written->waiting) : NULL;
	uint64 i;

	for (i = 0; i < written->waiting; i++)
	{
		if (KeyBufferIsFull(&state->buffer))
			StateTypeOf(state)->make_room(state);
		KeyBufferAppend(&state->buffer, key[i], weight ? weight[i] : 1);
	}
}

/* Add a state that was written, and its keys of negative weight, to a state. */
static void
merge_state(ScanAggregate *aggregate, const WrittenAggregate *written, void *bytes,
			void *taken_back)
{
	if (written->waiting > 0)
		put_keys(aggregate->state, written, bytes);
	else
		StateTypeOf(aggregate->state)->merge(aggregate->state, bytes);
	if (taken_back)
		StateTypeOf(aggregate->state)->take_back(aggregate->state, PointerGetDatum(taken_back));
}

/* Add an aggregate that was written to one that is in memory. */
static void
merge_aggregate(ScanSpill *spill, const WrittenAggregate *written, ScanAggregate *aggregate)
{
	void *bytes = written->bytes > 0 ? read_bytes(spill, written->bytes) : NULL;
	void *taken_back = written->removed > 0 ? read_bytes(spill, written->removed) : NULL;

	if (aggregate->builtin)
	{
		BuiltinState computed = { .value = (Datum) written->count,
								  .null = written->null,
								  .none = written->none };

		BuiltinMerge(aggregate->builtin, &aggregate->computed, &computed, bytes);
	}
	else
		*ScanAggregateCount(aggregate) += written->count;
	if (bytes && aggregate->state)
		merge_state(aggregate, written, bytes, taken_back);
	if (bytes)
		pfree(bytes);
	if (taken_back)
		pfree(taken_back);
}

/* ---- the groups of values ---- */

/* A partition is divided at most so often: keys that one hash does not divide are divided by another. */
#define MOST_LEVELS 8

/* Find the offsets of all values; false: there is no memory for so many. */
static bool
find_values(ScanGroups *groups)
{
	int level = level_of(groups->spill);

	while (next_value(groups->spill))
	{
		WrittenGroup *written;
		ScanGroup *group;

		CHECK_FOR_INTERRUPTS();
		read_key(groups, groups->value);
		group = ScanGroupOfKey(groups, true);
		written = MemoryContextAllocZero(groups->context, sizeof(WrittenGroup));
		written->offset = spill_tell(groups->spill);
		if (group->written)
			group->written_last->next = written;
		else
			group->written = written;
		group->written_last = written;
		pass_over(groups, NULL);
		MemoryContextReset(groups->scratch);
		if (groups->groups > 1 && level <= MOST_LEVELS && ScanGroupsMemory(groups) > groups->limit)
			return false;
	}
	return true;
}

/* Divide the partition that is read. */
static void
divide(ScanGroups *groups)
{
	spill_rewind(groups->spill);
	while (next_value(groups->spill))
	{
		CHECK_FOR_INTERRUPTS();
		read_key(groups, groups->value);
		pass_over(groups, groups->value);
		MemoryContextReset(groups->scratch);
	}
}

/* Begin to return the groups of the next partition; false: there is none. */
bool
ScanGroupsReadPartition(ScanGroups *groups)
{
	MemoryContext old = MemoryContextSwitchTo(groups->scratch);
	bool found = false;

	while (!found && next_partition(groups->spill))
	{
		ScanGroupsClear(groups);
		found = find_values(groups);
		if (!found)
			divide(groups);
	}
	MemoryContextSwitchTo(old);
	return found;
}

/*
 * Merge the value at this offset into a group's aggregates.  "slot": it is the group's only value,
 * so what was written as it is stored is the result, and needs no state; NULL: it is not.
 */
static void
merge_at(ScanGroups *groups, const SpillOffset *offset, TupleTableSlot *slot)
{
	int i;

	CHECK_FOR_INTERRUPTS();
	spill_seek(groups->spill, offset);
	for (i = 0; i < groups->count; i++)
	{
		ScanAggregate *aggregate = &groups->merged[i];
		WrittenAggregate written;

		spill_read(groups->spill, &written, sizeof(written));
		if (slot && written.stored && written.removed == 0)
		{
			slot->tts_values[i] = PointerGetDatum(read_bytes(groups->spill, written.bytes));
			slot->tts_isnull[i] = false;
			continue;
		}
		if (slot)
			ScanAggregateStart(aggregate, groups->result, false);
		merge_aggregate(groups->spill, &written, aggregate);
		if (slot)
			slot->tts_values[i] = ScanAggregateResult(aggregate, &slot->tts_isnull[i]);
	}
}

/* Merge all values of a group. */
static void
merge_values(ScanGroups *groups, const WrittenGroup *written, TupleTableSlot *slot)
{
	ScanAggregate *aggregate = groups->merged;
	int i;

	for (i = 0; i < groups->count; i++)
	{
		ScanAggregateStart(&aggregate[i], groups->result, false);
		ScanAggregateWait(&aggregate[i], &groups->kept);
	}
	for (; written; written = written->next)
		merge_at(groups, &written->offset, NULL);
	for (i = 0; i < groups->count; i++)
		slot->tts_values[i] = ScanAggregateResult(&aggregate[i], &slot->tts_isnull[i]);
}

/* Store the aggregates of a group that was written, until ScanGroupsMergedEnd(). */
void
ScanGroupsMerged(ScanGroups *groups, const ScanGroup *group, TupleTableSlot *slot)
{
	MemoryContext old = MemoryContextSwitchTo(groups->result);

	memcpy(groups->merged, groups->model, groups->count * sizeof(ScanAggregate));
	if (group->written->next)
		merge_values(groups, group->written, slot);
	else
		merge_at(groups, &group->written->offset, slot);
	MemoryContextSwitchTo(old);
}

/* Free these aggregates. */
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
