/*
 * groups_find.c
 *		The group of each tuple of a page.
 *
 * A hash table finds the groups of a turn by the bits of their values.  Most rows are
 * grouped by a few integers, or times cut into steps.  Their groups are remembered in a
 * small table, where looking one up takes no call and mostly one comparison.
 *
 * src/scan/groups_find.c
 */
#include "scan/groups_state.h"

#include "base/hash.h"
#include "utils/memutils.h"

#define FIRST_GROUPS 64

typedef struct GroupEntry
{
	int64 bits;
	ScanGroup *group; /* the last group that was made with these bits */
	char status;
} GroupEntry;

#define SH_PREFIX               groupmap
#define SH_ELEMENT_TYPE         GroupEntry
#define SH_KEY_TYPE             int64
#define SH_KEY                  bits
#define SH_HASH_KEY(table, key) (uint32) qb_slot_hash((uint64) (key))
#define SH_EQUAL(table, a, b)   ((a) == (b))
#define SH_SCOPE                static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/* Begin a turn without groups. */
void
ScanGroupsClearMap(ScanGroups *groups)
{
	groups->map = groupmap_create(groups->context, FIRST_GROUPS, NULL);
	memset(groups->recently, 0, sizeof(groups->recently));
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
		ScanGroupFlush(groups, groups->before);
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
	ScanSpillPut(groups->spill, bits, tuple, length);
	groups->spilled++;
	groups->complete = false;
}

/*
 * The group of a tuple whose values have been read, or NULL.  If the tuple is wanted, it is
 * spilled then.
 */
static inline ScanGroup *
group_of_values(ScanGroups *groups, HeapTupleHeader tuple, uint16 length, bool wanted)
{
	ScanGroup *group = groups->recent;

	if (group == NULL || !GroupKeySame(groups->key, group->value, groups->value))
	{
		int64 bits = GroupKeyBits(groups->key, groups->value);

		group = find_group(groups, bits);
		if (group)
			groups->recent = group;
		else if (wanted)
			spill(groups, tuple, length, bits);
	}
	return group;
}

/* The same for a tuple whose values are read here. */
static inline ScanGroup *
group_of(ScanGroups *groups, HeapTupleHeader tuple, uint16 length, bool wanted)
{
	ScanGroup *group;

	GroupKeyRead(groups->key, tuple, length, groups->value);
	group = group_of_values(groups, tuple, length, wanted);
	GroupKeyReadEnd(groups->key, groups->value);
	return group;
}

/* Is the key a single column of integers at a fixed offset? */
static bool
is_integer(const GroupKey *key)
{
	const GroupField *field = key->field;

	return key->fields == 1 && field->expression == NULL && field->kind != KEY_BYTES &&
		   field->place.offset >= 0;
}

/* Is the key a single expression whose values are integers? */
static bool
is_number(const GroupKey *key)
{
	return key->fields == 1 && key->field->expression != NULL && key->field->kind != KEY_BYTES;
}

/*
 * Where the group is remembered whose number is "bits".  A number has one place, so chosen
 * numbers cost no more than looking up each of them.
 */
static inline RecentGroup *
recent_of(ScanGroups *groups, int64 bits)
{
	uint64 place = (uint64) bits;

	place ^= place >> 32;
	return &groups->recently[(place * QB_ROW_STEP >> 32) % RECENT_GROUPS];
}

/* group_of() for a key that is_number().  Groups of NULL are not remembered. */
static inline ScanGroup *
group_of_number(ScanGroups *groups, HeapTupleHeader tuple, uint16 length, bool wanted)
{
	GroupValue *value = groups->value;
	RecentGroup *recent;

	GroupKeyRead(groups->key, tuple, length, value);
	if (value->null)
		return group_of_values(groups, tuple, length, wanted);
	recent = recent_of(groups, value->bits);
	if (unlikely(recent->bits != value->bits || recent->group == NULL))
	{
		recent->group = group_of_values(groups, tuple, length, wanted);
		recent->bits = value->bits;
	}
	return recent->group;
}

/* group_of() for a key that is_integer().  "kind" is a constant at each call. */
static pg_attribute_always_inline ScanGroup *
group_of_integer(ScanGroups *groups, HeapTupleHeader tuple, uint16 length, bool wanted,
				 KeyKind kind)
{
	const ColumnPlace *place = &groups->key->field[0].place;
	RecentGroup *recent;
	int64 bits;

	if (unlikely(!ColumnAtOffset(place, tuple)))
		return group_of(groups, tuple, length, wanted);
	bits = KeyNumberAt(ColumnAt(place, tuple), kind);
	recent = recent_of(groups, bits);
	if (unlikely(recent->bits != bits || recent->group == NULL))
	{
		recent->group = group_of(groups, tuple, length, wanted);
		recent->bits = bits;
	}
	return recent->group;
}

/* Note that a tuple is in this group; NULL: in none. */
static inline void
note_group(Sorting *sorting, int i, ScanGroup *group)
{
	sorting->place[i] = -1;
	if (group == NULL)
		return;
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

/* note_group() for all tuples, whose key is_integer(). */
static pg_attribute_always_inline void
note_integers(ScanGroups *groups, const PageTuples *tuples, bool wanted, KeyKind kind)
{
	int i;

	for (i = 0; i < tuples->count; i++)
	{
		FetchAhead(tuples, i);
		note_group(&groups->sorting, i,
				   group_of_integer(groups, tuples->tuple[i], tuples->length[i], wanted, kind));
	}
}

/* note_group() for all tuples, whose key is_number(). */
static void
note_numbers(ScanGroups *groups, const PageTuples *tuples, bool wanted)
{
	int i;

	for (i = 0; i < tuples->count; i++)
	{
		FetchAhead(tuples, i);
		note_group(&groups->sorting, i,
				   group_of_number(groups, tuples->tuple[i], tuples->length[i], wanted));
	}
}

/* note_group() for all tuples. */
static void
note_any(ScanGroups *groups, const PageTuples *tuples, bool wanted)
{
	int i;

	for (i = 0; i < tuples->count; i++)
	{
		FetchAhead(tuples, i);
		note_group(&groups->sorting, i,
				   group_of(groups, tuples->tuple[i], tuples->length[i], wanted));
	}
}

/* Find the group of each tuple, and count the tuples of each group. */
static void
find_groups(ScanGroups *groups, const PageTuples *tuples, bool wanted)
{
	groups->sorting.number++;
	groups->sorting.groups = 0;
	if (is_number(groups->key))
		note_numbers(groups, tuples, wanted);
	else if (!is_integer(groups->key))
		note_any(groups, tuples, wanted);
	else if (groups->key->field[0].kind == KEY_INT8)
		note_integers(groups, tuples, wanted, KEY_INT8);
	else if (groups->key->field[0].kind == KEY_INT4)
		note_integers(groups, tuples, wanted, KEY_INT4);
	else
		note_integers(groups, tuples, wanted, KEY_INT2);
}

/* Sort the tuples of a page by group.  Those without a group are spilled, if they are wanted. */
void
ScanGroupsSort(ScanGroups *groups, PageTuples *tuples, bool wanted)
{
	find_groups(groups, tuples, wanted);
	sort_out(&groups->sorting, tuples);
	tuples->share = 0;
}
