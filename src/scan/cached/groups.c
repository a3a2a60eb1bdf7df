/*
 * groups.c
 *		GROUP BY on cached columns, by one column of integers, dates or times with few values.
 *
 * The worker first finds the values of the grouping column in rows that pass WHERE.  A group
 * is made for each value.
 *
 * Then the worker fills an aggregate's sketches of all groups together, by sorting the keys of a
 * chunk by group.  Sketches that stay explicit are filled one by one, because this process must
 * receive their keys.  Such a sketch is filled as without GROUP BY, with the group's value as an
 * additional condition.  The worker uses the first chunk that has pages to decide which sketches
 * become dense.  If a sketch becomes dense only by a later chunk, it is filled by separate
 * requests, too.
 *
 * All partitions fill the same groups, and the chunks of all partitions are requested
 * together.
 *
 * All groups receive their keys from all valid pages, or no group does.  If no group does, the
 * groups are made again, and all pages are read.  The causes are: there are too many groups or
 * conditions, the query may read the groups again, the states are made on the CPU, the GPU has no
 * memory for a group, the sketches of lists exceed the memory limit (only with several GPUs), or a
 * chunk is freed in the meantime.
 *
 * src/scan/cached/groups.c
 */
#include "scan/cached/cached.h"
#include "scan/groups/groups.h"

#include "executor/nodeHash.h"
#include "miscadmin.h"
#include "pg/sketch_state.h"
#include "pg/top_state.h"

static const char chunk_gone[] = "a cached column was freed, or the GPU has no room";

/* The distinct values of the grouping column. */
typedef struct GroupValues
{
	int64 number[CACHED_STATES_MAX + GPU_COUNTS_MAX]; /* sorted, except within add_numbers() */
	int count;
	bool null; /* NULL is one of the values */
} GroupValues;

/* Add numbers to the list, without duplicates.  False: the list is longer than "most". */
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

/* State of the search for the distinct group values in rows that pass WHERE. */
typedef struct Finding
{
	GroupValues *values;
	int most;   /* upper limit of distinct values */
	bool nulls; /* the column may have NULLs */
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
	const CachedRun *run; /* for each table */
	int count;
	ScanAggregate **column; /* for each group: its aggregates */
	GroupValues *values;
} Tables;

/*
 * For each table: the keys of one column.  "aggregate": index of the aggregate that receives
 * the keys; -1: the keys of the grouping column.
 */
static CachedKeys *
list_keys(const Tables *tables, int aggregate, const CachedTests *tests)
{
	CachedKeys *keys = palloc(tables->count * sizeof(CachedKeys));
	int i;

	for (i = 0; i < tables->count; i++)
	{
		const CachedRun *run = &tables->run[i];

		keys[i] =
			(CachedKeys){ run, aggregate < 0 ? run->cached->group : run->cached->key[aggregate],
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
 * For each table: the tests of WHERE and of a FILTER (0: none), in a selection whose first
 * column is the grouping column.  NULL: there are too many tests.
 */
static CachedTests *
list_tests(const Tables *tables, int filter)
{
	CachedTests *tests = palloc0(tables->count * sizeof(CachedTests));
	uint16 position;
	int i;

	for (i = 0; i < tables->count; i++)
		if (!CachedTestsColumn(&tests[i], tables->run[i].cached->group, &position) ||
			!CachedConditionsTests(&tables->run[i], filter, &tests[i]))
			return NULL;
	return tests;
}

/* Copy the tests, and add a test of the grouping column; NULL: there are too many tests. */
static CachedTests *
add_test(const Tables *tables, const CachedTests *tests, const qb_test *test)
{
	CachedTests *extended = palloc(tables->count * sizeof(CachedTests));
	int i;

	memcpy(extended, tests, tables->count * sizeof(CachedTests));
	for (i = 0; i < tables->count; i++)
		if (!CachedTestsAdd(&extended[i], tables->run[i].cached->group, test))
			return NULL;
	return extended;
}

/*
 * Let the worker read the grouping columns of all pages; false: a chunk was freed, or its device
 * has no memory.
 */
static bool
project_rows(const Tables *tables, const CachedTests *tests, GpuProjection projection, int most,
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

/*
 * Find the values of the grouping column in all rows that pass WHERE.  NULL is searched for
 * only if the column may have NULLs.  Returns the reason for a failure, or NULL.
 */
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
	if (!project_rows(tables, where, PROJECT_KEYS, most, &finding))
		return chunk_gone;
	if (finding.nulls && values->count <= most &&
		!project_rows(tables, null, PROJECT_ROWS, 1, &finding))
		return chunk_gone;
	return values->count + values->null > most ? "too many groups" : NULL;
}

/* Make the groups.  Returns the reason for a failure, or NULL. */
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

/* Groups for which the keys of one aggregate are counted together. */
typedef struct Together
{
	qb_groups groups;
	SketchState *state[CACHED_STATES_MAX];
	TopState *top[CACHED_STATES_MAX]; /* for each sketch: its list; NULL: no list */
} Together;

/* The test for the rows of a group. */
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

/*
 * Add a group and the sketch that counts its keys: the aggregate's sketch, or a new sketch for
 * the aggregate's list.
 */
static void
add_aggregate(Together *together, const GroupValues *values, int group, KeyedState *state)
{
	TopState *top = StateTypeOf(state) == &top_state_type ? (TopState *) state : NULL;

	add_group(together, values, group, top ? TopSketchFor(top) : (SketchState *) state, top);
}

/* Count the keys of all groups in "together"; false: not all keys were counted. */
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

/*
 * Set dense[i] if the i-th sketch is known to become dense.  Such a sketch is moved to a device.
 */
static void
find_dense(const Together *all, const GpuColumnChunk *wanted, int wanted_count, bool *dense)
{
	memset(dense, 0, all->groups.count * sizeof(bool));
	if (wanted_count > 0)
		SketchGetDense((SketchState **) all->state, &all->groups, wanted, dense);
}

/* Count an aggregate's keys of one group; false: not all keys were counted. */
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
 * Count the keys of the groups whose sketches are not dense, one group at a time.  Adds the
 * groups with dense sketches to "together".  Returns the reason for a failure, or NULL.
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
		CachedTests *extended;

		CHECK_FOR_INTERRUPTS();
		if (dense[group])
		{
			add_group(together, tables->values, group, all->state[group], all->top[group]);
			continue;
		}
		if (all->top[group])
			SketchFree(all->state[group]);
		extended = add_test(tables, tests, &test);
		if (extended == NULL)
			return "too many conditions";
		if (!take_group(tables, i, extended, aggregate))
			return chunk_gone;
		pfree(extended);
	}
	return NULL;
}

/*
 * Count the keys of the i-th aggregate of all groups: dense sketches together, other sketches
 * one by one.  "of": two empty sets of groups.  Returns the reason for a failure, or NULL.
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
		refusal = chunk_gone;
	pfree(wanted);
	free_keys(keys, tables->count);
	return refusal;
}

/*
 * True if the server has several devices, the i-th aggregate is a list, and the sketches of all
 * groups exceed the memory limit.  This process may then receive all of these sketches
 * (pg/top_columns.c).
 */
static bool
are_too_large(const Tables *tables, int i)
{
	const TopState *top = ScanAggregateState(&tables->column[0][i], &top_state_type);
	double groups = tables->values->count + tables->values->null;

	return top && gpu_shared->device_count > 1 &&
		   groups * (double) qs_table_bytes(&top->sketch.params, false) >
			   (double) get_hash_memory_limit();
}

/*
 * Count the keys of the i-th aggregate of all groups.  Returns the reason for a failure, or
 * NULL.
 */
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
 * Count the keys of all groups in the valid pages of one table or several.  Returns the reason
 * for a failure, or NULL.
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
