/*
 * groups.c
 *		The groups of a column scan, each with states of its own.
 *
 * The tuples of a page are sorted out by group, and each group that has some
 * there gets them at once, as a scan without groups gets a page.  Groups are
 * found by a hash table, NULL being one of them.
 *
 * Memory is that of hash aggregation: when all states take more than the limit,
 * or as many groups are there as fit into it by the planner's estimate of what
 * they grow to, no further group is made in this turn, and rows of others are
 * spilled.  When all groups of the turn have been returned they are freed, and
 * the spilled rows have theirs.
 *
 * Where nobody asks for a group twice, sketches are patient: keys wait until their
 * group is returned, one dense table is made after the other, and each is freed
 * when the next group is asked for.  So there is memory for many more of them.
 *
 * src/scan/groups.c
 */
#include "scan/columns.h"
#include "scan/groups.h"

#include "commands/explain.h"
#include "common/hashfn.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/value.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif

#define FIRST_GROUPS 64

typedef struct ScanGroup
{
	GroupValue value;
	uint64 sorting; /* the last one that found tuples of it */
	int place;      /* then, among the groups */
	struct ScanGroup *next;
	struct ScanGroup *same_bits; /* another one whose value has these bits */
	ScanAggregate column[FLEXIBLE_ARRAY_MEMBER];
} ScanGroup;

typedef struct GroupEntry
{
	int64 bits;
	ScanGroup *group; /* the last one that came with these bits */
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

/* A page's tuples by group. */
typedef struct Sorting
{
	uint64 number; /* of such so far */
	int groups;
	ScanGroup *group[MaxHeapTuplesPerPage];
	uint16 end[MaxHeapTuplesPerPage];   /* of each group, in */
	uint16 order[MaxHeapTuplesPerPage]; /* the tuples, by group */
	int16 place[MaxHeapTuplesPerPage];  /* of each tuple: its group; -1: spilled */
	PageTuples part;                    /* those of one group */
} Sorting;

struct ScanGroups
{
	const ScanAggregate *model; /* of the columns of a group, without states */
	int count;
	WantedRows *rows;
	ColumnPlace place;
	KeyKind kind;
	Size limit;    /* bytes of all states */
	uint64 most;   /* groups at a time */
	bool once;     /* none is asked for again */
	bool full;     /* no group is added any more in this turn */
	bool complete; /* nothing was spilled: the groups are all that there are */

	MemoryContext context; /* of this turn's groups */
	KeptTable kept;        /* the dense table that one after the other has, in there */
	groupmap_hash *map;
	ScanGroup *null_group;
	ScanGroup *first; /* in the order in which they came */
	ScanGroup *last;
	ScanGroup *before;  /* the last one */
	ScanGroup *recent;  /* the last tuple's */
	ScanGroup *waiting; /* to be returned next */
	ScanGroup *given;   /* the last that was returned */
	uint64 groups;
	uint64 groups_of_all_turns;
	uint64 spilled;

	ScanSpill *spill;
	Sorting sorting;
};

ScanGroups *
ScanGroupsCreate(const Var *column, Node *private, const ScanAggregate *model, int count,
				 WantedRows *rows, bool once)
{
	ScanGroups *groups = palloc0(sizeof(ScanGroups));

	groups->model = model;
	groups->count = count;
	groups->rows = rows;
	groups->once = once;
	if (!ScanGroupingKind(column, &groups->kind))
		elog(ERROR, "unexpected group in QSketchScan");
	ColumnPlaceInit(&groups->place, column->varattno, RelationGetDescr(rows->relation));
	groups->limit = get_hash_memory_limit();
	groups->most =
		(uint64) Max(1, (double) groups->limit / ScanGroupingBytes(private, model, count, once));
	groups->context =
		AllocSetContextCreate(CurrentMemoryContext, "QSketchScan groups", ALLOCSET_DEFAULT_SIZES);
	groups->spill = ScanSpillCreate(AllocSetContextCreate(
		CurrentMemoryContext, "QSketchScan spilled rows", ALLOCSET_DEFAULT_SIZES));
	return groups;
}

/* No groups, for the rows of this turn. */
static void
start_turn(ScanGroups *groups)
{
	MemoryContextReset(groups->context);
	KeptTableInit(&groups->kept, groups->context);
	groups->map = groupmap_create(groups->context, FIRST_GROUPS, NULL);
	groups->null_group = groups->first = groups->last = groups->before = NULL;
	groups->recent = groups->waiting = groups->given = NULL;
	groups->groups = 0;
	groups->full = false;
}

void
ScanGroupsStart(ScanGroups *groups)
{
	ScanSpillReset(groups->spill);
	groups->complete = true;
	start_turn(groups);
}

/* Count the keys of a group, of states that do not wait, or those of all. */
static void
flush(const ScanGroups *groups, ScanGroup *group, bool all)
{
	int i;

	for (i = 0; i < groups->count; i++)
		if (all || !ScanAggregateWaits(&group->column[i]))
			ScanAggregateFlush(&group->column[i]);
}

/*
 * Is there memory for one more?  A turn without any would get nowhere.  Where groups
 * come one after the other, the last but one has all its rows: with what waits in
 * its buffers it may become dense.
 */
static bool
has_room(ScanGroups *groups)
{
	if (!groups->full && groups->before)
		flush(groups, groups->before, false);
	if (!groups->full && groups->groups > 0)
		groups->full = groups->groups >= groups->most ||
					   MemoryContextMemAllocated(groups->context, true) > groups->limit;
	return !groups->full;
}

static ScanGroup *
create_group(ScanGroups *groups, const GroupValue *value)
{
	ScanGroup *group = MemoryContextAllocZero(
		groups->context, offsetof(ScanGroup, column) + groups->count * sizeof(ScanAggregate));
	int i;

	GroupKeep(&group->value, value, groups->context);
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

/* The group of NULLs, or NULL if there is none and no memory for it. */
static ScanGroup *
find_null(ScanGroups *groups, const GroupValue *value)
{
	if (groups->null_group == NULL && has_room(groups))
		groups->null_group = create_group(groups, value);
	return groups->null_group;
}

/* Likewise that of a value. */
static ScanGroup *
find_value(ScanGroups *groups, const GroupValue *value)
{
	GroupEntry *entry = groupmap_lookup(groups->map, value->bits);
	ScanGroup *group = entry ? entry->group : NULL;
	bool found;

	while (group && !GroupSame(&group->value, value))
		group = group->same_bits;
	if (group || !has_room(groups))
		return group;
	group = create_group(groups, value);
	entry = groupmap_insert(groups->map, value->bits, &found);
	group->same_bits = found ? entry->group : NULL;
	entry->group = group;
	return group;
}

static void
spill(ScanGroups *groups, HeapTupleHeader tuple, uint16 length, const GroupValue *value)
{
	ScanSpillPut(groups->spill, GroupSpillHash(value), tuple, length);
	groups->spilled++;
	groups->complete = false;
}

static inline void
read_value(const ScanGroups *groups, HeapTupleHeader tuple, uint16 length, GroupValue *value)
{
	Relation relation = groups->rows->relation;

	if (groups->kind == KEY_BYTES)
	{
		GroupReadString(&groups->place, relation, tuple, length, value);
		return;
	}
	value->string = NULL;
	value->copied = false;
	value->bits = 0;
	value->null =
		!ColumnGetInteger(&groups->place, groups->kind, relation, tuple, length, &value->bits);
}

/* The group of a tuple, or NULL; if it is wanted then, it is spilled. */
static inline ScanGroup *
group_of(ScanGroups *groups, HeapTupleHeader tuple, uint16 length, bool wanted)
{
	ScanGroup *group = groups->recent;
	GroupValue value;

	read_value(groups, tuple, length, &value);
	if (group == NULL || !GroupSame(&group->value, &value))
		group = value.null ? find_null(groups, &value) : find_value(groups, &value);
	if (group)
		groups->recent = group;
	else if (wanted)
		spill(groups, tuple, length, &value);
	GroupReadEnd(&value);
	return group;
}

/* Which groups do the tuples have, and how many has each? */
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

/* Bring the tuples into the order of their groups, and theirs. */
static void
sort_out(Sorting *sorting, const PageTuples *tuples)
{
	uint16 start = 0;
	int i;

	for (i = 0; i < sorting->groups; i++)
	{
		uint16 count = sorting->end[i];

		sorting->end[i] = start;
		start += count;
	}
	for (i = 0; i < tuples->count; i++)
		if (sorting->place[i] >= 0)
			sorting->order[sorting->end[sorting->place[i]]++] = (uint16) i;
}

/* Give a group its tuples, or those of a filter. */
static void
add_to_group(ScanGroups *groups, ScanGroup *group, int filter, PageTuples *tuples)
{
	int i;

	for (i = 0; i < groups->count; i++)
		if (group->column[i].filter_number == filter)
			ScanAggregateAdd(&group->column[i], groups->rows->relation, tuples);
}

/*
 * Give all groups their tuples, or those of a filter, which are among the tuples
 * that were wanted before.
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

/* Add the tuples that WHERE and FILTERs left of a page. */
void
ScanGroupsAdd(ScanGroups *groups, PageTuples *tuples)
{
	int i;

	for (i = -1; i < groups->rows->filters; i++)
		add_filtered(groups, i, WantedRowsOf(groups->rows, i, tuples));
}

/* The batches that will be made of keys that wait. */
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
 * Count all keys of this turn, whose groups are to be returned next, but those that
 * wait for that; and say how many they were.
 */
ScanCounts
ScanGroupsFlush(ScanGroups *groups)
{
	ScanCounts counts = { 0 };
	ScanGroup *group;

	for (group = groups->first; group; group = group->next)
	{
		flush(groups, group, false);
		ScanCountKeys(&counts, group->column, groups->count);
		counts.batches += batches_waiting(groups, group);
	}
	groups->waiting = groups->first;
	return counts;
}

/* Free the states of the group that was returned, which nobody reads any more. */
static void
release_given(ScanGroups *groups)
{
	int i;

	for (i = 0; groups->given && i < groups->count; i++)
		if (ScanAggregateWaits(&groups->given->column[i]))
		{
			KeyedState *state = groups->given->column[i].state;

			StateTypeOf(state)->release(state);
			groups->complete = false;
		}
	groups->given = NULL;
}

/* The aggregates of the next group, and behind them its value; false: no more in this turn. */
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
	flush(groups, group, true);
	memset(slot->tts_isnull, true, slot->tts_tupleDescriptor->natts * sizeof(bool));
	for (i = 0; i < groups->count; i++)
		slot->tts_values[i] = ScanAggregateResult(&group->column[i], &slot->tts_isnull[i]);
	slot->tts_values[groups->count] = GroupDatum(&group->value, groups->kind);
	slot->tts_isnull[groups->count] = group->value.null;
	ExecStoreVirtualTuple(slot);
	return true;
}

/* Add rows that were spilled, for a turn of their own; false: there are none. */
bool
ScanGroupsGoOn(ScanGroups *groups)
{
	PageTuples *tuples;

	if (!ScanSpillNextPart(groups->spill))
		return false;
	start_turn(groups);
	tuples = palloc(sizeof(PageTuples));
	while (ScanSpillRead(groups->spill, tuples))
	{
		CHECK_FOR_INTERRUPTS();
		WantedRowsFilter(groups->rows, tuples);
		ScanGroupsAdd(groups, tuples);
	}
	WantedRowsEnd(groups->rows);
	pfree(tuples);
	return true;
}

/* Return all groups once more; false: only another run can. */
bool
ScanGroupsRewind(ScanGroups *groups)
{
	release_given(groups);
	groups->waiting = groups->first;
	return groups->complete;
}

/* Close the files of rows that nobody asked for. */
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
