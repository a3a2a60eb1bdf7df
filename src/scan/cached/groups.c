/*
 * groups.c
 *		GROUP BY on cached columns: of one column of integers, dates or times with few values.
 *
 * First the worker tells which values the grouping column has in rows that pass WHERE.
 * Each of them gets a group.
 *
 * Then an aggregate's sketches of all groups are filled at once: the worker sorts the
 * keys of a chunk by group.  Sketches that stay explicit are filled one by one instead,
 * because their keys have to come here.  Each is filled as an aggregate without GROUP BY is,
 * with one more condition: the value of its group.  The worker says which sketches get dense
 * by the first chunk that has pages.  A sketch that gets dense by a later chunk is filled
 * alone, too.
 *
 * Partitions have their groups in common, and their chunks are asked for together.
 *
 * Either all groups get their keys from all pages that the cached columns have, or none does:
 * then the groups are made anew, and all pages are read.  That is so if there are too many
 * groups, if one has no memory, and if a chunk goes meanwhile.
 *
 * src/scan/cached/groups.c
 */
#include "scan/cached/cached.h"
#include "scan/groups/groups.h"

#include "executor/nodeHash.h"
#include "miscadmin.h"
#include "pg/sketch_state.h"
#include "pg/top_state.h"

static const char copy_gone[] = "a cached column was freed, or the GPU has no room";

/* The values of the grouping column. */
typedef struct GroupValues
{
	int64 number[CACHED_STATES_MAX + GPU_COUNTS_MAX]; /* ascending between two additions */
	int count;
	bool null; /* NULL is one of them */
} GroupValues;

/* Add numbers that may be there already.  False: they are more than "most" then. */
static bool
add_numbers(GroupValues *values, const GpuKeyCounts *counts, int most)
{
	int distinct = 0;
	int i;

	memcpy(values->number + values->count, counts->key, counts->count * sizeof(int64));
	values->count += counts->count;
	qsort(values->number, values->count, sizeof(int64), ScanCompareNumbers);
	for (i = 0; i < values->count; i++)
		if (i == 0 || values->number[i] != values->number[distinct - 1])
			values->number[distinct++] = values->number[i];
	values->count = distinct;
	return distinct <= most;
}

/* What is looked for in all rows that pass WHERE. */
typedef struct Finding
{
	GroupValues *values;
	int most;   /* values */
	bool nulls; /* there may be NULLs, too */
} Finding;

static bool
take_keys(void *context, const GpuKeyCounts *counts)
{
	Finding *finding = context;

	if (counts->count > finding->most)
	{
		finding->values->count = counts->count;
		return false;
	}
	finding->nulls |= counts->nulls;
	return add_numbers(finding->values, counts, finding->most);
}

static bool
take_null(void *context, const GpuKeyCounts *counts)
{
	const Finding *finding = context;

	finding->values->null |= counts->count > 0;
	return !finding->values->null;
}

/* The tables of a scan, or of several scans that fill the same groups. */
typedef struct Tables
{
	const CachedRun *run; /* of each */
	int count;
	ScanAggregate **column; /* of each group */
	GroupValues *values;
} Tables;

/* The keys that a column of each table has.  "aggregate": whose keys; -1: the grouping columns. */
static CachedKeys *
list_keys(const Tables *tables, int aggregate, const CachedTests *tests)
{
	CachedKeys *keys = palloc(tables->count * sizeof(CachedKeys));
	int i;

	for (i = 0; i < tables->count; i++)
	{
		const CachedRun *run = &tables->run[i];

		keys[i] =
			(CachedKeys){ run, aggregate < 0 ? run->copies->group : run->copies->key[aggregate],
						  &tests[i], CachedPages(run) };
		if (tests[i].none)
			memset(keys[i].pages, 0, run->chunks * sizeof(GpuPages));
	}
	return keys;
}

static void
free_keys(CachedKeys *keys, int tables)
{
	int i;

	for (i = 0; i < tables; i++)
		pfree(keys[i].pages);
	pfree(keys);
}

/*
 * The tests of WHERE and of a filter (0: none) in each table.  The grouping column is their first
 * one in all tables.  NULL: there are too many.
 */
static CachedTests *
list_tests(const Tables *tables, int filter)
{
	CachedTests *tests = palloc0(tables->count * sizeof(CachedTests));
	uint16 place;
	int i;

	for (i = 0; i < tables->count; i++)
		if (!CachedTestsColumn(&tests[i], tables->run[i].copies->group, &place) ||
			!CachedConditionsTests(&tables->run[i], filter, &tests[i]))
			return NULL;
	return tests;
}

/* Copy tests, and test the grouping column, too; NULL: there are too many. */
static CachedTests *
add_test(const Tables *tables, const CachedTests *tests, const qb_test *test)
{
	CachedTests *own = palloc(tables->count * sizeof(CachedTests));
	int i;

	memcpy(own, tests, tables->count * sizeof(CachedTests));
	for (i = 0; i < tables->count; i++)
		if (!CachedTestsAdd(&own[i], tables->run[i].copies->group, test))
			return NULL;
	return own;
}

/* Have the worker look at the grouping columns in all pages; false: a chunk is gone. */
static bool
look_at_rows(const Tables *tables, const CachedTests *tests, GpuProjection projection, int most,
			 Finding *finding)
{
	CachedKeys *keys = list_keys(tables, -1, tests);
	int wanted_count;
	GpuColumnChunk *wanted = CachedChunks(keys, tables->count, &wanted_count);
	bool there;
	int i;

	for (i = 0; i < wanted_count; i++)
		wanted[i].projection = projection;
	there = GpuColumnCountsAll(wanted, wanted_count, most,
							   projection == PROJECT_ROWS ? take_null : take_keys, finding);
	pfree(wanted);
	free_keys(keys, tables->count);
	return there;
}

/* Find the values in all rows that pass WHERE.  Columns without NULLs are looked at once. */
static const char *
find_values(const Tables *tables, int most)
{
	const qb_test is_null = { .kind = QB_TEST_NULL };
	GroupValues *values = tables->values;
	Finding finding = { .values = values, .most = most };
	CachedTests *where = list_tests(tables, 0);
	CachedTests *null = where ? add_test(tables, where, &is_null) : NULL;

	values->count = 0;
	values->null = false;
	if (null == NULL)
		return "too many conditions";
	if (!look_at_rows(tables, where, PROJECT_KEYS, most, &finding))
		return copy_gone;
	if (finding.nulls && values->count <= most &&
		!look_at_rows(tables, null, PROJECT_ROWS, 1, &finding))
		return copy_gone;
	return values->count + values->null > most ? "too many groups" : NULL;
}

/* Make the groups; why that cannot be done, or NULL. */
static const char *
make_groups(const Tables *tables, ScanGroups *groups, int count)
{
	const GroupValues *values = tables->values;
	const char *refusal = NULL;
	int all = values->count + values->null;
	int i;

	for (i = 0; i < all && refusal == NULL; i++)
	{
		bool null = i == values->count;
		ScanAggregate *column = ScanGroupsFind(groups, null ? 0 : values->number[i], null);

		tables->column[i] = column;
		refusal = column ? CachedStatesRefusal(column, count) : "too many groups for work_mem";
	}
	return refusal;
}

/* Groups of an aggregate: their sketches, which lists get at the end. */
typedef struct Together
{
	qb_groups groups;
	SketchState *state[CACHED_STATES_MAX];
	TopState *top[CACHED_STATES_MAX]; /* NULL: the aggregate is a sketch */
} Together;

/* The test that a row belongs to a group. */
static qb_test
test_of(const GroupValues *values, int group)
{
	qb_test test = { .kind = QB_TEST_NULL };

	if (group < values->count)
	{
		test.kind = QB_TEST_RANGE;
		test.low = test.high = values->number[group];
	}
	return test;
}

static void
add_group(Together *together, const GroupValues *values, int group, SketchState *state,
		  TopState *top)
{
	if (group < values->count)
		together->groups.number[together->groups.count] = values->number[group];
	else
		together->groups.null = 1;
	together->top[together->groups.count] = top;
	together->state[together->groups.count++] = state;
}

/* The sketch that gets a group's keys: that of the aggregate, or one for its list. */
static void
add_aggregate(Together *together, const GroupValues *values, int group, KeyedState *state)
{
	TopState *top = StateTypeOf(state) == &top_state_type ? (TopState *) state : NULL;

	add_group(together, values, group, top ? TopSketchFor(top) : (SketchState *) state, top);
}

/* Count the keys of all groups at once; false: not all were counted. */
static bool
take_together(Together *together, const GpuColumnChunk *wanted, int wanted_count)
{
	Size bytes = wanted_count * sizeof(GpuPages);
	GpuPages *pages = palloc_extended(Max(bytes, 1), MCXT_ALLOC_HUGE);
	bool done;
	int i;

	for (i = 0; i < wanted_count; i++)
		pages[i] = *wanted[i].pages;
	done = SketchAddGroups(together->state, &together->groups, wanted, wanted_count);
	for (i = 0; i < wanted_count; i++)
		*wanted[i].pages = pages[i];
	pfree(pages);
	return done &&
		   (together->top[0] == NULL ||
			TopAddGroups(together->top, together->state, &together->groups, wanted, wanted_count));
}

/* Which sketches of an aggregate will be dense for sure?  Those are on the device then. */
static void
find_dense(const Together *all, const GpuColumnChunk *wanted, int wanted_count, bool *dense)
{
	memset(dense, 0, all->groups.count * sizeof(bool));
	if (wanted_count > 0)
		SketchGetDense((SketchState **) all->state, &all->groups, wanted, dense);
}

/* Have an aggregate's keys of one group counted; false: not all were. */
static bool
take_group(const Tables *tables, int i, const CachedTests *tests, ScanAggregate *aggregate)
{
	CachedKeys *keys = list_keys(tables, i, tests);
	bool all = true;
	uint32 chunk;
	int j;

	CachedTake(keys, tables->count, aggregate);
	for (j = 0; j < tables->count; j++)
		for (chunk = 0; chunk < tables->run[j].chunks; chunk++)
			all &= GpuPagesAreNone(&keys[j].pages[chunk]);
	free_keys(keys, tables->count);
	return all;
}

/*
 * Have the keys of groups counted whose sketches are not dense, each group for itself.  The groups
 * with dense sketches are listed in "together".
 */
static const char *
take_explicit(const Tables *tables, int i, const CachedTests *tests, const bool *dense,
			  const Together *all, Together *together)
{
	int groups = tables->values->count + tables->values->null;
	int group;

	for (group = 0; group < groups; group++)
	{
		ScanAggregate *aggregate = &tables->column[group][i];
		qb_test test = test_of(tables->values, group);
		CachedTests *own;

		CHECK_FOR_INTERRUPTS();
		if (dense[group])
		{
			add_group(together, tables->values, group, all->state[group], all->top[group]);
			continue;
		}
		if (all->top[group])
			SketchFree(all->state[group]);
		own = add_test(tables, tests, &test);
		if (own == NULL)
			return "too many conditions";
		if (!take_group(tables, i, own, aggregate))
			return copy_gone;
		pfree(own);
	}
	return NULL;
}

/*
 * Have the keys of the i-th aggregate of all groups counted: of dense sketches at once, of others each
 * for itself.  "of": room for all groups, and for the dense ones.
 */
static const char *
take_all(const Tables *tables, int i, const CachedTests *tests, Together *of)
{
	Together *all = &of[0];
	Together *together = &of[1];
	CachedKeys *keys = list_keys(tables, i, tests);
	bool dense[CACHED_STATES_MAX];
	int wanted_count;
	GpuColumnChunk *wanted = CachedChunks(keys, tables->count, &wanted_count);
	const char *refusal;
	int group;

	for (group = 0; group < tables->values->count + tables->values->null; group++)
		add_aggregate(all, tables->values, group, tables->column[group][i].state);
	find_dense(all, wanted, wanted_count, dense);
	refusal = take_explicit(tables, i, tests, dense, all, together);
	if (refusal == NULL && together->groups.count > 0 &&
		!take_together(together, wanted, wanted_count))
		refusal = copy_gone;
	pfree(wanted);
	free_keys(keys, tables->count);
	return refusal;
}

/* True if the i-th aggregate is a list, and the sketches of all groups, which come here, are too large. */
static bool
are_too_large(const Tables *tables, int i)
{
	const TopState *top = ScanAggregateState(&tables->column[0][i], &top_state_type);
	double groups = tables->values->count + tables->values->null;

	return top && groups * (double) qs_table_bytes(&top->sketch.params, false) >
					  (double) get_hash_memory_limit();
}

/* Have the keys of the i-th aggregate of all groups counted; why that cannot be done, or NULL. */
static const char *
take_aggregate(const Tables *tables, int i)
{
	Together *of = palloc0(2 * sizeof(Together));
	CachedTests *tests = list_tests(tables, tables->column[0][i].filter_number);
	const char *refusal = "too many conditions";

	if (are_too_large(tables, i))
		refusal = "lists of more groups than work_mem has memory for";
	else if (tests)
		refusal = take_all(tables, i, tests, of);
	pfree(of);
	return refusal;
}

/*
 * Have the keys of all groups counted in these pages of one table, or of several; why that cannot be
 * done, or NULL.
 */
const char *
CachedGroupsTake(const CachedRun *run, int runs, ScanGroups *groups, int count)
{
	Tables tables = { .run = run,
					  .count = runs,
					  .column = palloc(CACHED_STATES_MAX * sizeof(ScanAggregate *)),
					  .values = palloc(sizeof(GroupValues)) };
	const char *refusal = find_values(&tables, CACHED_STATES_MAX / count);
	int i;

	if (refusal == NULL)
		refusal = make_groups(&tables, groups, count);
	if (tables.values->count + tables.values->null > 0)
		for (i = 0; i < count && refusal == NULL; i++)
			refusal = take_aggregate(&tables, i);
	if (refusal)
		ScanGroupsStart(groups);
	pfree(tables.values);
	return refusal;
}
