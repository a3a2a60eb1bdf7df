/*
 * groups.c
 *		The groups of a column scan, each with states of its own.
 *
 * The tuples of a page are sorted by group.  Then each group adds its tuples at once,
 * as a scan without groups adds a page.  groups_find.c finds the groups.
 *
 * The memory limit is that of hash aggregation.  When all groups take more than that, some
 * are written to files (groups_write.c), and made anew when further rows come.  After the
 * last row all groups are written then, and merged one after the other (groups_merge.c).
 *
 * If no group is read twice, sketches are patient: keys wait until their group is
 * read.  Then one dense table is made at a time, and it is freed when the next group is
 * asked for, so that memory holds many more groups.  A sketch that is only written needs no
 * table at all (sketch_flatten.c).
 *
 * src/scan/groups.c
 */
#include "scan/groups_state.h"
#include "scan/version.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/value.h"
#include "utils/memutils.h"

/* A block of the context is a small part of the limit, so that the limit is kept closely. */
#define BLOCKS_OF_LIMIT 32

static MemoryContext
create_context(Size limit)
{
	Size block = Min(ALLOCSET_DEFAULT_MAXSIZE, MAXALIGN(limit / BLOCKS_OF_LIMIT));

	return AllocSetContextCreate(CurrentMemoryContext, "QSketchScan groups",
								 ALLOCSET_DEFAULT_MINSIZE, ALLOCSET_DEFAULT_INITSIZE,
								 Max(ALLOCSET_DEFAULT_INITSIZE, block));
}

ScanGroups *
ScanGroupsCreate(List *exprs, const ScanAggregate *model, int count, WantedRows *rows, bool once)
{
	ScanGroups *groups = palloc0(sizeof(ScanGroups));

	groups->model = model;
	groups->count = count;
	groups->rows = rows;
	groups->once = once;
	WantedRowsAddParams(rows, exprs);
	groups->key = GroupKeyCreate(exprs, rows->estate, rows->relation);
	groups->value = palloc0((Size) groups->key->fields * sizeof(GroupValue));
	groups->merged = palloc0((Size) count * sizeof(ScanAggregate));
	groups->limit = get_hash_memory_limit();
	groups->context = create_context(groups->limit);
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

/* Free all groups in memory. */
void
ScanGroupsClear(ScanGroups *groups)
{
	MemoryContextReset(groups->context);
	KeptTableInit(&groups->kept, groups->context);
	ScanGroupsClearMap(groups);
	groups->first = groups->last = NULL;
	groups->waiting = groups->given = NULL;
	groups->groups = 0;
	groups->most = groups->limit;
}

void
ScanGroupsStart(ScanGroups *groups)
{
	ScanSpillReset(groups->spill);
	GroupKeyStart(groups->key);
	groups->complete = true;
	groups->written = (ScanCounts){ 0 };
	ScanGroupsClear(groups);
}

/* Add tuples to a group's aggregates that have this filter, or none (-1). */
static void
add_to_group(ScanGroups *groups, ScanGroup *group, int filter, PageTuples *tuples)
{
	int i;

	for (i = 0; i < groups->count; i++)
		if (group->column[i].filter_number == filter)
			ScanAggregateAdd(&group->column[i], groups->rows->relation, tuples);
}

/*
 * Add tuples to the groups' aggregates that have this filter, or none (-1).  A group of which
 * some rows of the page were counted may have been written meanwhile, and is made anew.
 */
static void
add_filtered(ScanGroups *groups, int filter, PageTuples *tuples)
{
	Sorting *sorting = &groups->sorting;
	PageTuples *part = &sorting->part;
	int from = 0;
	int i;

	ScanGroupsSort(groups, tuples);
	for (i = 0; i < sorting->groups; i++)
	{
		part->count = 0;
		for (; from < sorting->end[i]; from++)
		{
			part->tuple[part->count] = tuples->tuple[sorting->order[from]];
			part->length[part->count++] = tuples->length[sorting->order[from]];
		}
		add_to_group(groups, sorting->group[i], filter, part);
		ScanGroupsMakeRoom(groups, i + 1);
	}
}

/* Add the tuples of a page that WHERE and FILTERs left. */
void
ScanGroupsAdd(ScanGroups *groups, PageTuples *tuples)
{
	int i;

	for (i = -1; i < groups->rows->filters; i++)
		add_filtered(groups, i, WantedRowsOf(groups->rows, i, tuples));
	ScanGroupsKeepLimit(groups);
}

/* Count the keys in a group's buffers, but for those of patient states. */
static void
flush_group(const ScanGroups *groups, ScanGroup *group)
{
	int i;

	for (i = 0; i < groups->count; i++)
		if (!ScanAggregateWaits(&group->column[i]))
			ScanAggregateFlush(&group->column[i]);
}

/* How many batches the waiting keys of a group will make. */
static uint64
batches_waiting(const ScanGroups *groups, const ScanGroup *group)
{
	uint64 batches = 0;
	int i;

	for (i = 0; i < groups->count; i++)
		batches +=
			ScanAggregateWaits(&group->column[i]) && group->column[i].state->buffer.count > 0;
	return batches;
}

/* Add what was counted in a group, with the keys that still wait. */
void
ScanGroupCount(const ScanGroups *groups, const ScanGroup *group, ScanCounts *counts)
{
	ScanCountKeys(counts, group->column, groups->count);
	counts->batches += batches_waiting(groups, group);
}

/*
 * Count the keys in buffers, except in patient states, which count theirs when they are read.
 * False: the groups take more than the limit by that.
 */
static bool
flush_groups(ScanGroups *groups)
{
	ScanGroup *group;

	for (group = groups->first; group; group = group->next)
	{
		flush_group(groups, group);
		if (ScanGroupsMemory(groups) > groups->most)
			return false;
	}
	return true;
}

/*
 * All rows have come.  If groups were written, the others are written, too.  Returns the keys
 * and batches of all groups, and how many groups are in memory, or were written.
 */
ScanCounts
ScanGroupsFlush(ScanGroups *groups)
{
	ScanCounts counts = { .groups = groups->groups };
	ScanGroup *group;

	if (groups->written.spilled > 0 || !flush_groups(groups))
	{
		ScanGroupsWriteAll(groups);
		return groups->written;
	}
	for (group = groups->first; group; group = group->next)
		ScanGroupCount(groups, group, &counts);
	groups->waiting = groups->first;
	return counts;
}

/* Is the state freed when its group has been returned? */
static bool
is_freed(const ScanGroups *groups, const ScanAggregate *column)
{
	return column->state && (ScanAggregateWaits(column) || groups->once);
}

/* Free the states of the group that was returned last, if nobody reads them any more. */
static void
release_given(ScanGroups *groups)
{
	ScanAggregate *column = groups->given ? groups->given->column : NULL;
	int i;

	if (groups->given && column == NULL)
		ScanGroupsMergedEnd(groups);
	for (i = 0; column && i < groups->count; i++)
		if (is_freed(groups, &column[i]))
		{
			StateTypeOf(column[i].state)->release(column[i].state);
			groups->complete = false;
		}
	groups->given = NULL;
}

/* Return the next group: its aggregates, then its values.  False: there are no more in memory. */
bool
ScanGroupsNext(ScanGroups *groups, TupleTableSlot *slot)
{
	ScanGroup *group = groups->waiting;
	int i;

	release_given(groups);
	if (group == NULL)
		return false;
	groups->waiting = group->next;
	groups->given = group;
	memset(slot->tts_isnull, true, slot->tts_tupleDescriptor->natts * sizeof(bool));
	if (group->column == NULL)
		ScanGroupsMerged(groups, group, slot);
	for (i = 0; group->column && i < groups->count; i++)
		slot->tts_values[i] = ScanAggregateResult(&group->column[i], &slot->tts_isnull[i]);
	for (i = 0; i < groups->key->fields; i++)
	{
		slot->tts_values[groups->count + i] =
			GroupDatum(&group->value[i], groups->key->field[i].kind);
		slot->tts_isnull[groups->count + i] = group->value[i].null;
	}
	ExecStoreVirtualTuple(slot);
	return true;
}

/* Begin to return groups that were written; false: there are none left. */
bool
ScanGroupsGoOn(ScanGroups *groups)
{
	if (!ScanGroupsReadPart(groups))
		return false;
	groups->waiting = groups->first;
	return true;
}

/* How many groups will be returned, or have been. */
uint64
ScanGroupsInMemory(const ScanGroups *groups)
{
	return groups->groups;
}

/* Return all groups from the first on again; false: that takes another run. */
bool
ScanGroupsRewind(ScanGroups *groups)
{
	release_given(groups);
	groups->waiting = groups->first;
	return groups->complete;
}

/* Free all groups, which have been returned.  Returning them again takes another run. */
void
ScanGroupsForget(ScanGroups *groups)
{
	ScanGroupsClear(groups);
	groups->complete = false;
}

/* Close the files of groups that were written and never read. */
void
ScanGroupsEnd(ScanGroups *groups)
{
	ScanSpillReset(groups->spill);
}
