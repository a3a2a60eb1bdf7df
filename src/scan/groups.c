/*
 * groups.c
 *		The groups of a column scan, each with states of its own.
 *
 * The tuples of a page are sorted by group.  Then each group adds its tuples at once,
 * as a scan without groups adds a page.  groups_find.c finds the groups.
 *
 * The memory limit is that of hash aggregation.  No further group is made in a turn
 * once all states take more than the limit.  The same holds once there are as many
 * groups as fit into it, given the planner's estimate of their final size.  Rows of
 * other groups are then spilled.  When all groups of a turn have been returned, they
 * are freed, and the spilled rows get a turn.
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

ScanGroups *
ScanGroupsCreate(List *exprs, Node *private, const ScanAggregate *model, int count,
				 WantedRows *rows, bool once)
{
	ScanGroups *groups = palloc0(sizeof(ScanGroups));

	groups->model = model;
	groups->count = count;
	groups->rows = rows;
	groups->once = once;
	WantedRowsAddParams(rows, exprs);
	groups->key = GroupKeyCreate(exprs, rows->estate, rows->relation);
	groups->value = palloc0((Size) groups->key->fields * sizeof(GroupValue));
	groups->limit = get_hash_memory_limit();
	groups->most =
		(uint64) Max(1, (double) groups->limit / ScanGroupingBytes(private, model, count, once));
	groups->context =
		AllocSetContextCreate(CurrentMemoryContext, "QSketchScan groups", ALLOCSET_DEFAULT_SIZES);
	groups->spill = ScanSpillCreate(AllocSetContextCreate(
		CurrentMemoryContext, "QSketchScan spilled rows", ALLOCSET_DEFAULT_SIZES));
	groups->scratch = AllocSetContextCreate(CurrentMemoryContext, "QSketchScan spilled keys",
											ALLOCSET_DEFAULT_SIZES);
	return groups;
}

/* Begin a turn without groups. */
static void
start_turn(ScanGroups *groups)
{
	MemoryContextReset(groups->context);
	KeptTableInit(&groups->kept, groups->context);
	ScanGroupsClearMap(groups);
	groups->first = groups->last = groups->before = NULL;
	groups->recent = groups->waiting = groups->given = NULL;
	groups->groups = 0;
	groups->spilled = 0;
	groups->full = false;
}

void
ScanGroupsStart(ScanGroups *groups)
{
	ScanSpillReset(groups->spill);
	GroupKeyStart(groups->key);
	groups->complete = true;
	start_turn(groups);
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
 * Add tuples to the groups' aggregates that have this filter, or none (-1).  The tuples
 * of a filter are among those that WHERE left, which have a group or were spilled.
 */
static void
add_filtered(ScanGroups *groups, int filter, PageTuples *tuples)
{
	Sorting *sorting = &groups->sorting;
	PageTuples *part = &sorting->part;
	int from = 0;
	int i;

	ScanGroupsSort(groups, tuples, filter < 0);
	for (i = 0; i < sorting->groups; i++)
	{
		part->count = 0;
		for (; from < sorting->end[i]; from++)
		{
			part->tuple[part->count] = tuples->tuple[sorting->order[from]];
			part->length[part->count++] = tuples->length[sorting->order[from]];
		}
		add_to_group(groups, sorting->group[i], filter, part);
	}
}

/* Add the tuples of a page that WHERE and FILTERs left. */
void
ScanGroupsAdd(ScanGroups *groups, PageTuples *tuples)
{
	int i;

	for (i = -1; i < groups->rows->filters; i++)
		add_filtered(groups, i, WantedRowsOf(groups->rows, i, tuples));
}

/* Count the keys in a group's buffers, but for those of patient states. */
void
ScanGroupFlush(const ScanGroups *groups, ScanGroup *group)
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

/*
 * The turn has all its rows: count the keys in buffers, except in patient states, which
 * count theirs when they are read.  Returns the keys and batches of all
 * groups, with those that still wait, and how many groups and spilled rows there are.
 */
ScanCounts
ScanGroupsFlush(ScanGroups *groups)
{
	ScanCounts counts = { .groups = groups->groups, .spilled = groups->spilled };
	ScanGroup *group;

	for (group = groups->first; group; group = group->next)
	{
		ScanGroupFlush(groups, group);
		ScanCountKeys(&counts, group->column, groups->count);
		counts.batches += batches_waiting(groups, group);
	}
	groups->waiting = groups->first;
	return counts;
}

/* Is the state freed when its group has been returned? */
static bool
is_freed(const ScanGroups *groups, const ScanAggregate *column)
{
	return ScanAggregateWaits(column) ||
		   (groups->once && ScanAggregateState(column, &sketch_state_type) != NULL);
}

/* Free the sketches of the group that was returned last, if nobody reads them any more. */
static void
release_given(ScanGroups *groups)
{
	int i;

	for (i = 0; groups->given && i < groups->count; i++)
		if (is_freed(groups, &groups->given->column[i]))
		{
			KeyedState *state = groups->given->column[i].state;

			StateTypeOf(state)->release(state);
			groups->complete = false;
		}
	groups->given = NULL;
}

/* Return the next group: its aggregates, then its values.  False: this turn has no more groups. */
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
	for (i = 0; i < groups->count; i++)
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

/* Begin a turn with spilled rows; false: there are none. */
bool
ScanGroupsGoOn(ScanGroups *groups)
{
	MemoryContext old;
	PageTuples *tuples;

	if (!ScanSpillNextPart(groups->spill))
		return false;
	start_turn(groups);
	tuples = palloc(sizeof(PageTuples));
	old = MemoryContextSwitchTo(groups->scratch);
	while (ScanSpillRead(groups->spill, tuples))
	{
		CHECK_FOR_INTERRUPTS();
		WantedRowsFilter(groups->rows, tuples);
		ScanGroupsAdd(groups, tuples);
		MemoryContextReset(groups->scratch);
	}
	MemoryContextSwitchTo(old);
	WantedRowsEnd(groups->rows);
	pfree(tuples);
	return true;
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
	start_turn(groups);
	groups->complete = false;
}

/* Close the files of rows that were spilled and never read. */
void
ScanGroupsEnd(ScanGroups *groups)
{
	ScanSpillReset(groups->spill);
}
