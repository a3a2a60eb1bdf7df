/*
 * groups.c
 *		The groups of a column scan, each with states of its own.
 *
 * The tuples of a page are sorted by group.  Then each group adds its tuples at once,
 * as a scan without groups adds a page.  A hash table finds the groups.
 *
 * The memory limit is that of hash aggregation.  No further group is made in a turn
 * once all states take more than the limit.  The same holds once there are as many
 * groups as fit into it, given the planner's estimate of their final size.  Rows of
 * other groups are then spilled.  When all groups of a turn have been returned, they
 * are freed, and the spilled rows get a turn.
 *
 * If no group is read twice, sketches are patient: keys wait until their group is
 * read.  Then one dense table is made at a time, and it is freed when the next group is
 * asked for.  So many more groups fit into memory.  A sketch that is only written needs no
 * table at all (sketch_state.c).
 *
 * src/scan/groups.c
 */
#include "scan/columns.h"
#include "scan/groups.h"
#include "scan/groups_sorting.h"
#include "scan/version.h"

#include "common/hashfn.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/value.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#define FIRST_GROUPS 64

/* The aggregates lie behind the values, which are what is looked at first. */
typedef struct ScanGroup
{
	uint64 sorting; /* number of the last sorting in which the group had tuples */
	int place;      /* its index among the groups of that sorting */
	struct ScanGroup *next;
	struct ScanGroup *same_bits; /* another group whose values have the same bits */
	ScanAggregate *column;
	GroupValue value[FLEXIBLE_ARRAY_MEMBER]; /* of each field of the key */
} ScanGroup;

typedef struct GroupEntry
{
	int64 bits;
	ScanGroup *group; /* the last group that was made with these bits */
	char status;
} GroupEntry;

static inline uint32
hash_value(int64 value)
{
	uint64 bits = (uint64) value;

	bits ^= bits >> 32;
	return (uint32) (bits * UINT64CONST(0x9E3779B97F4A7C15) >> 32);
}

#define SH_PREFIX               groupmap
#define SH_ELEMENT_TYPE         GroupEntry
#define SH_KEY_TYPE             int64
#define SH_KEY                  bits
#define SH_HASH_KEY(table, key) hash_value(key)
#define SH_EQUAL(table, a, b)   ((a) == (b))
#define SH_SCOPE                static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

struct ScanGroups
{
	const ScanAggregate *model; /* the columns of a new group, without states */
	int count;
	WantedRows *rows;
	GroupKey *key;
	GroupValue *value; /* of the last tuple, for each field of the key */
	Size limit;        /* for all states, in bytes */
	uint64 most;       /* the most groups in a turn */
	bool once;         /* no group is asked for again */
	bool full;         /* no further group is made in this turn */
	bool apart;        /* new groups have their sketches on a GPU until they are returned */
	bool complete;     /* nothing was spilled or freed, so the groups can be returned again */

	MemoryContext context; /* of the groups of this turn */
	KeptTable kept;        /* in that context: the dense table that groups use in turn */
	groupmap_hash *map;
	ScanGroup *first; /* in the order in which they came */
	ScanGroup *last;
	ScanGroup *before;  /* the group made before the last one */
	ScanGroup *recent;  /* the group of the last tuple */
	ScanGroup *waiting; /* the group to return next */
	ScanGroup *given;   /* the group that was returned last */
	uint64 groups;
	uint64 groups_of_all_turns;
	uint64 spilled;

	ScanSpill *spill;
	MemoryContext scratch; /* while spilled rows are read */
	Sorting sorting;
};

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
	groups->map = groupmap_create(groups->context, FIRST_GROUPS, NULL);
	groups->first = groups->last = groups->before = NULL;
	groups->recent = groups->waiting = groups->given = NULL;
	groups->groups = 0;
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

/* Count the keys in a group's buffers, but for those of patient states. */
static void
flush(const ScanGroups *groups, ScanGroup *group)
{
	int i;

	for (i = 0; i < groups->count; i++)
		if (!ScanAggregateWaits(&group->column[i]))
			ScanAggregateFlush(&group->column[i]);
}

/*
 * Is there memory for one more group?  Each turn makes at least one, or the turns would
 * not end.  Where the rows come sorted by group, "before" has all its rows.  Counting
 * what waits in its buffers may make it dense, so that is done before memory is
 * measured.
 */
static bool
has_room(ScanGroups *groups)
{
	if (groups->apart)
		return true;
	if (!groups->full && groups->before)
		flush(groups, groups->before);
	if (!groups->full && groups->groups > 0)
		groups->full = groups->groups >= groups->most ||
					   MemoryContextMemAllocated(groups->context, true) > groups->limit;
	return !groups->full;
}

/* Make a group of the last tuple's values. */
static ScanGroup *
create_group(ScanGroups *groups)
{
	Size head = MAXALIGN(offsetof(ScanGroup, value) + groups->key->fields * sizeof(GroupValue));
	ScanGroup *group =
		MemoryContextAllocZero(groups->context, head + groups->count * sizeof(ScanAggregate));
	int i;

	GroupKeyKeep(groups->key, group->value, groups->value, groups->context);
	group->column = (ScanAggregate *) ((char *) group + head);
	memcpy(group->column, groups->model, groups->count * sizeof(ScanAggregate));
	for (i = 0; i < groups->count; i++)
	{
		ScanAggregateStart(&group->column[i], groups->context, false);
		if (groups->once)
			ScanAggregateWait(&group->column[i], &groups->kept);
	}
	if (groups->last)
		groups->last->next = group;
	else
		groups->first = group;
	groups->before = groups->last;
	groups->last = group;
	groups->groups++;
	groups->groups_of_all_turns++;
	return group;
}

/* The group of the last tuple's values; NULL if there is none, and no memory for it. */
static ScanGroup *
find_group(ScanGroups *groups, int64 bits)
{
	GroupEntry *entry = groupmap_lookup(groups->map, bits);
	ScanGroup *group = entry ? entry->group : NULL;
	bool found;

	while (group && !GroupKeySame(groups->key, group->value, groups->value))
		group = group->same_bits;
	if (group || !has_room(groups))
		return group;
	group = create_group(groups);
	entry = groupmap_insert(groups->map, bits, &found);
	group->same_bits = found ? entry->group : NULL;
	entry->group = group;
	return group;
}

/*
 * The aggregates of the group of a number, or of NULL, whose sketches will be on a GPU;
 * NULL: there is no memory for it.  Sketches that are freed when they have been returned
 * take memory one at a time.
 */
ScanAggregate *
ScanGroupsFind(ScanGroups *groups, int64 number, bool null)
{
	ScanGroup *group;

	Assert(groups->key->fields == 1);
	groups->value[0] = (GroupValue){ .bits = number, .null = null };
	groups->apart = groups->once;
	group = find_group(groups, GroupKeyBits(groups->key, groups->value));
	groups->apart = false;
	return group ? group->column : NULL;
}

static void
spill(ScanGroups *groups, HeapTupleHeader tuple, uint16 length, int64 bits)
{
	ScanSpillPut(groups->spill, GroupSpillHash(bits), tuple, length);
	groups->spilled++;
	groups->complete = false;
}

/* The group of a tuple, or NULL.  If the tuple is wanted, it is spilled then. */
static inline ScanGroup *
group_of(ScanGroups *groups, HeapTupleHeader tuple, uint16 length, bool wanted)
{
	ScanGroup *group = groups->recent;

	GroupKeyRead(groups->key, tuple, length, groups->value);
	if (group == NULL || !GroupKeySame(groups->key, group->value, groups->value))
	{
		int64 bits = GroupKeyBits(groups->key, groups->value);

		group = find_group(groups, bits);
		if (group)
			groups->recent = group;
		else if (wanted)
			spill(groups, tuple, length, bits);
	}
	GroupKeyReadEnd(groups->key, groups->value);
	return group;
}

/* Find the group of each tuple, and count the tuples of each group. */
static void
find_groups(ScanGroups *groups, PageTuples *tuples, bool wanted)
{
	Sorting *sorting = &groups->sorting;
	int i;

	sorting->number++;
	sorting->groups = 0;
	for (i = 0; i < tuples->count; i++)
	{
		ScanGroup *group = group_of(groups, tuples->tuple[i], tuples->length[i], wanted);

		FetchAhead(tuples, i);
		sorting->place[i] = -1;
		if (group == NULL)
			continue;
		if (group->sorting != sorting->number)
		{
			group->sorting = sorting->number;
			group->place = sorting->groups;
			sorting->end[sorting->groups] = 0;
			sorting->group[sorting->groups++] = group;
		}
		sorting->place[i] = (int16) group->place;
		sorting->end[group->place]++;
	}
	tuples->share = 0;
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

	find_groups(groups, tuples, filter < 0);
	sort_out(sorting, tuples);
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
 * groups, with those that still wait.
 */
ScanCounts
ScanGroupsFlush(ScanGroups *groups)
{
	ScanCounts counts = { 0 };
	ScanGroup *group;

	for (group = groups->first; group; group = group->next)
	{
		flush(groups, group);
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

void
ScanGroupsExplain(const ScanGroups *groups, ExplainState *es)
{
	ExplainPropertyInteger("Groups", NULL, (int64) groups->groups_of_all_turns, es);
	if (groups->spilled > 0)
		ExplainPropertyInteger("Spilled Rows", NULL, (int64) groups->spilled, es);
}
