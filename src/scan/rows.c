/*
 * rows.c
 *		WHERE and FILTERs: which tuples of a page each aggregate gets.
 *
 * Conditions on all rows are tested first.  FILTERs are tested on the tuples that are
 * left.
 * Aggregates with the same FILTER share its tuples.
 *
 * src/scan/rows.c
 */
#include "scan/conditions.h"

#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"

static bool
collect_params(Node *node, void *params)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXEC)
		*(Bitmapset **) params = bms_add_member(*(Bitmapset **) params, ((Param *) node)->paramid);
	return expression_tree_walker(node, collect_params, params);
}

/* The run depends on the parameters in these expressions, too. */
void
WantedRowsAddParams(WantedRows *rows, List *exprs)
{
	(void) collect_params((Node *) exprs, &rows->params);
}

static ScanConditions *
init_conditions(WantedRows *rows, List *clauses)
{
	(void) collect_params((Node *) clauses, &rows->params);
	return ScanConditionsInit(clauses, rows->estate, rows->relation);
}

/* Set the conditions on all rows. */
void
WantedRowsInit(WantedRows *rows, EState *estate, Relation relation, List *clauses, int most_filters)
{
	memset(rows, 0, sizeof(*rows));
	rows->estate = estate;
	rows->relation = relation;
	rows->filtered = palloc0(most_filters * sizeof(FilteredTuples));
	if (clauses)
		rows->conditions = init_conditions(rows, clauses);
}

/* Add a filter, unless the same one is there.  Returns its number; -1: all rows pass. */
int
WantedRowsAddFilter(WantedRows *rows, Expr *filter)
{
	List *clauses = make_ands_implicit(filter);
	FilteredTuples *filtered;
	int i;

	if (clauses == NIL)
		return -1;
	for (i = 0; i < rows->filters; i++)
		if (equal(rows->filtered[i].filter, filter))
			return i;
	filtered = &rows->filtered[rows->filters];
	filtered->filter = filter;
	filtered->conditions = init_conditions(rows, clauses);
	filtered->tuples = palloc(sizeof(PageTuples));
	return rows->filters++;
}

/* How many conditions are tested on the page. */
int
WantedRowsOnPage(const WantedRows *rows)
{
	int count = rows->conditions ? ScanConditionsOnPage(rows->conditions) : 0;
	int i;

	for (i = 0; i < rows->filters; i++)
		count += ScanConditionsOnPage(rows->filtered[i].conditions);
	return count;
}

/* Prepare a run. */
void
WantedRowsStart(WantedRows *rows)
{
	int i;

	if (rows->conditions)
		ScanConditionsReset(rows->conditions);
	for (i = 0; i < rows->filters; i++)
		ScanConditionsReset(rows->filtered[i].conditions);
}

/* Find the tuples that each filter keeps, among those that WHERE left. */
void
WantedRowsFilter(WantedRows *rows, PageTuples *tuples)
{
	int i;

	for (i = 0; i < rows->filters; i++)
	{
		FilteredTuples *filtered = &rows->filtered[i];

		PageTuplesCopy(filtered->tuples, tuples);
		tuples->share = 0;
		ScanConditionsSelect(filtered->conditions, rows->relation, filtered->tuples);
	}
}

/* Leave the tuples of a page that WHERE keeps, and find those that each filter keeps. */
void
WantedRowsSelect(WantedRows *rows, PageTuples *tuples)
{
	if (rows->conditions)
		ScanConditionsSelect(rows->conditions, rows->relation, tuples);
	WantedRowsFilter(rows, tuples);
}

/* End a run, before its last page is released. */
void
WantedRowsEnd(WantedRows *rows)
{
	int i;

	if (rows->conditions)
		ScanConditionsEnd(rows->conditions);
	for (i = 0; i < rows->filters; i++)
		ScanConditionsEnd(rows->filtered[i].conditions);
}
