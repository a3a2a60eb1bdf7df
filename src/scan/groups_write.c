/*
 * groups_write.c
 *		Which groups are written to files, so that memory has its limit.
 *
 * The limit is that of hash aggregation.  What the groups really take is looked at after each
 * page, and whenever a group has had its rows of a page: one row may make a value dense, and
 * the groups of a page may all be about to become so.  When the groups take more, the half of
 * them that had no rows for the longest time is written and freed.
 *
 * A context keeps small chunks that are freed for the next groups.  So after that the
 * groups may be a little above the limit, and are looked at when they grow again.  When
 * they are too far above it all groups are written, and the context gives back its memory.
 *
 * A group is written whatever its size, so a value that is larger than the limit is the most
 * that a group takes.
 *
 * src/scan/groups_write.c
 */
#include "scan/groups_state.h"

#include "miscadmin.h"
#include "utils/memutils.h"

/* Parts of the limit: how far above it groups may be, and how much they may grow from there. */
#define MOST_ABOVE 4
#define STEP       16

static int
compare_use(const void *a, const void *b)
{
	const ScanGroup *x = *(ScanGroup *const *) a;
	const ScanGroup *y = *(ScanGroup *const *) b;

	return (x->sorting > y->sorting) - (x->sorting < y->sorting);
}

/* Free the states of a group. */
static void
free_states(const ScanGroups *groups, ScanGroup *group)
{
	int i;

	for (i = 0; i < groups->count; i++)
	{
		ScanAggregate *column = &group->column[i];

		if (column->state)
		{
			StateTypeOf(column->state)->release(column->state);
			pfree(column->state);
		}
		else if (column->builtin)
			BuiltinFree(column->builtin, &column->computed);
	}
}

/* Free a group without states. */
static void
free_group(const ScanGroups *groups, ScanGroup *group)
{
	int i;

	for (i = 0; i < groups->key->fields; i++)
		if (group->value[i].string)
			pfree((void *) (uintptr_t) group->value[i].string);
	pfree(group);
}

/* Write a group, note what was counted in it, and free its states, before another becomes dense. */
static void
write_group(ScanGroups *groups, ScanGroup *group)
{
	MemoryContext old = MemoryContextSwitchTo(groups->scratch);

	CHECK_FOR_INTERRUPTS();
	ScanGroupWrite(groups, group);
	ScanGroupCount(groups, group, &groups->written);
	free_states(groups, group);
	groups->written.spilled++;
	groups->complete = false;
	MemoryContextSwitchTo(old);
	MemoryContextReset(groups->scratch);
}

/* Groups that may be written now: those of the page after the first "done" have more rows to come. */
static ScanGroup **
list_groups(const ScanGroups *groups, int done, uint64 *count)
{
	ScanGroup **list =
		MemoryContextAllocHuge(CurrentMemoryContext, (groups->groups + 1) * sizeof(ScanGroup *));
	ScanGroup *group;

	*count = 0;
	for (group = groups->first; group; group = group->next)
		if (group->sorting != groups->sorting.number || group->place < done)
			list[(*count)++] = group;
	return list;
}

/* Take groups out of the list whose "place" says so. */
static void
unlink_groups(ScanGroups *groups)
{
	ScanGroup **link = &groups->first;

	groups->last = NULL;
	while (*link)
	{
		ScanGroup *group = *link;

		if (group->place < 0)
		{
			*link = group->next;
			groups->groups--;
			continue;
		}
		groups->last = group;
		link = &group->next;
	}
	ScanGroupsMapAnew(groups);
}

/* Write the half of the groups that had no rows for the longest time. */
static void
write_half(ScanGroups *groups, int done)
{
	uint64 count;
	ScanGroup **list = list_groups(groups, done, &count);
	uint64 half = (count + 1) / 2;
	uint64 i;

	qsort(list, count, sizeof(ScanGroup *), compare_use);
	for (i = 0; i < half; i++)
	{
		write_group(groups, list[i]);
		list[i]->place = -1;
	}
	unlink_groups(groups);
	for (i = 0; i < half; i++)
		free_group(groups, list[i]);
	pfree(list);
}

/* Write all groups, and give back their memory. */
void
ScanGroupsWriteAll(ScanGroups *groups)
{
	ScanGroup *group;

	for (group = groups->first; group; group = group->next)
		write_group(groups, group);
	ScanGroupsClear(groups);
}

/*
 * Keep the limit while the groups of a page get their rows, one after the other: the first
 * "done" groups of the page have all of theirs.
 */
void
ScanGroupsMakeRoom(ScanGroups *groups, int done)
{
	if (ScanGroupsMemory(groups) <= groups->most)
		return;
	write_half(groups, done);
	groups->most = Max(groups->limit, ScanGroupsMemory(groups) + groups->limit / STEP);
}

/* Keep the limit between two pages. */
void
ScanGroupsKeepLimit(ScanGroups *groups)
{
	ScanGroupsMakeRoom(groups, groups->sorting.groups);
	if (ScanGroupsMemory(groups) > groups->limit + groups->limit / MOST_ABOVE)
		ScanGroupsWriteAll(groups);
}
