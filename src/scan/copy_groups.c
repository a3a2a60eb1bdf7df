/*
 * copy_groups.c
 *		GROUP BY on copies: of one column of integers, dates or timestamps with few values.
 *
 * First the worker tells which values the grouping column has in rows that pass WHERE.
 * Each of them gets a group.  Then each aggregate of each group has its keys counted, as
 * an aggregate without GROUP BY has, with one more condition: the value of its group.
 *
 * Either all groups get their keys from all pages that the copies have, or none does:
 * then the groups are made anew, and all pages are read.  That is so if there are too many
 * groups, if one has no memory, and if a copy goes meanwhile.
 *
 * src/scan/copy_groups.c
 */
#include "scan/copy.h"
#include "scan/groups.h"

#include "miscadmin.h"

static const char copy_gone[] = "a copy was freed, or the GPU has no room";

/* The values of the grouping column. */
typedef struct GroupValues
{
	int64 number[COPY_STATES_MAX + GPU_COUNTS_MAX]; /* ascending between two additions */
	int count;
	bool null; /* NULL is one of them */
} GroupValues;

static int
compare_numbers(const void *a, const void *b)
{
	int64 x = *(const int64 *) a;
	int64 y = *(const int64 *) b;

	return x < y ? -1 : x > y;
}

/* Add numbers that may be there already. */
static void
add_numbers(GroupValues *values, const GpuKeyCounts *counts)
{
	int distinct = 0;
	int i;

	memcpy(values->number + values->count, counts->key, counts->count * sizeof(int64));
	values->count += counts->count;
	qsort(values->number, values->count, sizeof(int64), compare_numbers);
	for (i = 0; i < values->count; i++)
		if (i == 0 || values->number[i] != values->number[distinct - 1])
			values->number[distinct++] = values->number[i];
	values->count = distinct;
}

/*
 * Find the values in a range's rows: their numbers, or whether there are rows at all; why
 * that cannot be done, or NULL.
 */
static const char *
find_in_range(const CopyRun *run, const CopyTests *tests, uint32 range, GpuWish wish, int most,
			  GroupValues *values)
{
	GpuKeyCounts *counts = palloc(sizeof(GpuKeyCounts));
	GpuPages left = run->pages[range];
	GpuColumnPart part = CopyPart(run, run->copies->group, tests, range, &left);
	const char *refusal = NULL;

	part.wish = wish;
	while (refusal == NULL && !GpuPagesAreNone(&left))
	{
		CHECK_FOR_INTERRUPTS();
		if (!GpuColumnCounts(&part, most, counts))
			refusal = copy_gone;
		else if (counts->count > most)
			refusal = "too many groups";
		else if (wish == WISH_ROWS)
			values->null |= counts->count > 0;
		else
			add_numbers(values, counts);
	}
	pfree(counts);
	return refusal;
}

/* Find the values in all rows that pass WHERE. */
static const char *
find_values(const CopyRun *run, const CopyTests *where, int most, GroupValues *values)
{
	const qb_test is_null = { .kind = QB_TEST_NULL };
	const char *refusal = NULL;
	CopyTests null = *where;
	uint32 range;

	values->count = 0;
	values->null = false;
	if (where->none)
		return NULL;
	if (!CopyTestsAdd(&null, run->copies->group, &is_null))
		return "too many conditions";
	for (range = 0; range < run->ranges && refusal == NULL; range++)
	{
		refusal = find_in_range(run, where, range, WISH_NUMBERS, most, values);
		if (refusal == NULL && !values->null)
			refusal = find_in_range(run, &null, range, WISH_ROWS, 1, values);
		if (refusal == NULL && values->count + values->null > most)
			refusal = "too many groups";
	}
	return refusal;
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
		refusal = column[i] ? CopyStatesRefusal(column[i], count) : "too many groups for work_mem";
	}
	return refusal;
}

/* Have an aggregate's keys of one group counted; false: not all were. */
static bool
take_group(const CopyRun *run, const GroupValues *values, int group, CopyTests tests, int number,
		   ScanAggregate *column)
{
	qb_test test = { .kind = QB_TEST_NULL };
	GpuPages *taken;
	bool all;

	if (group < values->count)
	{
		test.kind = QB_TEST_RANGE;
		test.low = test.high = values->number[group];
	}
	if (!CopyTestsAdd(&tests, run->copies->group, &test))
		return false;
	taken = CopyTake(run, number, &tests, column);
	all = memcmp(taken, run->pages, run->ranges * sizeof(GpuPages)) == 0;
	pfree(taken);
	return all;
}

/* Have the keys of all groups counted; why that cannot be done, or NULL. */
static const char *
take_groups(const CopyRun *run, const GroupValues *values, int count, ScanAggregate **column)
{
	int groups = values->count + values->null;
	int i;
	int group;

	for (i = 0; i < count; i++)
	{
		CopyTests tests;

		if (!CopyConditionsTests(run, column[0][i].filter_number, &tests))
			return "too many conditions";
		for (group = 0; group < groups; group++)
			if (!take_group(run, values, group, tests, run->copies->key[i], &column[group][i]))
				return copy_gone;
	}
	return NULL;
}

/* Have the keys of all groups counted in these pages; why that cannot be done, or NULL. */
const char *
CopyGroupsTake(const CopyRun *run, ScanGroups *groups, int count)
{
	GroupValues *values = palloc(sizeof(GroupValues));
	int most = COPY_STATES_MAX / count;
	ScanAggregate **column = palloc(COPY_STATES_MAX * sizeof(ScanAggregate *));
	CopyTests where;
	const char *refusal;

	if (!CopyConditionsTests(run, -1, &where))
		return "too many conditions";
	refusal = find_values(run, &where, most, values);
	if (refusal == NULL)
		refusal = make_groups(groups, values, count, column);
	if (refusal == NULL && values->count + values->null > 0)
		refusal = take_groups(run, values, count, column);
	if (refusal)
		ScanGroupsStart(groups);
	pfree(values);
	return refusal;
}

/* Why a scan cannot take groups from copies; NULL: it can, as far as is known before a run. */
const char *
CopyGroupsRefusal(Relation relation, const Var *group)
{
	Form_pg_attribute form = TupleDescAttr(RelationGetDescr(relation), group->varattno - 1);
	KeyKind kind;

	if (!CopyTakesKeys(form) || CopyFormOf(form->atttypid).kind == VALUE_NONE ||
		!ScanGroupingKind(group, &kind) || kind == KEY_BYTES)
		return "GROUP BY of a column that is not copied as numbers";
	return NULL;
}
