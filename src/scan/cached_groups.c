/*
 * cached_groups.c
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
 * Either all groups get their keys from all pages that the cached columns have, or none does:
 * then the groups are made anew, and all pages are read.  That is so if there are too many
 * groups, if one has no memory, and if a chunk goes meanwhile.
 *
 * src/scan/cached_groups.c
 */
#include "scan/cached.h"
#include "scan/groups.h"

#include "miscadmin.h"

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

/* Have the worker look at the grouping column in all pages; false: a chunk is gone. */
static bool
look_at_rows(const CachedRun *run, const CachedTests *tests, GpuProjection projection, int most,
			 Finding *finding)
{
	const CachedKeys keys = { run, run->copies->group, tests, CachedPages(run) };
	int wanted_count;
	GpuColumnChunk *wanted = CachedChunks(&keys, 1, &wanted_count);
	bool there;
	int i;

	for (i = 0; i < wanted_count; i++)
		wanted[i].projection = projection;
	there = GpuColumnCountsAll(wanted, wanted_count, most,
							   projection == PROJECT_ROWS ? take_null : take_keys, finding);
	pfree(wanted);
	pfree(keys.pages);
	return there;
}

/* Find the values in all rows that pass WHERE.  Columns without NULLs are looked at once. */
static const char *
find_values(const CachedRun *run, const CachedTests *where, int most, GroupValues *values)
{
	const qb_test is_null = { .kind = QB_TEST_NULL };
	Finding finding = { .values = values, .most = most };
	CachedTests null = *where;

	values->count = 0;
	values->null = false;
	if (where->none)
		return NULL;
	if (!CachedTestsAdd(&null, run->copies->group, &is_null))
		return "too many conditions";
	if (!look_at_rows(run, where, PROJECT_KEYS, most, &finding))
		return copy_gone;
	if (finding.nulls && values->count <= most &&
		!look_at_rows(run, &null, PROJECT_ROWS, 1, &finding))
		return copy_gone;
	return values->count + values->null > most ? "too many groups" : NULL;
}

/* Make the groups; why that cannot be done, or NULL. */
static const char *
make_groups(ScanGroups *groups, const GroupValues *values, int count, ScanAggregate **column)
{
	const char *refusal = NULL;
	int all = values->count + values->null;
	int i;

	for (i = 0; i < all && refusal == NULL; i++)
	{
		bool null = i == values->count;

		column[i] = ScanGroupsFind(groups, null ? 0 : values->number[i], null);
		refusal =
			column[i] ? CachedStatesRefusal(column[i], count) : "too many groups for work_mem";
	}
	return refusal;
}

/* Groups of an aggregate. */
typedef struct Together
{
	qb_groups groups;
	SketchState *state[CACHED_STATES_MAX];
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
add_group(Together *together, const GroupValues *values, int group, SketchState *state)
{
	if (group < values->count)
		together->groups.number[together->groups.count] = values->number[group];
	else
		together->groups.null = 1;
	together->state[together->groups.count++] = state;
}

/* Which sketches of an aggregate will be dense for sure?  Those are on the device then. */
static void
find_dense(const CachedRun *run, int key, const CachedTests *tests, const Together *all,
		   bool *dense)
{
	const CachedKeys keys = { run, key, tests, run->pages };
	uint32 chunk = 0; /* the first one that has pages */
	GpuColumnChunk wanted;

	while (chunk < run->chunks - 1 && GpuPagesAreNone(&run->pages[chunk]))
		chunk++;
	wanted = CachedChunk(&keys, chunk);
	SketchGetDense((SketchState **) all->state, &all->groups, &wanted, dense);
}

/* Have an aggregate's keys of one group counted; false: not all were. */
static bool
take_group(const CachedRun *run, int key, const CachedTests *tests, ScanAggregate *aggregate)
{
	const CachedKeys keys = { run, key, tests, CachedPages(run) };
	bool all = true;
	uint32 chunk;

	CachedTake(&keys, 1, aggregate);
	for (chunk = 0; chunk < run->chunks; chunk++)
		all &= GpuPagesAreNone(&keys.pages[chunk]);
	pfree(keys.pages);
	return all;
}

/* Have keys counted for many groups at once; false: not all were. */
static bool
take_together(const CachedRun *run, int key, const CachedTests *tests, Together *together)
{
	const CachedKeys keys = { run, key, tests, CachedPages(run) };
	int wanted_count;
	GpuColumnChunk *wanted = CachedChunks(&keys, 1, &wanted_count);
	bool all = SketchAddGroups(together->state, &together->groups, wanted, wanted_count);

	pfree(keys.pages);
	pfree(wanted);
	return all;
}

/*
 * Have the keys of groups counted: of dense ones at once, of others each for itself.  "of": all
 * groups, and the dense ones.
 */
static const char *
take_all(const CachedRun *run, const GroupValues *values, int i, const CachedTests *tests,
		 ScanAggregate **column, Together *of)
{
	Together *all = &of[0];
	Together *together = &of[1];
	bool dense[CACHED_STATES_MAX];
	int key = run->copies->key[i];
	int groups = values->count + values->null;
	int group;

	for (group = 0; group < groups; group++)
		add_group(all, values, group, (SketchState *) column[group][i].state);
	find_dense(run, key, tests, all, dense);
	for (group = 0; group < groups; group++)
	{
		CachedTests own = *tests;
		qb_test test = test_of(values, group);

		CHECK_FOR_INTERRUPTS();
		if (dense[group])
			add_group(together, values, group, all->state[group]);
		else if (!CachedTestsAdd(&own, run->copies->group, &test))
			return "too many conditions";
		else if (!take_group(run, key, &own, &column[group][i]))
			return copy_gone;
	}
	return together->groups.count == 0 || take_together(run, key, tests, together) ? NULL
																				   : copy_gone;
}

/* Have the keys of the i-th aggregate of all groups counted; why that cannot be done, or NULL. */
static const char *
take_aggregate(const CachedRun *run, const GroupValues *values, int i, ScanAggregate **column)
{
	Together *of = palloc0(2 * sizeof(Together));
	const char *refusal = NULL;
	CachedTests tests;
	uint16 place;

	if (!CachedConditionsTests(run, column[0][i].filter_number, &tests) ||
		!CachedTestsColumn(&tests, run->copies->group, &place))
		return "too many conditions";
	of[0].groups.column = of[1].groups.column = place;
	if (!tests.none)
		refusal = take_all(run, values, i, &tests, column, of);
	pfree(of);
	return refusal;
}

/* Have the keys of all groups counted in these pages; why that cannot be done, or NULL. */
const char *
CachedGroupsTake(const CachedRun *run, ScanGroups *groups, int count)
{
	GroupValues *values = palloc(sizeof(GroupValues));
	int most = CACHED_STATES_MAX / count;
	ScanAggregate **column = palloc(CACHED_STATES_MAX * sizeof(ScanAggregate *));
	CachedTests where;
	const char *refusal;
	int i;

	if (!CachedConditionsTests(run, 0, &where))
		return "too many conditions";
	refusal = find_values(run, &where, most, values);
	if (refusal == NULL)
		refusal = make_groups(groups, values, count, column);
	if (values->count + values->null > 0 && run->chunks > 0)
		for (i = 0; i < count && refusal == NULL; i++)
			refusal = take_aggregate(run, values, i, column);
	if (refusal)
		ScanGroupsStart(groups);
	pfree(values);
	return refusal;
}
