/*
 * groups_merge.c
 *		The groups of values in files.
 *
 * First the keys of a part are read, to find the places of each group's values.  Then one
 * group after the other is merged and returned, so that memory has one group at a time.
 * The groups come in the order of their first values.  A group that has only one value, as
 * most have where rows come in the order of their groups, is returned as it was written.
 *
 * src/scan/groups_merge.c
 */
#include "scan/groups_state.h"

#include "miscadmin.h"
#include "utils/memutils.h"

/* A part is divided at most so often: keys that one hash does not divide are divided by another. */
#define MOST_LEVELS 8

static void
add_written(ScanGroups *groups, ScanGroup *group, SpillPlace place)
{
	WrittenGroup *written = MemoryContextAllocZero(groups->context, sizeof(WrittenGroup));

	written->place = place;
	if (group->written)
		group->written_last->next = written;
	else
		group->written = written;
	group->written_last = written;
}

/* Find the places of all values; false: there is no memory for so many. */
static bool
find_values(ScanGroups *groups)
{
	int level = ScanSpillLevel(groups->spill);

	while (ScanSpillNext(groups->spill))
	{
		CHECK_FOR_INTERRUPTS();
		ScanGroupReadKey(groups, groups->value);
		add_written(groups, ScanGroupOfKey(groups, true), ScanSpillTell(groups->spill));
		ScanGroupPassOver(groups, NULL);
		MemoryContextReset(groups->scratch);
		if (groups->groups > 1 && level <= MOST_LEVELS && ScanGroupsMemory(groups) > groups->limit)
			return false;
	}
	return true;
}

/* Divide the part that is read. */
static void
divide(ScanGroups *groups)
{
	ScanSpillRewind(groups->spill);
	while (ScanSpillNext(groups->spill))
	{
		CHECK_FOR_INTERRUPTS();
		ScanGroupReadKey(groups, groups->value);
		ScanGroupPassOver(groups, groups->value);
		MemoryContextReset(groups->scratch);
	}
}

/* Begin to return the groups of the next part; false: there is none. */
bool
ScanGroupsReadPart(ScanGroups *groups)
{
	MemoryContext old = MemoryContextSwitchTo(groups->scratch);
	bool found = false;

	while (!found && ScanSpillNextPart(groups->spill))
	{
		ScanGroupsClear(groups);
		found = find_values(groups);
		if (!found)
			divide(groups);
	}
	MemoryContextSwitchTo(old);
	return found;
}

/* Merge all values of a group. */
static void
merge_values(ScanGroups *groups, const WrittenGroup *written, TupleTableSlot *slot)
{
	ScanAggregate *column = groups->merged;
	int i;

	for (i = 0; i < groups->count; i++)
	{
		ScanAggregateStart(&column[i], groups->result, false);
		ScanAggregateWait(&column[i], &groups->kept);
	}
	for (; written; written = written->next)
		ScanGroupMerge(groups, &written->place, column);
	for (i = 0; i < groups->count; i++)
		slot->tts_values[i] = ScanAggregateResult(&column[i], &slot->tts_isnull[i]);
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
		ScanGroupTake(groups, &group->written->place, groups->merged, slot);
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
