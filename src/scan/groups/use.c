/*
 * use.c
 *		The groups of a column scan, their states, and which of them are written to disk.
 *
 * The tuples of a page are sorted by group (find.c).  Then each group adds all its tuples of
 * the page in one step, as a scan without GROUP BY adds a page.
 *
 * The memory limit is the limit of PostgreSQL's hash aggregation.  The memory of the groups is
 * checked after each page, and also after each group of a page.  One row may make a state dense,
 * and all groups of a page may be about to become dense.  If the groups exceed the limit, the half
 * of the groups that had no rows for the longest time is written to disk and freed.  A written
 * group is made again when it has further rows.  If any group was written, all other groups are
 * written after the last row, and the groups are merged one by one (spill.c).
 *
 * If the written groups had fewer than two rows on average, rows are in random order, and a group
 * in memory rarely receives a second row.  Then the groups in memory stay.  Each new group is
 * written as soon as it has its rows of the page, while it is in the processor's cache.
 *
 * A memory context does not return small chunks that are freed, but reuses them.  So the
 * groups may still exceed the limit a little after some of them were written.  The memory is
 * checked again when the groups grow.  If the groups exceed the limit by more than limit /
 * MOST_ABOVE, all groups are written, and the context returns its memory.  A group of any size
 * can be written.  So the groups exceed the limit by much only if a single state is larger
 * than the limit.
 *
 * If no group is read twice, two kinds of states defer counting until their group is read: lists of
 * top keys that are numbers, and sketches that stay on the CPU.  In this case, only one dense table
 * exists at a time, and it is freed when the next group is requested.  So the memory suffices for
 * many more groups than if each group had a table.  A sketch that is only written needs no table
 * (pg/sketch_state.c).
 *
 * src/scan/groups/use.c
 */
#include "scan/groups/groups.h"

#include "pg/top_state.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/value.h"
#include "utils/memutils.h"

/*
 * Divisors of the limit.  Groups may exceed the limit by limit / MOST_ABOVE.  After some groups
 * were written, the groups together may grow by at least limit / STEP before more are written.
 */
#define MOST_ABOVE 4
#define STEP       16

/*
 * Groups have few rows if they have fewer than FEW_ROWS on average.  A new group with at least
 * MANY_ROWS rows on a page is not written immediately.
 */
#define FEW_ROWS  2
#define MANY_ROWS 16

/*
 * Divisor of the limit for the largest memory block, so that the context exceeds the limit
 * only a little.
 */
#define BLOCKS_OF_LIMIT 32

/*
 * Create groups of "fields" columns or expressions, with "count" aggregates.  "once": the
 * groups are read only once.
 */
ScanGroups *
ScanGroupsCreate(int fields, int count, bool once)
{
	ScanGroups *groups = palloc0(sizeof(ScanGroups));
	Size block;

	groups->count = count;
	groups->once = once;
	groups->value = palloc0((Size) fields * sizeof(GroupValue));
	groups->merged = palloc0((Size) count * sizeof(ScanAggregate));
	groups->limit = get_hash_memory_limit();
	block = Min(ALLOCSET_DEFAULT_MAXSIZE, MAXALIGN(groups->limit / BLOCKS_OF_LIMIT));
	groups->context =
		AllocSetContextCreate(CurrentMemoryContext, "QSketchScan groups", ALLOCSET_DEFAULT_MINSIZE,
							  ALLOCSET_DEFAULT_INITSIZE, Max(ALLOCSET_DEFAULT_INITSIZE, block));
	groups->spill =
		ScanSpillCreate(AllocSetContextCreate(CurrentMemoryContext, "QSketchScan written groups",
											  ALLOCSET_DEFAULT_SIZES),
						groups->limit);
	groups->scratch = AllocSetContextCreate(CurrentMemoryContext, "QSketchScan group to write",
											ALLOCSET_DEFAULT_SIZES);
	groups->result = AllocSetContextCreate(CurrentMemoryContext, "QSketchScan merged group",
										   ALLOCSET_DEFAULT_SIZES);
	return groups;
}

/* Begin a run: drop all groups of the last run. */
void
ScanGroupsStart(ScanGroups *groups)
{
	ScanSpillReset(groups->spill);
	groups->complete = true;
	groups->written = (ScanCounts){ 0 };
	ScanGroupsClear(groups);
}

/*
 * Begin to read a table: set its aggregates, conditions and grouping columns.  Groups with
 * rows of other tables stay.  Such a group uses the new columns from its first row of this
 * table on.
 */
void
ScanGroupsBeginTable(ScanGroups *groups, const ScanAggregate *model, WantedRows *rows,
					 GroupKey *key)
{
	int i;

	groups->model = model;
	groups->rows = rows;
	groups->key = key;
	groups->before_table = groups->sorting.number;
	GroupKeyStart(key);
	for (i = 0; i < groups->count; i++)
		if (model[i].builtin)
			BuiltinUseContext(model[i].builtin, groups->context);
}

/* ---- writing groups ---- */

/* Add the counts of a group, including the batches that its buffered keys will make. */
static void
count_group(const ScanGroups *groups, const ScanGroup *group, ScanCounts *counts)
{
	int i;

	ScanCountKeys(counts, group->aggregate, groups->count);
	for (i = 0; i < groups->count; i++)
		counts->batches += group->aggregate[i].state && group->aggregate[i].state->buffer.count > 0;
}

static int
compare_use(const void *a, const void *b)
{
	const ScanGroup *x = *(ScanGroup *const *) a;
	const ScanGroup *y = *(ScanGroup *const *) b;

	CHECK_FOR_INTERRUPTS();
	return (x->sorting > y->sorting) - (x->sorting < y->sorting);
}

static void
free_states(const ScanGroups *groups, ScanGroup *group)
{
	int i;

	for (i = 0; i < groups->count; i++)
	{
		ScanAggregate *aggregate = &group->aggregate[i];

		if (aggregate->state)
		{
			StateTypeOf(aggregate->state)->release(aggregate->state);
			pfree(aggregate->state);
		}
		else if (aggregate->builtin)
			BuiltinFree(aggregate->builtin, &aggregate->computed);
	}
}

/* Free a group whose states were freed. */
static void
free_group(const ScanGroups *groups, ScanGroup *group)
{
	int i;

	CHECK_FOR_INTERRUPTS();
	for (i = 0; i < groups->key->fields; i++)
		if (group->value[i].string)
			pfree((void *) (uintptr_t) group->value[i].string);
	pfree(group);
}

/* Write a group, add its counts to groups->written, and free its states. */
static void
write_group(ScanGroups *groups, ScanGroup *group)
{
	MemoryContext old = MemoryContextSwitchTo(groups->scratch);

	CHECK_FOR_INTERRUPTS();
	ScanGroupWrite(groups, group);
	count_group(groups, group, &groups->written);
	free_states(groups, group);
	groups->written.spilled++;
	groups->complete = false;
	MemoryContextSwitchTo(old);
	MemoryContextReset(groups->scratch);
}

/*
 * The groups that may be written now.  The first "done" groups of the current sorting have all
 * their tuples of this sorting.  The other groups of the sorting still receive tuples.
 */
static ScanGroup **
list_groups(const ScanGroups *groups, int done, uint64 *count)
{
	ScanGroup **list =
		MemoryContextAllocHuge(CurrentMemoryContext, (groups->groups + 1) * sizeof(ScanGroup *));
	ScanGroup *group;

	*count = 0;
	for (group = groups->first; group; group = group->next)
	{
		CHECK_FOR_INTERRUPTS();
		if (group->index >= 0 && (group->sorting != groups->sorting.number || group->index < done))
			list[(*count)++] = group;
	}
	return list;
}

/*
 * Free the written groups in the list that follow "before".  If "before" is NULL, free all written
 * groups in the list.
 */
static void
free_written(ScanGroups *groups, ScanGroup *before)
{
	ScanGroup **link = before ? &before->next : &groups->first;

	groups->last = before;
	while (*link)
	{
		ScanGroup *group = *link;

		CHECK_FOR_INTERRUPTS();
		if (group->index < 0)
		{
			*link = group->next;
			groups->groups--;
			free_group(groups, group);
			continue;
		}
		groups->last = group;
		link = &group->next;
	}
}

/* Write the half of the groups that had no rows for the longest time. */
static void
write_half(ScanGroups *groups, int done)
{
	uint64 count;
	ScanGroup **list = list_groups(groups, done, &count);
	uint64 half = (count + 1) / 2;
	uint64 rows = 0;
	uint64 i;

	qsort(list, count, sizeof(ScanGroup *), compare_use);
	for (i = 0; i < half; i++)
	{
		write_group(groups, list[i]);
		list[i]->index = -1;
		rows += list[i]->rows;
	}
	groups->few = rows < half * FEW_ROWS;
	free_written(groups, NULL);
	groups->before = NULL;
	ScanGroupsMapAnew(groups);
	pfree(list);
}

/*
 * Write a group if it was created for rows of the current page.  Returns false, and writes nothing,
 * if the new group has at least MANY_ROWS rows.  An older group is not written.
 */
static bool
write_new(ScanGroups *groups, ScanGroup *group)
{
	if (group->created < groups->page || group->index < 0)
		return true;
	if (group->rows >= MANY_ROWS)
		return false;
	write_group(groups, group);
	ScanGroupHide(groups, group);
	group->index = -1;
	return true;
}

/* Write all groups, and return their memory. */
static void
write_all(ScanGroups *groups)
{
	ScanGroup *group;

	for (group = groups->first; group; group = group->next)
		write_group(groups, group);
	ScanGroupsClear(groups);
}

/*
 * Observe the memory limit after a group of the current sorting has received its tuples.  The
 * first "done" groups have all their tuples of this sorting.
 */
static void
make_room(ScanGroups *groups, int done)
{
	Size memory = ScanGroupsMemory(groups);

	if (memory <= groups->most)
		return;
	if (groups->few && memory <= groups->most + groups->limit / STEP &&
		write_new(groups, groups->sorting.group[done - 1]))
		return;
	write_half(groups, done);
	groups->most = Max(groups->limit, ScanGroupsMemory(groups) + groups->limit / STEP);
}

/* ---- the rows of a page ---- */

/*
 * Add tuples to the groups' aggregates that have this FILTER (0: none).  If a group is written
 * before it has received all rows of the page, the group is made again.
 */
static void
add_filtered(ScanGroups *groups, int filter, PageTuples *tuples)
{
	Sorting *sorting = &groups->sorting;
	PageTuples *batch = &sorting->batch;
	int from = 0;
	int i;
	int j;

	ScanGroupsSort(groups, tuples);
	for (i = 0; i < sorting->groups; i++)
	{
		ScanAggregate *aggregate = sorting->group[i]->aggregate;

		batch->count = 0;
		sorting->group[i]->rows += filter == 0 ? sorting->end[i] - from : 0;
		for (; from < sorting->end[i]; from++)
			batch->tuple[batch->count++] = tuples->tuple[sorting->order[from]];
		for (j = 0; j < groups->count; j++)
			if (aggregate[j].filter_number == filter)
				ScanAggregateAdd(&aggregate[j], batch);
		make_room(groups, i + 1);
	}
}

/*
 * Add the tuples of a page that pass WHERE.  Each aggregate receives the tuples that pass its
 * FILTER.
 */
void
ScanGroupsAdd(ScanGroups *groups, PageTuples *tuples)
{
	int i;

	groups->before = groups->last;
	groups->page = groups->sorting.number + 1;
	for (i = 0; i < groups->rows->count; i++)
		add_filtered(groups, i, WantedRowsOf(groups->rows, i, tuples));
	if (groups->few)
		free_written(groups, groups->before);
	if (ScanGroupsMemory(groups) > groups->limit + groups->limit / MOST_ABOVE)
		write_all(groups);
}

/* ---- after the last row ---- */

/*
 * True if the keys in an aggregate's buffer are counted only when its group is read.  This is true
 * for states that defer counting.  If groups are read only once, it is true for all lists of top
 * keys, so that only one list at a time has tables of candidates.  All other states may be filled
 * on a device, which must receive the keys of all groups before the first group is read.
 */
static bool
counts_when_read(const ScanGroups *groups, const ScanAggregate *aggregate)
{
	return ScanAggregateWaits(aggregate) ||
		   (groups->once && ScanAggregateState(aggregate, &top_state_type));
}

/*
 * Add the keys in buffers to their states, unless counts_when_read().  False: the groups then
 * exceed the limit.
 */
static bool
flush_groups(ScanGroups *groups)
{
	ScanGroup *group;
	int i;

	for (group = groups->first; group; group = group->next)
	{
		CHECK_FOR_INTERRUPTS();
		for (i = 0; i < groups->count; i++)
			if (!counts_when_read(groups, &group->aggregate[i]))
				ScanAggregateFlush(&group->aggregate[i]);
		if (ScanGroupsMemory(groups) > groups->most)
			return false;
	}
	return true;
}

/*
 * End the run after the last row.  If groups were written, or if the groups exceed the limit, the
 * groups in memory are written, too.  Returns the numbers of keys and batches of all groups.
 * "groups" is the number of groups if all are in memory, else "spilled" is the number of written
 * groups.
 */
ScanCounts
ScanGroupsFlush(ScanGroups *groups)
{
	ScanCounts counts = { .groups = groups->groups };
	ScanGroup *group;

	if (groups->written.spilled > 0 || !flush_groups(groups))
	{
		write_all(groups);
		return groups->written;
	}
	for (group = groups->first; group; group = group->next)
	{
		CHECK_FOR_INTERRUPTS();
		count_group(groups, group, &counts);
	}
	groups->waiting = groups->first;
	return counts;
}

/* Free the states of the group that was returned last, unless the states may be read again. */
static void
release_given(ScanGroups *groups)
{
	ScanAggregate *aggregate = groups->given ? groups->given->aggregate : NULL;
	int i;

	ScanGroupsMergedEnd(groups);
	for (i = 0; aggregate && i < groups->count; i++)
		if (aggregate[i].state && (ScanAggregateWaits(&aggregate[i]) || groups->once))
		{
			StateTypeOf(aggregate[i].state)->release(aggregate[i].state);
			groups->complete = false;
		}
	groups->given = NULL;
}

/* Store the aggregates of the next group in memory.  Returns the group's key. */
static const GroupValue *
store_waiting(ScanGroups *groups, TupleTableSlot *slot)
{
	ScanGroup *group = groups->waiting;
	int i;

	groups->waiting = group->next;
	groups->given = group;
	for (i = 0; i < groups->count; i++)
	{
		if (!ScanAggregateWaits(&group->aggregate[i]))
			ScanAggregateFlush(&group->aggregate[i]);
		slot->tts_values[i] = ScanAggregateResult(&group->aggregate[i], &slot->tts_isnull[i]);
	}
	return group->value;
}

/* Store the next group: its aggregates, then its key.  False: no group is left. */
bool
ScanGroupsNext(ScanGroups *groups, TupleTableSlot *slot)
{
	const GroupValue *value = groups->value;
	int i;

	release_given(groups);
	memset(slot->tts_isnull, true, slot->tts_tupleDescriptor->natts * sizeof(bool));
	if (groups->waiting)
		value = store_waiting(groups, slot);
	else if (!ScanGroupsMerged(groups, slot))
		return false;
	for (i = 0; i < groups->key->fields; i++)
	{
		slot->tts_values[groups->count + i] = GroupDatum(&value[i], groups->key->field[i].kind);
		slot->tts_isnull[groups->count + i] = value[i].null;
	}
	ExecStoreVirtualTuple(slot);
	return true;
}

/* Begin to return all groups again; false: the groups must be made again by another run. */
bool
ScanGroupsRewind(ScanGroups *groups)
{
	release_given(groups);
	groups->waiting = groups->first;
	return groups->complete;
}

/* Free all groups after they were returned.  Another run is needed to return them again. */
void
ScanGroupsForget(ScanGroups *groups)
{
	ScanGroupsClear(groups);
	groups->complete = false;
}
