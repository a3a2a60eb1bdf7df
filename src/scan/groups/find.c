/*
 * find.c
 *		The values that rows are grouped by, and the group of each tuple of a page.
 *
 * Each column or expression gives a value.  The bits of a number are the number itself; for floats
 * see keytype.h.  A group of 0 whose first row has -0 returns -0.  The bits of a string are a hash
 * of its bytes with a secret of the process.  Strings with equal bits are compared byte by byte.
 * Some types have equal values with different bytes.  Values of these types, and of other types of
 * variable length, are hashed and compared by the functions of the type.  As in other plans, a
 * group has the value of its first row.
 *
 * A hash table finds the groups by the bits of their values.  Most queries group by one column of
 * integers or by times cut into steps, which have few values.  Recent groups whose key is one
 * number are usually also in a small table.  A lookup in this table needs no function call, and in
 * most cases one comparison.
 *
 * src/scan/groups/find.c
 */
#include "scan/groups/groups.h"

#include "base/hash.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/typcache.h"

/* Set the kind of the expression's values, and the functions that compare them. */
static void
init_kind(GroupField *field, const Node *expr)
{
	TypeCacheEntry *entry;

	if (!ScanGroupingKind(expr, &field->kind))
		elog(ERROR, "unexpected group in QSketchScan");
	if (field->kind != KEY_HASHED)
		return;
	entry = lookup_type_cache(getBaseType(exprType(expr)),
							  TYPECACHE_EQ_OPR_FINFO | TYPECACHE_HASH_EXTENDED_PROC_FINFO);
	field->equal = &entry->eq_opr_finfo;
	field->hash = &entry->hash_extended_proc_finfo;
	field->collation = exprCollation(expr);
}

GroupKey *
GroupKeyCreate(List *exprs, EState *estate, Relation relation)
{
	GroupKey *key =
		palloc0(offsetof(GroupKey, field) + (Size) list_length(exprs) * sizeof(GroupField));
	ListCell *cell;

	foreach (cell, exprs)
	{
		Node *expr = lfirst(cell);
		const Var *column = ScanGroupingColumn(expr);
		GroupField *field = &key->field[key->fields++];

		init_kind(field, expr);
		key->strings |= column && GroupIsString(field->kind);
		if (column)
			ColumnLocationInit(&field->location, column->varattno, RelationGetDescr(relation));
		else
			field->expression =
				GroupExpressionCreate((Expr *) expr, field->kind,
									  ColumnExpressionCreate((Expr *) expr, estate, relation));
	}
	return key;
}

/* Prepare a run, since parameters may have changed. */
void
GroupKeyStart(GroupKey *key)
{
	int i;

	for (i = 0; i < key->fields; i++)
		if (key->field[i].expression)
			GroupExpressionStart(key->field[i].expression);
}

/* Free the caches of expressions at the end of a run. */
void
GroupKeyEnd(GroupKey *key)
{
	int i;

	for (i = 0; i < key->fields; i++)
		if (key->field[i].expression)
			GroupExpressionEnd(key->field[i].expression);
}

/* Read the string of a tuple.  The string may be a copy. */
static void
read_string(const ColumnLocation *location, HeapTupleHeader tuple, GroupValue *value)
{
	const struct varlena *there = ColumnGetString(location, tuple);

	value->null = there == NULL;
	if (value->null)
		return;
	value->string = PG_DETOAST_DATUM_PACKED(PointerGetDatum(there));
	value->copied = value->string != there;
}

static void
free_strings(const GroupKey *key, GroupValue *value)
{
	int i;

	for (i = 0; i < key->fields; i++)
		if (value[i].copied)
			pfree((void *) value[i].string);
}

/* The bits of a string: a hash with a secret.  For KEY_BYTES nobody can choose collisions. */
static int64
string_bits(const GroupField *field, const struct varlena *string)
{
	if (field->kind == KEY_HASHED)
		return DatumGetInt64(FunctionCall2Coll(field->hash, field->collation,
											   PointerGetDatum(string),
											   UInt64GetDatum(qb_process_secret.word[0])));
	return (int64) qb_hash_bytes((const uint8 *) VARDATA_ANY(string), VARSIZE_ANY_EXHDR(string),
								 qb_process_secret.word);
}

/*
 * Compares two strings whose hashes are equal.  By the functions of a type, strings with different
 * bytes may be equal, such as 1.0 and 1.00.  A user can choose many values that have
 * the same hash by the function of their type, so same_string() checks for interrupts.
 */
static bool
same_string(const GroupField *field, const GroupValue *a, const GroupValue *b)
{
	Size length = VARSIZE_ANY_EXHDR(a->string);

	if (length == VARSIZE_ANY_EXHDR(b->string) &&
		memcmp(VARDATA_ANY(a->string), VARDATA_ANY(b->string), length) == 0)
		return true;
	if (field->kind != KEY_HASHED)
		return false;
	CHECK_FOR_INTERRUPTS();
	return DatumGetBool(FunctionCall2Coll(field->equal, field->collation,
										  PointerGetDatum(a->string), PointerGetDatum(b->string)));
}

static void
read_float(const GroupField *field, HeapTupleHeader tuple, GroupValue *value)
{
	Datum number;

	value->null = !ColumnGet(&field->location, tuple, &number);
	if (!value->null)
		GroupSetNumber(value, field->kind, number);
}

/* Read the values of a tuple.  They last until the next tuple is read. */
static inline void
read_values(const GroupKey *key, HeapTupleHeader tuple, GroupValue *value)
{
	const GroupField *field = key->field;
	const GroupField *end = field + key->fields;

	for (; field < end; field++, value++)
	{
		value->string = NULL;
		value->copied = value->minus = false;
		value->bits = 0;
		if (field->expression)
			GroupExpressionRead(field->expression, tuple, value);
		else if (GroupIsString(field->kind))
			read_string(&field->location, tuple, value);
		else if (field->kind < KEY_FLOAT4)
			value->null = !ColumnGetNumber(&field->location, field->kind, tuple, &value->bits);
		else
			read_float(field, tuple, value);
		if (value->string)
			value->bits = string_bits(field, value->string);
	}
}

/* True if the values of two rows are equal.  A column has either only strings or no strings. */
static inline bool
same_values(const GroupKey *key, const GroupValue *a, const GroupValue *b)
{
	int i;

	for (i = 0; i < key->fields; i++)
		if (a[i].bits != b[i].bits || a[i].null != b[i].null ||
			(a[i].string && !same_string(&key->field[i], &a[i], &b[i])))
			return false;
	return true;
}

bool
GroupValuesAreEqual(const GroupKey *key, const GroupValue *a, const GroupValue *b)
{
	return same_values(key, a, b);
}

/* Copy a value, so that it lasts longer than its tuple. */
static void
keep(GroupValue *kept, const GroupValue *value, MemoryContext context)
{
	*kept = *value;
	kept->copied = false;
	if (value->string)
	{
		Size size = VARSIZE_ANY_EXHDR(value->string) + VARHDRSZ;
		struct varlena *string = MemoryContextAllocHuge(context, size);

		SET_VARSIZE(string, size);
		memcpy(VARDATA(string), VARDATA_ANY(value->string), size - VARHDRSZ);
		kept->string = string;
	}
}

Datum
GroupDatum(const GroupValue *value, KeyKind kind)
{
	if (GroupIsString(kind))
		return PointerGetDatum(value->string);
	if (value->minus)
		return kind == KEY_FLOAT4 ? Float4GetDatum(-0.0f) : Float8GetDatum(-0.0);
	return KeyNumberDatum(value->bits, kind);
}

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

/* Make an empty map. */
static void
clear_map(ScanGroups *groups)
{
	groups->map = groupmap_create(groups->context, FIRST_GROUPS, NULL);
	memset(groups->recently, 0, sizeof(groups->recently));
	groups->recent = NULL;
}

/* Free all groups in memory. */
void
ScanGroupsClear(ScanGroups *groups)
{
	MemoryContextReset(groups->context);
	KeptTableInit(&groups->kept, groups->context);
	clear_map(groups);
	groups->first = groups->last = groups->before = NULL;
	groups->waiting = groups->given = NULL;
	groups->groups = 0;
	groups->most = groups->limit;
}

static void
add_to_map(ScanGroups *groups, ScanGroup *group)
{
	bool found;
	GroupEntry *entry =
		groupmap_insert(groups->map, GroupKeyBits(groups->key, group->value), &found);

	group->same_bits = found ? entry->group : NULL;
	entry->group = group;
}

/* Rebuild the map from the list of groups, after groups were removed from the list. */
void
ScanGroupsMapAnew(ScanGroups *groups)
{
	ScanGroup *group;

	groupmap_destroy(groups->map);
	clear_map(groups);
	for (group = groups->first; group; group = group->next)
	{
		CHECK_FOR_INTERRUPTS();
		add_to_map(groups, group);
	}
}

/*
 * The entry for the number "bits" in the table of recent groups.  If two numbers share an
 * entry, each of their rows costs at most a lookup in the map.
 */
static inline RecentGroup *
recent_of(ScanGroups *groups, int64 bits)
{
	uint64 hash = (uint64) bits;

	hash ^= hash >> 32;
	return &groups->recently[(hash * QB_ROW_STEP >> 32) % RECENT_GROUPS];
}

/* Remove a group from the map.  Later lookups do not find the group. */
void
ScanGroupHide(ScanGroups *groups, const ScanGroup *group)
{
	GroupEntry *entry = groupmap_lookup(groups->map, GroupKeyBits(groups->key, group->value));
	ScanGroup **link = &entry->group;

	while (*link != group)
		link = &(*link)->same_bits;
	*link = group->same_bits;
	if (entry->group == NULL)
		groupmap_delete_item(groups->map, entry);
	if (groups->recent == group)
		groups->recent = NULL;
	if (recent_of(groups, group->value[0].bits)->group == group)
		recent_of(groups, group->value[0].bits)->group = NULL;
}

static void
start_aggregates(ScanGroups *groups, ScanAggregate *aggregate)
{
	int i;

	memcpy(aggregate, groups->model, groups->count * sizeof(ScanAggregate));
	for (i = 0; i < groups->count; i++)
	{
		ScanAggregateStart(&aggregate[i], groups->context, false);
		if (groups->once)
			ScanAggregateWait(&aggregate[i], &groups->kept);
	}
}

/* Make a group with the values of the last tuple. */
static ScanGroup *
create_group(ScanGroups *groups)
{
	Size head = MAXALIGN(offsetof(ScanGroup, value) + groups->key->fields * sizeof(GroupValue));
	Size columns = groups->count * sizeof(ScanAggregate);
	ScanGroup *group = MemoryContextAllocZero(groups->context, head + columns);
	int i;

	for (i = 0; i < groups->key->fields; i++)
		keep(&group->value[i], &groups->value[i], groups->context);
	group->created = groups->sorting.number;
	group->aggregate = (ScanAggregate *) ((char *) group + head);
	start_aggregates(groups, group->aggregate);
	if (groups->last)
		groups->last->next = group;
	else
		groups->first = group;
	groups->last = group;
	groups->groups++;
	return group;
}

/* Find or make the group of the last tuple. */
static ScanGroup *
find_group(ScanGroups *groups)
{
	int64 bits = GroupKeyBits(groups->key, groups->value);
	GroupEntry *entry = groupmap_lookup(groups->map, bits);
	ScanGroup *group = entry ? entry->group : NULL;

	while (group && !same_values(groups->key, group->value, groups->value))
		group = group->same_bits;
	if (group == NULL)
	{
		group = create_group(groups);
		add_to_map(groups, group);
	}
	return group;
}

/*
 * Find or make the group of a number or of NULL.  The group's dense sketches will be on a GPU.
 * Returns the group's aggregates; NULL: the groups may be read again.  If groups are read only
 * once, a sketch is freed after its group was returned, so only one dense sketch at a time takes
 * memory of this process.
 */
ScanAggregate *
ScanGroupsFind(ScanGroups *groups, int64 number, bool null)
{
	Assert(groups->key->fields == 1);
	if (!groups->once)
		return NULL;
	groups->value[0] = (GroupValue){ .bits = number, .null = null };
	return find_group(groups)->aggregate;
}

/* The group of a tuple whose values were read. */
static inline ScanGroup *
group_of_values(ScanGroups *groups)
{
	ScanGroup *group = groups->recent;

	if (group == NULL || !same_values(groups->key, group->value, groups->value))
		groups->recent = group = find_group(groups);
	return group;
}

/* A function that finds the group of a tuple.  Only group_of_integer() uses "kind". */
typedef ScanGroup *(*GroupFinder)(ScanGroups *groups, HeapTupleHeader tuple, KeyKind kind);

/* A GroupFinder for any key. */
static inline ScanGroup *
group_of(ScanGroups *groups, HeapTupleHeader tuple, KeyKind kind)
{
	ScanGroup *group;

	read_values(groups->key, tuple, groups->value);
	group = group_of_values(groups);
	if (groups->key->strings)
		free_strings(groups->key, groups->value);
	return group;
}

/* True if the key is a single column of integers at a fixed offset. */
static bool
is_integer(const GroupKey *key)
{
	const GroupField *field = key->field;

	return key->fields == 1 && field->expression == NULL && field->kind <= KEY_INT8 &&
		   field->location.offset >= 0;
}

/* True if the key is a single expression whose values are numbers. */
static bool
is_number(const GroupKey *key)
{
	return key->fields == 1 && key->field->expression != NULL && !GroupIsString(key->field->kind);
}

/* A GroupFinder for keys that pass is_number().  Groups of NULL are not among the recent groups. */
static inline ScanGroup *
group_of_number(ScanGroups *groups, HeapTupleHeader tuple, KeyKind kind)
{
	GroupValue *value = groups->value;
	RecentGroup *recent;

	read_values(groups->key, tuple, value);
	if (value->null)
		return group_of_values(groups);
	recent = recent_of(groups, value->bits);
	if (unlikely(recent->bits != value->bits || recent->group == NULL))
	{
		recent->group = group_of_values(groups);
		recent->bits = value->bits;
	}
	return recent->group;
}

/* A GroupFinder for keys that pass is_integer().  "kind" is a constant in each call. */
static pg_attribute_always_inline ScanGroup *
group_of_integer(ScanGroups *groups, HeapTupleHeader tuple, KeyKind kind)
{
	const ColumnLocation *location = &groups->key->field[0].location;
	RecentGroup *recent;
	int64 bits;

	if (unlikely(!ColumnAtOffset(location, tuple)))
		return group_of(groups, tuple, kind);
	bits = KeyNumberAt(ColumnAt(location, tuple), kind);
	recent = recent_of(groups, bits);
	if (unlikely(recent->bits != bits || recent->group == NULL))
	{
		recent->group = group_of(groups, tuple, kind);
		recent->bits = bits;
	}
	return recent->group;
}

/* Let the aggregates of a group that was made for another table read rows of this table. */
static pg_noinline void
rebind_group(const ScanGroups *groups, ScanGroup *group)
{
	int i;

	for (i = 0; i < groups->count; i++)
	{
		ScanAggregate *aggregate = &group->aggregate[i];
		ScanAggregate before = *aggregate;

		*aggregate = groups->model[i];
		ScanAggregateTake(aggregate, &before);
	}
}

/* Count a tuple in its group. */
static inline void
note_group(ScanGroups *groups, int i, ScanGroup *group)
{
	Sorting *sorting = &groups->sorting;

	if (group->sorting != sorting->number)
	{
		if (unlikely(group->sorting <= groups->before_table &&
					 group->created <= groups->before_table))
			rebind_group(groups, group);
		group->sorting = sorting->number;
		group->index = sorting->groups;
		sorting->end[sorting->groups] = 0;
		sorting->group[sorting->groups++] = group;
	}
	sorting->index[i] = (int16) group->index;
	sorting->end[group->index]++;
}

/* Calls note_group() for all tuples.  "find" and "kind" are constants in each call. */
static pg_attribute_always_inline void
note_all(ScanGroups *groups, const PageTuples *tuples, GroupFinder find, KeyKind kind)
{
	int i;

	for (i = 0; i < tuples->count; i++)
	{
		FetchAhead(tuples, i);
		note_group(groups, i, find(groups, tuples->tuple[i], kind));
	}
}

/* Find the group of each tuple, and the number of tuples in each group. */
static void
find_groups(ScanGroups *groups, const PageTuples *tuples)
{
	groups->sorting.number++;
	groups->sorting.groups = 0;
	if (is_number(groups->key))
		note_all(groups, tuples, group_of_number, KEY_INT8);
	else if (!is_integer(groups->key))
		note_all(groups, tuples, group_of, KEY_HASHED);
	else if (groups->key->field[0].kind == KEY_INT8)
		note_all(groups, tuples, group_of_integer, KEY_INT8);
	else if (groups->key->field[0].kind == KEY_INT4)
		note_all(groups, tuples, group_of_integer, KEY_INT4);
	else
		note_all(groups, tuples, group_of_integer, KEY_INT2);
}

/* Order the tuples by group.  Within a group, the tuples keep their order. */
static inline void
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
		sorting->order[sorting->end[sorting->index[i]]++] = (uint16) i;
}

/* Sort the tuples of a page by group. */
void
ScanGroupsSort(ScanGroups *groups, PageTuples *tuples)
{
	find_groups(groups, tuples);
	sort_out(&groups->sorting, tuples);
	tuples->stride = 0;
}
